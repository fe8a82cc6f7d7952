import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class B(nn.Module):
    def __init__(s, d=16, h=2):
        super().__init__()
        s.n1 = nn.LayerNorm(d)
        s.n2 = nn.LayerNorm(d)
        s.q = nn.Linear(d, 3 * d)
        s.p = nn.Linear(d, d)
        s.m = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        s.h = h

    def forward(s, x):
        b, t, d = x.shape
        q, k, v = s.q(s.n1(x)).view(b, t, 3, s.h, d // s.h).permute(2, 0, 3, 1, 4)
        a = (q @ k.transpose(-1, -2)) / math.sqrt(d // s.h)
        a = a.masked_fill(torch.triu(torch.ones(t, t), 1).bool(), -math.inf).softmax(-1)
        x = x + s.p((a @ v).transpose(1, 2).reshape(b, t, d))
        return x + s.m(s.n2(x))


e = nn.Embedding(20, 16)
bl = nn.Sequential(B(), B())
hd = nn.Linear(16, 20)
ps = [*e.parameters(), *bl.parameters(), *hd.parameters()]
o = torch.optim.AdamW(ps, lr=1e-3)
for i in range(4):
    t = torch.randint(0, 20, (2, 9))
    l = F.cross_entropy(hd(bl(e(t[:, :-1]))).flatten(0, 1), t[:, 1:].flatten())
    o.zero_grad()
    l.backward()
    o.step()
print(l)
ids = torch.zeros(1, 1, dtype=torch.long)
for i in range(5):
    ids = torch.cat([ids, torch.multinomial(hd(bl(e(ids)))[:, -1].softmax(-1), 1)], 1)
print(ids)
