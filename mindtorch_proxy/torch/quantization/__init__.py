"""torch.quantization: the older name of torch.ao.quantization."""

from torch.ao.quantization import default_eval_fn  # noqa: F401

from .fake_quantize import *
from .fuse_modules import fuse_modules  # noqa: F401
from .fuser_method_mappings import *
from .observer import *
from .qconfig import *
from .quant_type import *
from .quantization_mappings import *
from .quantize import *
from .stubs import *
from .utils import *
