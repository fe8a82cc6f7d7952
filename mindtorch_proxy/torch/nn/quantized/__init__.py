"""torch.nn.quantized: the older name of torch.ao.nn.quantized."""

from torch.ao.nn.quantized import *

from . import dynamic, functional
