"""Indexing and index assignment, and the operators that take index tensors."""

import operator
import re
import warnings

import numpy as np

from ...tracebacks import shorten
from ..autograd.forward import linear
from ..autograd.graph import renamed
from ..autograd.views import plain_gradient
from ..call.autocast import WIDEST, WIDEST_ON_ACCELERATORS
from ..call.bind import python_number
from ..call.geometry import broadcast_shapes, preserved_strides, result_strides
from ..call.out import SAME_DTYPE, SAME_SCALAR_TYPE, SELF_AND_RESULT, Out, refuse_expanded, with_out, write
from ..call.overrides import handle_torch_function, overloaded
from ..call.tracing import TracedInt
from ..classes import NUMBERS, direct
from ..context import CONTEXT, PROCESS
from ..declare import BY_PARTS, composite, op, view
from ..device import HOST, META
from ..symbolic import INTS
from ..tensor import contiguous_strides, from_array, meta_tensor, strided_view, type_name
from ..warn import warn_once
from .common import T, Tensor, changed, check_filling_mask, check_number, dt, has_values, like_self, numel, wrap_dim
from .memory import copy_, fill_
from .views import _norm, embedded, slice_bounds

_BASIC = INTS | {slice, type(None), type(Ellipsis)}
_BOUND = INTS | {type(None)}  # of a slice


def _basic(self, index):
    """Return (shape, strides, offset) of the view that an index of ints, slices, None and Ellipsis selects."""
    if len(index) == 1 and index[0].__class__ is int:  # the most common index
        (i,), shape, st = index, self._shape, self._stride
        if shape and -shape[0] <= i < shape[0]:
            rest, i = shape[1:], i + shape[0] if i < 0 else i
            if st is None:
                return rest, None, self._offset + i * (numel(rest) or contiguous_strides(shape)[0])
            return rest, _norm(rest, st[1:]), self._offset + i * st[0]
    return _of_several(self, index)


def _of_several(self, index):
    shape = self._shape
    st = contiguous_strides(shape) if self._stride is None else self._stride
    n = len(shape)
    used = 0
    for i in index:
        if i is not None and i is not Ellipsis:
            used += 1
    if used > n:
        raise IndexError(f"too many indices for tensor of dimension {n}")
    out, ost, off, d = [], [], self._offset, 0
    for i in index:
        c = i.__class__
        if c is int:
            size = shape[d]
            if not -size <= i < size:
                dt.check_int64(i)
                raise IndexError(f"index {i} is out of bounds for dimension {d} with size {size}")
            off += (i + size if i < 0 else i) * st[d]
            d += 1
        elif c is slice:
            if i.start is i.stop is i.step is None:
                out.append(shape[d])
                ost.append(st[d])
                d += 1
                continue
            step = 1 if i.step is None else i.step
            if step == 0:
                raise ValueError("slice step cannot be zero")
            a, b = slice_bounds(shape[d], i.start, i.stop, step)
            out.append((b - a + step - 1) // step)
            ost.append(st[d] * step)
            off += a * st[d]
            d += 1
        elif i is None:
            # the stride that unsqueeze gives, before later indices select anything
            out.append(1)
            ost.append(shape[d] * st[d] if d < n else 1)
        else:
            k = n - used
            out += shape[d : d + k]
            ost += st[d : d + k]
            d += k
    out += shape[d:]
    ost += st[d:]
    out = tuple(out)
    return out, _norm(out, tuple(ost)), off


def _basic_backward(g, self_shape, index):
    if not plain_gradient(g):
        z = g.new_zeros(self_shape)
        _basic_index.call(z, index).copy_(g)
        return z
    return embedded(g, self_shape, _basic, index)


_basic_index = view(
    "_basic_index(Tensor(a) self, Any index) -> Tensor(a)",
    _basic,
    derivative=_basic_backward,
    embeds=True,
    function=False,
    method=False,
    aten="slice.Tensor",
)


def _index_meta(self, indices):
    shape = _index_shape(self, indices)
    if self._stride is None and all(i is None or i._stride is None for i in indices):
        return shape, self.dtype
    # strides of an elementwise result of the indices and self, whose stride along the indexed dimensions is 0
    at = [k for k, i in enumerate(indices) if i is not None]
    first, joint = at[0] if at == list(range(at[0], at[-1] + 1)) else 0, len(shape) - len(self._shape) + len(at)
    rest = [s for k, s in enumerate(self.stride()) if k not in at]
    laid = [(*rest[:first], *(0,) * joint, *rest[first:])]
    laid += [
        (*(0,) * first, *indices[k].expand(shape[first : first + joint]).stride(), *(0,) * len(rest[first:]))
        for k in at
    ]
    return shape, self.dtype, result_strides(shape, [meta_tensor(shape, self.dtype, st) for st in laid])


def _index_shape(self, indices):
    tensors = [i for i in indices if i is not None]
    try:
        joint = broadcast_shapes(*[t._shape for t in tensors])
    except RuntimeError:
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{', '.join(str(list(t._shape)) for t in tensors)}"
        ) from None
    at = [k for k, i in enumerate(indices) if i is not None]
    rest = [s for k, s in enumerate(self._shape) if k >= len(indices) or indices[k] is None]
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    return (*rest[:first], *joint, *rest[first:])


