"""Operators that only change the geometry: no kernel, no copy."""

import itertools

from ..autograd import as_strided_backward, check_captured, check_inplace, set_history
from ..autograd.graph import named, renamed
from ..autograd.tangents import carry
from ..autograd.views import plain_gradient
from ..backend import backend
from ..call.autocast import FLOAT32
from ..call.bind import as_int
from ..call.dispatch import handle, intercepted
from ..call.tracing import traced
from ..context import CONTEXT, PROCESS
from ..declare import composite, op, view
from ..registry import ATEN, OPERATORS
from ..symbolic import SymInt, expected, larger, layout_only, smaller, within
from ..tensor import alias, check_numel, check_writable, extent, strided_view
from ..warn import warn_once
from .common import M, T, Tensor, changed, contiguous_strides, dt, numel, wrap_dim, wrap_dims
from .creation import fill_op


@layout_only
def _norm(shape, stride):
    """Return strides as they are stored: None for the canonical contiguous ones."""
    return None if stride == contiguous_strides(shape) else stride


def _strides(t):
    s = t._stride
    return contiguous_strides(t._shape) if s is None else s


# ------------------------------------------------------------------------------------------------ view, reshape
def infer_size(size, n):
    """Return the shape with its -1 replaced by the inferred size."""
    if -1 in size:
        if size.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        known = 1
        for s in size:
            if s != -1:
                known *= s
        if known == 0 and n == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size "
                f"-1 can be any value and is ambiguous"
            )
        if known == 0 or n % known:
            raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {n}")
        size = tuple(n // known if s == -1 else s for s in size)
        return size
    count = 1
    for s in size:
        if s < 0:
            raise RuntimeError(f"invalid shape dimension {s} at index {size.index(s)} of shape {list(size)}")
        count *= s
    if count != n:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {n}")
    return size


def view_strides(shape, stride, new):
    """Return the strides of the same memory under another shape, or None where no view exists."""
    n = numel(shape)
    if n == 0:
        return stride if tuple(shape) == tuple(new) else contiguous_strides(new)
    out = [0] * len(new)
    d = len(new) - 1
    if not shape:
        return (1,) * len(new)
    base = stride[-1]
    tensor_n = view_n = 1
    for i in range(len(shape) - 1, -1, -1):
        tensor_n *= shape[i]
        if i == 0 or (shape[i - 1] != 1 and stride[i - 1] != tensor_n * base):
            while d >= 0 and (view_n < tensor_n or new[d] == 1):
                out[d] = view_n * base
                view_n *= new[d]
                d -= 1
            if view_n != tensor_n:
                return None
            if i > 0:
                base, tensor_n, view_n = stride[i - 1], 1, 1
    return tuple(out) if d == -1 else None


def _view_geometry(self, size):
    shape = self._shape
    size = infer_size(size, numel(shape))
    if self._stride is None:
        return size, None, self._offset
    st = view_strides(shape, self._stride, size)
    if st is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return size, _norm(size, st), self._offset


_RESHAPED = dict(derivative=lambda g, self_shape: T.reshape(g, self_shape))
_view = view("Tensor.view(Tensor(a) self, int[] size) -> Tensor(a)", _view_geometry, varargs="size", **_RESHAPED)
_unsafe_view = view(
    "aten._unsafe_view(Tensor self, int[] size) -> Tensor", _view_geometry, node="UnsafeViewBackward0", **_RESHAPED
)


def _view_dtype(self, dtype):
    if dtype is self.dtype:
        return self._shape, self._stride, self._offset, dtype
    a, b = self.dtype.itemsize, dtype.itemsize
    if a == b:
        return self._shape, self._stride, self._offset, dtype
    names = f"{dt.scalar_name(self.dtype)} as {dt.scalar_name(dtype)}"
    if not self._shape:
        raise RuntimeError(f"self.dim() cannot be 0 to view {names} (different element sizes)")
    st, k, wider = _strides(self), max(a, b) // min(a, b), b > a
    if wider and self._shape[-1] % k:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {k} to view {names} (different element sizes), "
            f"but got {self._shape[-1]}"
        )
    if wider and self._offset % k:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {k} to view {names} (different element sizes), "
            f"but got {self._offset}"
        )
    if st[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 to view {names} (different element sizes), but got {st[-1]}")
    if not wider:
        shape, st, off = (*self._shape[:-1], self._shape[-1] * k), (*[s * k for s in st[:-1]], 1), self._offset * k
    else:
        for i, s in enumerate(st[:-1]):
            if s % k:
                raise RuntimeError(
                    f"self.stride({i}) must be divisible by {k} to view {names} (different element sizes), but got {s}"
                )
        shape, st, off = (*self._shape[:-1], self._shape[-1] // k), (*[s // k for s in st[:-1]], 1), self._offset // k
    return shape, _norm(shape, st), off, dtype


view("Tensor.view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", _view_dtype, derivative=None)


@composite("reshape(Tensor self, int[] shape) -> Tensor", varargs="shape", out=False)
def reshape(self, shape):
    """Return a view where one exists, otherwise a copy."""
    if (
        self._stride is not None
        and view_strides(self._shape, self._stride, infer_size(shape, numel(self._shape))) is None
    ):
        return _unsafe_view.call(self.contiguous(), shape)
    return _view.call(self, shape)


composite("Tensor.view_as(Tensor self, Tensor other) -> Tensor")(lambda self, other: self.view(other._shape))
composite("Tensor.reshape_as(Tensor self, Tensor other) -> Tensor")(lambda self, other: self.reshape(other._shape))


@composite("flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor", out=False)
def flatten(self, start_dim, end_dim):
    n = len(self._shape)
    a, b = wrap_dim(start_dim, n), wrap_dim(end_dim, n)
    if n == 0:
        return self.reshape((1,))
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if a == b:
        return self
    return self.reshape((*self._shape[:a], numel(self._shape[a : b + 1]), *self._shape[b + 1 :]))


@composite("unflatten(Tensor self, int dim, int[] sizes) -> Tensor", out=False)
def unflatten(self, dim, sizes):
    d = wrap_dim(dim, len(self._shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    n = self._shape[d]
    try:
        sizes = infer_size(tuple(sizes), n)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input "
            f"tensor"
        ) from None
    return self.view(changed(self._shape, d, *sizes))


composite("ravel(Tensor self) -> Tensor", out=False)(lambda self: self.contiguous().view((-1,)))


# ------------------------------------------------------------------------------------------------ transposition
def _transpose_geometry(self, dim0, dim1):
    n = len(self._shape)
    a, b = wrap_dim(dim0, n), wrap_dim(dim1, n)
    if a == b or n == 0:
        return self._shape, self._stride, self._offset
    shape, st = list(self._shape), list(_strides(self))
    shape[a], shape[b] = shape[b], shape[a]
    st[a], st[b] = st[b], st[a]
    shape, st = tuple(shape), tuple(st)
    return shape, _norm(shape, st), self._offset


_TRANSPOSE_INT = dict(derivative=lambda g, dim0, dim1: T.transpose(g, dim0, dim1), inplace=False)
view("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", _transpose_geometry, **_TRANSPOSE_INT)
composite("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", out=False)(
    lambda self, axis0, axis1: T.transpose(self, axis0, axis1)
)
composite("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", out=False)(
    lambda self, dim0, dim1: T.transpose(self, dim0, dim1)
)


def _permute_geometry(self, dims):
    n = len(self._shape)
    if len(dims) != n:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(d, n) for d in dims]
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    st = _strides(self)
    shape, st = tuple([self._shape[i] for i in order]), tuple([st[i] for i in order])
    return shape, _norm(shape, st), self._offset


def _inverse(dims):
    n = len(dims)
    out = [0] * n
    for i, d in enumerate(dims):
        out[d % n] = i
    return out


view(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    _permute_geometry,
    derivative=lambda g, dims: T.permute(g, _inverse(dims)),
    varargs="dims",
)


@composite(
    "movedim(Tensor self, int[1] source, int[1] destination) -> Tensor",
    alias=("moveaxis",),
    out=False,
    sparse="composite",
)
def movedim(self, source, destination):
    n = len(self._shape)
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    src, dst = [wrap_dim(d, n) for d in source], [wrap_dim(d, n) for d in destination]
    for what, given, ds in (("source", source, src), ("destination", destination, dst)):
        if len(set(ds)) != len(ds):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    if n == 0:
        return self.view(())
    order = [None] * n
    for s, d in zip(src, dst):
        order[d] = s
    rest = iter(i for i in range(n) if i not in src)
    return self.permute([next(rest) if o is None else o for o in order])


def _t_geometry(self):
    n = len(self._shape)
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return _transpose_geometry(self, 0, 1) if n == 2 else (self._shape, self._stride, self._offset)


view("t(Tensor(a) self) -> Tensor(a)", _t_geometry, derivative=lambda g: T.t(g))


@composite("adjoint(Tensor self) -> Tensor", sparse="composite")
def adjoint(self):
    return _adjoint(self, "adjoint()", "tensor.adjoint()")


def _adjoint(self, name, said):
    _check_matrices(self, name, said, "Consider using x.conj().")
    x = self.transpose(-2, -1) if self._shape else self
    return x.conj() if self.dtype.is_complex else x


def _check_matrices(self, name, said, instead):
    if len(self._shape) == 1:
        raise RuntimeError(f"{said} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if not self._shape:
        warn_once(f"{name} is deprecated on 0-D tensors. {instead}")


_IDENTITY = "This function is the identity in these cases."


def _reversed(self):
    n = len(self._shape)
    if n != 2:
        warn_once(_NO_MATRIX if n else f"Tensor.T is deprecated on 0-D tensors. {_IDENTITY}")
    return self.permute(list(range(n))[::-1])


_NO_MATRIX = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
    "1, -1, -1))` to reverse the dimensions of a tensor."
)


def _mt(self):
    _check_matrices(self, "Tensor.mT", "tensor.mT", _IDENTITY)
    return self.transpose(-2, -1) if self._shape else self


def _h(self):
    n = len(self._shape)
    if n % 2 or n > 2:
        hint = "" if n == 1 else " For batches of matrices, consider using tensor.mH"
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor.{hint}")
    return _adjoint(self, "Tensor.H", "tensor.H")


Tensor.T = property(_reversed, doc="dimensions reversed")
Tensor.mT = property(_mt, doc="last two dimensions swapped")
Tensor.H = property(_h, doc="conjugate transpose of a matrix")
Tensor.mH = property(
    lambda self: _adjoint(self, "Tensor.mH", "tensor.mH"), doc="conjugate transpose of the last two dimensions"
)


# ------------------------------------------------------------------------------------------------ size-1 dimensions
def _unsqueeze_geometry(self, dim):
    n = len(self._shape) + 1
    d = wrap_dim(dim, n)
    shape = (*self._shape[:d], 1, *self._shape[d:])
    if self._stride is None:
        return shape, None, self._offset
    st = self._stride
    new = self._shape[d] * st[d] if d < n - 1 else 1
    st = (*st[:d], new, *st[d:])
    return shape, _norm(shape, st), self._offset


view(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", _unsqueeze_geometry, derivative=lambda g, dim: T.squeeze(g, dim)
)


def _drop(self, dims):
    if not dims:
        return self._shape, self._stride, self._offset
    keep = [i for i in range(len(self._shape)) if i not in dims]
    st = _strides(self)
    shape = tuple(self._shape[i] for i in keep)
    return shape, _norm(shape, tuple(st[i] for i in keep)), self._offset


def _squeeze_dims(self, dims):
    n = len(self._shape)
    ds = wrap_dims(dims, n, empty_is_all=False)
    return _drop(self, {d for d in ds if n and self._shape[d] == 1})


_squeeze_grad = lambda g, self_shape: T.reshape(g, self_shape)
view(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    lambda self: _drop(self, {i for i, s in enumerate(self._shape) if s == 1}),
    derivative=_squeeze_grad,
)
view(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    lambda self, dim: _squeeze_dims(self, (dim,)),
    derivative=_squeeze_grad,
    node="SqueezeBackward1",
)
view(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    _squeeze_dims,
    derivative=_squeeze_grad,
    node="SqueezeBackward2",
)


# ------------------------------------------------------------------------------------------------ expand
def _expand_geometry(self, size, implicit=False):
    shape, n, k = self._shape, len(self._shape), len(size)
    if k < n:
        raise RuntimeError(
            f"expand({tensor_name(self)}{{{list(shape)}}}, size={list(size)}): the number of sizes provided ({k}) "
            f"must be greater or equal to the number of dimensions in the tensor ({n})"
        )
    st, off = _strides(self), k - n
    out, ost = [0] * k, [0] * k
    if n == 0 and all(k >= 0 for k in size):
        check_numel(size)
        return tuple(size), _norm(tuple(size), tuple(ost)), self._offset
    for i in range(k - 1, -1, -1):
        want = size[i]
        if i < off:
            if want < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({want}) isn't allowed in a leading, non-existing dimension {i}"
                )
            out[i], ost[i] = want, (out[i + 1] * ost[i + 1] if i + 1 < k else 1) if want == 1 else 0
            continue
        have, s = shape[i - off], st[i - off]
        if want == -1 or want == have:
            out[i], ost[i] = have, s
        elif have == 1:
            out[i], ost[i] = want, 0
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
        if out[i] < 0:
            raise RuntimeError(f"invalid expanded size {want}")
    out = tuple(out)
    check_numel(out)
    return out, _norm(out, tuple(ost)), self._offset


def tensor_name(t):
    return f"torch.{dt.LEGACY.get(t.dtype, 'Float')}Tensor{{"[:-1]


_expand_grad = lambda g, self_shape: M.sum_to_size(g, self_shape) if g._shape != self_shape else g
view(
    "Tensor.expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
    _expand_geometry,
    derivative=_expand_grad,
    varargs="size",
)
composite("Tensor.expand_as(Tensor self, Tensor other) -> Tensor")(lambda self, other: self.expand(other._shape))
composite("broadcast_to(Tensor self, int[] size) -> Tensor", varargs="size", out=False)(
    lambda self, size: self.expand(size)
)


# ------------------------------------------------------------------------------------------------ select, slice, narrow
def embedded(g, shape, geometry, *args):
    """Return the gradient of a view's base, which has the given shape: the view's gradient, and zeros elsewhere.

    Only for a gradient that is a plain_gradient().
    """
    z = fill_op.call(shape, 0, g.dtype, g.device)
    if numel(g._shape):
        backend(z.device).write(strided_view(z, *geometry(z, *args)), g)
    return z


def _select_geometry(self, dim, index):
    n = len(self._shape)
    if n == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, n)
    size = self._shape[d]
    symbolic = size.__class__ is SymInt or index.__class__ is SymInt
    if not (within(index, size) if symbolic else -size <= index < size):
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self._shape)} at dimension {d}"
        )
    st = _strides(self)
    shape = changed(self._shape, d)
    return shape, _norm(shape, (*st[:d], *st[d + 1 :])), self._offset + (index + size if index < 0 else index) * st[d]


