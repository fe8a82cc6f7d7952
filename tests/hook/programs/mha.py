import torch
from torch import nn

torch.manual_seed(0)

m = nn.MultiheadAttention(8, 2, batch_first=True)
x = torch.randn(2, 5, 8)
o, w = m(x, x, x, key_padding_mask=torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]]).bool())
o.sum().backward()
print(w.sum(), o.mean())
t = nn.Transformer(8, 2, 1, 1, 16)
t.eval()
print(t(torch.randn(3, 1, 8), torch.randn(2, 1, 8)).sum())