def _index_prepare(self, indices):
    """Convert masks to index tensors, and move all indices to self's device."""
    if all(i is None or i.device is self.device and i.dtype not in _MASKS for i in indices):
        return self, indices
    found = []
    for i in indices:
        if i is None or i.dtype not in _MASKS:
            found.append(i)
        else:
            _check_mask(self._shape, i, len(found))
            found += _mask_indices(i)
    return self, [_beside(i, self.device) for i in found]


_MASKS = frozenset((dt.bool_, dt.uint8))
_INDEX = dict(
    prepare=_index_prepare,
    saves_given=True,
    meta=_index_meta,
    derivative=lambda g, self_shape, indices: g.new_zeros(self_shape).index_put(indices, g, True),
)
index_op = op(
    "_index(Tensor self, Tensor?[] indices) -> Tensor",
    "Index",
    function=True,
    method=False,
    opmath=False,
    empty_ok=False,
    **_INDEX,
)


_BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


def _to_index(x, device):
    """Convert an index that is not basic to a tensor."""
    if isinstance(x, Tensor):
        if x.dtype not in _INDICES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if x.dtype is dt.uint8:
            warnings.warn(_BYTES, UserWarning, stacklevel=5)
        return (
            x if device is META and x.dtype in _MASKS else _beside(x, device)
        )  # on the meta device a mask would lose how many elements it selects
    if isinstance(x, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(x).__name__}'")
    if isinstance(x, np.ndarray):
        x = from_array(x)
    elif isinstance(x, (list, tuple, range)):
        from .creation import tensor

        x = tensor(list(x), dtype=dt.int64 if _empty(x) else None, device=device)
    elif hasattr(x, "__array__") and not isinstance(x, np.generic):
        x = from_array(np.array(x))
    else:
        raise IndexError(
            f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type_name(x)})"
        )
    return x if x.dtype in _INDICES else x.long()  # other sequences are read as integers, whatever their type


def _beside(index, device):
    """Move an index to the device of the indexed tensor. Only a CPU index may be on another device."""
    if index is None or index.device is device:
        return index
    if index.device is not HOST:
        raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({device})")
    return index.to(device)


_PLACES = frozenset((dt.int64, dt.int32))
_INDICES = _PLACES | _MASKS


def _empty(x):
    return len(x) == 0 or all(isinstance(i, (list, tuple)) and _empty(i) for i in x)


def _plain_int(i):
    """Convert a slice bound, such as a NumPy int or a 0-d integer tensor, to a Python int."""
    if i is None or i.__class__ in INTS:
        return i
    if i.__class__ is TracedInt:
        return i
    if not hasattr(type(i), "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return operator.index(i)


def _is_basic(index):
    """Whether an index contains only Python ints, slices of them, None and Ellipsis."""
    for i in index:
        c = i.__class__
        if c is slice:
            if i.start.__class__ not in _BOUND or i.stop.__class__ not in _BOUND or i.step.__class__ not in _BOUND:
                return False
        elif c not in _BASIC:
            return False
    return True


def _is_several(index):
    """Whether a sequence other than a tuple is treated as a tuple of indices, which is deprecated.

    It has fewer than 32 elements and contains a sequence, a tensor, a slice, None or Ellipsis.
    """
    if isinstance(index, (Tensor, np.ndarray, str, bytes)) or not _is_sequence(index) or len(index) >= 32:
        return False
    several = any(i is None or i is Ellipsis or isinstance(i, (Tensor, slice)) or _is_sequence(i) for i in index)
    if several:
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
            "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result",
            UserWarning,
            stacklevel=4,
        )
    return several


def _is_sequence(x):
    return hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, (dict, Tensor, np.generic))


def _is_mask(i):
    return isinstance(i, Tensor) and i.dtype in _MASKS


def _item(i, device):
    """Convert one index to an int, a slice of ints, None, Ellipsis or a tensor."""
    c = i.__class__
    if c is slice:
        return slice(_plain_int(i.start), _plain_int(i.stop), _plain_int(i.step))
    if c in _BASIC:
        return i
    if c is bool:
        return T.full((), i, dtype=dt.bool_, device=device)
    if isinstance(i, Tensor):
        plain = not i._shape and i.dtype.category == dt.INT and i.dtype is not dt.uint8 and has_values(i)
        return int(i.item()) if plain else _to_index(i, device)
    if isinstance(i, np.integer) or (hasattr(i, "__index__") and not isinstance(i, np.ndarray)):
        return i.__index__()
    return _to_index(i, device)


def _check_mask(shape, mask, d):
    """Raise PyTorch's error if a mask does not fit to the dimensions of a shape from d on."""
    for j, s in enumerate(mask._shape):
        if shape[d + j] != s:
            raise IndexError(
                f"The shape of the mask {list(mask._shape)} at index {j} does not match the shape of the indexed "
                f"tensor {list(shape)} at index {d + j}"
            )


def _mask_indices(mask):
    """Return the index tensors that are equivalent to a mask.

    A mask without dimensions gives one index for a new dimension.
    """
    if mask._shape:
        return T.nonzero(mask).unbind(1)
    return (T.nonzero(mask.reshape((1,)))[:, 0] if mask.device.type != "meta" else mask,)


def _one_ellipsis(index, n):
    """Remove all but the first of several ellipses from an index.

    The first one takes all dimensions that are left, so that only None may follow the second one.
    """
    first = index.index(Ellipsis)
    rest, kept = index[first + 1 :], [i for i in index[first + 1 :] if i is not Ellipsis]
    behind = rest[rest.index(Ellipsis) :]
    if any(i is not None and i is not Ellipsis for i in behind):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {n})")
    return (*index[: first + 1], *kept)


def _basic_tuple(self, index):
    return index if index.count(Ellipsis) < 2 else _one_ellipsis(index, len(self._shape))


def _asked(index):
    """Yield the objects in an index, also inside sequences, that have a __torch_function__ of their own."""
    for i in index:
        c = i.__class__
        if c is tuple or c is list:
            yield from _asked(i)
        elif (
            c not in direct
            and c not in _BASIC
            and hasattr(c, "__torch_function__")
            and not getattr(c, "_of_layout", False)
        ):
            yield i


def normalise(self, index, masks=False):
    """Split an index into (basic index tuple, advanced indices or None).

    The basic index selects a view, and the advanced indices apply to the dimensions of that view. Masks are converted
    to index tensors, unless masks=True.
    """
    if index.__class__ is not tuple:
        index = tuple(index) if index.__class__ not in _BASIC and _is_several(index) else (index,)
    if _is_basic(index):
        return _basic_tuple(self, index), None
    items = [_item(i, self.device) for i in index]
    n = len(self._shape)
    rest = n - sum(0 if i is None or i is Ellipsis else len(i._shape) if _is_mask(i) else 1 for i in items)
    if rest < 0:
        raise IndexError(f"too many indices for tensor of dimension {n}")
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    return _by_dimension(self, items, rest, masks)


def _by_dimension(self, items, rest, masks=False):
    """Return normalise's result for converted items.

    An ellipsis covers `rest` dimensions; d counts the tensor's dimensions.
    """
    basic, advanced, d, unfit = [], [], 0, None
    for i in items:
        if i is Ellipsis:
            basic += [slice(None)] * rest
            advanced += [None] * rest
            d += rest
        elif _is_mask(i):
            basic += (slice(None),) * len(i._shape) or (None,)
            if tuple(i._shape) != tuple(self._shape[d : d + len(i._shape)]):
                unfit = unfit or (i, len(advanced))
                advanced += [None] * len(i._shape)
            else:
                advanced += [i] if masks and i._shape else _mask_indices(i)
            d += len(i._shape)
        elif isinstance(i, Tensor):
            basic.append(slice(None))
            advanced.append(i)
            d += 1
        else:
            basic.append(i)
            if i.__class__ not in INTS:
                advanced.append(None)
            d += i is not None
    if unfit:  # the error tells of what the other parts of the index leave
        _check_mask(_view_at(self, tuple(basic))._shape, *unfit)
    while advanced and advanced[-1] is None:
        advanced.pop()
    return tuple(basic), advanced or None


def _view_at(self, basic):
    """Return the view that a basic index selects."""
    if not self._shape and any(i.__class__ is int for i in basic):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
            "a 0-dim tensor to a number"
        )
    return _named(_basic_index.call(self, basic), basic)


