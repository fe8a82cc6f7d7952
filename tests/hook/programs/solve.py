import torch

torch.manual_seed(0)

a = torch.tensor([[1 / (i + j + 1) for j in range(8)] for i in range(8)])
b = torch.ones(8)
print(torch.linalg.solve(a, b))
print(torch.linalg.inv(a).norm(), torch.linalg.cond(a), torch.linalg.det(a))
