"""The methods of tensors that belong to autograd."""

from ...tracebacks import shorten
from ..classes import dispatching
from ..context import CONTEXT, PROCESS
from ..registry import OPERATORS, T
from ..tensor import Tensor, refuse_in_transforms, tensor_method
from ..warn import warn_once
from . import engine
from .graph import DETACHED, named, view_as_edge
from .hooks import RemovableHandle
from .modes import check_captured
from .tangents import carry, visible


def grad_fn(self):
    """The node that created the tensor, or None for a leaf."""
    node = self._get_grad_fn()
    return node if node is None else named(node)


Tensor.grad_fn = property(grad_fn)


@tensor_method
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulate gradients of this tensor into the graph's leaves."""
    try:
        engine.backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs=inputs)
    except Exception as error:
        shorten(error)
        raise


def _warning(convert):
    """Wrap a conversion to a number, so that it warns about a tensor that requires grad."""

    def method(self):
        if self._requires_grad and CONTEXT.grad:
            warn_once(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider "
                "using tensor.detach() first."
            )
        return convert(self)

    method.__name__, method.__qualname__ = convert.__name__, convert.__qualname__
    return method


Tensor.__float__, Tensor.__complex__ = _warning(Tensor.__float__), _warning(Tensor.__complex__)


@tensor_method
def detach_(self):
    """Detach the tensor from its graph in place; an error for views."""
    if PROCESS.versions:
        check_captured(self, lambda: "aten::detach_")
    if self._view is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, "
            "and hence detach_() cannot be called on these gradients. To fix this error, "
            "please refer to the Optimizer.zero_grad() function in torch/optim/"
            "optimizer.py as the solution."
        )
    if self._grad_fn is not None:
        DETACHED[id(self)] = self
    self._grad_fn, self._requires_grad, self._output_nr, self._hooks = None, False, 0, None
    if PROCESS.duals:
        for level in visible():
            level.forget(self)
    return self


@tensor_method
def register_hook(self, hook):
    """Call a function with the gradient when it is computed; what it returns replaces the gradient."""
    if not self._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    fn = self._get_grad_fn()
    if self._hooks is None:
        self._hooks = {}
        if fn is not None:
            fn._tensor_hooks = (*fn._tensor_hooks, (self._output_nr, self._hooks))
    return RemovableHandle(self._hooks, hook)


@tensor_method
def register_post_accumulate_grad_hook(self, hook):
    """Call a function with a leaf after its gradient has been accumulated."""
    if not self._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._get_grad_fn() is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = self.__dict__.setdefault("_post_accumulate_grad_hooks", {})
    return RemovableHandle(hooks, hook)


@tensor_method
def retain_grad(self):
    """Keep the gradient of a non-leaf tensor in ``.grad``."""
    refuse_in_transforms("retain_grad")
    if not self._requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    fn = self._get_grad_fn()
    if fn is not None and not self._retains:
        self._retains = True
        fn.retain(self)


@tensor_method
def as_subclass(self, cls):
    """Return the same tensor as an instance of a subclass; gradients pass through."""
    if not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass(): argument must be a subclass of Tensor, not {cls}")
    seen = self
    if self.__class__ not in dispatching and not CONTEXT.interceptors:
        seen = OPERATORS["torch"]["_alias"][0].call(self)  # a view, so that a write through either is recorded
    t = seen._instance_of(cls)
    t._requires_grad, t._grad_fn, t._output_nr = seen._requires_grad, seen._get_grad_fn(), seen._output_nr
    if seen is not self:
        t._view = seen._view
    elif t._requires_grad and t._grad_fn is None:
        view_as_edge(t, self)
    return carry(seen, t) if PROCESS.duals else t


@tensor_method
def numpy(self, *, force=False):
    """Return a NumPy array over the same memory.

    While gradients are recorded, a tensor that requires them raises an error unless `force` is given.
    """
    if force:
        return T.resolve_neg(T.resolve_conj(self.detach().cpu()))._as_numpy()
    if self._requires_grad and CONTEXT.grad and self.__class__ not in dispatching:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return self._as_numpy()
