"""torch.autograd.function."""

from mindtorch_proxy.runtime.autograd import BackwardCFunction, Function, FunctionCtx, FunctionMeta, once_differentiable  # noqa: F401
from mindtorch_proxy.runtime.autograd.modes import differentiating as _differentiating  # noqa: F401
from mindtorch_proxy.runtime.autograd.function import transforming as _transforming  # noqa: F401

__all__ = ["FunctionCtx", "FunctionMeta", "Function", "once_differentiable", "BackwardCFunction"]
