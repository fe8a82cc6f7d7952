"""torch._tensor: the Tensor class, and how its subclasses are unpickled."""

from mindtorch_proxy.runtime.serialization import _rebuild_from_type_v2  # noqa: F401
from mindtorch_proxy.runtime.tensor import Tensor


def _rebuild_from_type(func, type, args, dict):
    if type is Tensor:
        return func(*args)
    r = func(*args).as_subclass(type)
    r.__dict__.update(dict)
    return r
