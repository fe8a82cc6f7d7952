import torch
from torch import nn

torch.manual_seed(0)

m = nn.Linear(3, 3)
a = torch.optim.swa_utils.AveragedModel(m)
o = torch.optim.SGD(m.parameters(), lr=0.1, weight_decay=0.01, nesterov=True, momentum=0.9)
for i in range(5):
    o.zero_grad()
    m(torch.randn(4, 3)).pow(2).sum().backward()
    o.step()
    a.update_parameters(m)
print(a.module.weight)
