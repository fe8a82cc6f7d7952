import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 5))
o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
for i in range(5):
    x = torch.randn(4, 3, 8, 8)
    t = torch.randint(0, 5, (4,))
    l = F.cross_entropy(m(x), t)
    o.zero_grad()
    l.backward()
    o.step()
print(l.item())
