"""Symbolic numbers: SymInt, SymFloat and SymBool, whose node computes what Python's operators ask of them.

Two kinds of nodes exist: NestedIntNode for the sizes of jagged dimensions, which differ from row to row, and
torch.fx.experimental.sym_node.SymNode for the sizes of exported graphs, which are SymPy expressions. A node has the
methods binary(name, a, b), unary(name, a), comparison(name, a, b), guard_int(), guard_float() and guard_bool().
"""

import weakref
from numbers import Number


class _Symbolic:
    """What the three classes share: the node, and how it is printed and copied."""

    __slots__ = ("node", "__weakref__")

    def __init__(self, node):
        self.node = node

    def __repr__(self):
        return str(self.node)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __hash__(self):
        return self.node.hash_of(self)


class SymInt(_Symbolic):
    """A symbolic int. It is no instance of int; where an int is needed, ``int(s)`` fixes its value with a guard.

    The size of a jagged dimension equals only itself, is at least 2, and is ordered among its own multiples; other
    comparisons of it raise an error.
    """

    __slots__ = ()
    __module__ = "torch"

    def __bool__(self):
        return self.node.is_nested_int() or self.node.comparison("ne", self, 0).__bool__()

    def __index__(self):
        return self.node.guard_int("", 0)

    def __int__(self):
        return self.node.guard_int("", 0)

    def __float__(self):
        return float(self.node.guard_int("", 0))

    def __sym_int__(self):
        return self

    def __sym_float__(self):
        return self.node.unary("sym_float", self)

    def is_integer(self):
        """Whether the number has no fraction: always True."""
        return True

    def as_integer_ratio(self):
        """Return the number and 1."""
        return self, 1

    numerator = property(lambda self: self, doc="The number itself.")
    denominator = property(lambda self: 1, doc="1, as of every int.")
    real = property(lambda self: self, doc="The number itself.")
    imag = property(lambda self: 0, doc="0.")


class SymFloat(_Symbolic):
    """A symbolic float."""

    __slots__ = ()
    __module__ = "torch"

    def __bool__(self):
        return self.node.comparison("ne", self, 0.0).__bool__()

    def __float__(self):
        return self.node.guard_float("", 0)

    def __int__(self):
        return self.node.unary("trunc", self).__int__()

    def __sym_float__(self):
        return self

    def __sym_int__(self):
        return self.node.unary("trunc", self)

    def is_integer(self):
        """Whether the number has no fraction, a condition."""
        return self.node.unary("is_integer", self)

    def conjugate(self):
        """Return the number itself."""
        return self

    def hex(self):
        """Return the hexadecimal text of the number, whose value it fixes."""
        return self.__float__().hex()

    real = property(lambda self: self, doc="The number itself.")
    imag = property(lambda self: 0.0, doc="0.")


class SymBool(_Symbolic):
    """A condition on symbolic numbers. ``bool(s)`` decides it with a guard."""

    __slots__ = ()
    __module__ = "torch"

    def __bool__(self):
        return self.node.guard_bool("", 0)

    def __int__(self):
        return int(self.__bool__())

    def __index__(self):
        return int(self.__bool__())

    def __sym_not__(self):
        return self.node.unary("sym_not", self)

    def __sym_int__(self):
        return self.node.unary("sym_int", self)

    def __sym_float__(self):
        return self.node.unary("sym_float", self.__sym_int__())


SYMBOLIC = frozenset((SymInt, SymFloat, SymBool))
INTS = frozenset((int, SymInt))
LAYOUT: set = set()  # the code of the functions whose decisions only choose strides


def layout_only(fn):
    """Mark a function in which comparisons of sizes only choose strides or save work, and never decide a result.

    Where such a comparison is not known for all sizes, no guard fixes it: sizes and strides count as different, and
    sizes as larger than 1.
    """
    LAYOUT.add(fn.__code__)
    return fn


def _operand(v):
    """Whether a value is a number, symbolic or not, that takes part in arithmetic."""
    return v.__class__ in SYMBOLIC or isinstance(v, (int, float)) or isinstance(v, Number) and hasattr(v, "__float__")


def _binary(name, reflected):
    def method(self, other):
        if not _operand(other) or isinstance(other, complex):
            return NotImplemented
        return self.node.binary(name, other, self) if reflected else self.node.binary(name, self, other)

    return method


def _comparison(name):
    def method(self, other):
        return self.node.comparison(name, self, other) if _operand(other) else NotImplemented

    return method


def _unary(name):
    def method(self):
        return self.node.unary(name, self)

    return method


def _with_operators(cls, arithmetic, comparisons, unary):
    for operation in arithmetic:
        for reflected in (False, True):
            _set(cls, f"__{'r' if reflected else ''}{operation}__", _binary(operation, reflected))
    for operation in comparisons:
        _set(cls, f"__{operation}__", _comparison(operation))
    for operation in unary:
        _set(cls, f"__{operation}__", _unary(operation))


