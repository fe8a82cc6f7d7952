"""Below autograd: from an operator's arguments to the kernel of their device, and the place where that can be intercepted."""

from contextlib import contextmanager

from ..autograd.modes import MODE
from ..backend import backend
from ..device import HOST, META
from ..tensor import Tensor, meta_tensor
from .geometry import broadcast_shapes, in_order, memory_order, permuted, strides_in_order
from .promotion import promote
from .state import LOCAL, NUMBERS_OR_NONE, activate


def tensors_of(args):
    """The tensors among the arguments, those in lists included."""
    for a in args:
        if isinstance(a, Tensor):
            yield a
        elif a.__class__ is list or a.__class__ is tuple:
            yield from (t for t in a if isinstance(t, Tensor))


def requires_grad(op, args):
    for i in op.tensor_args:
        a = args[i]
        if a.__class__ is list or a.__class__ is tuple:
            for t in a:
                if t is not None and t._requires_grad:
                    return True
        elif a is not None and a.__class__ not in NUMBERS_OR_NONE and a._requires_grad:
            return True
    return False


def common_device(op, args):
    """The device of a call; numbers in tensors without dimensions, in the host's memory, may meet any device, others must agree."""
    for i in op.tensor_args:
        if getattr(args[i], "device", None) is not HOST:
            break
    else:
        return HOST
    device = number = None
    for t in tensors_of([args[i] for i in op.tensor_args]):
        d = t.device
        if d is device:
            continue
        if device is None and (t._shape or d is not HOST):
            device = d
        elif not t._shape and d is HOST:
            number = d
        else:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {device} and {d}! (when checking argument in method {op.full})"
            )
    return device or number or HOST


def elementwise(op, args):
    """Promotion, devices, broadcasting, memory order, kernel. Returns a fresh tensor."""
    operands, attributes = [args[i] for i in op.operands], [args[i] for i in op.attributes]
    tensors = [t for t in operands if isinstance(t, Tensor)]
    device = tensors[0].device if len(tensors) == 1 else common_device(op, args)
    compute, dtype = promote(op, operands, args)
    if not tensors and not op.options.numbers:
        got = ", ".join(type(t).__name__ for t in operands)
        raise TypeError(f"{op.name.lstrip('_')}() received an invalid combination of arguments - got ({got})")
    shape = tuple(tensors[0]._shape if len(tensors) == 1 else broadcast_shapes((), *[t._shape for t in tensors]))
    order = None
    for t in tensors:
        if t._stride is not None and not op.options.contiguous:
            order = memory_order(shape, tensors)
            break
    if device is META:
        return meta_tensor(shape, dtype, strides_in_order(shape, order) if order else None)
    plan = backend(device).plan(op, compute, device, operands)
    if order is not None:
        operands = [permuted(t, order) if isinstance(t, Tensor) and t._shape else t for t in operands]
        return in_order(plan.elementwise(operands, attributes, tuple(shape[i] for i in order), dtype), shape, order)
    out = plan.elementwise(operands, attributes, shape, dtype)
    if plan.direct and dtype is plan.out and not (attributes and not op.options.constant_attributes or op.options.keep):
        op.plans[compute, device] = plan
    return out


def general(op, args, device=None):
    """Meta function and kernel of an operator that is not elementwise. Returns a fresh tensor or a tuple of them."""
    device = device or common_device(op, args)
    result = op.meta(*args)
    dtype = next((t.dtype for t in tensors_of([args[i] for i in op.tensor_args])), None) or (result[0] if result.__class__ is list else result)[1]
    plan = backend(device).plan(op, dtype, device, args)
    out = plan.run(result, args)
    if plan.direct and (not op.tensor_args or op.first is not None and args[op.first].__class__ not in NUMBERS_OR_NONE):
        op.plans[dtype, device] = plan
    return out


# ------------------------------------------------------------------------------------------------ interception
@contextmanager
def intercept(handler):
    """Inside, in this thread, each operator below autograd and autocast goes to handler(name, args, proceed) instead of its kernel.

    name: PyTorch's, as "aten.add.Tensor". args: in the schema's order, as they were given. proceed(*args) runs the operator without gradients
    and without this handler (an outer one sees it); proceed.op is the declared operator, `with proceed.outer():` lets whole functions do the same.
    What the handler returns is the result, on which autograd hangs the node of the call.
    Functions over other operators are not seen themselves: what they call is.
    """
    previous = LOCAL.interceptors
    LOCAL.interceptors = (*previous, handler)
    activate(1, 1)
    try:
        yield
    finally:
        activate(-1, -1)
        LOCAL.interceptors = previous


def handle(op, args, run, suffix=""):
    """Hand a call to the innermost handler. run(*args): what it is without one; suffix: "_" for in-place operators."""
    *outer, handler = stack = LOCAL.interceptors

    def proceed(*args):
        recording, MODE.grad, LOCAL.interceptors = MODE.grad, False, tuple(outer)
        try:
            return handle(op, args, run, suffix) if outer else run(*args)
        finally:
            MODE.grad, LOCAL.interceptors = recording, stack

    @contextmanager
    def inside():
        """Operators called inside go to the outer handlers."""
        LOCAL.interceptors = tuple(outer)
        try:
            yield
        finally:
            LOCAL.interceptors = stack

    proceed.op, proceed.outer = op, inside
    recording, MODE.grad = MODE.grad, False
    try:
        return handler(dispatch_name(op, args, suffix), args, proceed)
    finally:
        MODE.grad = recording


def dispatch_name(op, args, suffix=""):
    """PyTorch's name of a call below autograd: its operator and overload."""
    name, _, overload = (op.options.aten or op.key).partition(".")
    if not overload:
        two = op.namespace != "special" and any(op.schema.args[i].base == "Tensor|Scalar" for i in op.operands[1:])
        overload = "Tensor" if two else "default"
    namespace = op.namespace.rpartition(".")[2] + "_" if op.options.aten is None and op.namespace in ("linalg", "fft", "special") else ""
    return f"aten.{namespace}{name}{suffix}.{overload}"
