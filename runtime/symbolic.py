"""Symbolic ints: the sizes of jagged dimensions, which differ from row to row. All other sizes are Python ints."""

import weakref


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

    def __str__(self):
        return f"j{self.t_id}" if self.coeff == 1 else f"{self.coeff}*j{self.t_id}"

    __repr__ = __str__


class SymInt:
    """A symbolic int: the size of a jagged dimension.

    It equals only itself, is at least 2, and is ordered among its own multiples. Other comparisons raise an error.
    """

    __module__ = "torch"

    def __init__(self, node):
        self.node = node

    def __repr__(self):
        return str(self.node)

    def __hash__(self):
        return hash(self.node.t_id)

    def __eq__(self, other):
        return isinstance(other, SymInt) and (self.node.t_id, self.node.coeff) == (other.node.t_id, other.node.coeff)

    def __ge__(self, other):
        return _at_least(self, other)

    def __le__(self, other):
        return _at_least(other, self)

    def __lt__(self, other):
        return not _at_least(self, other)

    def __gt__(self, other):
        return not _at_least(other, self)

    def __mul__(self, other):
        if isinstance(other, SymInt):
            raise ValueError("mul: multiplying two nested ints is not supported")
        return SymInt(NestedIntNode(self.node.t_id, self.node.coeff * other))

    __rmul__ = __mul__

    def __bool__(self):
        return True


def _at_least(a, b):
    if isinstance(a, SymInt) and isinstance(b, SymInt) and a.node.t_id == b.node.t_id:
        return a.node.coeff >= b.node.coeff
    if isinstance(a, SymInt) and not isinstance(b, SymInt) and b <= 2:
        return True
    if isinstance(b, SymInt) and not isinstance(a, SymInt) and a < 2:
        return False
    raise ValueError("ge: relation is indeterminate")


def _lacking(name):
    """Return a method that raises PyTorch's AttributeError, for an operation that jagged sizes do not have."""

    def method(self, *args):
        return getattr(self.node, name)

    return method


for _method, _name in (
    *((f"__{n}__", "int_") for n in ("index", "int", "float", "trunc")),
    *((f"__{r}{n}__", n) for n in ("add", "sub", "mod") for r in ("", "r")),
    *((f"__{r}floordiv__", "int_floordiv") for r in ("", "r")),
    *((f"__{r}truediv__", "int_truediv") for r in ("", "r")),
    *((f"__{r}pow__", "pow_by_natural") for r in ("", "r")),
    ("__neg__", "neg"),
):
    setattr(SymInt, _method, _lacking(_name))

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
