"""Operators that write into their first argument."""

from .. import dtypes as dt
from ..autograd import FunctionNode, Saved, check_captured, check_inplace, edge, forward, meta_of, of_in_place, rebase
from ..autograd.tangents import carry, innermost
from ..backend import backend
from ..classes import dispatching
from ..context import CONTEXT, PROCESS
from ..registry import T
from ..tensor import Tensor, alias, check_writable
from ..versions import INFERENCE
from ..warn import warn
from .dispatch import dispatch_name, handle, intercepted, requires_grad
from .out import check_overlap, is_expanded, refuse_expanded, write
from .overload import resolve
from .promotion import COMPLEX_TO_FLOAT
from .tracing import traced


def inplace(op, self, args):
    """Compute an in-place operator, write the result into self, and return self."""
    if PROCESS.versions or self._vc is INFERENCE:
        check_writable(self)
        check_captured(self, lambda: dispatch_name(op, args, "_").replace(".", "::", 1).removesuffix(".default"))
    options = op.options
    if (self._storage is not None or options.apart) and self.__class__ not in dispatching:
        check_overlap(op, self, args[1:], 1)
    if CONTEXT.grad and (self._requires_grad or self._view is not None):
        check_inplace(self, *args[1:])
    instead = options.operator
    if instead is not None and all(a is None for a in args[2:]):
        op, args = instead, args[:2]
    if PROCESS.duals and op.fn is None and (level := innermost(args)) is not None:
        return forward.inplace(op, args, level, inplace)
    recording = CONTEXT.grad and requires_grad(op, args)
    if PROCESS.interceptors and (taken := _taken_over(op, self, args, recording)) is not None:
        return taken
    if op.fn is not None:
        return _composite(op, self, args, recording)
    if recording and op.derivative is None:
        return _without_formula(op, self, args)
    if op.promote is not None and not recording and backend(self.device).update(op, self, args):
        self._bump()
        return self
    if is_expanded(self) and _on_expanded(op, self, args, recording):
        return self
    kernel = backend(self.device).inplace(op)
    return _computed(op, args, recording) if kernel is None else _by_kernel(op, self, args, recording, kernel)


def _by_kernel(op, self, args, recording, kernel):
    read = args
    if op.prepare is not None:
        args = op.prepare(*args)
        read = read if op.options.saves_given else args
    op.meta(*args)
    self = _in_kernel(op, self, args, recording, kernel, read=read)
    self._bump()
    return self


def _without_formula(op, self, args):
    """Run an operator without a derivative, which is not recorded.

    If its result is constant, a node with zero gradients is recorded.
    """
    tensors = (self, *(a for a in args[1:] if isinstance(a, Tensor)))
    edges, metas = tuple(map(edge, tensors)), tuple(map(meta_of, tensors))
    with CONTEXT.set(grad=False):
        inplace(op, self, args)
    if op.options.constant:
        zeros = lambda g: tuple(
            None if e is None else T.zeros(shape, dtype=dtype, device=device)
            for e, (shape, dtype, device) in zip(edges, metas)
        )
        rebase(
            self, FunctionNode(f"{op.name.title()}Backward{len(tensors) - 1}", zeros, edges, metas, (meta_of(self),))
        )
    return self


def _taken_over(op, self, args, recording):
    """Return the result if the tracer or an interceptor takes the call, else None."""
    if CONTEXT.tracer is not None:
        return traced(op, args, lambda *args: inplace(op, args[0], args), "_")
    if not intercepted(args):
        return None
    if not recording and _named(op, args):
        return _in_kernel(op, self, args, False, lambda *args: handle(op, args, lambda *args: _below(op, args), "_"))
    if op.fn is not None and op.derivative is None:
        return None
    recording = recording and op.derivative is not None
    return _in_kernel(
        op, self, args, recording, lambda *args: handle(op, args, lambda *args: _below(op, args), "_"), keep=True
    )


def _named(op, args):
    """Whether PyTorch's dispatcher has the in-place operator as one that is not implicitly composite."""
    found = resolve(op, args, "_")
    return found is not None and not found[0].implicit


def _below(op, args):
    return _composite(op, args[0], args, False) if op.fn is not None else _computed(op, args)


