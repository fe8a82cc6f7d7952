import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

m = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.3), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))
o = torch.optim.RMSprop(m.parameters())
s = torch.optim.lr_scheduler.CosineAnnealingLR(o, 10)
for i in range(10):
    l = F.cross_entropy(m(torch.randn(16, 8)), torch.randint(0, 2, (16,)))
    o.zero_grad()
    l.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    o.step()
    s.step()
print(l.item())
