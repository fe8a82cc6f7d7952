"""torch.distributed.tensor.experimental under its older name."""

from ..tensor.experimental import *
from ..tensor.experimental import __all__  # noqa: F401