def _on_expanded(op, self, args, recording):
    """Handle an in-place operator on an expanded tensor; return whether the work is done.

    Most operators raise an error.
    """
    if not op.options.expanded:
        refuse_expanded(self)
    warn(
        f"Use of {op.name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
        f"operation. This also applies to advanced indexing e.g. {op.options.expanded}"
    )
    if op.promote is None or recording:
        return False
    _, mask, value = args  # an element in memory is masked if the mask holds for any of its positions
    shared = [d for d, (n, stride) in enumerate(zip(self._shape, self.stride())) if n > 1 and stride == 0]
    once = self
    for d in shared:
        once = once.narrow(d, 0, 1)
    inplace(op, once, (once, mask.expand(self._shape).any(shared, keepdim=True), value))
    return True


def _composite(op, self, args, recording):
    function = op.fn if op.derivative is None else op.make_call()
    r = function(*(past(self), *args[1:]) if recording else args)
    _check_result(op, args, r)
    if op.options.irreversible is not None and op.options.irreversible(*args) is not None and r._grad_fn is not None:
        r._grad_fn = _of_in_place(op, r._grad_fn, args)
    if CONTEXT.grad and (r._requires_grad or self._requires_grad) or PROCESS.duals and innermost((self, r)) is not None:
        if (
            PROCESS.active
            or self._view is not None
            or r._view is not None
            or r._grad_fn is None
            or r.dtype is not self.dtype
        ):
            return Tensor.copy_(self, r)
        node, nr = r._grad_fn, r._output_nr  # self takes over the history of the result
        write(self, r)
        rebase(self, node, nr)
        return self
    write(self, r)
    return self


def _in_kernel(op, self, args, recording, kernel, keep=False, read=None):
    """Run a kernel that writes into its first argument itself.

    keep: the kernel may overwrite values that a formula reads.
    read: the arguments that formulas read, if they are other ones.
    """
    node = None
    if recording:
        first = _before(op, args[0]) if keep else args[0]
        node = op.record(alias(self), (first, *(read or args)[1:]))
    if self.__class__ in dispatching:
        version = self._version
        kernel(*args)
        if self._version == version:
            self._bump()
    else:
        kernel(*args)
    if node is not None:
        if keep and node.outs:
            node.outs = [Saved(self, node, 0)]
        rebase(self, _of_in_place(op, node, args))
    return self


def _of_in_place(op, node, args):
    found = op.options.irreversible
    return node if found is None else of_in_place(node, found(*args))


def _computed(op, args, recording=False):
    """Compute the operator's result and write it over its first argument."""
    self = args[0]
    with CONTEXT.set(grad=False):
        r = op.make_call()(*args)
    _check_result(op, args, r)
    if not recording:
        write(self, r)
        return self
    first = _before(op, self)
    node = op.record(r, (first, *op.saving(args)[1:]))
    write(self, r)
    if node.outs:
        node.outs = [Saved(self, node, 0)]
    rebase(self, _of_in_place(op, node, args))
    return self


def _before(op, self):
    """Return what an in-place operator saves of self: a copy if a formula reads it."""
    return past(self) if any(0 in arguments for _, arguments, _ in op.compiled_derivative.reads) else self


def past(self):
    """Return a copy of self with its history: the value before an in-place operator."""
    with CONTEXT.set(grad=False):
        old = T.clone(self)
    old._requires_grad, old._grad_fn, old._output_nr = self._requires_grad, self._get_grad_fn(), self._output_nr
    return carry(self, old, T.clone) if PROCESS.duals else old


def _check_result(op, args, r):
    self = args[0]
    if op.promote is COMPLEX_TO_FLOAT and self.dtype.is_complex:
        raise RuntimeError(f"In-place {op.name} is not supported for complex tensors.")
    if r._shape != self._shape:
        raise RuntimeError(f"output with shape {list(self._shape)} doesn't match the broadcast shape {list(r._shape)}")
    if not dt.can_cast(r.dtype, self.dtype):
        by_numbers = "clamp" in op.name and not any(isinstance(a, Tensor) for a in args[1:])
        spoken = dt.c_name if by_numbers else dt.scalar_name
        raise RuntimeError(
            f"result type {dt.scalar_name(r.dtype)} can't be cast to the desired output type {spoken(self.dtype)}"
        )
