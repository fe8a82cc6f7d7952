import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

from torch.utils.data import DataLoader, TensorDataset, random_split

d = TensorDataset(torch.randn(20, 3), torch.randint(0, 2, (20,)))
a, b = random_split(d, [15, 5])
m = nn.Linear(3, 2)
o = torch.optim.Adagrad(m.parameters())
for x, y in DataLoader(a, batch_size=4, shuffle=True):
    l = F.cross_entropy(m(x), y)
    o.zero_grad()
    l.backward()
    o.step()
print(l)
