"""Below autograd: from an operator's arguments to the kernel of their device.

This is also where calls can be intercepted.
"""

from contextlib import contextmanager

from ..backend import backend
from ..classes import NUMBERS_OR_NONE, dispatching, lazy
from ..context import CONTEXT, activate
from ..device import HOST, META
from ..tensor import Tensor, meta_tensor
from .geometry import broadcast_shapes, in_order, memory_order, permuted, strides_in_order
from .overload import name_of, resolve
from .promotion import promote


def tensors_of(args):
    """Yield the tensors among the arguments, including those in lists of lists."""
    for a in args:
        if isinstance(a, Tensor):
            yield a
        elif a.__class__ is list or a.__class__ is tuple:
            yield from tensors_of(a)


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
    """Return the device of a call.

    CPU tensors without dimensions may be combined with any device; all others must agree.
    """
    for i in op.tensor_args:
        a = args[i]
        for t in a if a.__class__ is list or a.__class__ is tuple else (a,):
            if getattr(t, "device", HOST) is not HOST:
                return _agreed_device(op, args)
    return HOST


def _agreed_device(op, args):
    """Return the device of the tensors among the arguments of which one is not on the CPU."""
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
            if META in (device, d):
                raise RuntimeError(f"Tensor on device {d} is not on the expected device {device}!")
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{device} and {d}! (when checking argument in method {op.full})"
            )
    return device or number or HOST


def elementwise(op, args):
    """Run an elementwise operator: promotion, device, broadcasting, memory order, kernel. Returns a new tensor."""
    operands, attributes = [args[i] for i in op.operands], [args[i] for i in op.attributes]
    if op.hosted:
        first = operands[0]
        if op.options.keep:  # the dtype of the values decides, not that of a mask
            first = next(
                (t for i, t in enumerate(operands) if i not in op.options.keep and t.__class__ not in NUMBERS_OR_NONE),
                None,
            )
        if first.__class__ not in NUMBERS_OR_NONE:
            plan = op.hosted.get(first.dtype)
            out = plan and plan.alike(operands, attributes)
            if out is not None:
                return out
    tensors = [t for t in operands if isinstance(t, Tensor)]
    device = tensors[0].device if len(tensors) == 1 else common_device(op, args)
    try:
        compute, dtype = promote(op, operands, args)
    except NotImplementedError:  # PyTorch's kernels check the shapes first
        broadcast_shapes((), *[t._shape for t in tensors])
        raise
    if not tensors and not op.options.numbers:
        got = ", ".join(type(t).__name__ for t in operands)
        raise TypeError(f"{op.name.lstrip('_')}() received an invalid combination of arguments - got ({got})")
    shape = tuple(tensors[0]._shape if len(tensors) == 1 else broadcast_shapes((), *[t._shape for t in tensors]))
    order = None
    for t in tensors:
        if t._stride is not None and not op.options.contiguous:
            order = memory_order(shape, operands, op.options.last_leads)
            break
    if device is META:
        return meta_tensor(shape, dtype, strides_in_order(shape, order) if order else None)
    plan = backend(device).plan(op, compute, device, operands)
    if order is not None:
        operands = [permuted(t, order) if isinstance(t, Tensor) and t._shape else t for t in operands]
        return in_order(plan.elementwise(operands, attributes, tuple(shape[i] for i in order), dtype), shape, order)
    out = plan.elementwise(operands, attributes, shape, dtype)
    if plan.direct and dtype is plan.out and not op.options.keep and op.may_be_direct(attributes, compute):
        op.plans[compute, device] = plan
    return out


def _first_tensor(op, args):
    for i in op.tensor_args:
        a = args[i]
        for t in a if a.__class__ is list or a.__class__ is tuple else (a,):
            if isinstance(t, Tensor):
                return t
    return None


def general(op, args, device=None):
    """Run the meta function and kernel of another operator. Returns a new tensor or a tuple of them."""
    device = device or common_device(op, args)
    result = op.meta(*args)
    tensor = _first_tensor(op, args)
    dtype = (result[0] if result.__class__ is list else result)[1] if tensor is None else tensor.dtype
    plan = backend(device).plan(op, dtype, device, args)
    out = plan.run(result, args)
    if plan.direct and (not op.tensor_args or op.first is not None and args[op.first].__class__ not in NUMBERS_OR_NONE):
        op.plans[dtype, device] = plan
    return out


# ------------------------------------------------------------------------------------------------ interception
@contextmanager
def intercept(handler):
    """In this thread, pass each operator below autograd and autocast to handler(name, args, proceed), not its kernel.

    name: PyTorch's, as "aten.add.Tensor".
    args: in the schema's order, as they were given.
    proceed(*args): runs the operator without gradients and without this handler; an outer handler sees it. proceed.op
    is the declared operator, `with proceed.outer():` lets whole functions run in this way, and proceed.resolve(args)
    returns PyTorch's schema and arguments.
    What the handler returns is the result, to which autograd attaches the node of the call.
    A function composed of other operators is passed on as a whole if PyTorch's dispatcher has it and no gradient flows
    through it; otherwise the operators that it calls are.
    """
    activate(1, 1)
    try:
        with CONTEXT.set(interceptors=(*CONTEXT.interceptors, handler)):
            yield
    finally:
        activate(-1, -1)


