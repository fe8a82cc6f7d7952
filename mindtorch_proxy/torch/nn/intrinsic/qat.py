"""torch.nn.intrinsic.qat: the older name of torch.ao.nn.intrinsic.qat."""

from torch.ao.nn.intrinsic.qat import *
