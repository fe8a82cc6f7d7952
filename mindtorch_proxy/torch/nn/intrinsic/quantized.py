"""torch.nn.intrinsic.quantized: the older name of torch.ao.nn.intrinsic.quantized."""

from torch.ao.nn.intrinsic.quantized import *
