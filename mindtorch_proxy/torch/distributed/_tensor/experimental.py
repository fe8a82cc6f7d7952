"""Older import path of torch.distributed.tensor.experimental."""

from ..tensor.experimental import *
from ..tensor.experimental import __all__  # noqa: F401
