"""Nested tensors of layout torch.jagged: rows that differ in one dimension, concatenated along it.

`_v` holds all rows and carries the gradient. `_offsets` say where each row begins, and where the last one ends.
`_lengths` say how long each row is, where there are holes.

The size of the ragged dimension is one symbolic int for each tensor of offsets: only tensors over the same offsets have
the same shape. The functions of these tensors are in functions.py.
"""

from ...call.overload import name_of, resolve
from ...cpython import plain_name
from ...device import LAYOUTS, Size, contiguous_format
from ...symbolic import size_of
from ...tensor import wrap
from ..common import T, Tensor, wrap_dim
from ..creation import FUNCTIONS
from ..sparse.tensors import called, declared
from ..valued import Table
from .base import Nested

TABLE = Table()
on_jagged = TABLE.on


class JaggedTensor(Nested, raw=True):
    """A nested tensor of layout torch.jagged: rows that differ in one dimension.

    `_ragged_idx` is that dimension, counted with the batch dimension.
    """

    __module__, __qualname__ = "torch.nested._internal.nested_tensor", "NestedTensor"
    KEY, TABLE = "NestedTensor", TABLE
    _layout = LAYOUTS["jagged"]

    def __new__(cls, values, offsets, *, lengths=None, **kwargs):
        ragged, requires_grad = kwargs.get("_ragged_idx", 1), kwargs.get("requires_grad", False)
        found = {name: t.shape[0] for name, t in (kwargs.get("_metadata_cache") or {}).items()}
        t = over(values.detach(), offsets, lengths, ragged, found.get("min_seqlen"), found.get("max_seqlen"))
        return t._requiring_grad() if requires_grad else t

    def __init__(self, *args, **kwargs):
        """__new__ does all the work."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = plain_name(func), kwargs or {}
        if name == "where" and func is Tensor.where:
            args = (args[1], args[0], *args[2:])
        if name in TABLE:
            return called(TABLE[name], func, args, kwargs)
        call = declared(func, args, kwargs)
        if call is None:
            raise NotImplementedError(f"{name}: not implemented for nested tensors of layout torch.jagged")
        operator, given = call
        if kwargs.get("out") is None and (operator.promote is not None or operator.options.pointwise):
            name, overload = name_of(operator)
            return elementwise(func, f"{name}.{overload or 'default'}", args, kwargs)
        raise NotImplementedError(_aten(operator, given))

    def _with(self, values):
        """Return the same rows with other elements."""
        return self._moved(values, self._ragged_idx)

    def _moved(self, values, ragged):
        """Return the same rows with other elements, where `ragged` is the ragged dimension."""
        return over(values, self._offsets, self._lengths, ragged, *self._seqlens)

    # ---------------------------------------------------------------- the rows
    def row_lengths(self):
        return (self._offsets.diff() if self._lengths is None else self._lengths).tolist()

    def parts(self):
        """Return the rows as views."""
        along = self._ragged_idx - 1
        return [self._v.narrow(along, start, n) for start, n in zip(self._offsets.tolist(), self.row_lengths())]

    def places(self):
        """Return (row, position in the row) of each element along the ragged dimension."""
        where = T.arange(self._v._shape[self._ragged_idx - 1], device=self.device)
        rows = (T.bucketize(where, self._offsets, right=True) - 1).clamp(0, len(self._offsets) - 2)
        return rows, where - self._offsets[rows]

    def packed(self):
        """Return the same rows without holes."""
        return self if self._lengths is None else of_rows(self.parts(), self._ragged_idx)

    # ---------------------------------------------------------------- what PyTorch's class has
    _values = property(lambda self: self._v)

    def values(self):
        return self._v.view_as(self._v)

    def offsets(self):
        return self._offsets

    def lengths(self):
        return self._lengths

    def _get_min_seqlen(self):
        return self._seqlen(0, min)

    def _get_max_seqlen(self):
        return self._seqlen(1, max)

    def _seqlen(self, i, of):
        if self._seqlens[i] is None:
            self._seqlens[i] = of(self.row_lengths(), default=0)
        return self._seqlens[i]

    _min_seqlen, _max_seqlen = property(_get_min_seqlen), property(_get_max_seqlen)
    _maybe_min_seqlen = property(lambda self: self._seqlens[0])
    _maybe_max_seqlen = property(lambda self: self._seqlens[1])

    @property
    def _metadata_cache(self):
        """The known row lengths in PyTorch's form: as the sizes of tensors without elements."""
        known = zip(("min_seqlen", "max_seqlen"), self._seqlens)
        return {name: T.empty(n, 0, dtype=self.dtype) for name, n in known if n is not None}

    # ---------------------------------------------------------------- what every tensor has
    def numel(self):
        if self._lengths is None:
            return self._v.numel()
        return self._v.numel() // max(self._v._shape[self._ragged_idx - 1], 1) * sum(self.row_lengths())

    nelement = numel
    nbytes = property(lambda self: self.numel() * self.dtype.itemsize)
    _base = property(lambda self: self._v._base)

    def _is_view(self):
        return self._v._is_view()

    def stride(self, dim=None):
        steps = self._v.stride()
        steps = (self._shape[self._ragged_idx] * steps[self._ragged_idx - 1], *steps)
        return steps if dim is None else steps[wrap_dim(dim, len(steps))]

    def storage_offset(self):
        return self._v.storage_offset()

    def is_contiguous(self, memory_format=contiguous_format):
        return self._lengths is None and self._v.is_contiguous(memory_format=memory_format)

    def numpy(self, *, force=False):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self):
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def _laid_out(self, g):
        """Return the elements of a gradient."""
        if g._shape != self._shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[0] has a shape of {g.shape} and output[0] has a shape of {self.shape}."
            )
        return g._v

    def _pickled(self):
        """Return (function, argument) that recreate the tensor, for Tensor.__reduce_ex__."""
        given = {
            "values": self._v.detach(),
            "offsets": self._offsets,
            "lengths": self._lengths,
            "_ragged_idx": self._ragged_idx,
        }
        given |= {"_metadata_cache": self._metadata_cache, "requires_grad": self.requires_grad}
        return _rebuild_njt, given

    def __setstate__(self, state):
        """Restore attributes that a program has set on the pickled tensor."""
        self.__dict__.update({k: v for k, v in state.items() if k not in self.__dict__ and not hasattr(type(self), k)})

    def __repr__(self, *, tensor_contents=None):
        grad = (
            f", grad_fn={self.grad_fn}"
            if self.grad_fn is not None
            else ", requires_grad=True"
            if self.requires_grad
            else ""
        )
        return (
            f"NestedTensor(size={tuple(self._shape)}, offsets={self._offsets}{grad}, contiguous={self.is_contiguous()})"
        )

    __str__ = __repr__


