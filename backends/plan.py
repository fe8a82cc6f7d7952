"""Kernels, and plans that bind a kernel to an operator, a device and a dtype.

A plan also converts the arguments and the results.
"""

from functools import partial

from ..runtime import decompositions, pyboost  # noqa: F401  (entered in the registry)
from ..runtime.classes import NUMBERS_OR_NONE
from ..runtime.context import CONTEXT
from ..runtime.registry import declared_at
from ..runtime.tensor import Tensor, numel, wrap
from .thresholds import threshold

KINDS = ("pyboost", "legacy", "composite", "numpy")  # in the order of preference
SPREAD = float("inf")  # above=SPREAD: preferred for large results to which some operand is broadcast
SPREAD_FROM = threshold(16384)


class Kernel:
    """One way to compute an operator.

    kind: one of KINDS.
    fn: for pyboost and legacy a function (prim, *args) that maps the operator's arguments, or None; else the kernel
    itself.
    dtypes: those that it takes, or None for all.
    why: the reason why no earlier kind is used.
    above: the number of elements from which it is preferred, or 0.
    tensors: whether fn takes the runtime's tensors, because it reads strides, or values on the host, before it calls
    the primitive.
    when: a function of the operator's arguments (the runtime's tensors). The kernel is used for the calls for which it
    is true, and only for those.
    where: (file, line) of the table's entry, or of the declaration that names the primitive.
    """

    __slots__ = (
        "kind",
        "fn",
        "primitive",
        "init",
        "attrs",
        "dtypes",
        "why",
        "above",
        "broadcasts",
        "tensors",
        "when",
        "where",
    )

    def __init__(
        self,
        kind,
        fn,
        primitive=None,
        dtypes=None,
        why="",
        above=0,
        broadcasts=True,
        init=(),
        attrs=None,
        tensors=False,
        when=None,
        where=None,
    ):
        self.where = where or declared_at()
        self.kind, self.fn, self.primitive, self.dtypes, self.why, self.broadcasts = (
            kind,
            fn,
            primitive,
            dtypes,
            why,
            broadcasts,
        )
        self.above = above if above in (0, SPREAD) else threshold(above)
        self.init, self.attrs, self.tensors, self.when = init, attrs or {}, tensors, when

    def takes(self, dtype):
        return self.dtypes is None or dtype in self.dtypes

    def bind(self, op, target):
        """Return the callable that takes the operator's arguments."""
        if self.primitive is None:
            return self.fn
        prim = pyboost.primitive(self.primitive, *self.init, target=target, legacy=self.kind == "legacy", **self.attrs)
        mapping = self.fn or (op.prim_call if self.kind == "pyboost" and op.prim == self.primitive else None)
        return prim if mapping is None else partial(mapping, prim)


class Plan:
    """A kernel bound to an operator, a device and a dtype.

    work: the dtype that the kernel computes in, where it differs from `dtype`. Arguments of `dtype` are converted
    before the call, results after it.
    limit: the number of elements from which `larger` takes over, or 0 where `when` decides by the arguments.
    direct: whether later calls may use this plan without choosing again (call/pipeline.py).
    fn, raw, prim: the kernel. raw(prim, [args]) is the C function below fn, where fn passes its arguments on unchanged.
    out: the dtype of the kernel's result, known after its first call.
    numbers: Python numbers as what the kernel takes for them: 0-d tensors of the dtype.
    quick: what the direct way calls on the operands' NumPy arrays, where those are what the kernel takes; else None.
    certain: whether its results need no look: new arrays of the promised dtype.
    """

    __slots__ = """backend op device dtype work kind primitive why where role fn raw prim out numbers limit larger
    direct calls enter single keep broadcasts half empty_ok when quick certain""".split()

    def __init__(self, backend, op, dtype, device, kernel, work=None, half=False):
        self.backend, self.op, self.device, self.dtype, self.work, self.half = backend, op, device, dtype, work, half
        self.kind, self.primitive, self.why, self.where, self.role = (
            kernel.kind,
            kernel.primitive,
            kernel.why,
            kernel.where,
            op.options.role,
        )
        self.fn = kernel.bind(op, backend.target)
        self.raw, self.prim = getattr(self.fn, "raw", None), getattr(self.fn, "prim", None)
        self.out = self.limit = self.larger = self.when = self.quick = None
        self.certain = False
        self.keep, self.broadcasts, self.empty_ok = op.options.keep, kernel.broadcasts, op.options.empty_ok
        self.numbers, self.calls = backend.numbers_of(dtype), 0
        self.direct = work is None
        self.enter = None if kernel.tensors else self.argument
        # single: the most common signature, with one tensor as the first argument
        self.single = op.tensor_args == [0] and self.enter is not None and op.schema.arguments[0].declared == "Tensor"
        backend.plans.append(self)

    def number(self, value):
        """Return a Python number as the 0-d tensor that the kernel takes for it."""
        return self.backend.number(value, self.dtype)

    # ------------------------------------------------------------ operators that are not elementwise
    def run(self, result, args):
        """Run the operator on its arguments; see runtime/backend.py."""
        if self.limit is not None and self.passes_on(result, args):
            return self.larger().run(result, args)
        several = result.__class__ is list
        if (
            not self.empty_ok
            and _is_empty(result[0] if several and result else result)
            and (not several or all(map(_is_empty, result)))
        ):
            return (
                tuple(self.backend.empty(*r[:2], self.device) for r in result)
                if several
                else self.backend.empty(*result[:2], self.device)
            )
        self.calls += 1
        r = self.compute(args if self.work is None else self.converted(args))
        return tuple(map(self.leave, r, result)) if several else self.leave(r, result)

    def passes_on(self, result, args):
        """Whether `larger` takes this call."""
        if self.when is not None:
            return self.when(*args)
        return (numel(args[0]._shape) if self.single else largest(result, args)) >= self.limit

    def compute(self, args):
        """Run the kernel on arguments of its dtype."""
        enter = self.enter
        if enter is None:
            return self.fn(*args)
        return self.fn(
            *[a if not t or a.__class__ in NUMBERS_OR_NONE else enter(a) for t, a in zip(self.op.is_tensor, args)]
        )

    def argument(self, a):
        """Convert a tensor, or a list of them, to what the kernel takes."""
        raise NotImplementedError

    def converted(self, args):
        """Return the arguments with tensors of `dtype` cast to the dtype that the kernel computes in."""

        def convert(a):
            if a.__class__ is list or a.__class__ is tuple:
                return type(a)(map(convert, a)) if any(isinstance(t, Tensor) for t in a) else a
            return self.backend.cast(a, self.work) if isinstance(a, Tensor) and a.dtype is self.dtype else a

        return [convert(a) if t else a for t, a in zip(self.op.is_tensor, args)]

    def leave(self, r, result):
        """Convert the kernel's result to a tensor of the shape and dtype of the meta function."""
        return self.backend.result(r, result, self.device)

    # ------------------------------------------------------------ elementwise operators
    def elementwise(self, operands, attributes, shape, dtype):
        """Run an elementwise operator on operands that broadcast to `shape`; see runtime/backend.py."""
        n = numel(shape)
        if n == 0:
            return self.backend.empty(shape, dtype, self.device)
        if self.larger is not None and (
            n >= self.limit if self.limit is not None else n >= SPREAD_FROM and _spreads(operands, shape)
        ):
            return self.larger().elementwise(operands, attributes, shape, dtype)
        if self.half:
            operands = self.rounded(operands)
        self.calls += 1
        work = self.work or self.dtype
        return self.broadcast(
            [(t, t.dtype if i in self.keep else work) for i, t in enumerate(operands)], attributes, shape, dtype
        )

    def rounded(self, operands):
        """Cast operands to the half type, as PyTorch does before it computes in float32.

        A 0-d operand to multiply or divide by (`exact` of the operator's options) may stay exact.
        """
        keep, exact, low = self.keep, self.op.options.exact, self.dtype
        return [
            t
            if i in keep or i == exact and not getattr(t, "_shape", ()) or isinstance(t, Tensor) and t.dtype is low
            else self.backend.cast(t, low)
            if isinstance(t, Tensor)
            else self.backend.rounded_number(t, low)
            for i, t in enumerate(operands)
        ]

    def broadcast(self, operands, attributes, shape, dtype):
        """Run the kernel on pairs (operand, dtype to compute in)."""
        raise NotImplementedError


