import torch
from torch import nn

torch.manual_seed(0)

from torch.nn.utils.rnn import pack_padded_sequence as pk
from torch.nn.utils.rnn import pad_packed_sequence as pd

m = nn.LSTM(3, 4, batch_first=True)
o, h = m(pk(torch.randn(3, 5, 3), [5, 3, 2], batch_first=True))
o, l = pd(o, batch_first=True)
o.sum().backward()
print(o.sum(), l)
