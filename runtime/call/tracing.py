"""Calls of operators as a tracer of graphs sees them: above autograd, under PyTorch's names.

A composite is seen as a whole if it is one operator in PyTorch.
"""

import functools
from contextlib import contextmanager, nullcontext

from ..aten import schemas
from ..context import CONTEXT, activate
from ..registry import IMPLICIT, OPERATORS, WHOLE_IN_TRACES
from .overload import resolve


@contextmanager
def tracing(note, mode):
    """In this thread, call note(schema, args, kwargs, result) for each operator that ran.

    If PyTorch has no such operator, schema is None and args is (name, values). Sizes among the arguments are TracedInt
    where the tracer created them so; the operators themselves get plain ints. The function mode sees whatever else
    composites do with tensors.
    """
    activate(1, 1)
    try:
        with CONTEXT.set(tracer=(note, mode, schemas("detach")[0])):  # a tensor that becomes a parameter is detached
            yield
    finally:
        activate(-1, -1)


def untraced():
    """Return a context in which calls are not reported to the tracer."""
    return CONTEXT.set(tracer=None)


class TracedInt(int):
    """A size that a graph computes: its value in this run, and its node in the graph.

    The tracer records arithmetic with it.
    """

    def __new__(cls, value, node, tracer):
        self = super().__new__(cls, value)
        self.node, self.tracer = node, tracer
        return self

    def __index__(self):
        return self  # conversions to int in this package keep it

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return int, (int(str(self)),)


class TracedFloat(float):
    """A number that a graph computes from sizes."""

    def __new__(cls, value, node, tracer):
        self = super().__new__(cls, value)
        self.node, self.tracer = node, tracer
        return self

    def __floor__(self):
        return self.tracer.number("floor", (self,), float.__floor__(self))

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return float, (repr(self),)


NUMBERS = frozenset((TracedInt, TracedFloat))


def _arithmetic(name, operator, swapped=False):
    def method(self, other):
        kind = float if isinstance(other, float) or isinstance(self, float) else int
        if not isinstance(other, (int, float)) or isinstance(other, bool):
            return NotImplemented
        result = getattr(kind, name)(plain(self) if kind is int else float(plain(self)), kind(plain(other)))
        return self.tracer.number(operator, (other, self) if swapped else (self, other), result)

    method.__name__ = name
    return method


for _name, _operator in (
    ("add", "add"),
    ("sub", "sub"),
    ("mul", "mul"),
    ("floordiv", "floordiv"),
    ("mod", "remainder"),
    ("truediv", "div"),
):
    for _class in (TracedInt, TracedFloat):
        setattr(_class, f"__{_name}__", _arithmetic(f"__{_name}__", _operator))
        setattr(_class, f"__r{_name}__", _arithmetic(f"__r{_name}__", _operator, swapped=True))


def plain(v):
    """Return the value with plain numbers in place of those that a graph computes."""
    if v.__class__ is TracedInt:
        return int.__add__(v, 0)
    if v.__class__ is TracedFloat:
        return float.__add__(v, 0.0)
    if v.__class__ in (tuple, list):
        return v.__class__([plain(e) for e in v])
    return v


def traced(op, args, call, suffix=""):
    """Run a call and report it to the tracer.

    For composites that are not operators in PyTorch, the operators that they call are reported instead.
    """
    note, mode, _ = CONTEXT.tracer
    given = [
        tuple(a) if isinstance(a, tuple) and a.__class__ is not tuple and not hasattr(a, "_fields") else a for a in args
    ]
    values = [plain(a) for a in given]
    parts = IMPLICIT.get(op.full) if op.full not in WHOLE_IN_TRACES else None
    found = resolve(op, given, suffix) if parts is None else None
    if (
        found is not None
        and op.schema.several
        and found[0].returns
        and len(found[0].returns) == 1
        and found[0].returns[0].declared == "Tensor"
    ):
        found = None  # PyTorch's operator has fewer results
    if found is None and (within := parts or op.fn) is not None:
        with nullcontext() if mode in CONTEXT.modes else mode:
            result = within(*args)
        return args[0].copy_(result) if suffix else result
    with untraced():
        result = call(*values)
    if found is None:
        note(None, (own_name(op) + suffix, given), {}, result)
    else:
        note(*found, result)
    return result


def own_name(op):
    """Return the name in graphs of an operator that PyTorch does not have."""
    return op.full.replace(".", "__")


@functools.cache
def own_operators():
    """Return all operators by their own_name()."""
    return {own_name(op): op for names in OPERATORS.values() for ops in names.values() for op in ops}


def run_own(name, values):
    """Run an operator, given by its own_name(), on its values in order; with a final "_" it writes into the first."""
    op = own_operators().get(name)
    return op.call(*values) if op is not None else values[0].copy_(own_operators()[name[:-1]].call(*values))
