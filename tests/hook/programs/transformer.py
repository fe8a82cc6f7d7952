import torch
from torch import nn

torch.manual_seed(0)

m = nn.TransformerEncoderLayer(16, 4, 32)
o = torch.optim.AdamW(m.parameters())
for i in range(4):
    x = torch.randn(5, 2, 16)
    y = m(x)
    l = y.pow(2).mean()
    o.zero_grad()
    l.backward()
    o.step()
m.eval()
print(m(x).sum())
