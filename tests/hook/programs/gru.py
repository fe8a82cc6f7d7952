import torch
from torch import nn

torch.manual_seed(0)

for c in (nn.GRU, nn.RNN, nn.LSTM):
    m = c(3, 4, 2, bidirectional=True, batch_first=True)
    o = m(torch.randn(2, 5, 3))[0]
    o.sum().backward()
    print(o.mean())
