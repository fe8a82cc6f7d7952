import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.inner = nn.Linear(64, 16)
        self.layer = nn.LayerNorm(16)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        x = x.flatten(1)
        x = F.gelu(self.inner(x))
        x = self.layer(x)
        gate = torch.sigmoid(x) * x.tanh()
        scaled = gate / (1 + x.exp())
        return self.out(scaled)


net = Net()
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
adam = torch.optim.Adam(net.parameters(), lr=1e-2)
rms = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for opt in (sgd, sgd, adam, adam, rms, rms):
    x = torch.randn(4, 2, 8, 8)
    target = torch.randint(0, 3, (4,))
    logits = net(x)
    loss = F.cross_entropy(logits, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
table = nn.Embedding(9, 4)
rows = table(torch.tensor([1, 2, 2]))
probs = rows.softmax(-1)
total = probs.cumsum(0).prod(1).sum()
spread = rows.std() + torch.logsumexp(rows, 1).mean()
kept = torch.where(rows > 0, rows, rows * 0.5).pow(3)
(total + spread + kept.sum()).backward()
top = rows.topk(2, dim=1)
norm = torch.linalg.solve(torch.eye(4) * 3 + rows.T @ rows, torch.ones(4))
print(loss.item(), norm.sum().item())
