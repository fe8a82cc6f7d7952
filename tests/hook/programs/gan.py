import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

g = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
d = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(g.parameters(), lr=1e-3)
od = torch.optim.Adam(d.parameters(), lr=1e-3)
for i in range(6):
    r = torch.randn(16, 2) + 1
    z = torch.randn(16, 4)
    ld = F.binary_cross_entropy_with_logits(d(r), torch.ones(16, 1)) + F.binary_cross_entropy_with_logits(
        d(g(z).detach()), torch.zeros(16, 1)
    )
    od.zero_grad()
    ld.backward()
    od.step()
    lg = F.binary_cross_entropy_with_logits(d(g(z)), torch.ones(16, 1))
    og.zero_grad()
    lg.backward()
    og.step()
print(lg, ld)
