"""torch.ao.quantization: observers, rounding in training, and models whose modules compute with integers."""

from . import fake_quantize, observer, qconfig  # noqa: F401
from .fake_quantize import *
from .fuse_modules import fuse_modules, fuse_modules_qat
from .observer import *
from .observer import _PartialWrapper  # noqa: F401
from .qconfig import *
from .quantize import *
from .stubs import *
