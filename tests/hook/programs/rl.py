import torch
from torch import nn

torch.manual_seed(0)

m = nn.Linear(4, 2)
o = torch.optim.Adam(m.parameters(), lr=0.05)
for i in range(6):
    d = torch.distributions.Categorical(logits=m(torch.randn(8, 4)))
    a = d.sample()
    r = (a == 1).float()
    l = -(d.log_prob(a) * r).mean()
    o.zero_grad()
    l.backward()
    o.step()
print(l)