def _set(cls, name, method):
    method.__name__, method.__qualname__ = name, f"{cls.__name__}.{name}"
    setattr(cls, name, method)


_ARITHMETIC = "add sub mul floordiv mod truediv pow".split()
_ORDER = "eq ne lt le gt ge".split()
_ROUNDING = "neg pos abs floor ceil trunc".split()
_with_operators(SymInt, [*_ARITHMETIC, "lshift", "rshift", "and", "or", "xor"], _ORDER, [*_ROUNDING, "invert"])
_with_operators(SymFloat, _ARITHMETIC, _ORDER, _ROUNDING)
_with_operators(SymBool, [*_ARITHMETIC, "and", "or", "xor"], _ORDER, ["invert"])


def _round(self, ndigits=None):
    return self.node.rounded(self, ndigits)


for _cls in (SymInt, SymFloat):
    _set(_cls, "__round__", _round)


def expected(condition):
    """Whether a condition holds. The graph asserts one that depends on values of tensors."""
    return condition if condition.__class__ is bool else condition.node.expect_true("", 0)


def within(index, size):
    """Whether an index is one of a dimension, of which one or both are symbolic."""
    return expected(-size <= index) and expected(index < size)


def smaller(a, b):
    """Return the smaller of two sizes; if none is known to be it, an expression of both."""
    return _extreme("min", a, b)


def larger(a, b):
    """Return the larger of two sizes; if none is known to be it, an expression of both."""
    return _extreme("max", a, b)


def _extreme(name, a, b):
    for n in (a, b):
        if n.__class__ is SymInt:
            return n.node.extreme(name, a, b)
    return min(a, b) if name == "min" else max(a, b)


# ------------------------------------------------------------------------------------------------ jagged sizes
class NestedIntNode:
    """The node of a jagged size: a multiple of the sizes that a tensor of offsets or of lengths holds."""

    __module__ = "torch.nested._internal.nested_int"

    def __init__(self, t_id, coeff):
        self.t_id, self.coeff = t_id, coeff

    def nested_int(self):
        return self.t_id

    def nested_int_coeff(self):
        return self.coeff

    def is_nested_int(self):
        return True

    def hash_of(self, number):
        return hash(self.t_id)

    def __str__(self):
        return f"j{self.t_id}" if self.coeff == 1 else f"{self.coeff}*j{self.t_id}"

    __repr__ = __str__

    def binary(self, name, a, b):
        if name != "mul":
            return getattr(self, _LACKING.get(name, name))  # PyTorch's AttributeError
        if a.__class__ is SymInt and b.__class__ is SymInt:
            raise ValueError("mul: multiplying two nested ints is not supported")
        return SymInt(NestedIntNode(self.t_id, self.coeff * (b if a.__class__ is SymInt else a)))

    def unary(self, name, number):
        return getattr(self, _LACKING.get(name, name))

    def rounded(self, number, ndigits):
        return number

    def guard_int(self, file, line):
        return self.int_

    def comparison(self, name, a, b):
        if name in ("eq", "ne"):
            same = isinstance(b, SymInt) and (a.node.t_id, a.node.coeff) == (b.node.t_id, b.node.coeff)
            return same if name == "eq" else not same
        if name in ("ge", "lt"):
            return _at_least(a, b) if name == "ge" else not _at_least(a, b)
        return _at_least(b, a) if name == "le" else not _at_least(b, a)


_LACKING = {"floordiv": "int_floordiv", "truediv": "int_truediv", "pow": "pow_by_natural", "trunc": "int_"}


def _at_least(a, b):
    if isinstance(a, SymInt) and isinstance(b, SymInt) and a.node.t_id == b.node.t_id:
        return a.node.coeff >= b.node.coeff
    if isinstance(a, SymInt) and not isinstance(b, SymInt) and b <= 2:
        return True
    if isinstance(b, SymInt) and not isinstance(a, SymInt) and a < 2:
        return False
    raise ValueError("ge: relation is indeterminate")


_SIZES: dict = {}  # id of a tensor -> (weak reference to the tensor, the size whose values it holds)


def size_of(t, copied=None):
    """Return the jagged size whose values a tensor holds, always the same one for the same tensor.

    copied: the size to use where the tensor is a copy, on another device, of one that already has a size.
    """
    found = _SIZES.get(id(t))
    if found is not None and found[0]() is t:
        return found[1]
    size = copied
    if size is None:
        size_of.count += 1
        size = SymInt(NestedIntNode(size_of.count, 1))
    key = id(t)
    _SIZES[key] = weakref.ref(t, lambda _: _SIZES.pop(key, None)), size
    return size


size_of.count = 0
