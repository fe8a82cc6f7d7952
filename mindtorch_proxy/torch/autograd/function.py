"""torch.autograd.function."""

from mindtorch_proxy.runtime.autograd import BackwardCFunction, Function, FunctionCtx, FunctionMeta, once_differentiable  # noqa: F401
from mindtorch_proxy.runtime.autograd.function import transforming as _transforming  # noqa: F401

__all__ = ["FunctionCtx", "FunctionMeta", "Function", "once_differentiable", "BackwardCFunction", "InplaceFunction"]


class InplaceFunction(Function):
    """A Function that may be told to work in place. Kept for older programs."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace
