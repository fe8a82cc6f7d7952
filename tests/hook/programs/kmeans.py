import torch

torch.manual_seed(0)

x = torch.randn(60, 2)
c = x[torch.randperm(60)[:4]]
for i in range(8):
    a = torch.cdist(x, c).argmin(1)
    c = torch.stack([x[a == k].mean(0) for k in range(4)])
print(c.sum(), torch.bincount(a))