@contextmanager
def batching(handler):
    """In this thread, call handler(op, args) first for each operator; it may return NotImplemented.

    Unlike the calls that intercept() passes on, these are still above autograd. __torch_function__ of subclasses is
    enabled inside, even if it is disabled outside.
    """
    activate(1, 1)
    try:
        with CONTEXT.set(batches=handler, subclass_off=0):
            yield
    finally:
        activate(-1, -1)


class Call:
    """A call below autograd.

    It passes from the innermost handler outwards, then to the classes of its arguments and to the kernel.
    """

    __slots__ = ("op", "suffix", "run", "handlers", "native")

    def __init__(self, op, suffix, run, handlers, native=False):
        self.op, self.suffix, self.run, self.handlers, self.native = op, suffix, run, handlers, native

    def __call__(self, *args):
        """Run the operator without gradients and without this handler."""
        with CONTEXT.set(grad=False, interceptors=self.handlers):
            return handle(self.op, args, self.run, self.suffix)

    def outer(self):
        """Return a context in which operators go to the outer handlers."""
        return CONTEXT.set(interceptors=self.handlers)

    def resolve(self, args):
        """Return PyTorch's (schema, args, kwargs), or None."""
        return resolve(self.op, args, self.suffix, self.native)


def intercepted(args):
    """Whether a call with these arguments is intercepted before its kernel.

    Only needs to be called while PROCESS.interceptors is not 0.
    """
    if CONTEXT.interceptors or LIBRARY_KERNELS:
        return True
    return not CONTEXT.dispatch_off and bool(dispatching) and any(t.__class__ in dispatching for t in tensors_of(args))


def _below(**more):
    """Return a context below autograd and autocast, in which nothing is recorded.

    Inside, CONTEXT.recording is whether gradients were recorded above.
    """
    return CONTEXT.set(grad=False, autocast=None, recording=CONTEXT.grad or CONTEXT.recording, **more)


def handle(op, args, run, suffix=""):
    """Pass a call to the innermost handler or, without one, to the classes of its arguments or to run(*args).

    suffix: "_" for in-place operators.
    """
    stack, native = CONTEXT.interceptors, CONTEXT.native
    with _below(native=False):
        if lazy and (cls := next((t.__class__ for t in tensors_of(args) if t.__class__ in lazy), None)) is not None:
            return cls._call(op, args, run, suffix)
        if stack:
            return stack[-1](dispatch_name(op, args, suffix, native), args, Call(op, suffix, run, stack[:-1], native))
        if not CONTEXT.dispatch_off and any(t.__class__ in dispatching for t in tensors_of(args)):
            return CLASSES.handler(dispatch_name(op, args, suffix, native), args, Call(op, suffix, run, (), native))
        return _overridden_kernel(op, args, run, suffix) if LIBRARY_KERNELS else run(*args)


LIBRARY_KERNELS: dict = {}  # (PyTorch's full name, device type) -> what torch.library runs instead of the kernel


def _overridden_kernel(op, args, run, suffix):
    found = resolve(op, args, suffix)
    if found is not None:
        schema, given, named = found
        device = next((t.device for t in tensors_of(args)), HOST).type
        key = schema.full_name, device
        kernel = LIBRARY_KERNELS.get(key)
        if kernel is not None and key not in CONTEXT.in_library:
            # inside, and in this thread only, the operator is the original one
            with CONTEXT.set(dispatch_off=CONTEXT.dispatch_off + 1, in_library=(*CONTEXT.in_library, key)):
                return kernel(*given, **named)
    return run(*args)


class Overload(Call):
    """A call of an operator written in Python; `op` is its overload."""

    __slots__ = ("given",)

    def __init__(self, overload, run, handlers, given):
        super().__init__(overload, "", run, handlers)
        self.given = given

    def __call__(self, *args):
        raise NotImplementedError("operators written in Python are called by their overload")

    def resolve(self, args):
        return self.op._schema, *self.given


def hand_over(overload, args, kwargs, run):
    """Do the same as handle() for an operator written in Python, which run(args, kwargs) runs."""
    flat, stack = (*args, *kwargs.values()), CONTEXT.interceptors
    with _below():
        if stack:
            return stack[-1](str(overload), flat, Overload(overload, run, stack[:-1], (args, kwargs)))
        if not CONTEXT.dispatch_off and any(t.__class__ in dispatching for t in tensors_of(flat)):
            return CLASSES.handler(str(overload), flat, Overload(overload, run, (), (args, kwargs)))
        return run(args, kwargs)


class CLASSES:
    """handler(name, args, call): calls the __torch_dispatch__ of the arguments; set by torch._ops."""

    handler = None


def dispatch_name(op, args, suffix="", native=False):
    """Return PyTorch's name of a call below autograd: its operator and overload."""
    found = resolve(op, args, suffix, native)
    if found is not None:
        return f"aten.{found[0].name[6:]}.{found[0].overload_name or 'default'}"
    name, overload = name_of(op)
    return f"aten.{name}{suffix}.{overload or 'default'}"
