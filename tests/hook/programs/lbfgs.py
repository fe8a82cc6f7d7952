import torch

torch.manual_seed(0)

x = torch.tensor([1.5, -1.0], requires_grad=True)
o = torch.optim.LBFGS([x], max_iter=5)


def c():
    o.zero_grad()
    l = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    l.backward()
    return l


for i in range(4):
    o.step(c)
print(x)
