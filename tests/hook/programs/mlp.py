import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

m = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
o = torch.optim.AdamW(m.parameters(), lr=1e-2)
x = torch.randn(64, 4)
t = x.sum(1, keepdim=True)
for i in range(100):
    l = F.mse_loss(m(x), t)
    o.zero_grad()
    l.backward()
    o.step()
print(l)
