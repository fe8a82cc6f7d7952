"""torch.nn.qat: the older name of torch.ao.nn.qat."""

from torch.ao.nn.qat import *