def _named(out, index):
    """Rename the graph node of a basic index after the last operator that PyTorch would record for it."""
    node = out._grad_fn
    if node is not None and node.__class__ is _basic_index.compiled_derivative.node_class:
        if len(index) == 1 and index[0].__class__ is int:
            renamed(node, "SelectBackward0")
            return out
        steps = (_step(i) for i in reversed(index))
        name = (
            next((s for s in steps if s), "Slice" if len(index) == 1 and index[0] is not Ellipsis else "Alias")
            + "Backward0"
        )
        renamed(node, name)
    return out


def _step(i):
    """Return the operator that PyTorch uses for one index, or None for none."""
    if i.__class__ is slice:
        return "Slice" if (i.start or 0) != 0 or i.stop is not None or i.step not in (None, 1) else None
    return "Unsqueeze" if i is None else None if i is Ellipsis else "Select"


def _below_advanced(self, basic):
    """Return the view to which index tensors are applied."""
    whole = all(b.__class__ is slice and b.start is None and b.stop is None and b.step is None for b in basic)
    return self if whole else _named(_basic_index.call(self, basic), basic)


def getitem(self, index):
    try:
        if self.__class__ not in direct or PROCESS.active:
            if (PROCESS.active and CONTEXT.modes) or (not CONTEXT.subclass_off and overloaded((self,))):
                return handle_torch_function(Tensor.__getitem__, (self,), self, index)
        if index.__class__ is int and self._shape:
            return _named(_basic_index.call(self, (index,)), (index,))
        if index.__class__ is Tensor and index.dtype in _PLACES and index.device is self.device and index._shape:
            if self._shape:  # a single index tensor, which needs none of the steps below
                return index_op.call(self, [index])
        given = index if index.__class__ is tuple else (index,)
        if _is_basic(given):
            return _view_at(self, _basic_tuple(self, given))
        if overloaded(asked := [*_asked(given)]):
            return handle_torch_function(Tensor.__getitem__, asked, self, index)
        basic, advanced = normalise(self, index, not has_values(self))
        return _view_at(self, basic) if advanced is None else index_op.call(_below_advanced(self, basic), advanced)
    except Exception as error:
        shorten(error)
        raise


def _written_at_once(self, index, value):
    """Write a tensor into the view that a basic index selects, without an object of autograd, where nothing needs one.

    Returns whether it is done.
    """
    if (
        PROCESS.versions
        or PROCESS.duals
        or value.__class__ not in direct
        or value.dtype is not self.dtype
        or value.device is not self.device
        or self.device is META
        or CONTEXT.grad
        and (self._requires_grad or self._view is not None or value._requires_grad)
        or not self._shape
        or self._storage is not None
        and self._storage is value._storage
    ):
        return False
    dst = strided_view(self, *_basic(self, _basic_tuple(self, index)))
    if value._shape != dst._shape and value._shape:
        return False
    write(dst, value)
    return True


def _number_for(self, value):
    """Return the number that is written into a tensor. Raise PyTorch's error for what is none, or does not fit."""
    if not isinstance(value, (int, float, complex, np.integer)):
        raise TypeError(f"can't assign a {type_name(value)} to a {self.type()}")
    value = python_number(value)
    if value.__class__ is int:
        dt.check_int64(value)
    if value.__class__ is complex or self.dtype.category >= dt.FLOAT and self.dtype.itemsize > 2:
        check_number(value, self.dtype)
    return value


def setitem(self, index, value):
    try:
        given = index if index.__class__ is tuple else (index,)
        basic = _is_basic(given)
        if self.__class__ not in direct or PROCESS.active or value.__class__ not in direct.with_numbers or not basic:
            asked = (self, value, *_asked(given))
            if (PROCESS.active and CONTEXT.modes) or (not CONTEXT.subclass_off and overloaded(asked)):
                return handle_torch_function(Tensor.__setitem__, asked, self, index, value)
        elif value.__class__ not in NUMBERS and _written_at_once(self, given, value):
            return
        value = value if isinstance(value, Tensor) else _number_for(self, value)
        if index.__class__ is bool:  # assigns nothing or everything; inside a tuple, a bool is an index tensor
            if index:
                _set_view(T.unsqueeze(self, 0), value)
            return
        if basic:
            _set_view(_view_at(self, _basic_tuple(self, given)), value)
            return
        fits = not isinstance(value, Tensor) or not value._shape or value._shape[0] != 1
        basic, advanced = normalise(
            self, index, fits and not has_values(self)
        )  # masks are kept where their values must not be read
        if advanced is None:
            _set_view(_view_at(self, basic), value)
        else:
            _set_elements(_below_advanced(self, basic), advanced, index, value)
    except Exception as error:
        shorten(error)
        raise


