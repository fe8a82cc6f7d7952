"""Neural networks: modules, parameters, initialization and utilities."""

from importlib import import_module as _import_module

from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

# Import from each file: type checkers follow the __all__ of a file, but not a list that is computed from several.
from .modules.activation import *
from .modules.adaptive import *
from .modules.batchnorm import *
from .modules.channelshuffle import *
from .modules.container import *
from .modules.conv import *
from .modules.distance import *
from .modules.dropout import *
from .modules.flatten import *
from .modules.fold import *
from .modules.instancenorm import *
from .modules.linear import *
from .modules.linear_cross_entropy_options import *
from .modules.loss import *
from .modules.module import Module
from .modules.normalization import *
from .modules.padding import *
from .modules.pixelshuffle import *
from .modules.pooling import *
from .modules.rnn import *
from .modules.sparse import *
from .modules.transformer import *
from .modules.upsampling import *
from . import attention, functional, init, modules, parallel, parameter, utils
from .parallel import DataParallel


def __getattr__(name):
    if name in (
        "intrinsic",
        "qat",
        "quantized",
    ):  # the older names of parts of torch.ao.nn, which are imported on first access
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def factory_kwargs(kwargs):
    """Return the device, dtype and memory_format in kwargs.

    They may be given directly or in a nested 'factory_kwargs'. Any other key, or a key that is given in both places,
    raises TypeError.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    if unexpected := kwargs.keys() - simple - {"factory_kwargs"}:
        raise TypeError(f"unexpected kwargs {unexpected}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in result:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        result[key] = kwargs[key]
    return result
