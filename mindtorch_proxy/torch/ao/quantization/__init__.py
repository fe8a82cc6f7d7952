"""torch.ao.quantization: observers, fake quantization, and the conversion of models to quantized modules."""

from . import fake_quantize, observer, qconfig, utils  # noqa: F401
from .fake_quantize import *
from .fuse_modules import fuse_modules, fuse_modules_qat
from .fuser_method_mappings import *
from .observer import *
from .observer import _PartialWrapper  # noqa: F401
from .qconfig import *
from .quant_type import *
from .quantization_mappings import *
from .quantize import *
from .stubs import *


def default_eval_fn(model, calib_data):
    """Call a model on the inputs of (input, target) pairs, so that its observers see them."""
    for data, _target in calib_data:
        model(data)