def _set_view(dst, value):
    if not isinstance(value, Tensor):
        if value.__class__ is not complex and dst.dtype.category == dt.FLOAT and abs(value) > 65504:
            value = T.full((), value, dtype=dt.float64)  # becomes infinity where it does not fit
        refuse_expanded(dst)
        fill_(dst, value)
        return
    while len(value._shape) > len(dst._shape) and value._shape[0] == 1:
        value = value[0]
    copy_(dst, value if value._shape == dst._shape else value.expand(dst._shape))


def _set_elements(x, advanced, index, value):
    if isinstance(value, Tensor) and value._shape and value._shape[0] == 1:
        rank = len(_index_shape(x, advanced))
        while len(value._shape) > rank and value._shape[0] == 1:
            value = value[0]
    if not isinstance(value, Tensor) or numel(value._shape) == 1:
        given = [i for i in (index if index.__class__ is tuple else (index,)) if i.__class__ not in _BASIC]
        # a mask without dimensions is an index into a new dimension
        mask = given[0].dtype if len(given) == 1 and isinstance(given[0], Tensor) and given[0]._shape else None
        if mask is dt.uint8:
            check_filling_mask(mask)
        if not isinstance(value, Tensor):
            from .creation import tensor

            value = tensor(value, dtype=x.dtype, device=x.device)
        elif mask is dt.bool_ or mask is dt.uint8:  # as masked_fill
            value = value.to(x.dtype)
    x.index_put_(advanced, value)


for _f, _name in ((getitem, "__getitem__"), (setitem, "__setitem__")):
    _f.__name__, _f.__qualname__, _f.__module__ = _name, "Tensor." + _name, "torch"
    setattr(Tensor, _name, _f)


# ------------------------------------------------------------------------------------------------ index_put
def _put_prepare(self, indices, values, accumulate):
    indices = [_beside(i, self.device) for i in indices]
    items, given = [], [i for i in indices if i is not None]
    if not given:
        _check_value(self._shape, values)
        raise RuntimeError("index_put_(): at least one index has to be a tensor")
    if (
        len(given) == 1 and given[0].dtype is dt.uint8 and not accumulate and numel(values._shape) == 1
    ):  # PyTorch uses masked_fill_ here
        check_filling_mask(dt.uint8)
    for i in indices:
        if i is not None and i.dtype in _MASKS:
            if i.dtype is dt.uint8:
                warnings.warn(_BYTES, UserWarning, stacklevel=5)
            if i.device is META:  # the number of indices is unknown
                return self, None, values, accumulate
            items += list(T.nonzero(i).unbind(1))
        else:
            if i is not None and i.dtype.category != dt.INT:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            items.append(i)
    if len(items) > len(self._shape):
        raise IndexError(f"too many indices for tensor of dimension {len(self._shape)} (got {len(items)})")
    if values.dtype is not self.dtype:
        # one value through one mask is masked_fill, which converts
        if accumulate or numel(values._shape) != 1 or len(given) != 1 or given[0].dtype not in _MASKS:
            _put_meta(self, items, values, accumulate)
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {dt.scalar_name(self.dtype)} for the "
                f"destination and {dt.scalar_name(values.dtype)} for the source."
            )
        values = values.to(self.dtype)
    return self, items, values, accumulate


def _put_meta(self, indices, values, accumulate):
    if indices is not None:
        _check_value(_index_shape(self, indices), values)
    return self._shape, self.dtype, preserved_strides(self)


def _check_value(shape, values):
    """Raise an error for a value whose shape does not broadcast to the indexed shape."""
    try:
        ok = broadcast_shapes(values._shape, shape) == tuple(shape)
    except RuntimeError:
        ok = False
    if not ok:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values._shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        )


def _put_grad_self(g, indices, accumulate):
    return g if accumulate else g.index_put(indices, g.new_zeros(()))


_index_put_grads = {"self": _put_grad_self, "values": lambda g, indices: index_op.call(g, indices)}
_INDEX_PUT = dict(
    prepare=_put_prepare,
    saves_given=True,
    meta=_put_meta,
    derivative=_index_put_grads,
    forward=linear,
    inplace=True,
    inplace_function=True,
    opmath=False,
    out=False,
)
_INDEX_PUT_ = dict(autocast=WIDEST_ON_ACCELERATORS, apart=True, expanded="tensor[indices] = tensor", **_INDEX_PUT)
op(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "InplaceIndexPut",
    **_INDEX_PUT_,
)


# ------------------------------------------------------------------------------------------------ gather and scatter
def _check_index(name, index, allow_int32=True):
    if index.dtype is not dt.int64 and not (allow_int32 and index.dtype is dt.int32):
        raise RuntimeError(
            f"{name}(): Expected dtype int64 for index, but got {index.dtype}"
            if name in ("gather", "scatter")
            else f"{name}(): Expected dtype int32 or int64 for index"
        )


