import torch

torch.manual_seed(0)

x = torch.randn(5, requires_grad=True)
y = (x**3).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
(g**2).sum().backward()
print(x.grad)
