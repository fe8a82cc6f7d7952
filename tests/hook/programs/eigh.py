import torch

torch.manual_seed(0)

a = torch.randn(6, 6)
a = a @ a.T
w, v = torch.linalg.eigh(a)
print(w)
y = v.abs()
z = v[:, 0] * 2
print(z.sum())