def _select_prepare(self, dim, index):
    _check_index("index_select", index)
    if len(index._shape) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not self._shape and numel(index._shape) != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {numel(index._shape)} value(s)")
    dim = wrap_dim(dim, len(self._shape))
    if 0 in self._shape and len(self._shape) > 1 and numel(index._shape):
        _check_select_from_nothing(self._shape[dim], index)
    return self, dim, index


def _check_select_from_nothing(size, index):
    """Raise the errors of an index_select without elements, for which no kernel runs."""
    if not size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    for i in index.tolist() if has_values(index) else ():
        if not 0 <= i < size:
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={i} axis_dim={size}")


def _select_meta(self, dim, index):
    n = numel(index._shape)
    return (changed(self._shape, dim, n) if self._shape else ()), self.dtype


_INDEX_SELECT = dict(
    prepare=_select_prepare,
    meta=_select_meta,
    derivative=lambda g, self_shape, dim, index: g.new_zeros(self_shape).index_add(dim, index, g),
)
op(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    "IndexSelect",
    opmath=False,
    out=Out(SELF_AND_RESULT),
    apart=True,
    **_INDEX_SELECT,
)


def _gather_prepare(self, dim, index, sparse_grad):
    if index.dtype is not dt.int64 and index.dtype is not dt.int32 and numel(index._shape):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    dim = wrap_dim(dim, len(self._shape))
    a, b = max(len(self._shape), 1), max(len(index._shape), 1)
    if numel(index._shape) and a != b:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d in range(len(index._shape) if numel(index._shape) else 0):
        if d != dim and len(self._shape) and index._shape[d] > self._shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index._shape)} to be no larger than self "
                f"{list(self._shape)} apart from dimension {dim}"
            )
    return self, dim, index, sparse_grad


def _gather_grad(g, self_shape, dim, index, sparse_grad):
    if sparse_grad:
        from .sparse import gather_gradient

        return gather_gradient(g, self_shape, dim, index)
    return g.new_zeros(self_shape).scatter_add(dim, index, g)


_gather_meta = lambda self, dim, index, sparse_grad: (index._shape, self.dtype)
_GATHER = dict(
    prepare=_gather_prepare,
    meta=_gather_meta,
    call=lambda p, self, dim, index, sparse_grad: p(self, dim, index),
    derivative=_gather_grad,
)
op(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    "GatherD",
    opmath=False,
    out=SAME_DTYPE,
    apart=(0,),
    **_GATHER,
)


@composite("take(Tensor self, Tensor index) -> Tensor", out=SAME_SCALAR_TYPE, apart=True, derivative=BY_PARTS)
def take(self, index):
    if index.dtype is not dt.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {dt.scalar_name(index.dtype)}")
    if numel(self._shape) == 0 and numel(index._shape):
        raise IndexError("take(): tried to take from an empty tensor")
    return at_places(numel(self._shape), index_op.call, self.reshape((-1,)), [index])


def at_places(n, call, *args):
    """Run a call that indexes a flattened tensor of n elements.

    If an index is out of bounds, raise PyTorch's error message for that case.
    """
    try:
        return call(*args)
    except IndexError as e:
        if (found := _PLACE.match(str(e))) is None:
            raise
        raise IndexError(f"out of range: tried to access index {found[1]} on a tensor of {n} elements.") from None


_PLACE = re.compile(r"index (-?\d+) is out of bounds for dimension 0 ")


@composite("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", out=SAME_DTYPE)
def take_along_dim(self, indices, dim):
    if indices.dtype is not dt.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {dt.scalar_name(indices.dtype)}"
        )
    n = numel(self._shape) if dim is None else self.size(dim)
    indices = T.where(indices < 0, indices + n, indices)
    if dim is None:
        return self.reshape((-1,)).gather(0, indices.reshape((-1,)))
    if len(self._shape) != len(indices._shape):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {len(self._shape)} dimensions for input, and {len(indices._shape)} dimensions for indices"
        )
    d = wrap_dim(dim, len(self._shape))
    a, b = list(self._shape), list(indices._shape)
    joint = list(
        broadcast_shapes([1 if i == d else s for i, s in enumerate(a)], [1 if i == d else s for i, s in enumerate(b)])
    )
    sa, sb = joint[:], joint[:]
    sa[d], sb[d] = a[d], b[d]
    return self.expand(sa).gather(d, indices.expand(sb))


