"""Neural networks: modules, parameters, initial values, utilities."""

from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .modules import *  # noqa: F401, F403
from . import attention, functional, init, modules, parallel, parameter, utils
from .parallel import DataParallel


def factory_kwargs(kwargs):
    """The device, dtype and memory_format in kwargs, which may hold them directly or in their own 'factory_kwargs'."""
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
