"""Python's operators on tensors: dunder methods that call the operators of the registry."""

import numpy as np

from ...tracebacks import shorten
from .. import dtypes as dt
from ..classes import direct
from ..context import CONTEXT
from ..registry import T, method
from ..tensor import Tensor, from_array
from .overrides import FIRST_FORMS, asked_by_programs, handle_torch_function
from .pipeline import make_operator

_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "div": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
}
_REFLECTED = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
_EITHER_WAY = ("add", "mul", "and", "or", "xor")  # self OP other is other OP self
_INPLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
_UNARY = {"neg": "neg", "abs": "abs"}


def _swapped(name):
    """Return the function for a reflected operator, which computes other OP self; self is the tensor."""
    if name in _EITHER_WAY:
        return method(_BINARY[name])
    if name == "sub":
        return T.rsub
    if name == "truediv":

        def over(self, other):
            r = T.reciprocal(self)
            return (
                r
                if other.__class__ is int and other == 1 and not r._requires_grad and not r.dtype.is_complex
                else r * other
            )

        return over
    function = getattr(T, _BINARY[name])
    return lambda self, other: function(other, self)


# Methods that overrides are asked with themselves; for all others, with Tensor.add and the like. Their names, where
# PyTorch's differ: its methods keep the name of the function that they wrap.
_OWN = {f"__{n}__" for n in "and or xor lshift rshift eq floordiv pow".split()}
_OWN |= {f"__r{n}__" for n in _REFLECTED if n not in _EITHER_WAY}
_OWN |= {f"__i{n}__" for n in "and or xor lshift rshift pow".split()}
_CALLED = {"__pow__": "pow", "__ipow__": "pow_", "__rtruediv__": "__rdiv__"}


def _ask(dunder, self, other):
    """Ask the overrides of programs with a method of Tensor itself, or return NotImplemented if there are none."""
    plain = self.__class__ in direct and other.__class__ in direct.with_numbers
    if dunder not in _OWN or plain and not CONTEXT.modes or not asked_by_programs((self, other)):
        return None
    try:
        return (handle_torch_function(Tensor.__dict__[dunder], (self, other), self, other),)
    except TypeError as error:
        if getattr(error, "not_implemented", False):
            return (NotImplemented,)
        raise


def _single(public):
    """Return the operator that a public function calls for two arguments, or None if there are several."""
    names = getattr(public, "__globals__", {})
    op = names.get("op")
    if op is None or names.get("call") is None or op.options.varargs:
        return None
    op = op.options.operator or op
    return op if op.fn is None or op.fn.__code__.co_argcount - len(op.fn.__defaults__ or ()) == 2 else None


def _make(dunder, name, reflected):
    """Return the method, which generates its final form on its first call."""

    def first(self, other):
        public = _swapped(name) if reflected else method(_BINARY[name])
        # only matmul takes no numbers
        numbers, takes = (direct, Tensor) if name == "matmul" else (direct.with_numbers, (Tensor, int, float, complex))

        def otherwise(self, other):
            if (asked := _ask(dunder, self, other)) is not None:
                return asked[0]
            try:
                return public(self, other)
            except TypeError as error:
                if getattr(error, "not_implemented", False):
                    return NotImplemented
                if isinstance(other, takes):
                    raise
                if name == "eq" and isinstance(other, np.ndarray):  # the only comparison that takes arrays
                    return public(self, from_array(other))
                return NotImplemented

        op = _single(public)
        operator = _named(dunder, otherwise if op is None else make_operator(op, dunder, otherwise, numbers))
        for name_of_it in ("__rtruediv__", "__rdiv__") if dunder == "__rtruediv__" else (dunder,):
            setattr(Tensor, name_of_it, operator)
        try:
            return operator if self is None else operator(self, other)
        except Exception as error:
            shorten(error)
            raise

    if dunder in _OWN:
        FIRST_FORMS.append(first)
    return _named(dunder, first)


def _named(dunder, f):
    f.__name__, f.__qualname__, f.__module__ = _CALLED.get(dunder, dunder), "Tensor." + dunder, "torch"
    return f


def _make_inplace(dunder, name):
    own = dunder in _OWN

    def operator(self, other):
        if own and (asked := _ask(dunder, self, other)) is not None:
            return asked[0]
        m = method(_BINARY[name] + "_")
        try:
            return m(self, other)
        except TypeError:
            if isinstance(other, (Tensor, int, float, complex)):
                raise
            return NotImplemented

    return _named(dunder, operator)


def _make_unary(dunder, name):
    def operator(self):
        return method(name)(self)

    return _named(dunder, operator)


for _n in _BINARY:
    if _n != "div":
        setattr(Tensor, f"__{_n}__", _make(f"__{_n}__", _n, False))
for _n in _REFLECTED:
    setattr(Tensor, f"__r{_n}__", _make(f"__r{_n}__", _n, True))
for _n in _INPLACE:
    setattr(Tensor, f"__i{_n}__", _make_inplace(f"__i{_n}__", _n))


def _invert(self):
    if self.dtype.category > dt.INT:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return T.bitwise_not(self)


for _n, _op in _UNARY.items():
    setattr(Tensor, f"__{_n}__", _make_unary(f"__{_n}__", _op))
Tensor.__div__, Tensor.__rdiv__, Tensor.__idiv__ = Tensor.__truediv__, Tensor.__rtruediv__, Tensor.__itruediv__
Tensor.__invert__ = _named("__invert__", _invert)
Tensor.__pos__ = _named("__pos__", lambda self: method("positive")(self))
Tensor.__reversed__ = _named("__reversed__", lambda self: self.flip((0,)) if self._shape else self)


def _array_wrap(self, array, context=None, return_scalar=False):
    array = np.asarray(array)
    return from_array(
        array.astype(np.uint8) if array.dtype == np.bool_ else array
    )  # as in PyTorch, since before it had bool


Tensor.__array_wrap__ = _array_wrap
