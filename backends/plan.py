"""Kernels, and plans: a kernel bound to an operator, a device and a dtype, with what it converts on the way in and
out.
"""

from functools import partial

from ..runtime import decompositions, pyboost  # noqa: F401  (entered in the registry)
from ..runtime.classes import NUMBERS_OR_NONE
from ..runtime.context import CONTEXT
from ..runtime.registry import declared_at
from ..runtime.tensor import Tensor, numel, wrap
from .thresholds import threshold

KINDS = ("pyboost", "legacy", "composite", "numpy")  # in the order of preference
SPREAD = float("inf")  # above=SPREAD: preferred for a large result over which some operand must be spread
SPREAD_FROM = threshold(16384)


class Kernel:
    """One way to compute an operator.

    kind: of KINDS. fn: for pyboost and legacy a function (prim, *args) that maps the operator's arguments, or None;
    else the function itself.
    dtypes: those it takes, or None for all. why: the reason a later kind stands in. above: elements from which it is
    preferred, or 0.
    tensors: fn takes the runtime's tensors, because it looks at strides, or at values on the host, before it calls the
    primitive.
    when: a function of the operator's arguments (the runtime's tensors): calls for which it is true are preferred here,
    all others go elsewhere.
    where: (file, line) of the table's entry, or of the declaration whose primitive it is.
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
        """The callable that takes the operator's arguments."""
        if self.primitive is None:
            return self.fn
        prim = pyboost.primitive(self.primitive, *self.init, target=target, legacy=self.kind == "legacy", **self.attrs)
        mapping = self.fn or (op.prim_call if self.kind == "pyboost" and op.prim == self.primitive else None)
        return prim if mapping is None else partial(mapping, prim)


class Plan:
    """A kernel bound to an operator, a device and a dtype.

    work: the dtype that the kernel computes in, where it is another than `dtype`: arguments of `dtype` are converted
    before, results after.
    limit: elements from which `larger` takes over, or 0 where `when` of the arguments says so.
    direct: whether later calls may come here without asking again (call/pipeline.py).
    fn, raw, prim: the kernel; raw(prim, [args]) is the C function below fn, where fn only hands its arguments on. out:
    the dtype of its result, known after its first. numbers: Python numbers as 0-d tensors of the dtype.
    """

    __slots__ = """backend op device dtype work kind primitive why where role fn raw prim out numbers limit larger
    direct calls enter single keep broadcasts half empty_ok when""".split()

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
        self.out = self.limit = self.larger = self.when = None
        self.keep, self.broadcasts, self.empty_ok = op.options.keep, kernel.broadcasts, op.options.empty_ok
        self.numbers, self.calls = backend.numbers_of(dtype), 0
        self.direct = work is None
        self.enter = None if kernel.tensors else self.argument
        self.single = (
            op.tensor_args == [0] and self.enter is not None and op.schema.args[0].type == "Tensor"
        )  # the commonest signature
        backend.plans.append(self)

    def number(self, value):
        """A Python number as the 0-d tensor that the kernel takes for it."""
        return self.backend.number(value, self.dtype)

    # ------------------------------------------------------------ operators that are not elementwise
    def run(self, result, args):
        """The operator on its arguments; see runtime/backend.py."""
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
        """Whether this call is for `larger`."""
        if self.when is not None:
            return self.when(*args)
        return (numel(args[0]._shape) if self.single else largest(result, args)) >= self.limit

    def compute(self, args):
        """The kernel on arguments of its dtype."""
        enter = self.enter
        if enter is None:
            return self.fn(*args)
        return self.fn(
            *[a if not t or a.__class__ in NUMBERS_OR_NONE else enter(a) for t, a in zip(self.op.is_tensor, args)]
        )

    def argument(self, a):
        """A tensor, or a list of them, as the kernel takes it."""
        raise NotImplementedError

    def converted(self, args):
        """The arguments with tensors of `dtype` in the dtype that the kernel computes in."""

        def convert(a):
            if a.__class__ is list or a.__class__ is tuple:
                return type(a)(map(convert, a)) if any(isinstance(t, Tensor) for t in a) else a
            return self.backend.cast(a, self.work) if isinstance(a, Tensor) and a.dtype is self.dtype else a

        return [convert(a) if t else a for t, a in zip(self.op.is_tensor, args)]

    def leave(self, r, result):
        """A kernel's result as a tensor of the shape and dtype that the operator promises."""
        return self.backend.result(r, result, self.device)

    # ------------------------------------------------------------ elementwise operators
    def elementwise(self, operands, attributes, shape, dtype):
        """An elementwise operator on operands that broadcast to `shape`; see runtime/backend.py."""
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
        """Operands of a half type, as PyTorch casts them before it computes in float32.

        One number to multiply or divide by may stay exact.
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
        """The kernel on (operand, dtype to compute in)."""
        raise NotImplementedError


def _spreads(operands, shape):
    """Whether some operand is broadcast over the result."""
    return any(isinstance(t, Tensor) and t._shape and t._shape != shape for t in operands)


def _is_empty(result):
    return bool(result) and result[0] is not None and 0 in result[0]


def largest(result, args):
    """The elements of the largest tensor of a call."""
    shapes = [result[0][0] if result else ()] if result.__class__ is list else [result[0] or ()]
    for a in args:
        for t in a if a.__class__ is list or a.__class__ is tuple else (a,):
            if isinstance(t, Tensor):
                shapes.append(t._shape)
    return max(map(numel, shapes))


class PrimitivePlan(Plan):
    """A primitive of MindSpore."""

    __slots__ = ()

    def argument(self, a):
        if a.__class__ is list or a.__class__ is tuple:
            return type(a)(None if t is None else t._mstensor() for t in a)
        return a._mstensor()

    def run(self, result, args):
        # the commonest first: one result of a known shape, nothing to convert
        shape = result[0]
        if self.work is not None or result.__class__ is list or shape is None or 0 in shape or len(result) > 2:
            return Plan.run(self, result, args)
        if self.limit is not None and self.passes_on(result, args):
            return self.larger().run(result, args)
        self.calls += 1
        out = wrap(None, shape, result[1], self.device)  # before the kernel, which empties the processor's caches
        r = self.fn(self.enter(args[0]), *args[1:]) if self.single else self.compute(args)
        if self.out is result[1] and getattr(r, "_shape", None) == shape and r.__class__ is not Tensor:
            out._ms = r
            return out
        if (
            self.out is None and hasattr(r, "_shape") and r.__class__ is not Tensor
        ):  # else a NumPy array, a tensor of ours, or a scalar of its own
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
    """A function over other operators."""

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
