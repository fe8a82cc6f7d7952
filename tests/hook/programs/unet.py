import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class U(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = nn.Conv2d(1, 4, 3, padding=1)
        s.b = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        s.c = nn.ConvTranspose2d(8, 4, 2, 2)
        s.d = nn.Conv2d(8, 1, 1)
        s.g = nn.GroupNorm(2, 4)

    def forward(s, x):
        a = F.relu(s.g(s.a(x)))
        b = F.relu(s.b(F.max_pool2d(a, 1)))
        c = s.c(b)
        return s.d(torch.cat([a, c], 1))


u = U()
o = torch.optim.Adam(u.parameters())
for i in range(3):
    x = torch.randn(2, 1, 8, 8)
    l = F.l1_loss(u(x), x)
    o.zero_grad()
    l.backward()
    o.step()
print(l)
print(F.interpolate(x, scale_factor=2, mode="bilinear").mean())