def _spreads(operands, shape):
    """Whether some operand is broadcast to the shape of the result."""
    return any(isinstance(t, Tensor) and t._shape and t._shape != shape for t in operands)


def _is_empty(result):
    return bool(result) and result[0] is not None and 0 in result[0]


def largest(result, args):
    """Return the number of elements of the largest tensor of a call."""
    shapes = [result[0][0] if result else ()] if result.__class__ is list else [result[0] or ()]
    for a in args:
        for t in a if a.__class__ is list or a.__class__ is tuple else (a,):
            if isinstance(t, Tensor):
                shapes.append(t._shape)
    return max(map(numel, shapes))


class PrimitivePlan(Plan):
    """A plan that calls a MindSpore primitive."""

    __slots__ = ()

    def argument(self, a):
        if a.__class__ is list or a.__class__ is tuple:
            return type(a)(None if t is None else t._mstensor() for t in a)
        return a._mstensor()

    def run(self, result, args):
        # the most common case: one result of a known shape, nothing to convert
        shape = result[0]
        if self.work is not None or result.__class__ is list or shape is None or 0 in shape or len(result) > 2:
            return Plan.run(self, result, args)
        if self.limit is not None and self.passes_on(result, args):
            return self.larger().run(result, args)
        self.calls += 1
        # created before the kernel runs, which evicts the processor's caches
        out = wrap(None, shape, result[1], self.device)
        r = self.fn(self.enter(args[0]), *args[1:]) if self.single else self.compute(args)
        if self.out is result[1] and getattr(r, "_shape", None) == shape and r.__class__ is not Tensor:
            out._ms = r
            return out
        if (
            self.out is None and hasattr(r, "_shape") and r.__class__ is not Tensor
        ):  # otherwise a NumPy array, a torch tensor or a scalar
            self.out = self.backend.dtype_of(r)
        return self.leave(r, result)

    def broadcast(self, operands, attributes, shape, dtype):
        expanded = shape if numel(shape) >= self.backend.expand_from or not self.broadcasts else None
        r = self.fn(*[self.backend.operand(t, d, expanded, not self.broadcasts) for t, d in operands], *attributes)
        if self.out is None:
            self.out = self.backend.dtype_of(r)
        if self.out is dtype and (expanded or len(operands) == 1 or tuple(r.shape) == shape):
            return wrap(r, shape, dtype, self.device)
        return self.backend.result(r, (shape, dtype), self.device)


class CompositePlan(Plan):
    """A plan that calls a function composed of other operators."""

    __slots__ = ()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.enter = None

    def compute(self, args):
        prev, CONTEXT.grad = CONTEXT.grad, False
        try:
            return self.fn(*args)
        finally:
            CONTEXT.grad = prev

    def broadcast(self, operands, attributes, shape, dtype):
        self.direct = False
        r = self.compute([*[self.backend.tensor(t, d) for t, d in operands], *attributes])
        if r._shape != shape:
            r = r.expand(shape)
        if r._stride is not None:
            r = self.backend.compact(r)
        return r if r.dtype is dtype else self.backend.cast(r, dtype)
