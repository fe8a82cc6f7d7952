"""Joining, repeating, reordering, triangles and diagonals, masks, scatters into a copy."""

import itertools
import warnings

from ..autograd.forward import linear
from ..autograd.function import DelayedError
from ..call.autocast import FLOAT32, WIDEST
from ..call.geometry import broadcast_shapes
from ..call.out import CONTIGUOUS, JOINED, SAME_DTYPE, SAME_SCALAR_TYPE, SELF_AND_RESULT, Out
from ..call.overrides import overridable
from ..call.promotion import result_dtype
from ..context import CONTEXT
from ..declare import BY_PARTS, composite, op
from ..determinism import alert_not_deterministic
from ..device import HOST, META, channels_last, channels_last_3d, contiguous_format
from ..symbolic import layout_only
from ..tensor import capacity, check_bytes, strided_view, unversioned, unviewed
from ..versions import new_version
from ..warn import warn_once
from .common import M, T, Tensor, changed, dt, has_values, like_self, numel, only, wrap_dim, wrap_dims
from .creation import FUNCTIONS, OPTS, _flag, _options, tensor
from .indexing import at_places, check_source, check_target, check_vector
from .memory import copy_, fill_, format_strides, kept_strides, storage_order, suggested_format
from .reduction import no_meta
from .views import _inverse as inverse
from .views import parts_put_together


def _same_dtype(tensors):
    d = result_dtype(tensors)
    return [t if t.dtype is d else t.to(d) for t in tensors]


# ------------------------------------------------------------------------------------------------ cat, stack
@layout_only
def _alike(shape, other):
    """Whether two shapes are known to be equal, so that they need no check."""
    return shape == other


def _check_joined(tensors, dim):
    """Raise unless the tensors differ in size along `dim` alone."""
    first = tensors[0]._shape
    for i, t in enumerate(tensors[1:], 1):
        if _alike(t._shape, first):
            continue
        if len(t._shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(t._shape)}")
        for k, (a, b) in enumerate(zip(first, t._shape)):
            if k != dim and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for "
                    f"tensor number {i} in the list."
                )


def _cat_prepare(tensors, dim):
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"cat(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if not t._shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    d = tensors[0].dtype
    ts = list(tensors) if all(t.dtype is d for t in tensors) else _same_dtype(tensors)
    kept = [t for t in ts if tuple(t._shape) != (0,)]  # 1-d empty tensors can be joined with any shape
    if kept and len(kept) < len(ts) and len(kept[0]._shape) > 1:
        ts = kept
    if kept:
        dim = wrap_dim(dim, len(ts[0]._shape))
    else:
        dim = 0  # all tensors are empty and 1-d, so any dim is accepted
    _check_joined(ts, dim)
    return ts, dim


def _cat_meta(tensors, dim):
    shape = tensors[0]._shape
    return changed(shape, dim, sum(t._shape[dim] for t in tensors)), tensors[0].dtype


def _cat_grad(g, tensors_shape, dim):
    out, start = [], 0
    for s in tensors_shape:
        out.append(g.narrow(dim, start, s[dim]))
        start += s[dim]
    return out


_CAT = dict(
    prepare=_cat_prepare,
    meta=_cat_meta,
    call=lambda p, tensors, dim: p.of(dim)(tuple(tensors)),
    derivative={"tensors": _cat_grad},
)
cat_op = op(
    "_cat(Tensor[] tensors, int dim=0) -> Tensor", "Concat", opmath=False, method=False, out=JOINED, apart=True, **_CAT
)


@composite(
    "_cat_channels_last(Tensor[] tensors, int dim) -> Tensor",
    method=False,
    derivative={"tensors": _cat_grad},
    node="CatBackward0",
    aten="cat.default",
)
def _cat_channels_last(tensors, dim):
    """Concatenate channels-last tensors into a channels-last result."""
    n = len(tensors[0]._shape)
    order = (0, *range(2, n), 1)
    return unviewed(
        cat_op.call([t.permute(order) for t in tensors], order.index(dim)).permute((0, n - 1, *range(1, n - 1)))
    )


@composite(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    alias=("concat", "concatenate"),
    method=False,
    out=JOINED,
    apart=True,
    autocast=WIDEST,
)
def cat(tensors, dim):
    if (
        isinstance(tensors, (tuple, list))
        and all(isinstance(t, Tensor) and t._stride is not None for t in tensors)
        and tensors
    ):
        n = len(tensors[0]._shape)
        if all(suggested_format(t) for t in tensors):
            return _cat_channels_last.op.call(tensors, wrap_dim(dim, n))
    return cat_op.call(tensors, dim)


def _stack_prepare(tensors, dim):
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._shape
    dim = wrap_dim(dim, len(first) + 1)
    for i, t in enumerate(tensors):
        if t._shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(t._shape)} "
                f"at entry {i}"
            )
    d = tensors[0].dtype
    return list(tensors) if all(t.dtype is d for t in tensors) else _same_dtype(tensors), dim


_stack_meta = lambda tensors, dim: (
    (*tensors[0]._shape[:dim], len(tensors), *tensors[0]._shape[dim:]),
    tensors[0].dtype,
    _stack_strides(tensors, dim),
)
_STACK = dict(
    prepare=_stack_prepare,
    call=lambda p, tensors, dim: p.of(dim)(tuple(tensors)),
    derivative={"tensors": lambda g, dim: g.unbind(dim)},
    meta=_stack_meta,
)
op(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    "StackExt",
    opmath=False,
    method=False,
    out=Out(refusal=TypeError),
    apart=True,
    autocast=WIDEST,
    **_STACK,
)


def _stack_strides(tensors, dim):
    """Return the strides of a stack in the memory format of the tensors, or None for contiguous ones.

    PyTorch concatenates along `dim` and then splits that dimension, which keeps the memory format.
    """
    shape, n = list(tensors[0]._shape), len(tensors[0]._shape)
    if dim == n or any(kept_strides(t) is None for t in tensors):
        return None
    shape[dim] *= len(tensors)
    st = format_strides(shape, channels_last if n == 4 else channels_last_3d)
    return (*st[:dim], tensors[0]._shape[dim] * st[dim], *st[dim:])


def _at_least(n):
    """Return a function that adds dimensions up to n, as NumPy does: in front for 1 and 2, on both sides for 3."""

    def f(x):
        k = len(x._shape)
        if k >= n:
            return x
        if n == 3:
            return x.reshape((1, 1, 1)) if k == 0 else x.unsqueeze(0).unsqueeze(2) if k == 1 else x.unsqueeze(2)
        return x.unsqueeze(0) if (k, n) == (1, 2) else x.reshape((1,) * (n - k) + tuple(x._shape))

    return f


def _atleast(n):
    fit = _at_least(n)
    name = f"atleast_{n}d"
    composite(f"_{name}(Tensor self) -> Tensor", out=False, method=False)(fit)

    @overridable
    def public(*tensors):
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return getattr(T, "_" + name)(tensors[0])
        ts = tensors[0] if len(tensors) == 1 else tensors
        return tuple(getattr(T, "_" + name)(t) for t in ts)

    public.__name__ = public.__qualname__ = name
    public.__doc__ = (
        f"Each tensor with dimensions of size one added until it has {n}: a view. One tensor gives one, several, "
        "or a sequence, give a tuple."
    )
    public.__module__ = "torch.functional"
    FUNCTIONS[name] = public
    return fit


_fit1, _fit2, _fit3 = map(_atleast, (1, 2, 3))


def _stacker(names, fit, dim):
    name, *alias = names.split()

    @composite(f"{name}(Tensor[] tensors) -> Tensor", alias=tuple(alias), method=False, out=Out(refusal=TypeError))
    def f(tensors):
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        ts = [fit(t) for t in tensors]
        return T.cat(ts, dim(ts[0]))


_stacker("hstack", _fit1, lambda t: 0 if len(t._shape) == 1 else 1)
_stacker("vstack row_stack", _fit2, lambda t: 0)
_stacker("dstack", _fit3, lambda t: 2)
_stacker("column_stack", lambda t: t.reshape((numel(t._shape), 1)) if len(t._shape) <= 1 else t, lambda t: 1)


# ------------------------------------------------------------------------------------------------ flip, roll, rot90
_flip_meta = like_self
_FLIP = dict(meta=_flip_meta, call=lambda p, self, dims: p.of(dims)(self), derivative=lambda g, dims: g.flip(dims))
flip_op = op("_flip(Tensor self, int[] dims) -> Tensor", "ReverseV2", opmath=False, method=False, **_FLIP)


@composite("flip(Tensor self, int[] dims) -> Tensor", varargs="dims", out=False)
def flip(self, dims):
    dims = wrap_dims(dims, len(self._shape), False)
    return (flip_op.call if storage_order(self) is None else _flip_in_order.op.call)(self, dims)


_FLIPPED = dict(
    method=False, function=False, out=False, derivative=_FLIP["derivative"], node="FlipBackward0", aten="flip.default"
)


@composite("_flip_in_order(Tensor self, int[] dims) -> Tensor", **_FLIPPED)
def _flip_in_order(self, dims):
    """Flip a tensor whose dimensions are permuted in memory; the result has the same memory order."""
    order = storage_order(self)
    return unviewed(
        flip_op.call(self.permute(order), tuple(sorted(order.index(d) for d in dims))).permute(inverse(order))
    )


@composite("fliplr(Tensor self) -> Tensor", out=False)
def fliplr(self):
    if len(self._shape) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip((1,))


@composite("flipud(Tensor self) -> Tensor", out=False)
def flipud(self):
    if not self._shape:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip((0,))


def _roll_prepare(self, shifts, dims):
    for n in shifts:
        dt.check_int64(n)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return self, shifts, ()
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not self._shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if 0 in self._shape:  # an empty tensor has nothing to roll
        return self, (0,), (0,)
    return self, shifts, tuple(wrap_dim(d, len(self._shape)) for d in dims)


_roll_meta = lambda self, shifts, dims: (self._shape, self.dtype, kept_strides(self) if dims else None)
_roll_call = lambda p, self, shifts, dims: p.of(shifts, dims or None)(self)
_ROLL = dict(
    prepare=_roll_prepare,
    meta=_roll_meta,
    call=_roll_call,
    derivative=lambda g, shifts, dims: g.roll([-s for s in shifts], dims),
)
op("roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", "Roll", opmath=False, out=False, **_ROLL)


@composite(
    "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor",
    out=False,
    derivative=lambda g, k, dims: g.rot90(-k, dims),
)
def rot90(self, k, dims):
    n = len(self._shape)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == n:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    a, b = (wrap_dim(d, n) for d in dims)
    k %= 4
    if k == 0:
        return self.clone(memory_format=contiguous_format)
    return (
        self.flip((a, b)) if k == 2 else self.flip((b,)).transpose(a, b) if k == 1 else self.flip((a,)).transpose(a, b)
    )


# ------------------------------------------------------------------------------------------------ repeat
def _repeat_prepare(self, repeats):
    n = len(self._shape)
    if len(repeats) < n:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(not 0 <= r < 2**63 for r in repeats):
        for r in repeats:
            dt.check_int64(r)
        raise RuntimeError(
            f"Trying to create tensor with negative dimension "
            f"{min(r * s for r, s in zip(repeats[len(repeats) - n :], self._shape))}: "
            f"{[r * s for r, s in zip(repeats, (1,) * (len(repeats) - n) + tuple(self._shape))]}"
        )
    return self if len(repeats) == n else self.reshape((1,) * (len(repeats) - n) + tuple(self._shape)), repeats


def _repeat_grad(g, self_shape, repeats):
    if 0 in repeats:
        return g.new_zeros(self_shape)
    split, dims = [], []
    for r, s in zip(repeats, (1,) * (len(repeats) - len(self_shape)) + tuple(self_shape)):
        if r > 1:
            dims.append(len(split))
            split.append(r)
        split.append(s)
    g = g.reshape(split).sum(dims) if dims else g
    return g if len(g._shape) == len(self_shape) else g.reshape(self_shape)


def _repeat_meta(self, repeats):
    return check_bytes(tuple(r * s for r, s in zip(repeats, self._shape)), self.dtype)


_REPEAT = dict(saves_given=True, prepare=_repeat_prepare, meta=_repeat_meta, derivative=_repeat_grad)
op("Tensor.repeat(Tensor self, int[] repeats) -> Tensor", "Tile", varargs="repeats", opmath=False, **_REPEAT)


@composite("tile(Tensor self, int[] dims) -> Tensor", varargs="dims", out=False)
def tile(self, dims):
    return self.repeat((1,) * (len(self._shape) - len(dims)) + tuple(dims))


op(
    "_repeat_interleave(Tensor repeats) -> Tensor",
    opmath=False,
    method=False,
    meta=lambda repeats: (None, repeats.dtype),
)


@composite("repeat_interleave(Tensor repeats, *, int? output_size=None) -> Tensor", method=False, out=False)
def repeat_interleave_index(repeats, output_size):
    if repeats.dtype.category != dt.INT:
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{dt.scalar_name(repeats.dtype)}'")
    if len(repeats._shape) != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (dt.int32, dt.int64):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if not has_values(repeats):
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return T.empty((output_size,), dtype=repeats.dtype, device="meta")
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    r = T._repeat_interleave(repeats)
    if output_size is not None and output_size != r._shape[0]:
        raise RuntimeError("allocated size does not match required size")
    return r


@composite(
    "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor", out=False
)
def repeat_interleave_int(self, repeats, dim, output_size):
    if dim is None:
        self, dim = self.reshape((-1,)), 0
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    d = wrap_dim(dim, len(self._shape))
    if not self._shape:
        return self.reshape((1,)).expand((repeats,)).clone()
    if output_size is not None and output_size != repeats * self._shape[d]:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {repeats * self._shape[d]} but got {output_size}"
        )
    x = self.unsqueeze(d + 1)
    shape = (*x._shape[: d + 1], repeats, *x._shape[d + 2 :])
    return x.expand(shape).clone(memory_format=contiguous_format).flatten(d, d + 1)


@composite(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    out=False,
)
def repeat_interleave(self, repeats, dim, output_size):
    if dim is None:
        self, dim = self.reshape((-1,)), 0
    d = wrap_dim(dim, len(self._shape))
    x = self if self._shape else self.reshape((1,))
    n = x._shape[d]
    if len(repeats._shape) == 0 or len(repeats._shape) == 1 and repeats._shape[0] == 1:
        repeats = repeats.reshape((1,)).expand((n,))
    elif len(repeats._shape) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    elif repeats._shape[0] != n:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats._shape[0]} and "
            f"input.size({d}) = {n}"
        )
    return x.index_select(d, T.repeat_interleave(repeats, output_size=output_size))


# ---------------------------------------------------------------------------------------------- triangles and diagonals
def _triangle(name, prim, call=None):
    def meta(self, diagonal):
        if len(self._shape) < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return self._shape, self.dtype

    grad = lambda g, diagonal: getattr(T, name)(g, diagonal)
    op(
        f"{name}(Tensor self, int diagonal=0) -> Tensor",
        prim,
        meta=meta,
        inplace=True,
        opmath=False,
        call=call,
        derivative=grad,
        out=SAME_DTYPE,
    )

    @composite(
        f"{name}_indices(int row, int col, int offset=0, *, {OPTS.replace('dtype=None', 'dtype=long')}) -> Tensor",
        out=False,
    )
    def f(row, col, offset, dtype, layout, device, requires_grad, pin_memory):
        for what, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{what} must be non-negative, got{n}")
        d, dev = _options(dtype, layout, device)
        ones = T.ones((row, col), dtype=dt.bool_, device=HOST)
        r = getattr(T, name)(ones, offset).nonzero().t().contiguous().to(device=dev, dtype=d)
        return _flag(unviewed(r), requires_grad)


_triangle("tril", "TrilExt")
_triangle("triu", "Triu", lambda p, self, diagonal: p.of(diagonal)(self))


@composite(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    out=False,
    derivative=lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2),
)
def diag_embed(self, offset, dim1, dim2):
    n = len(self._shape) + 1
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = self._shape[-1] + abs(offset)
    shape = list(self._shape[:-1])
    for d in sorted((a, b)):
        shape.insert(d, side)
    out = self.new_zeros(shape)
    out.diagonal(offset, a, b).copy_(self)
    return out


@composite("Tensor.fill_diagonal_(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor")
def fill_diagonal_(self, fill_value, wrap):
    n = len(self._shape)
    if n < 2:
        raise RuntimeError("dimensions must larger than 1")
    if n > 2 and len(set(self._shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, st = sum(self.stride()), self.stride()
    count = min(self._shape)
    at = self.as_strided((count,), (step,), self._offset)
    fill_(at, fill_value)
    if (
        wrap and n == 2 and self._shape[0] > self._shape[1] + 1
    ):  # the diagonal continues below, one row further down each time
        rows, cols = self._shape
        for start in range(cols + 1, rows, cols + 1):
            fill_(self.as_strided((min(cols, rows - start),), (step,), self._offset + start * st[0]), fill_value)
    return self


composite("diagflat(Tensor self, int offset=0) -> Tensor", out=False)(
    lambda self, offset: self.reshape((-1,)).diag_embed(offset)
)


@composite("diag(Tensor self, int diagonal=0) -> Tensor", out=SAME_DTYPE)
def diag(self, diagonal):
    n = len(self._shape)
    if n not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return self.diag_embed(diagonal) if n == 1 else T.diagonal_copy(self, diagonal)


@composite("trace(Tensor self) -> Tensor", out=False, autocast=FLOAT32, derivative=BY_PARTS, reads={"self": ()})
def trace(self):
    if len(self._shape) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(self._shape)}")
    only("trace", self, dt.INT, dt.FLOAT, dt.COMPLEX)
    return self.diagonal().sum()


def _clone_with_gaps(x):
    """Copy all the memory behind x, and return the view of the copy that x is of the original."""
    if x._stride is None and not x._offset or 0 in x.stride():
        return x.clone()
    whole = strided_view(x, (capacity(x),), None, 0)
    return strided_view(whole.clone(), x._shape, x._stride, x._offset)


def _into_copy(name, args, view, grad_self, grad_src):
    """Declare NAME_scatter: a copy of self with src written to one of its views."""
    grads = {"self": grad_self, "src": grad_src}
    o = op(
        f"{name}_scatter(Tensor self, Tensor src, {args}) -> Tensor",
        derivative=grads,
        memory=True,
        forward=linear,
        out=SAME_DTYPE if name == "slice" else False,
    )

    def call(self, src, *where):
        grad = CONTEXT.grad
        with CONTEXT.set(grad=False):
            out = _clone_with_gaps(self)
            dst = view(out, *where)
            if dst._shape != src._shape:
                raise RuntimeError(
                    f"expected src to have a size equal to the slice of self. src size = {list(src._shape)}, "
                    f"slice size = {list(dst._shape)}"
                )
            copy_(dst, src)
        if grad and (self._requires_grad or src._requires_grad):
            out._vc = new_version()
            o.record(out, (self, src, *where))
        return out

    o.calls(call)


def _hole(g, shape):
    return g.new_zeros(shape)


_into_copy(
    "select",
    "int dim, int index",
    lambda x, dim, index: x.select(dim, index),
    lambda g, src_shape, dim, index: g.select_scatter(_hole(g, src_shape), dim, index),
    lambda g, dim, index: g.select(dim, index),
)
_into_copy(
    "slice",
    "int dim=0, int? start=None, int? end=None, int step=1",
    lambda x, dim, start, end, step: x._slice(dim, start, end, step),
    lambda g, src_shape, dim, start, end, step: g.slice_scatter(_hole(g, src_shape), dim, start, end, step),
    lambda g, dim, start, end, step: g._slice(dim, start, end, step),
)
_into_copy(
    "diagonal",
    "int offset=0, int dim1=0, int dim2=1",
    lambda x, offset, dim1, dim2: x.diagonal(offset, dim1, dim2),
    lambda g, src_shape, offset, dim1, dim2: g.diagonal_scatter(_hole(g, src_shape), offset, dim1, dim2),
    lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2),
)
# As in PyTorch, the gradient of self holds the slice and is zero elsewhere.
_into_copy(
    "as_strided",
    "int[] size, int[] stride, int? storage_offset=None",
    lambda x, *where: x.as_strided(*where),
    lambda g, self_shape, size, stride, storage_offset: _hole(g, self_shape).as_strided_scatter(
        g.contiguous().as_strided(size, stride, storage_offset), size, stride, storage_offset
    ),
    lambda g, size, stride, storage_offset: g.contiguous().as_strided(size, stride, storage_offset),
)


# ------------------------------------------------------------------------------------------------ copies of views
def _copies():
    returns = {True: "Tensor[]", False: "Tensor"}
    free = ("detach", "select", "slice", "split", "view_as_complex", "view_as_real")  # these cast to the dtype of out=
    for name, args, many in (
        ("alias", "", False),
        ("as_strided", "int[] size, int[] stride, int? storage_offset=None", False),
        ("detach", "", False),
        ("diagonal", "int offset=0, int dim1=0, int dim2=1", False),
        ("expand", "int[] size, *, bool implicit=False", False),
        ("permute", "int[] dims", False),
        ("select", "int dim, int index", False),
        ("slice", "int dim=0, int? start=None, int? end=None, int step=1", False),
        ("split", "int split_size, int dim=0", True),
        ("split_with_sizes", "int[] split_sizes, int dim=0", True),
        ("squeeze", "", False),
        ("squeeze", "int[1] dim", False),
        ("t", "", False),
        ("transpose", "int dim0, int dim1", False),
        ("unbind", "int dim=0", True),
        ("unfold", "int dimension, int size, int step", False),
        ("unsqueeze", "int dim", False),
        ("view", "int[] size", False),
        ("view", "ScalarType dtype", False),
        ("view_as_complex", "", False),
        ("view_as_real", "", False),
    ):
        overload = ".dim" if args == "int[1] dim" else ".dtype" if args == "ScalarType dtype" else ""

        def f(
            self,
            *rest,
            _n={"alias": "_alias", "slice": "_slice", "view": "reshape" if "int" in args else "view"}.get(name, name),
            _a=args,
            _many=many,
        ):
            if "implicit" in _a:
                *rest, implicit = rest
            view = self.detach() if _n == "detach" else getattr(T if _n.startswith("view_as") else M, _n)(self, *rest)
            return (
                tuple(v.clone(memory_format=contiguous_format) for v in view)
                if _many
                else view.clone(memory_format=contiguous_format)
            )

        differentiable = name != "detach" and overload != ".dtype"
        node = (
            # PyTorch derives the name from the view's
            f"{name.title().replace('_', '')}Backward{int(overload == '.dim')}_copy"
        )
        derived = dict(derivative=BY_PARTS, node=node, reads={"self": ()}) if differentiable else {}
        signature = f"{name}_copy{overload}(Tensor self{', ' if args else ''}{args}) -> {returns[many]}"
        composite(signature, method=False, out=SAME_DTYPE if name not in free else True, **derived)(f)


_copies()


@composite(
    "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
    out=SAME_SCALAR_TYPE,
    derivative=BY_PARTS,
    reads={"self": ()},
)
def narrow_copy(self, dim, start, length):
    n = len(self._shape)
    if 0 < n <= dim:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.")
    if n and length < 0:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({self._shape[wrap_dim(dim, n)]})."
        )
    return self.narrow(dim, start, length).clone(memory_format=contiguous_format)


def _unsafe(name, args):
    """Declare unsafe_split or a similar function, whose parts autograd treats as independent tensors.

    A part may be written to in place without a new version of the others.
    """

    def parts(self, *rest):
        out = getattr(M, name)(self, *rest)
        for t in out:
            unviewed(unversioned(t))
        return out

    derivative = None if name == "chunk" else parts_put_together
    composite(f"unsafe_{name}(Tensor self, {args}) -> Tensor[]", out=False, derivative=derivative)(parts)


_unsafe("split", "int split_size, int dim=0")
_unsafe("split_with_sizes", "int[] split_sizes, int dim=0")
_unsafe("chunk", "int chunks, int dim=0")


# ------------------------------------------------------------------------------------------------ grids and products
@composite("broadcast_tensors(Tensor[] tensors) -> Tensor[]", varargs="tensors", method=False, out=False, python=True)
def broadcast_tensors(tensors):
    if not tensors:
        return ()
    shape = broadcast_shapes(*[t._shape for t in tensors])
    return tuple(t if t._shape == shape else t.expand(shape) for t in tensors)


@composite(
    "meshgrid(Tensor[] tensors, *, str? indexing=None) -> Tensor[]",
    varargs="tensors",
    method=False,
    out=False,
    python=True,
)
def meshgrid(tensors, indexing):
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for a, b in itertools.pairwise(tensors):
        if a.dtype is not b.dtype or a.device is not b.device:
            raise RuntimeError(
                f"meshgrid expects all tensors to have the same {'dtype' if a.dtype is not b.dtype else 'device'}"
            )
    for t in tensors:
        if len(t._shape) > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t._shape)}")
    swap = indexing == "xy" and len(tensors) >= 2
    ts = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = [numel(t._shape) for t in ts]
    grids = [t.reshape([-1 if i == k else 1 for i in range(len(ts))]).expand(shape) for k, t in enumerate(ts)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite("cartesian_prod(Tensor[] tensors) -> Tensor", varargs="tensors", method=False, out=False, python=True)
def cartesian_prod(tensors):
    for t in tensors:
        if len(t._shape) != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t._shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return T.stack([g.reshape((-1,)) for g in T.meshgrid(tensors, indexing="ij")], 1)


@composite("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", method=False, out=False)
def combinations(self, r, with_replacement):
    if len(self._shape) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self._shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return T.empty((0,), dtype=self.dtype, device=self.device)
    at = T.meshgrid([T.arange(self._shape[0], device=self.device)] * r, indexing="ij")
    chosen = T.ones(at[0]._shape, dtype=dt.bool_, device=self.device)
    for one, next_one in itertools.pairwise(at):
        chosen = chosen & (one <= next_one if with_replacement else one < next_one)
    return T.stack([each.masked_select(chosen) for each in T.meshgrid([self] * r, indexing="ij")], 1)


def _block_diag_backward(g, tensors_shape):
    grads, i, j = [], 0, 0
    for shape in tensors_shape:
        m, n = (1,) * (2 - len(shape)) + tuple(shape)
        grads.append(g[i : i + m, j : j + n].reshape(shape))
        i, j = i + m, j + n
    return grads


@composite(
    "block_diag(Tensor[] tensors) -> Tensor",
    varargs="tensors",
    method=False,
    out=False,
    python=True,
    derivative={"tensors": _block_diag_backward},
)
def block_diag(tensors):
    if not tensors:
        return T.empty((1, 0))
    ts = []
    for i, t in enumerate(tensors):
        if len(t._shape) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {len(t._shape)} "
                f"dimensions"
            )
        ts.append(_fit2(t))
    ts = _same_dtype(ts)
    out = T.zeros((sum(t._shape[0] for t in ts), sum(t._shape[1] for t in ts)), dtype=ts[0].dtype, device=ts[0].device)
    i = j = 0
    for t in ts:
        m, n = t._shape
        copy_(out[i : i + m, j : j + n], t)
        i, j = i + m, j + n
    return out


@composite("kron(Tensor self, Tensor other) -> Tensor", out=CONTIGUOUS)
def kron(self, other):
    n = max(len(self._shape), len(other._shape))
    a, b = ((1,) * (n - len(t._shape)) + tuple(t._shape) for t in (self, other))
    left = self.reshape([x for s in a for x in (s, 1)])
    right = other.reshape([x for s in b for x in (1, s)])
    return unviewed((left * right).reshape([x * y for x, y in zip(a, b)]))


@composite("unravel_index(Tensor indices, Any shape) -> Tensor[]", method=False, out=False, python=True)
def unravel_index(indices, shape):
    if isinstance(shape, int):
        shape = (shape,)
    elif not isinstance(shape, (list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in shape:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if indices.dtype.category != dt.INT:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if any(s < 0 for s in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    steps = [numel(shape[i + 1 :]) for i in range(len(shape))]
    steps, sizes = (tensor(x, dtype=dt.int64, device=indices.device) for x in (steps, list(shape)))
    return (indices.unsqueeze(-1).floor_divide(steps) % sizes).unbind(-1)


# ------------------------------------------------------------------------------------------------ masks
def _mask(name, mask):
    if mask.dtype is not dt.bool_:
        raise RuntimeError(
            f"{name}: expected BoolTensor for mask"
            if name != "masked_scatter_"
            else f"masked_scatter_ only supports boolean masks, but got mask with dtype {dt.scalar_name(mask.dtype)}"
        )
    return mask


def _masked_select_prepare(self, mask):
    shape = broadcast_shapes(_mask("masked_select", mask)._shape, self._shape)
    return self.expand(shape), mask.expand(shape)


_masked_select_grads = {
    "self": lambda g, self_shape, mask: g.new_zeros(broadcast_shapes(self_shape, mask._shape)).masked_scatter(mask, g)
}
_MASKED_SELECT = dict(
    saves_given=True,
    prepare=_masked_select_prepare,
    meta=lambda self, mask: (no_meta("masked_select")(self)[0], self.dtype),
    derivative=_masked_select_grads,
)
op(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    "MaskedSelect",
    opmath=False,
    out=Out(SELF_AND_RESULT),
    apart=True,
    **_MASKED_SELECT,
)


def _masked_scatter_prepare(self, mask, source):
    if mask.dtype is dt.uint8:
        warnings.warn(
            "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,please use a "
            "mask with dtype torch.bool instead.",
            UserWarning,
            stacklevel=4,
        )
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{dt.scalar_name(self.dtype)} and "
            f"{dt.scalar_name(source.dtype)}"
        )
    shape = broadcast_shapes(self._shape, _mask("masked_scatter_", mask)._shape)
    return self.expand(shape), mask.expand(shape), source


def _masked_source_grad(g, mask, source_shape):
    picked = g.masked_select(mask)  # mask is broadcast to the shape of g
    missing = numel(source_shape) - picked._shape[0]
    if missing:
        picked = T.cat([picked, g.new_zeros((missing,))])
    return picked.reshape(source_shape)


_masked_scatter_grads = {"self": lambda g, mask: g.masked_fill(mask, 0), "source": _masked_source_grad}
_MASKED_SCATTER = dict(
    saves_given=True, prepare=_masked_scatter_prepare, meta=like_self, derivative=_masked_scatter_grads
)
op(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    "MaskedScatter",
    inplace=True,
    opmath=False,
    out=False,
    **_MASKED_SCATTER,
)


@composite(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    inplace=True,
    out=False,
    apart=True,
    derivative=BY_PARTS,
    reads={"self": (), "source": ("source",)},
)
def put(self, index, source, accumulate):
    if index.dtype is not dt.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {dt.scalar_name(index.dtype)}")
    if self.dtype is not source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dt.scalar_name(self.dtype)} and source.dtype = {dt.scalar_name(source.dtype)}"
        )
    if numel(index._shape) != numel(source._shape):
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{numel(source._shape)}, index.numel() = {numel(index._shape)}"
        )
    if not accumulate:
        alert_not_deterministic("put_")
    if not numel(index._shape):
        return self.clone()
    if not numel(self._shape):
        raise IndexError("put_(): trying to put elements into an empty tensor")
    flat, at = self.reshape((-1,)), index.reshape((-1,))
    return at_places(numel(self._shape), flat.index_put, (at,), source.reshape((-1,)), accumulate).reshape(self._shape)


@composite("nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor", out=SAME_SCALAR_TYPE)
def nonzero_static(self, size, fill_value):
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if self.device is META:
        return T.empty((size, len(self._shape)), dtype=dt.int64, device=META)
    found = self.nonzero()._slice(0, 0, size)
    out = T.full((size, len(self._shape)), fill_value, dtype=dt.int64, device=self.device)
    copy_(out._slice(0, 0, found._shape[0]), found)
    return out


# ----------------------------------------------------------------------------------------------- reductions into a copy
_REDUCE = ("sum", "prod", "mean", "amax", "amin")


def _reducible(kernel, x, reduce):
    """Check the dtype: means of bools and extrema of complex numbers are refused."""
    only(
        kernel,
        x,
        *(
            (dt.BOOL, dt.INT, dt.FLOAT)
            if reduce in ("amax", "amin")
            else (dt.INT, dt.FLOAT, dt.COMPLEX, dt.BOOL)[: 3 + (reduce != "mean")]
        ),
    )


def _scatter_reduce_prepare(self, dim, index, src, reduce, include_self):
    if reduce not in _REDUCE:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if index.dtype not in (dt.int64, dt.int32):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if self.dtype is not src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    _reducible(f"scatter_gather_tensor_cpu_reduce_{reduce}", self, reduce)
    dim = wrap_dim(dim, len(self._shape))
    if numel(index._shape):
        n = max(len(self._shape), 1)
        if max(len(index._shape), 1) != n or max(len(src._shape), 1) != n:
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as "
                f"{'self' if max(len(index._shape), 1) != n else 'src'} tensor"
            )
        for d in range(len(index._shape)):
            if d != dim and index._shape[d] > self._shape[d] or index._shape[d] > src._shape[d]:
                raise RuntimeError(
                    f"Expected index {list(index._shape)} to be no larger than self {list(self._shape)} apart from "
                    f"dimension {dim} and to be no larger size than src {list(src._shape)}"
                )
        check_target(self, dim, index)
    return self, dim, index, src, reduce, include_self


_NO_SECOND = DelayedError(
    "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to the same "
    "position in self",
    1,
)


def _reduce_grads(g, x, src, out, reduce, include_self, gather, add, again, hole):
    """Return the gradients of the copied tensor and of the source.

    `gather` reads a place for each source element, `add` sums source elements into places, `again` repeats the
    reduction with other values, `hole` zeroes the places that were written.
    """
    if reduce == "sum":
        gx, gs = g, gather(g)
    elif reduce == "mean":
        n = add(T.ones_like(g) if include_self else T.zeros_like(g), T.ones_like(src))
        g = g / n.masked_fill(n == 0, 1)
        gx, gs = g, gather(g)
    elif reduce == "prod":
        x1 = x.masked_fill(x == 0, 1)
        gx = g * again(x1, src) / x1
        zero = src == 0
        zeros = gather(add(T.zeros_like(x), zero.to(x.dtype)))
        alone = zero & (zeros == 1)  # the only zero of its place: its gradient is the product of the others
        gs = T.where(alone, gather(g * again(x, src.masked_fill(alone, 1))), gather(g * out) / src.masked_fill(zero, 1))
        if CONTEXT.grad and has_values(zeros) and bool((zeros > 1).any()):
            gs = _NO_SECOND.run([gs])
    else:
        own, hit = (x == out).to(g.dtype), (src == gather(out)).to(g.dtype)
        share = g / add(own, hit)
        gx, gs = own * share, hit * gather(share)
    return (gx if include_self else hole(gx)), gs


def _scatter_reduce_grads(g, self, dim, index, src, reduce, include_self, out):
    places = (lambda x: x.gather(dim, index), lambda x, s: x.scatter_add(dim, index, s))
    again, hole = (
        lambda x, s: x.scatter_reduce(dim, index, s, reduce, include_self=include_self),
        lambda x: x.scatter(dim, index, 0),
    )
    return _reduce_grads(g, self, src, out, reduce, include_self, *places, again, hole)


_SCATTER_REDUCE = dict(
    prepare=_scatter_reduce_prepare,
    meta=like_self,
    derivative={("self", "src"): _scatter_reduce_grads},
    inplace=True,
    out=SAME_DTYPE,
    apart=(2, 3),
)
op(
    "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    **_SCATTER_REDUCE,
)


def _index_reduce_prepare(self, dim, index, source, reduce, include_self):
    warn_once("index_reduce() is in beta and the API may change at any time.")
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = wrap_dim(dim, len(self._shape))
    if index.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {dt.scalar_name(index.dtype)}"
        )
    check_vector("index_reduce_", index)
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"index_reduce_(): self ({dt.scalar_name(self.dtype)}) and source ({dt.scalar_name(source.dtype)}) must "
            "have the same scalar type"
        )
    check_source("index_reduce_", self, dim, index, source)
    if len(self._shape) > 1:
        _reducible("index_reduce", self, reduce)
    else:
        only("index_func_", self, dt.INT, dt.FLOAT)
    return self, dim, index, source, reduce, include_self


def _index_reduce_grads(g, self, dim, index, source, reduce, include_self, out):
    places = (lambda x: x.index_select(dim, index), lambda x, s: x.index_add(dim, index, s))
    again, hole = (
        lambda x, s: x.index_reduce(dim, index, s, reduce, include_self=include_self),
        lambda x: x.index_fill(dim, index, 0),
    )
    return _reduce_grads(g, self, source, out, reduce, include_self, *places, again, hole)


_INDEX_REDUCE = dict(
    prepare=_index_reduce_prepare,
    meta=like_self,
    derivative={("self", "source"): _index_reduce_grads},
    inplace=True,
    out=SAME_DTYPE,
    apart=(2, 3),
    no_forward="index_reduce",
)
op(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    **_INDEX_REDUCE,
)


def _segment_prepare(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "max", "min", "prod"):
        raise RuntimeError(f"unsupported reduction given: {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = wrap_dim(axis, len(data._shape))
    if lengths is None:
        if offsets.dtype not in (dt.int32, dt.int64) or axis != len(offsets._shape) - 1:
            raise RuntimeError("segment_reduce(): Expected axis to be the last dimension of offsets.")
        lengths = offsets.diff(dim=axis)
    elif axis != len(lengths._shape) - 1:
        raise RuntimeError(
            "segment_reduce(): Expected axis to be the last dimension of lengths but got " + str(axis) + "."
        )
    elif not unsafe and has_values(data):
        if numel(lengths._shape) and (lengths < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if not (lengths.sum(-1) == data._shape[axis]).all():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                "!unsafe."
            )
    return data, reduce, lengths, None, None, axis, unsafe, initial


def _segment_index(lengths, n):
    """Return the number of its segment for each of n positions, row by row.

    Positions after the last segment get the number of segments.
    """
    ends = lengths.cumsum(-1)
    at = T.arange(n, device=lengths.device).expand((*lengths._shape[:-1], n)).contiguous()
    return T.searchsorted(ends, at, right=True)


def _segment_grad(g, data, reduce, lengths, axis, initial, out):
    """Return each element's share of its segment's gradient; elements after the last segment get zero."""
    n, k = data._shape[axis], lengths._shape[axis]
    tail = len(data._shape) - axis - 1
    index = _segment_index(lengths, n)
    inside = (index < k).reshape((*index._shape, *(1,) * tail))
    index = index.clamp(max=k - 1).reshape((*index._shape, *(1,) * tail)).expand(data._shape)

    def gather(x):
        return x.gather(axis, index)

    def add(s):
        return g.new_zeros(g._shape).scatter_add(axis, index, s * inside)

    if reduce == "sum":
        r = gather(g)
    elif reduce == "mean":
        count = add(T.ones_like(data))
        r = gather(g / count.masked_fill(count == 0, 1))
    elif reduce == "prod":
        zero = (data == 0) | data.isnan()
        alone = zero & (gather(add(zero.to(g.dtype))) == 1)
        rest = T.segment_reduce(
            data.masked_fill(alone, 1), "prod", lengths=lengths, axis=axis, unsafe=True, initial=initial
        )
        r = T.where(alone, gather(g * rest), gather(g * out) / data.masked_fill(zero, 1))
    else:
        hit = ((data == gather(out)) | data.isnan()).to(g.dtype)
        count = add(hit)
        r = hit * gather(g / count.masked_fill(count == 0, 1))
    return r * inside


_segment_meta = lambda data, reduce, lengths, indices, offsets, axis, unsafe, initial: (
    (*lengths._shape, *data._shape[axis + 1 :]),
    data.dtype,
)
_SEGMENT_REDUCE = dict(
    prepare=_segment_prepare, meta=_segment_meta, derivative={"data": _segment_grad}, method=False, out=False
)
op(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, "
    "int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    no_forward="segment_reduce",
    alias=("_segment_reduce",),
    **_SEGMENT_REDUCE,
)


@composite("_C._nn.flatten_dense_tensors(Tensor[] tensors) -> Tensor", python=True)
def flatten_dense_tensors(tensors):
    """Concatenate the flattened tensors; a single tensor is not copied if it is contiguous."""
    flat = [t.contiguous().view(-1) for t in tensors]
    return flat[0] if len(flat) == 1 else T.cat(flat)


@composite("_C._nn.unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]", python=True)
def unflatten_dense_tensors(flat, tensors):
    """Return views of a flat tensor in the shapes of the given tensors."""
    views, at = [], 0
    for t in tensors:
        # an empty piece gets memory of its own: a view at the end would have no place
        views.append(
            flat.narrow(0, at, t.numel()).view(t._shape)
            if t.numel()
            else T.empty(t._shape, dtype=flat.dtype, device=flat.device)
        )
        at += t.numel()
    return tuple(views)
