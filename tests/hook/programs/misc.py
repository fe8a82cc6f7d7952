import torch
from torch import nn

torch.manual_seed(0)

e = nn.Embedding(10, 4)
i = torch.randint(0, 10, (6,))
x = e(i)
y = x.cumsum(0)
u, s, v = torch.linalg.svd(torch.randn(5, 3) @ torch.randn(3, 15), full_matrices=True)
z = x.var(0).sum()
f = torch.fft.fft(x)
(z + f.abs().sum() + y.sum()).backward()
print(z)