def _scatter_like(name, prim, derivative, src="Tensor src", **options):
    options = {"inplace": True, "opmath": False, "out": SAME_DTYPE, "apart": (2, 3), **options}
    schema = f"{name}(Tensor self, int dim, Tensor index, {src}) -> Tensor"
    return op(schema, prim, prepare=_scatter_prepare, meta=like_self, derivative=derivative, **options)


def _scatter_prepare(self, dim, index, src, *rest):
    if index.dtype is not dt.int64 and index.dtype is not dt.int32 and numel(index._shape):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    dim, given = wrap_dim(dim, len(self._shape)), isinstance(src, Tensor)
    if given and src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not given:
        check_number(src, self.dtype)
    if numel(index._shape):
        n = max(len(index._shape), 1)
        for name, t in (("self", self), ("src", src))[: 1 + given]:
            if max(len(t._shape), 1) != n:
                raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
        for d, k in enumerate(index._shape):
            if d != dim and self._shape and k > self._shape[d] or given and src._shape and k > src._shape[d]:
                raise RuntimeError(
                    f"Expected index {list(index._shape)} to be no larger than self {list(self._shape)} apart from "
                    f"dimension {dim}" + (f" and to be no larger size than src {list(src._shape)}" if given else "")
                )
        check_target(self, dim, index)
    return self, dim, index, src, *rest


def check_target(self, dim, index):
    """Raise an error for indices into a dimension of size 0.

    Kernels check all other indices, but do not run on empty tensors.
    """
    if self._shape and not self._shape[dim] and has_values(index):
        raise RuntimeError(f"index {int(index.reshape(-1)[0])} is out of bounds for dimension {dim} with size 0")


# of the index's shape: the engine refuses it where the source is larger, as PyTorch's does
_src_grad = lambda g, dim, index: g.gather(dim, index)
_hole = lambda g, dim, index: g.scatter(dim, index, 0)
_scatter_like("scatter.src", "Scatter", {"self": _hole, "src": _src_grad}, forward=linear)
_scatter_like("scatter.value", "ScatterValue", {"self": _hole}, src="Scalar value", node="ScatterBackward1")
_scatter_like(
    "scatter_add",
    "ScatterAddExt",
    {"self": lambda g: g, "src": _src_grad},
    out=SAME_DTYPE,
    autocast=WIDEST_ON_ACCELERATORS,
)


@composite(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor|Scalar src, *, str reduce) -> Tensor",
    inplace=True,
    out=SAME_DTYPE,
    apart=(2, 3),
)
def scatter_with_reduce(self, dim, index, src, reduce):
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(src, Tensor):
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options."
        )
    else:
        src = T.full(index._shape, src, dtype=self.dtype, device=self.device)
    return self.scatter_reduce(dim, index, src, "sum" if reduce == "add" else "prod", include_self=True)


# index_add, index_copy, index_fill: along one dimension
def check_vector(name, index):
    """Raise the error for an index of several dimensions."""
    if len(index._shape) > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {len(index._shape)} with type: "
            f"{dt.scalar_name(index.dtype)} and size: {list(index._shape)}"
        )


def _along_prepare(self, dim, index, source, *rest):
    dim = wrap_dim(dim, len(self._shape))
    if index.dtype not in (dt.int32, dt.int64):
        raise RuntimeError(
            f"index_add_(): Expected dtype int32/int64 for index but got: {dt.scalar_name(index.dtype)}"
            if rest
            else "index_copy_(): Expected a long tensor for index, but got " + dt.scalar_name(index.dtype)
        )
    if rest:
        check_vector("index_add_", index)
    elif len(index._shape) > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {len(index._shape)})")
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({dt.scalar_name(self.dtype)}) and source ({dt.scalar_name(source.dtype)}) must "
            f"have the same scalar type"
            if rest
            else "index_copy_(): self and source expected to have the same dtype, "
            f"but got (self) {dt.scalar_name(self.dtype)} and (source) {dt.scalar_name(source.dtype)}"
        )
    (check_source if rest else _check_copied)("index_add_", self, dim, index, source)
    for alpha in rest:
        check_number(alpha, self.dtype)
    return self, dim, index, source, *rest


def check_source(name, self, dim, index, source):
    """Check that source has self's shape except along dim, where it has one element for each index."""
    if source._shape and dim >= len(source._shape):
        raise RuntimeError(
            f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim {len(source._shape)}"
        )
    n, have = numel(index._shape), source._shape[dim] if source._shape else 1
    if n != have:
        raise RuntimeError(
            f"{name}(): Number of indices ({n}) should be equal to source.size(dim): ({have}), for dim: {dim}"
        )
    if len(self._shape) != len(source._shape) or changed(self._shape, dim) != changed(source._shape, dim):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(self._shape)} source.shape = {list(source._shape)}"
        )


