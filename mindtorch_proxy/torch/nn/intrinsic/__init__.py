"""torch.nn.intrinsic: the older name of torch.ao.nn.intrinsic."""

from torch.ao.nn.intrinsic import *
from torch.ao.nn.intrinsic import _FusedModule

from . import qat, quantized