@composite("aten.select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor")
def select_backward(grad_output, input_sizes, dim, index):
    """Return the gradient of select's input: grad_output at the index, zero elsewhere."""
    return T.select_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, index)


def _select_int_grad(g, self_shape, dim, index):
    if plain_gradient(g):
        return embedded(g, self_shape, _select_geometry, dim, index)
    return ATEN.select_backward(g, self_shape, dim, index)


view(
    "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)",
    _select_geometry,
    derivative=_select_int_grad,
    embeds=True,
)


def slice_bounds(size, start, end, step):
    if step <= 0:
        raise ValueError("step must be greater than zero" if step < 0 else "slice step must be positive")
    start = 0 if start is None else start
    end = size if end is None else end
    low, high = (min, max) if size.__class__ is int is start.__class__ is end.__class__ else (smaller, larger)
    start = high(start + size, 0) if start < 0 else low(start, size)
    end = high(end + size, 0) if end < 0 else low(end, size)
    return start, high(end, start)


@layout_only
def _slice_geometry(self, dim, start, end, step):
    if not self._shape:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, len(self._shape))
    a, b = slice_bounds(self._shape[d], start, end, step)
    if step == 1 and a == 0 and b == self._shape[d]:
        return self._shape, self._stride, self._offset
    st = _strides(self)
    shape = changed(self._shape, d, (b - a + step - 1) // step)
    offset = self._offset + a * st[d]
    if step != 1:
        st = (*st[:d], st[d] * step, *st[d + 1 :])
    return shape, _norm(shape, st), offset


@composite(
    "aten.slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor"
)
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    """Return the gradient of slice's input: grad_output in the slice, zero elsewhere."""
    return T.slice_scatter(grad_output.new_zeros(input_sizes), grad_output, dim, start, end, step)


def _slice_grad(g, self_shape, dim, start, end, step):
    if plain_gradient(g):
        return embedded(g, self_shape, _slice_geometry, dim, start, end, step)
    return ATEN.slice_backward(g, self_shape, dim, start or 0, 2**63 - 1 if end is None else end, step)


_SLICE = dict(derivative=_slice_grad, embeds=True, function=True, method=True)
view(
    "_slice(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)",
    _slice_geometry,
    **_SLICE,
)


@composite("narrow(Tensor self, int dim, int start, int length) -> Tensor", out=False)
def narrow(self, dim, start, length):
    if not self._shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    d = wrap_dim(dim, len(self._shape))
    size = self._shape[d]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return self._slice(d, start, start + length, 1)


@composite("narrow.Tensor(Tensor self, int dim, Tensor start, int length) -> Tensor", out=False)
def narrow_tensor(self, dim, start, length):
    if start._shape or start.dtype.category != dt.INT:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return self.narrow(dim, int(start.item()), length)


# ------------------------------------------------------------------------------------------------ several views
def _unbind_geometry(self, dim):
    d = wrap_dim(dim, len(self._shape))
    if not self._shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    st = _strides(self)
    shape = changed(self._shape, d)
    rest = _norm(shape, (*st[:d], *st[d + 1 :]))
    return [(shape, rest, self._offset + i * st[d]) for i in range(self._shape[d])]


def _blocks(gs, sizes, shape, d, like):
    """Yield the gradients of parts along a dimension, with one block of zeros for neighbouring parts that have none.

    The cost grows with the number of gradients that exist. `like` is (dtype, device) of the zeros.
    """
    dtype, device = like
    for missing, run in itertools.groupby(range(len(gs)), lambda i: gs[i] is None):
        if missing:
            yield T.zeros(changed(shape, d, sum(sizes[i] for i in run)), dtype=dtype, device=device)
        else:
            yield from (gs[i] for i in run)


def parts_put_together(gs, node, dim):
    """Return the gradient of a tensor from the gradients of its parts along a dimension, some of which may be None."""
    gs = [*gs, *[None] * (len(node._out_meta) - len(gs))]
    shape, *like = node._out_meta[0][:3]
    d = wrap_dim(dim, len(shape))
    return T.cat([*_blocks(gs, [m[0][d] for m in node._out_meta], shape, d, like)], dim)


def _rows_put_together(gs, node, dim):
    """Return the gradient of a tensor from the gradients of its rows along a dimension, some of which may be None."""
    gs = [*gs, *[None] * (len(node._out_meta) - len(gs))]
    there = [i for i, g in enumerate(gs) if g is not None]
    if len(there) == len(gs):
        return T.stack(gs, dim)
    shape, *like = node._out_meta[0][:3]
    d = wrap_dim(dim, len(shape) + 1)
    whole = (*shape[:d], len(gs), *shape[d:])
    if len(there) == 1:
        return _select_int_grad(gs[there[0]], whole, d, there[0])
    rows = [None if g is None else T.unsqueeze(g, d) for g in gs]
    return T.cat([*_blocks(rows, [1] * len(gs), whole, d, like)], d)


view("unbind.int(Tensor(a) self, int dim=0) -> Tensor(a)[]", _unbind_geometry, derivative=_rows_put_together)


def _split_geometry(self, split_sizes, dim):
    d = wrap_dim(dim, len(self._shape))
    st, out, start = _strides(self), [], 0
    for n in split_sizes:
        shape = changed(self._shape, d, n)
        out.append((shape, _norm(shape, st), self._offset + start * st[d]))
        start += n
    return out


def _equal_parts(self, split_size, dim):
    n = self._shape[wrap_dim(dim, len(self._shape))]
    count = max(-(-n // split_size), 1) if split_size else 1
    return _split_geometry(
        self, [min(split_size, n - i * split_size) for i in range(count)] if split_size else [0], dim
    )


_PARTS = dict(derivative=parts_put_together, method=False)
_SPLIT_WITH_SIZES = dict(node="SplitWithSizesBackward0", **_PARTS)
view(
    "_split_with_sizes(Tensor(a) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    _split_geometry,
    **_SPLIT_WITH_SIZES,
)
view("_split(Tensor(a) self, int split_size, int dim=0) -> Tensor(a)[]", _equal_parts, node="SplitBackward0", **_PARTS)


@composite("split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]")
def split_with_sizes(self, split_sizes, dim):
    n = self.size(dim) if self._shape else 0
    if not all(expected(s >= 0) for s in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, "
            f"but got split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}"
        )
    return T._split_with_sizes(self, split_sizes, dim)


@composite("split(Tensor tensor, Any split_size_or_sections, int dim=0) -> Tensor[]", method=False, python=True)
def split_function(tensor, split_size_or_sections, dim):
    return split(tensor, split_size_or_sections, dim)


@composite("Tensor.split(Tensor self, Any split_size, int dim=0) -> Tensor[]")
def split(self, split_size, dim):
    if not self._shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(split_size, (tuple, list)):
        return T.split_with_sizes(self, split_size, dim)
    size = as_int(split_size)
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    n = self._shape[wrap_dim(dim, len(self._shape))]
    if size == 0 and n != 0:
        raise RuntimeError("split_size can only be 0 if dimension size is 0, but got dimension size of " + str(n))
    return T._split(self, size, dim)


@composite("chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")
def chunk(self, chunks, dim):
    if not self._shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = self._shape[wrap_dim(dim, len(self._shape))]
    size = (n + chunks - 1) // chunks
    return T._split_with_sizes(self, [0] * chunks, dim) if size == 0 else self.split(size, dim)


def _split_dim(self, dim):
    if not self._shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    return wrap_dim(dim, len(self._shape))


@composite(
    "tensor_split.tensor_indices_or_sections(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]"
)
def tensor_split_tensor(self, tensor_indices_or_sections, dim):
    wanted = tensor_indices_or_sections
    if wanted.dtype is not dt.int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, "
            f"but got {dt.scalar_name(wanted.dtype)}"
        )
    if len(wanted._shape) > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
            f"but got a tensor with {len(wanted._shape)} dims"
        )
    return T.tensor_split(self, wanted.tolist(), dim)


@composite("tensor_split.sections(Tensor self, int sections, int dim=0) -> Tensor[]")
def tensor_split_sections(self, sections, dim):
    d = _split_dim(self, dim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    small, extra = divmod(self._shape[d], sections)
    starts = [i * small + min(i, extra) for i in range(sections + 1)]
    return tuple(
        self._slice(d, a, b, 1) for a, b in zip(starts, starts[1:])
    )  # may be written to in place, unlike the parts of split()


@composite("tensor_split.indices(Tensor self, int[] indices, int dim=0) -> Tensor[]")
def tensor_split_indices(self, indices, dim):
    d = _split_dim(self, dim)
    n = self._shape[d]
    cuts = [slice_bounds(n, 0, i, 1)[1] if i < 0 or i <= n else n for i in indices]
    return tuple(self._slice(d, min(a, n), b if b >= a else a, 1) for a, b in zip([0, *cuts], [*cuts, n]))


def _named_split(name, dim_of, least):
    def checked(self):
        n = len(self._shape)
        if n < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {n} dimensions!"
            )
        return dim_of(n)

    @composite(f"{name}.int(Tensor self, int sections) -> Tensor[]")
    def into(self, sections):
        d = checked(self)
        if sections <= 0 or self._shape[d] % sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {self._shape[d]} "
                f"is not divisible by the split_size {sections}!"
            )
        return T.tensor_split(self, sections, d)

    composite(f"{name}.array(Tensor self, int[] indices) -> Tensor[]")(
        lambda self, indices: T.tensor_split(self, indices, checked(self))
    )


_named_split("hsplit", lambda n: 0 if n == 1 else 1, 1)
_named_split("vsplit", lambda n: 0, 2)
_named_split("dsplit", lambda n: 2, 3)


# ------------------------------------------------------------------------------------------------ diagonal, unfold
def _diagonal_geometry(self, offset, dim1, dim2):
    n = len(self._shape)
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    st = _strides(self)
    size = min(self._shape[a], self._shape[b] - offset) if offset >= 0 else min(self._shape[a] + offset, self._shape[b])
    size = max(size, 0)
    off = self._offset + (0 if size == 0 else offset * st[b] if offset >= 0 else -offset * st[a])
    keep = [i for i in range(n) if i not in (a, b)]
    shape = (*[self._shape[i] for i in keep], size)
    return shape, _norm(shape, (*[st[i] for i in keep], st[a] + st[b])), off


@composite("aten.diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor")
def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    """Return the gradient of diagonal's input: grad_output on the diagonal, zero elsewhere."""
    return T.diagonal_scatter(grad_output.new_zeros(input_sizes), grad_output, offset, dim1, dim2)


def _diagonal_grad(g, self_shape, offset, dim1, dim2):
    if plain_gradient(g):
        return embedded(g, self_shape, _diagonal_geometry, offset, dim1, dim2)
    return ATEN.diagonal_backward(g, self_shape, offset, dim1, dim2)


view(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    _diagonal_geometry,
    derivative=_diagonal_grad,
    embeds=True,
    alias=("linalg._diagonal",),
)
composite("linalg.diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")(
    lambda A, offset, dim1, dim2: T.diagonal(A, offset, dim1, dim2)
)


def _unfold_geometry(self, dimension, size, step):
    n = len(self._shape)
    d = wrap_dim(dimension, n)
    have = self._shape[d] if n else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    st = _strides(self)
    if not n:
        return (size,), _norm((size,), (1,)), self._offset
    shape = (*self._shape[:d], (have - size) // step + 1, *self._shape[d + 1 :], size)
    return shape, _norm(shape, (*st[:d], st[d] * step, *st[d + 1 :], st[d])), self._offset


_unfold_grad = lambda g, self_shape, dimension, size, step: ATEN.unfold_backward(g, self_shape, dimension, size, step)
view(
    "Tensor.unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    _unfold_geometry,
    derivative=_unfold_grad,
)


@composite("aten.unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor")
def unfold_backward(g, shape, dimension, size, step):
    """Return the gradient of unfold's input: each window's gradient added where the window was taken."""
    if not shape:
        return g.sum()
    d = wrap_dim(dimension, len(shape))
    n = shape[d]
    index = (
        T.arange(0, g._shape[d], device=g.device).unsqueeze(1) * step + T.arange(0, size, device=g.device)
    ).reshape((-1,))
    g = g.movedim(-1, d + 1).flatten(d, d + 1)
    return g.new_zeros(changed(shape, d, n)).index_add(d, index, g)


# ------------------------------------------------------------------------------------------------ as_strided
def _as_strided_geometry(self, size, stride, storage_offset=None):
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    off = self._offset if storage_offset is None else storage_offset
    if any(s < 0 for s in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if any(not 0 <= s < 2**63 for s in stride):
        for s in stride:
            dt.check_int64(s)
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if off < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {off}")
    check_numel(size)
    if 0 not in size:
        need = (off + extent(size, stride)) * self.dtype.itemsize
        have = self._get_storage().nbytes()
        if need > have:
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {off}, "
                f"and itemsize {self.dtype.itemsize} requiring a storage size of {need} are out of bounds for storage "
                f"of size {have}"
            )
    return size, _norm(size, stride), off


_as_strided_grad = lambda g, self, size, stride, storage_offset: as_strided_backward(
    g,
    self._shape,
    self.stride(),
    self._offset,
    size,
    stride,
    self._offset if storage_offset is None else storage_offset,
)
view(
    "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)",
    _as_strided_geometry,
    derivative=_as_strided_grad,
    reads={"self": ()},
)


# ------------------------------------------------------------------------------------------------ complex parts
def _real_view(self, at):
    if not self.dtype.is_complex:
        if at == 1:
            raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
        return self._shape, self._stride, self._offset
    st = tuple(s * 2 for s in _strides(self))
    return self._shape, _norm(self._shape, st), self._offset * 2 + at, self.dtype.to_real()


view(
    "_real(Tensor(a) self) -> Tensor(a)",
    lambda self: _real_view(self, 0),
    derivative=lambda g: T.complex(g, T.zeros_like(g)),
    aten="real.default",
)
view(
    "imag(Tensor(a) self) -> Tensor(a)",
    lambda self: _real_view(self, 1),
    derivative=lambda g: T.complex(T.zeros_like(g), g),
    method=False,
)


@composite("real(Tensor self) -> Tensor", method=False, out=False)
def real(self):
    return T._real(self) if self.dtype.is_complex else self


Tensor.real = property(
    lambda self: real(self),
    lambda self, v: self.real.copy_(v) if self.dtype.is_complex else self.copy_(v),
    doc="The real parts: a view, for writing as well.",
)
Tensor.imag = property(
    lambda self: T.imag(self),
    lambda self, v: self.imag.copy_(v),
    doc="The imaginary parts: a view, for writing as well. RuntimeError for real dtypes.",
)


def _view_as_real(self):
    if not self.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    shape = (*self._shape, 2)
    return shape, _norm(shape, (*[s * 2 for s in _strides(self)], 1)), self._offset * 2, self.dtype.to_real()


def _view_as_complex(self):
    if self.dtype not in (dt.float16, dt.float32, dt.float64):
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{dt.scalar_name(self.dtype)}"
        )
    st = _strides(self)
    if not self._shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self._shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if st[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in st[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self._offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    shape = self._shape[:-1]
    return tuple(shape), _norm(tuple(shape), tuple(s // 2 for s in st[:-1])), self._offset // 2, self.dtype.to_complex()


view(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    _view_as_real,
    derivative=lambda g: T.view_as_complex(g.contiguous()),
    method=False,
)
view(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    _view_as_complex,
    derivative=lambda g: T.view_as_real(g.contiguous().resolve_conj()),
    method=False,
    autocast=FLOAT32,
)
view(
    "_alias(Tensor(a) self) -> Tensor(a)",
    lambda self: (self._shape, self._stride, self._offset),
    derivative=lambda g: g,
)


def inplace_view(self, out):
    """Give self the geometry of one of its own views (transpose_, squeeze_, ...)."""
    check_writable(self)
    check_inplace(self)
    self._shape, self._stride, self._offset = out._shape, out._stride, out._offset
    self._storage = out._storage
    self._ms = self._np = None
    if CONTEXT.grad and out._grad_fn is not None:
        set_history(self, _of_inplace_form(out._grad_fn), out._output_nr)
    if PROCESS.duals:
        carry(out, self)
    self._bump()
    return self


def _as_it_is(self):
    """Return an alias with the present shape, strides and graph position of self.

    Derivatives read shape and strides from it after an in-place view op has changed those of self.
    """
    old = alias(self)
    old._requires_grad, old._grad_fn, old._output_nr, old._vc = (
        self._requires_grad,
        self._get_grad_fn(),
        self._output_nr,
        None,
    )
    return carry(self, old) if PROCESS.duals else old


def _of_inplace_form(node):
    """Rename the node of a view to PyTorch's node of the in-place form, which has another number."""
    name, _, number = named(node).name().rpartition("Backward")
    return renamed(node, f"{name}Backward{int(number) + (3 if name == 'Squeeze' else 1)}") if number.isdigit() else node


def _handed_over(called, args):
    """Run an in-place view op as one operator for tracers, modes and subclasses that intercept calls below autograd."""
    method = called.name + "_"
    if CONTEXT.tracer is not None:
        return traced(called, args, lambda self, *given: getattr(self, method)(*given), "_")
    self, *rest = args
    check_inplace(self)
    before = _as_it_is(self) if CONTEXT.grad and self._requires_grad else None
    out = handle(called, args, lambda self, *given: inplace_view(self, called.call(self, *given)), "_")
    if before is not None:
        node = called.record(alias(self), called.saving((before, *rest)))
        set_history(self, _of_inplace_form(node), 0)
    return out


def _in_place(view, name, called):
    """Declare Tensor.NAME_, the in-place form of `view`, with the same arguments. It runs the operator `called`."""
    keeps, overloads = called.name == "as_strided", len(OPERATORS["torch"][name]) > 1
    key = f"{name}_.{view.schema.overload_name}" if overloads and view.schema.overload_name else name + "_"
    arguments = view.schema.text.partition("(")[2].replace("(a)", "(a!)")

    @composite(f"Tensor.{key}({arguments}", hands_over=True, out=False)
    def f(self, *args):
        if PROCESS.interceptors and (CONTEXT.tracer is not None or intercepted((self,))):
            return _handed_over(called, (self, *args))
        if PROCESS.versions:
            check_captured(self, lambda: f"aten::{key}")
        check_inplace(self)
        return inplace_view(self, called.call(_as_it_is(self) if keeps else self, *args))

    f.__doc__ = (
        f"As ``{name}``, but the tensor itself gets the new shape and strides; its memory stays as it is. Returns it."
    )


for _name in ("transpose", "squeeze", "unsqueeze", "t", "as_strided"):
    for _op in OPERATORS["torch"][_name]:
        _in_place(_op, _name, _op)
for _name in ("swapaxes", "swapdims"):
    _in_place(OPERATORS["torch"][_name][0], _name, OPERATORS["torch"]["transpose"][0])
__all__ = ["op", "strided_view", "slice_bounds", "infer_size"]
