import torch

torch.manual_seed(0)

x = torch.randn(50, 6) @ torch.diag(torch.tensor([5.0, 3, 2, 1, 0.5, 0.1]))
x = x - x.mean(0)
u, s, v = torch.pca_lowrank(x, q=3)
print(s)
p = x @ v
print(p.var(0))
print((p @ v.T - x).norm())
c = torch.cov(x.T)
print(torch.linalg.eigvalsh(c))
k = torch.linalg.cholesky(c + 1e-3 * torch.eye(6))
print(k.diag())
