import torch

torch.manual_seed(0)

from torch.func import grad, jacrev, vmap

f = lambda x: (x.sin() * x).sum()
x = torch.randn(4)
print(grad(f)(x))
print(vmap(grad(f))(torch.randn(3, 4)).sum())
print(jacrev(lambda x: x**2)(x))
print(torch.autograd.functional.hessian(f, x))
