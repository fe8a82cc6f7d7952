import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

m = nn.Sequential(
    *[nn.Sequential(nn.Linear(12, 12), nn.BatchNorm1d(12), nn.ReLU()) for _ in range(12)], nn.Linear(12, 1)
)
o = torch.optim.Adam(m.parameters(), lr=1e-2)
for i in range(25):
    x = torch.randn(32, 12)
    l = F.mse_loss(m(x), x[:, :1])
    o.zero_grad()
    l.backward()
    o.step()
print(l)