def _check_copied(name, self, dim, index, source):
    n, own, given = numel(index._shape), self._shape, source._shape
    if not given and n != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {n})")
    if own and given and len(own) != len(given):
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            f"Source dimensionality ({len(given)}), destination dimensionality ({len(own)})"
        )
    own, given = changed(own, dim), changed(given, dim)
    if own != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, own))} at dimension {dim} and source slice shape: {' '.join(map(str, given))} at "
            "dimension 0."
        )
    have = source._shape[dim] if source._shape else 1
    if n != have:
        raise IndexError(f"index_copy_(): Number of indices ({n}) should be equal to source.size(dim) ({have})")


def _along(g, dim, index, shape):
    r = g.index_select(dim, index)
    return r if r._shape == tuple(shape) else r.reshape(shape)


_unindexed = lambda g, dim, index: g.index_fill(dim, index, 0)
_index_add_call = lambda p, self, dim, index, source, alpha: p(self, index, source, dim, alpha)
_index_add_grads = {
    "self": lambda g: g,
    "source": lambda g, dim, index, alpha, source_shape: _along(g, dim, index, source_shape) * alpha,
}
_INDEX_ADD = dict(
    prepare=_along_prepare, meta=like_self, call=_index_add_call, derivative=_index_add_grads, apart=(2, 3)
)
op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    "IndexAddExt",
    inplace=True,
    out=SAME_DTYPE,
    **_INDEX_ADD,
)
_index_copy_grads = {
    "self": _unindexed,
    "source": lambda g, dim, index, source_shape: _along(g, dim, index, source_shape),
}
_INDEX_COPY = dict(
    prepare=_along_prepare,
    meta=like_self,
    derivative=_index_copy_grads,
    forward=linear,
    inplace=True,
    opmath=False,
    out=SAME_DTYPE,
    apart=(2, 3),
)
op(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    "InplaceIndexCopy",
    autocast=WIDEST,
    **_INDEX_COPY,
)


def _fill_prepare(self, dim, index, value):
    dim = wrap_dim(dim, len(self._shape))
    if index.dtype not in (dt.int64, dt.int32):
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if len(index._shape) > 1:
        raise IndexError("index_fill_(): Index has to be a vector/scalar")
    if isinstance(value, Tensor):
        if value._shape:
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value._shape)} "
                f"dimension(s)."
            )
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    check_number(value, self.dtype)
    return self, dim, index, value


_index_fill_meta = lambda self, *a: (self._shape, self.dtype, preserved_strides(self))
_index_fill_grads = {"self": _unindexed, "value": lambda g, dim, index: g.index_select(dim, T.unique(index)).sum()}
_INDEX_FILL = dict(
    prepare=_fill_prepare, meta=_index_fill_meta, derivative=_index_fill_grads, inplace=True, opmath=False, out=False
)
_INDEX_FILL |= {"node": lambda given, shapes: f"IndexFillBackward{int(shapes['value'] is not None)}"}
_INDEX_FILL |= {"aten": "index_fill.int_Tensor", "apart": (2,), "expanded": "tensor[mask] = scalar"}
op(
    "index_fill(Tensor self, int dim, Tensor index, Tensor|Scalar value) -> Tensor",
    "InplaceIndexFillTensor",
    **_INDEX_FILL,
)


def _nonzero_meta(self):
    if self.device.type == "meta":
        raise NotImplementedError(
            f"nonzero: the shape of the result depends on values, which a tensor on device meta does not have (dtype "
            f"{self.dtype}, shape {list(self._shape)})"
        )
    return None, dt.int64  # the kernel knows the shape


_nonzero = op(
    "_nonzero(Tensor self) -> Tensor",
    "NonZero",
    meta=_nonzero_meta,
    function=False,
    method=False,
    opmath=False,
    out=SAME_SCALAR_TYPE,
)


@composite("Tensor.nonzero(Tensor self, *, bool as_tuple=False) -> Tensor", out=False)
@composite("nonzero(Tensor self, *, bool as_tuple=False, Tensor? out=None) -> Tensor", method=False, out=False)
def nonzero(self, as_tuple, out=None):
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return (self if self._shape else self.unsqueeze(0)).nonzero().unbind(1)
    r = _nonzero.call(self.detach() if self._requires_grad else self)
    if len(self._shape) == 1:  # PyTorch's result has one column after the other
        r._stride = (1, r._shape[0])
    return r if out is None else with_out(_nonzero, r, out)


composite("argwhere(Tensor self) -> Tensor", out=False)(lambda self: self.nonzero())
