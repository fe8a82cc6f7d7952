"""torch.autograd.variable: Variable is Tensor."""

from mindtorch_proxy.runtime.autograd import queue_callback, run_backward
from mindtorch_proxy.runtime.tensor import Tensor


class ImperativeEngine:
    """The part of the engine's interface that programs use, such as callbacks at the end of the running backward."""

    queue_callback = staticmethod(queue_callback)
    run_backward = staticmethod(run_backward)


class _VariableMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """Variable(t, requires_grad=False) returns t as a leaf, as in PyTorch since 0.4."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data, requires_grad=False, volatile=None):
        return data.detach()._requiring_grad(requires_grad)


__all__ = ["Variable"]
