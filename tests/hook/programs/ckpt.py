import torch
from torch import nn

torch.manual_seed(0)

from torch.utils.checkpoint import checkpoint

m = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 4))
x = torch.randn(3, 4, requires_grad=True)
y = checkpoint(m, x, use_reentrant=False)
y.sum().backward()
print(x.grad.sum())
