import torch

torch.manual_seed(0)

x = torch.rand(100, dtype=torch.float32)
for i in range(60):
    x = 3.9 * x * (1 - x)
print(x.sum())
