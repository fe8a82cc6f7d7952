import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class V(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Linear(6, 4)
        s.d = nn.Linear(2, 6)

    def forward(s, x):
        mu, lv = s.e(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (lv / 2).exp()
        return s.d(z), mu, lv


v = V()
o = torch.optim.Adam(v.parameters())
for i in range(3):
    x = torch.rand(8, 6)
    y, mu, lv = v(x)
    l = F.mse_loss(y, x) + (-0.5 * (1 + lv - mu**2 - lv.exp())).mean()
    o.zero_grad()
    l.backward()
    o.step()
print(l)