JaggedTensor.__name__ = "NestedTensor"


def _rebuild_njt(constructor_kwargs):
    """Recreate a nested tensor of layout torch.jagged from a file."""
    return JaggedTensor(**constructor_kwargs)


_rebuild_njt.__module__ = "torch.nested._internal.nested_tensor"


def over(values, offsets, lengths=None, ragged=1, shortest=None, longest=None):
    """Return the nested tensor of the rows that `values` holds along dimension `ragged` - 1."""
    size = size_of(offsets if lengths is None else lengths)
    shape = (len(offsets) - 1, *values._shape[: ragged - 1], size, *values._shape[ragged:])
    t = wrap(None, tuple.__new__(Size, shape), values.dtype, values.device)
    t.__class__ = JaggedTensor
    t._v, t._offsets, t._lengths, t._ragged_idx, t._seqlens = values, offsets, lengths, ragged, [shortest, longest]
    if values._vc is None:
        values._vc = [0]
    t._vc = values._vc
    return t


def offsets_of(lengths, device=None):
    """Return the offsets of concatenated rows of these lengths: where each begins, and where the last one ends."""
    at = [0]
    for n in lengths:
        at.append(at[-1] + n)
    return FUNCTIONS["tensor"](at, device=device)


def of_rows(rows, ragged=1):
    """Return the nested tensor of copies of rows. Gradients flow back to them."""
    lengths = [r._shape[ragged - 1] for r in rows]
    return over(T.cat(rows, ragged - 1), offsets_of(lengths, rows[0].device), None, ragged, min(lengths), max(lengths))


def _aten(operator, given):
    """Return PyTorch's name of the overload that a call selects."""
    found = resolve(operator, given)
    name, overload = name_of(operator) if found is None else (found[0].name, found[0].overload_name)
    return f"aten.{name.removeprefix('aten::')}.{overload or 'default'}"


# ------------------------------------------------------------------------------------------------ elementwise
def elementwise(func, name, args, kwargs):
    """Apply an elementwise function to the elements of all rows.

    For a strided operand, its elements at the same positions are used.
    """
    first = next(a for a in (*args, *kwargs.values()) if isinstance(a, JaggedTensor))
    result = func(*(_operand(a, first, name) for a in args), **{k: _operand(a, first, name) for k, a in kwargs.items()})
    if args and isinstance(args[0], JaggedTensor) and result is args[0]._v:
        return args[0]
    if isinstance(result, tuple):
        return type(result)(list(map(first._with, result)))
    return first._with(result)


def _operand(a, first, name):
    """Return the operand to use together with the elements of `first`."""
    if isinstance(a, JaggedTensor):
        if a is not first and (
            a._ragged_idx != first._ragged_idx or a._shape[a._ragged_idx] != first._shape[first._ragged_idx]
        ):
            raise _mismatch(name, first, a)
        return a._v
    return spread(a, first, name) if isinstance(a, Tensor) and a._shape else a


def _mismatch(name, a, b):
    return RuntimeError(
        f"cannot call binary pointwise function {name} with inputs of shapes {_spoken(a)} and {_spoken(b)}"
    )


def _spoken(t):
    return tuple(t.shape) if isinstance(t, JaggedTensor) else t.shape


def spread(t, like, name):
    """Return the elements of a strided tensor at the positions of the elements of `like`."""
    n, ragged = len(like._shape), like._ragged_idx
    if len(t._shape) > n:
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    t = t[(None,) * (n - len(t._shape))]
    rows, across = t._shape[0], t._shape[ragged]
    if across == 1 and rows == 1:
        return t.squeeze(0)
    if rows not in (1, like._shape[0]):
        raise _mismatch(name, like, t)
    longest = like._get_max_seqlen()
    if across not in (1, longest):
        raise RuntimeError(
            f"The expanded size of the tensor ({longest}) must match the existing size ({across}) at non-singleton "
            f"dimension {ragged}.  Target sizes: "
            f"{[longest if i == ragged else s for i, s in enumerate(like._shape)]}.  Tensor sizes: {list(t._shape)}"
        )
    of_row, place = like.places()
    zero = T.zeros_like(of_row)
    return t.movedim(ragged, 1)[of_row if rows > 1 else zero, place if across > 1 else zero].movedim(0, ragged - 1)
