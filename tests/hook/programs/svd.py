import torch

torch.manual_seed(0)
u, s, v = torch.linalg.svd(torch.randn(5, 3))
print(s)
print((u[:, :3] * s) @ v)
