"""torch.autograd.function."""

from mindtorch_proxy.runtime.autograd import BackwardCFunction, Function, FunctionCtx, FunctionMeta, once_differentiable  # noqa: F401
from mindtorch_proxy.runtime.autograd.modes import differentiating as _differentiating  # noqa: F401
from mindtorch_proxy.runtime.versions import made_inside as _made_inside  # noqa: F401
from mindtorch_proxy.runtime.autograd.function import transforming as _transforming  # noqa: F401
from mindtorch_proxy.runtime.call.dispatch import batching as _batching, tensors_of as _tensors_of  # noqa: F401
from mindtorch_proxy.runtime.classes import for_each as _for_each  # noqa: F401

__all__ = ["FunctionCtx", "FunctionMeta", "Function", "once_differentiable", "BackwardCFunction", "InplaceFunction"]


class InplaceFunction(Function):
    """A Function with a flag ``inplace``, for programs in PyTorch's old style that create and call an object."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace
