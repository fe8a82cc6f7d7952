"""Functions of nested tensors of layout torch.jagged.

Elementwise functions that are not listed here run on `_v` (jagged.py).
"""

from ...symbolic import size_of
from ..common import F, T, Tensor, wrap_dim
from ..memory import CONVERSIONS
from ..sparse.tensors import TO_ANOTHER
from .base import check_leaf
from .jagged import JaggedTensor, elementwise, of_rows, on_jagged, over, spread


def _inner(t, dim, name, extra=0):
    """Convert a dimension of the nested tensor to a dimension of its elements `_v`.

    Raises PyTorch's error for the batch dimension and for the ragged one.
    """
    d = wrap_dim(dim, len(t._shape) + extra)
    if not d:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if d == t._ragged_idx and not extra:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return d - 1


def _dense(t, text):
    """Refuse everything but a contiguous jagged tensor."""
    if not isinstance(t, JaggedTensor) or t._lengths is not None or t._ragged_idx != 1:
        raise ValueError(text + " to be a contiguous jagged layout NestedTensor")


# ------------------------------------------------------------------------------------------------ elementwise
def _of_each_element(name, namespace):
    @on_jagged(name)
    def f(*args, **kwargs):
        return elementwise(getattr(namespace, name), name + ".default", args, kwargs)


for _name in "relu relu6 silu mish elu selu celu leaky_relu prelu rrelu gelu hardtanh hardsigmoid hardswish".split():
    _of_each_element(_name, F)
for _name in "hardshrink softshrink tanhshrink softplus softsign threshold logsigmoid alpha_dropout".split():
    _of_each_element(_name, F)
for _name in ("isclose", "lerp"):
    _of_each_element(_name, T)


# ------------------------------------------------------------------------------------------------ rows
@on_jagged("unbind")
def unbind(self, dim=0):
    if wrap_dim(dim, len(self._shape)):
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return tuple(self.parts())


@on_jagged("_nested_get_values")
def nested_values(self):
    return self.values()


@on_jagged("select")
def select(self, dim, index):
    d = wrap_dim(dim, len(self._shape))
    if d:
        inner = _inner(self, d, "select")
        return self._moved(self._v.select(inner, index), self._ragged_idx - (d < self._ragged_idx))
    n = self._shape[0]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")
    start, length = int(self._offsets[index % n]), self.row_lengths()[index]
    return self._v.narrow(self._ragged_idx - 1, start, length)


@on_jagged("slice")
def slice_(self, dim=0, start=None, end=None, step=1):
    inner = _inner(self, dim, "slice")
    return self._with(self._v[(slice(None),) * inner + (slice(start, end, step),)])


@on_jagged("__getitem__")
def getitem(self, index):
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, (Tensor, list)) for i in index):
        raise NotImplementedError("aten.index.Tensor")
    taken = sum(i is not None and i is not Ellipsis for i in index)
    if taken > len(self._shape):
        raise IndexError(f"too many indices for tensor of dimension {len(self._shape)}")
    t, dim = self, 0
    for at, i in enumerate(index):
        if i is Ellipsis:
            dim = len(t._shape) - sum(j is not None for j in index[at + 1 :])
        elif i is None:
            t, dim = unsqueeze(t, dim), dim + 1
        elif isinstance(i, slice):
            t, dim = slice_(t, dim, i.start, i.stop, 1 if i.step is None else i.step), dim + 1
        else:
            t = select(t, dim, i)
            if not isinstance(t, JaggedTensor):  # a row: the remaining indices apply to it
                return t[index[at + 1 :]] if at + 1 < len(index) else t
    return t


# ------------------------------------------------------------------------------------------------ views
@on_jagged("transpose", "swapaxes", "swapdims")
def transpose(self, dim0, dim1):
    a, b = wrap_dim(dim0, len(self._shape)), wrap_dim(dim1, len(self._shape))
    if a == b:
        return self
    if not a or not b:
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {a: b, b: a}.get(self._ragged_idx, self._ragged_idx)
    return self._moved(self._v.transpose(a - 1, b - 1), ragged)


@on_jagged("permute")
def permute(self, *dims):
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    n = len(self._shape)
    if len(dims) != n:
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({n}) does not match the length of the desired "
            f"ordering of dimensions ({len(dims)})."
        )
    order = [wrap_dim(d, n) for d in dims]
    if len(set(order)) < n:
        raise ValueError("permute(): duplicate dims are not allowed.")
    if self._lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if order[0]:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return self._moved(self._v.permute([d - 1 for d in order[1:]]), order.index(self._ragged_idx))


@on_jagged("movedim", "moveaxis")
def movedim(self, source, destination):
    n = len(self._shape)
    source, destination = (
        [wrap_dim(d, n) for d in ([ds] if isinstance(ds, int) else ds)] for ds in (source, destination)
    )
    order = [d for d in range(n) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return permute(self, order)


JaggedTensor.mT = property(lambda self: transpose(self, -2, -1))


@on_jagged("unsqueeze")
def unsqueeze(self, dim):
    inner = _inner(self, dim, "unsqueeze", 1)
    return self._moved(self._v.unsqueeze(inner), self._ragged_idx + (inner < self._ragged_idx))


@on_jagged("squeeze")
def squeeze(self, dim=None):
    if dim is None:
        raise NotImplementedError("aten.squeeze.default")
    inner = _inner(self, dim, "squeeze")
    values = self._v.squeeze(inner)
    return self._moved(values, self._ragged_idx - (values.dim() < self._v.dim() and inner + 1 < self._ragged_idx))


@on_jagged("view", "reshape")
def view(self, *size):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if tuple(size) == tuple(self._shape):
        return self._with(self._v.view_as(self._v))
    if self._ragged_idx != 1:
        raise RuntimeError(
            "view(): does not support ragged_idx != 1 except when inp._size == size. "
            f"inp._size is ({tuple(self._shape)}) and size is ({list(size)})."
        )
    if len(size) < 2 or size[0] not in (-1, self._shape[0]) or size[1] not in (-1, self._shape[1]):
        raise RuntimeError(f"view(): cannot view shape {tuple(self._shape)} as {list(size)}")
    return self._with(self._v.view(self._v._shape[0], *size[2:]))


@on_jagged("view_as", "reshape_as")
def view_as(self, other):
    return view(self, *other._shape)


@on_jagged("flatten")
def flatten(self, start_dim=0, end_dim=-1):
    start, end = (wrap_dim(d, len(self._shape)) for d in (start_dim, end_dim))
    if start == end:
        return self
    for d in range(start, end + 1):
        _inner(self, d, "flatten")
    return self._moved(
        self._v.flatten(start - 1, end - 1), self._ragged_idx - (end - start if end < self._ragged_idx else 0)
    )


@on_jagged("unflatten")
def unflatten(self, dim, sizes):
    d = wrap_dim(dim, len(self._shape))
    if d == self._ragged_idx:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({self._shape[d]}) in "
            f"the input tensor"
        )
    inner = _inner(self, d, "unflatten")
    return self._moved(
        self._v.unflatten(inner, sizes), self._ragged_idx + (len(sizes) - 1 if d < self._ragged_idx else 0)
    )


@on_jagged("expand")
def expand(self, *size, implicit=False):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    ragged = self._ragged_idx
    if (
        len(size) != len(self._shape)
        or size[0] not in (-1, self._shape[0])
        or size[ragged] not in (-1, self._shape[ragged])
    ):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(self._shape)} -> {list(size)}")
    return self._with(
        self._v.expand([self._v._shape[ragged - 1] if i == ragged else n for i, n in enumerate(size)][1:])
    )


@on_jagged("expand_as")
def expand_as(self, other):
    if not isinstance(self, JaggedTensor):
        return other._with(spread(self, other, "expand_as").expand(other._v._shape))
    return expand(self, *other._shape)


@on_jagged("narrow")
def narrow(self, dim, start, length):
    return self._with(self._v.narrow(_inner(self, dim, "narrow"), start, length))


def _each_piece(name):
    @on_jagged(name)
    def pieces(self, sizes, dim=0):
        inner = _inner(self, dim, name)
        return tuple(self._with(v) for v in getattr(self._v, name)(sizes, inner))

    return pieces


for _name in "split split_with_sizes unsafe_split unsafe_split_with_sizes".split():
    _each_piece(_name)


@on_jagged("chunk", "unsafe_chunk")
def chunk(self, chunks, dim=0):
    if wrap_dim(dim, len(self._shape)):
        inner = _inner(self, dim, "chunk")
        return tuple(self._with(v) for v in self._v.chunk(chunks, inner))
    _dense(self, "chunk(): expected input")
    rows, n = self.parts(), -(-self._shape[0] // chunks)
    return tuple(of_rows(rows[i : i + n]) for i in range(0, len(rows), n))


def _all_of_one(name, tensors):
    first = next(t for t in tensors if isinstance(t, JaggedTensor))
    if not all(isinstance(t, JaggedTensor) for t in tensors):
        if name == "stack":
            raise RuntimeError("stack(): expected all nested tensors inputs")
        return first, [t if isinstance(t, JaggedTensor) else expand_as(t, first) for t in tensors]
    if len({len(t._shape) for t in tensors}) > 1:
        raise RuntimeError(f"{name}(): expected all nested tensors to have the same dim")
    if any(
        t._ragged_idx != first._ragged_idx or t._shape[t._ragged_idx] != first._shape[t._ragged_idx] for t in tensors
    ):
        raise RuntimeError(f"{name}(): expected all nested tensors to have the same nested structure")
    return first, tensors


@on_jagged("cat", "concat", "concatenate")
def cat(tensors, dim=0):
    first, tensors = _all_of_one("cat", tensors)
    inner = _inner(first, dim, "cat")
    return first._with(T.cat([t._v for t in tensors], inner))


@on_jagged("stack")
def stack(tensors, dim=0):
    first, tensors = _all_of_one("stack", tensors)
    d = wrap_dim(dim, len(first._shape) + 1)
    if d == first._ragged_idx:
        raise RuntimeError("stack(): not supported for NestedTensor on ragged dim")
    inner = _inner(first, d, "stack", 1)
    return first._moved(T.stack([t._v for t in tensors], inner), first._ragged_idx + (d < first._ragged_idx))


# ------------------------------------------------------------------------------------------------ copies
@on_jagged("clone")
def clone(self, *, memory_format=None):
    name = getattr(memory_format, "name", "preserve_format")
    if name == "contiguous_format" and self._lengths is not None:
        return self.packed()
    return self._with(self._v.clone(**({} if memory_format is None else {"memory_format": memory_format})))


@on_jagged("contiguous")
def contiguous(self, memory_format=None):
    if self.is_contiguous():
        return self
    return self.packed() if self._lengths is not None else self._with(self._v.contiguous())


@on_jagged("copy_")
def copy_(self, src, non_blocking=False):
    for name, t in (("self", self), ("src", src)):
        if not isinstance(t, JaggedTensor):
            raise ValueError(
                "NestedTensor copy_default(self: jt_all, src: jt_all, non_blocking: any?): "
                f"expected {name} to be a jagged layout NestedTensor"
            )
    check_leaf(self)
    if (
        self._v._shape != src._v._shape
        or self._ragged_idx != src._ragged_idx
        or self.row_lengths() != src.row_lengths()
    ):
        raise RuntimeError(f"copy_(): expected compatible input and src shapes, but got: {self.shape} and {src.shape}")
    self._v.copy_(src._v, non_blocking)
    return self


def _on_elements(name):
    """Declare a function that creates, fills or converts elements."""
    maker = name.endswith("_like")

    @on_jagged(name)
    def like(self, *args, **kwargs):
        wants = kwargs.pop("requires_grad", False) if maker else False
        given = [a._v if isinstance(a, JaggedTensor) else a for a in args]
        found = getattr(T, name)(self._v, *given, **kwargs) if maker else getattr(self._v, name)(*given, **kwargs)
        if found is self._v:
            return self
        out = self._with(found)
        if found.device != self.device:
            offsets, lengths = (None if t is None else t.to(found.device) for t in (self._offsets, self._lengths))
            size_of(offsets if lengths is None else lengths, self._shape[self._ragged_idx])
            out = over(found, offsets, lengths, self._ragged_idx, *self._seqlens)
        return out._requiring_grad() if wants else out

    return like


@on_jagged("type")
def type_(self, dtype=None, non_blocking=False):
    found = self._v.type(dtype, non_blocking)
    return found if isinstance(found, str) else self._with(found)


@on_jagged("type_as")
def type_as(self, other):
    return self.to(other.dtype)


for _name in (
    *"empty_like ones_like zeros_like full_like rand_like randn_like randint_like zero_ fill_ bernoulli".split(),
    *TO_ANOTHER,
    *CONVERSIONS,
):
    _on_elements(_name)


def _scalar_maker(name):
    @on_jagged(name)
    def make(self, size, *args, **kwargs):
        if size not in ((), []):
            raise RuntimeError("new_empty() not supported for NJT with shape != ()")
        return getattr(self._v, name)((), *args, **kwargs)


for _name in "new_empty new_zeros new_ones".split():
    _scalar_maker(_name)


@on_jagged("new_tensor")
def new_tensor(self, *args, **kwargs):
    return self._v.new_tensor(*args, **kwargs)


@on_jagged("is_same_size")
def is_same_size(self, other):
    return tuple(self._shape) == tuple(other._shape)


@on_jagged("equal")
def equal(self, other):
    same = isinstance(self, JaggedTensor) and isinstance(other, JaggedTensor) and is_same_size(self, other)
    return same and T.equal(self._v, other._v)


@on_jagged("where")
def where(condition, input=None, other=None):
    if not isinstance(condition, JaggedTensor):
        raise ValueError(
            "NestedTensor where_self(condition: jt_all, self: any, other: any): expected condition to be a jagged "
            "layout NestedTensor"
        )
    return elementwise(T.where, "where.self", (condition, input, other), {})


@on_jagged("to_padded_tensor")
def to_padded_tensor(self, padding, output_size=None):
    if self._lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    longest = (
        self._get_max_seqlen() if output_size is None else output_size[self._ragged_idx]
    )  # the other sizes stay as they are
    ragged = self._ragged_idx
    values = self._v if ragged == 1 else self._v.movedim(ragged - 1, 0)
    of_row, place = self.places()
    if longest < self._get_max_seqlen():
        kept = (place < longest).nonzero().squeeze(1)
        of_row, place, values = of_row[kept], place[kept], values[kept]
    padded = T.full(
        (self._shape[0], longest, *values._shape[1:]), padding, dtype=self.dtype, device=self.device
    ).index_put((of_row, place), values)
    return padded if ragged == 1 else padded.movedim(1, ragged)


# ------------------------------------------------------------------------------------------------ reductions
def _along(t, dims, name):
    """Return (inner dimensions, whether each row is reduced separately, whether all rows are reduced together)."""
    found = sorted({wrap_dim(d, len(t._shape)) for d in dims})
    batch, ragged = 0 in found, t._ragged_idx in found
    if ragged and t._lengths is not None:
        raise RuntimeError(
            f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with "
            f"holes"
        )
    if batch and not ragged:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested "
            f"tensors"
        )
    if ragged and not batch and len(found) > 1:
        raise RuntimeError(
            f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
        )
    return [d - 1 for d in found if d], ragged and not batch, batch


def _rebuilt(t, result, inner, keepdim):
    """Wrap the result of a reduction over inner dimensions as a nested tensor."""
    gone = 0 if keepdim else sum(d + 1 < t._ragged_idx for d in inner)
    return t._moved(result, t._ragged_idx - gone)


def _reduced(name, several):
    """Declare a reduction. `several` allows any number of dimensions, otherwise one or all."""

    @on_jagged(name)
    def reduce(self, dim=None, keepdim=False, **kwargs):
        f = getattr(T, name)
        dims = [dim] if isinstance(dim, int) else dim
        if dims is None or not len(dims):
            found = f(self.packed()._v, **kwargs)
            return found.reshape((1,) * len(self._shape)) if keepdim else found
        inner, by_row, whole = _along(self, dims, name)
        if by_row:
            along = inner[0]
            return _stacked([f(row, along, keepdim, **kwargs) for row in self.parts()])
        found = f(self._v, inner if several else inner[0], keepdim, **kwargs)
        if whole:
            return found.unsqueeze(0) if keepdim else found
        if isinstance(found, tuple):
            return type(found)([_rebuilt(self, r, inner, keepdim) for r in found])
        return _rebuilt(self, found, inner, keepdim)

    return reduce


def _stacked(rows):
    if isinstance(rows[0], tuple):
        return type(rows[0])([T.stack(of_one) for of_one in zip(*rows)])
    return T.stack(rows)


for _name in "sum mean amax amin all any".split():
    _reduced(_name, True)
for _name in "prod argmax argmin".split():
    _reduced(_name, False)


def _extreme(name):
    reduce = _reduced(name, False)

    @on_jagged(name)
    def extreme(self, *args, **kwargs):
        if args and isinstance(args[0], Tensor):  # the elementwise extremum of two tensors
            return getattr(T, name + "imum")(self, args[0])
        return reduce(self, *args, **kwargs)


for _name in ("max", "min"):
    _extreme(_name)


# ------------------------------------------------------------------------------------------------ layers
def _softmax(name):
    @on_jagged(name)
    def softmax(self, dim=None, dtype=None, _stacklevel=3):
        if isinstance(dim, tuple):
            raise RuntimeError(f"{name}(): not supported for dimensions of type 'tuple' for NestedTensor")
        d, ragged = wrap_dim(dim, len(self._shape)), self._ragged_idx
        if not d:
            raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
        f = getattr(T, name)
        if d != ragged:
            return self._with(f(self._v, d - 1, dtype=dtype))
        if name == "log_softmax":
            raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
        if ragged > 1:
            raise RuntimeError(
                "softmax(): not supported when reducing along the ragged dimension for ragged_idx > 1 for NestedTensor"
            )
        if self._lengths is not None:
            raise RuntimeError(
                "softmax(): not supported where lengths is not None if reducing across the ragged dimension for "
                "NestedTensor"
            )
        return self._with(T.cat([f(row, 0, dtype=dtype) for row in self.parts()]))


for _name in ("softmax", "log_softmax"):
    _softmax(_name)


@on_jagged("layer_norm")
def layer_norm(self, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    if len(self._shape) <= 2:
        raise RuntimeError("layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions")
    n = len(normalized_shape)
    if n >= len(self._shape):
        raise RuntimeError("layer_norm(): not supported when normalizing over the batch dimension for NestedTensor")
    if n < len(self._shape) - self._ragged_idx:
        return self._with(F.layer_norm(self._v, normalized_shape, weight, bias, eps))
    at = self._ragged_idx - len(self._shape) + n
    if normalized_shape[at] != self._shape[self._ragged_idx]:
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size{list(self._v._shape)}"
        )
    if self._lengths is not None:
        raise RuntimeError(
            "layer_norm(): not supported where lengths is not None if operating on the ragged dimension for "
            "NestedTensor"
        )
    rows = [F.layer_norm(row, row._shape[-n:], eps=eps) for row in self.parts()]
    out = T.cat(rows, self._ragged_idx - 1)
    out = out if weight is None else out * weight
    return self._with(out if bias is None else out + bias)


@on_jagged("rms_norm")
def rms_norm(self, normalized_shape, weight=None, eps=None):
    if len(normalized_shape) >= len(self._shape) - self._ragged_idx:
        raise RuntimeError("rms_norm(): Normalization over the ragged dim not supported for nested tensors")
    return self._with(F.rms_norm(self._v, normalized_shape, weight, eps))


@on_jagged("dropout")
def dropout(self, p=0.5, training=True, inplace=False, **kwargs):
    values = F.dropout(self._v, p, kwargs.get("train", training), inplace)
    return self if values is self._v else self._with(values)


@on_jagged("one_hot")
def one_hot(self, num_classes=-1):
    return self._with(F.one_hot(self._v, num_classes))


@on_jagged("embedding")
def embedding(input, weight, *args, **kwargs):
    return input._with(F.embedding(input._v, weight, *args, **kwargs))


@on_jagged("linear")
def linear(input, weight, bias=None):
    _dense(input, "NestedTensor linear_default(input: jt, weight: t, bias: t?): expected input")
    return input._with(F.linear(input._v, weight, bias))


# ------------------------------------------------------------------------------------------------ products
@on_jagged("matmul", "__matmul__")
def matmul(self, other):
    if not isinstance(self, JaggedTensor):
        if (
            len(self._shape) != 3
            or len(other._shape) != 3
            or other._ragged_idx != 2
            or self._shape[0] != other._shape[0]
        ):
            raise _no_product(self, other)
        return of_products(other, [a @ b for a, b in zip(self.unbind(), other.parts())])
    if not isinstance(other, JaggedTensor):
        if len(other._shape) == 2 and self._ragged_idx < len(self._shape) - 1:
            return self._with(self._v @ other)
        if (
            len(other._shape) != 3
            or len(self._shape) != 3
            or self._ragged_idx != 1
            or other._shape[0] != self._shape[0]
        ):
            raise _no_product(self, other)
        return of_products(self, [a @ b for a, b in zip(self.parts(), other.unbind())])
    n = len(self._shape)
    same = len(other._shape) == n and self._shape[self._ragged_idx] == other._shape[other._ragged_idx]
    if not same or self._ragged_idx != n - 1 or other._ragged_idx != n - 2:
        raise _no_product(self, other)
    return T.stack([a @ b for a, b in zip(self.parts(), other.parts())])


def _no_product(a, b):
    return RuntimeError(f"matmul(): not supported between inputs of shapes {tuple(a._shape)} and {b.shape}")


def of_products(like, rows):
    """Return the nested tensor of products, one for each row of `like`."""
    return like.packed()._with(T.cat(rows, like._ragged_idx - 1))


@on_jagged("bmm")
def bmm(self, mat2):
    for name, t in (("input", self), ("mat2", mat2)):
        if len(t._shape) != 3:
            raise ValueError(f"bmm(): {name} must be 3D")
    return matmul(self, mat2)


@on_jagged("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    if not all(isinstance(t, JaggedTensor) for t in (query, key, value)):
        nested = [
            f"{n}.is_nested: {isinstance(t, JaggedTensor)}"
            for n, t in (("query", query), ("key", key), ("value", value))
        ]
        raise ValueError(
            f"Expected query, key, and value to be nested tensors, but got {nested[0]}, {nested[1]}, "
            f"and {nested[2]} instead."
        )
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    if any(len(t._shape) != 4 or t._ragged_idx != 2 for t in (query, key, value)):
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found.")
    rows = [
        F.scaled_dot_product_attention(
            q[None], k[None], v[None], None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )[0].transpose(0, 1)
        for q, k, v in zip(query.parts(), key.parts(), value.parts())
    ]
    return query.packed()._with(T.cat(rows).transpose(0, 1))
