"""Nested tensors of layout torch.strided: tensors of different sizes in one buffer.

`_v` is the one-dimensional buffer and carries the gradient; `_sizes`, `_strides` and `_offsets` say where each tensor
lies in it. Elementwise functions run on the buffer, all others on each tensor. Calls arrive through __torch_function__;
functions that are in no table are not supported for nested tensors.
"""

from ...autograd.function import Function
from ...cpython import plain_name
from ...declare import composite
from ...tensor import contiguous_strides, wrap
from ..common import F, T, Tensor, dt, numel, wrap_dim
from ..creation import FUNCTIONS
from ..memory import CONVERSIONS
from ..sparse.tensors import TO_ANOTHER, could_not_run, declared
from ..valued import Table
from .base import Nested, check_leaf

TABLE = Table()
on_nested = TABLE.on
_NO_SIZES = "Internal error: NestedTensorImpl doesn't support {}. Please file an issue."


def _refuse_sizes(what):
    def refuse(self, *args):
        raise RuntimeError(_NO_SIZES.format(what))

    return refuse


class NestedTensor(Nested, raw=True):
    """A nested tensor of layout torch.strided: tensors of different sizes with the same number of dimensions."""

    __module__, __qualname__ = "torch", "Tensor"
    KEY, TABLE = "NestedTensor", TABLE

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if plain_name(func) in TABLE:
            return TABLE[plain_name(func)](*args, **(kwargs or {}))
        flat = [t for a in (*args, *(kwargs or {}).values()) for t in (a if isinstance(a, (list, tuple)) else (a,))]
        call = declared(func, args, kwargs or {})
        raise could_not_run(
            plain_name(func) if call is None else call[0].key, next(a for a in flat if isinstance(a, NestedTensor))
        )

    def _with(self, buffer):
        return over(buffer, self._sizes, self._strides, self._offsets)

    def parts(self):
        """Return the tensors as views of the buffer."""
        return [
            self._v.narrow(0, o, numel(s)).view(s) if st == contiguous_strides(s) else self._v.as_strided(s, st, o)
            for s, st, o in zip(self._sizes, self._strides, self._offsets)
        ]

    def _is_packed(self):
        """Whether the tensors are contiguous and lie in the buffer without gaps, in order."""
        at = 0
        for s, st, o in zip(self._sizes, self._strides, self._offsets):
            if o != at or numel(s) and st != contiguous_strides(s):
                return False
            at += numel(s)
        return True

    def buffer(self):
        """Return the buffer, or raise PyTorch's error where its order is not that of the elements."""
        if not self._is_packed():
            raise RuntimeError("NestedTensor must be contiguous to get buffer.")
        return self._v

    shape = property(_refuse_sizes("sizes"))
    stride = _refuse_sizes("strides")
    tolist = _refuse_sizes("strides")
    __len__ = _refuse_sizes("sizes")

    def size(self, dim=None):
        if dim is None:
            raise RuntimeError(_NO_SIZES.format("sizes"))
        d = wrap_dim(dim, self.dim())
        if d and self._shape[d] < 0:
            raise RuntimeError(f"Given dimension {d} is irregular and does not have a size.")
        return self._shape[d]

    def numel(self):
        return sum(map(numel, self._sizes))

    nelement = numel

    def is_contiguous(self, memory_format=None):
        return self._is_packed()

    def contiguous(self, memory_format=None):
        return self if self._is_packed() else nested(self.parts())

    def numpy(self, *, force=False):
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        raise RuntimeError(_NO_SIZES.format("strides"))

    def _laid_out(self, g):
        """Return the buffer of a gradient, with each element at the position that it has in this tensor's buffer."""
        if self._is_packed():
            return g.contiguous()._v
        buffer = T.zeros_like(self._v)
        for mine, theirs in zip(self._with(buffer).parts(), g.parts()):
            mine.copy_(theirs)
        return buffer

    def unbind(self, dim=0):
        if wrap_dim(dim, self.dim()):
            raise RuntimeError(
                f"NestedTensor can only be unbound along dimension 0 got dimension {wrap_dim(dim, self.dim())} instead."
            )
        return tuple(self.parts())

    def __repr__(self, *, tensor_contents=None):
        shown = ",\n".join(
            "\n".join("  " + line for line in repr(p.detach()._requiring_grad(self.requires_grad)).split("\n"))
            for p in self.parts()
        )
        suffix = ""
        if self.grad_fn is not None:
            suffix = f", grad_fn=<{type(self.grad_fn).__name__}>"
        elif self.requires_grad:
            suffix = ", requires_grad=True"
        return f"nested_tensor([\n{shown}\n]{suffix})"

    __str__ = __repr__


NestedTensor.__name__ = "Tensor"  # PyTorch has one class for all tensors


def over(buffer, sizes, strides=None, offsets=None):
    """Return a nested tensor over a buffer. Without strides and offsets, the tensors lie one behind another."""
    sizes = [tuple(s) for s in sizes]
    if strides is None:
        strides, offsets, at = [contiguous_strides(s) for s in sizes], [], 0
        for s in sizes:
            offsets.append(at)
            at += numel(s)
    regular = [(d[0] if all(n == d[0] for n in d) else -1) for d in zip(*sizes)]
    t = wrap(None, (len(sizes), *regular), buffer.dtype, buffer.device)
    t.__class__ = NestedTensor
    t._v, t._sizes, t._strides, t._offsets = buffer, sizes, list(strides), list(offsets)
    if buffer._vc is None:
        buffer._vc = [0]
    t._vc = buffer._vc
    return t


def _seen(self, sizes, strides, offsets):
    """Return a view of a nested tensor, which has the same buffer and its own node in the graph."""
    return over(self._v.view_as(self._v), sizes, strides, offsets)


def nested(tensors):
    """Return a nested tensor of copies of the tensors. Gradients flow back to them."""
    if not tensors:
        return over(T.empty(0), [])
    return over(T.cat([t.reshape(-1) for t in tensors]), [t._shape for t in tensors])


# ------------------------------------------------------------------------------------------------ makers
@composite("_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor", out=False, method=False)
def from_mask(t, mask, mask_check):
    if mask.dtype is not dt.bool_:
        raise RuntimeError(
            "Expected mask to be of ScalarType Bool, but got " + dt.scalar_name(mask.dtype) + " instead."
        )
    if len(mask._shape) != 2:
        raise RuntimeError("Padding mask should be 2D")
    if len(t._shape) != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if t._shape[:2] != mask._shape:
        raise RuntimeError("Mask size should match input size")
    lengths = mask.sum(1)
    if mask_check and not bool((T.arange(mask._shape[1], device=mask.device) < lengths.unsqueeze(1)).eq(mask).all()):
        raise RuntimeError("Mask must be left-aligned without gaps")
    return nested([row[:n] for row, n in zip(t.unbind(0), lengths.tolist())])


@composite(
    "_nested_from_padded(Tensor padded, Tensor cpu_nested_shape_example, bool fuse_transform_0213=False) -> Tensor",
    out=False,
    method=False,
)
def from_padded(padded, sizes, fuse):
    padded = padded.permute(0, 2, 1, 3).flatten(2) if fuse else padded
    return nested([_cut(row, size) for row, size in zip(padded.unbind(0), sizes.tolist())])


def _cut(t, size):
    return t[tuple(slice(0, n) for n in size)]


@on_nested("_nested_from_padded_and_nested_example")
def from_example(padded, nt_example):
    return nested([_cut(row, size) for row, size in zip(padded.unbind(0), nt_example._sizes)])


composite(
    "_nested_from_padded_and_nested_example(Tensor padded, Tensor nt_example) -> Tensor", out=False, method=False
)(lambda padded, e: _no(e))
composite("Tensor.to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor", out=False)(
    lambda self, *args: _no(self)
)
for _name in "_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets".split():
    composite(f"{_name}(Tensor self) -> Tensor", out=False, method=True)(lambda self: _no(self))


def _no(t):
    raise could_not_run("to_padded_tensor", t)


@on_nested("to_padded_tensor")
def padded(self, padding, output_size=None):
    if not self._sizes:
        return self._v
    if not self._is_packed():
        raise RuntimeError("for now to_padded_tensor only supports contiguous nested tensor")
    if not any(map(len, self._sizes)):
        return T.stack(self.parts())
    needed = [len(self._sizes), *(max(d) for d in zip(*self._sizes))]
    size = list(output_size or needed)
    if len(size) != len(needed):
        raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
    if any(a < b for a, b in zip(size, needed)):
        raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
    rows = [
        F.pad(p, [n for a, b in zip(reversed(size[1:]), reversed(p._shape)) for n in (0, a - b)], value=padding)
        for p in self.parts()
    ]
    rows += [T.full_like(rows[0], padding)] * (size[0] - len(rows))
    return T.stack(rows)


@on_nested("_nested_tensor_size")
def nested_size(self):
    return FUNCTIONS["tensor"]([list(s) for s in self._sizes])


@on_nested("_nested_tensor_strides")
def nested_strides(self):
    return FUNCTIONS["tensor"]([list(s) for s in self._strides])


@on_nested("_nested_tensor_storage_offsets")
def nested_offsets(self):
    return FUNCTIONS["tensor"](list(self._offsets))


@on_nested("values")
def values(self):
    return self.buffer()


# ------------------------------------------------------------------------------------------------ elementwise
def _buffered(name, namespace=T):
    """Declare an elementwise function."""

    @on_nested(name)
    def f(self, *args, inplace=False, **kwargs):
        buffer = self.buffer()
        if inplace or name[-1] == "_":
            _written(self, getattr(namespace, name.removesuffix("_"))(buffer, *args, **kwargs))
            return self
        return self._with(getattr(namespace, name)(buffer, *args, **kwargs))


def _written(self, values):
    check_leaf(self)
    self._v.copy_(values)


for _name in "tanh neg abs sgn sqrt sin cos isnan isinf isposinf isneginf logical_not".split():
    _buffered(_name)
for _name in "tanh_ neg_ abs_ sgn_ sqrt_ sin_ cos_ logical_not_".split():
    _buffered(_name)
for _name in "relu gelu silu elu selu celu leaky_relu".split():
    _buffered(_name, F)
    _buffered(_name + "_", F)


@on_nested("dropout")
def dropout(self, p=0.5, training=True, inplace=False, **kwargs):
    result = self._with(F.dropout(self._v, p, kwargs.get("train", training)))
    return copy_(self, result) if inplace else result


def _compared(name):
    @on_nested(name, f"__{name}__")
    def compare(self, other):
        if isinstance(other, NestedTensor):
            raise RuntimeError(f"{name} does not support nested tensor as other value.")
        return self._with(getattr(T, name)(self.buffer(), other))


for _name in "eq ge gt".split():
    _compared(_name)

_BOTH = "Expected both self and other to be nested, but got a {} self and {} other"


def _mismatch(a, b, text=_BOTH):
    raise RuntimeError(
        text.format("nested", "non-nested") if isinstance(a, NestedTensor) else text.format("non-nested", "nested")
    )


def _pairwise(name, a, b, **kwargs):
    """Apply a function of two operands: both nested, or one of them nested and the other a number or 0-d tensor."""
    f = getattr(T, name)
    if isinstance(a, NestedTensor) and isinstance(b, NestedTensor):
        if a._sizes != b._sizes:
            raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
        if (a._strides, a._offsets) == (b._strides, b._offsets) and a._v._shape == b._v._shape:
            return a._with(f(a._v, b._v, **kwargs))
        if name == "div":
            what = "strides" if a._strides != b._strides else "offsets"
            raise RuntimeError(f"div requires {what} to match when given NestedTensors")
        return nested([f(x, y, **kwargs) for x, y in zip(a.parts(), b.parts())])
    if any(isinstance(t, Tensor) and not isinstance(t, NestedTensor) and t._shape for t in (a, b)):
        _mismatch(a, b)
    one = a if isinstance(a, NestedTensor) else b
    return one._with(f(*(t._v if t is one else t for t in (a, b)), **kwargs))


def _binary(name, *names):
    @on_nested(name, *names)
    def f(self, other, **kwargs):
        return _pairwise(name, self, other, **kwargs)

    @on_nested(*(n + "_" for n in (name, *names)))
    def f_(self, other, **kwargs):
        if not isinstance(self, NestedTensor):
            if self._shape:
                _mismatch(self, other)
            raise RuntimeError(
                f"output with shape [] doesn't match the broadcast shape [{', '.join(map(str, other._shape))}]"
            )
        return copy_(self, _pairwise(name, self, other, **kwargs))


_binary("add")
_binary("sub", "subtract")
_binary("mul", "multiply")
_binary("div", "divide", "true_divide")


@on_nested("masked_fill")
def masked_fill(self, mask, value):
    return self._with(T.masked_fill(self.buffer(), mask.buffer(), value))


# ------------------------------------------------------------------------------------------------ copies
@on_nested("clone")
def clone(self, *, memory_format=None):
    name = getattr(memory_format, "name", "preserve_format")
    if name not in ("preserve_format", "contiguous_format"):
        spoken = "".join(w.capitalize() for w in name.removesuffix("_format").split("_"))
        raise RuntimeError(
            f"Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
            f"{spoken}"
        )
    return self._with(self._v.clone()) if name == "preserve_format" else nested(self.parts())


@on_nested("copy_")
def copy_(self, src, non_blocking=False):
    if not isinstance(self, NestedTensor) or not isinstance(src, NestedTensor):
        raise RuntimeError("copy_ only supports Nested and Nested tensors")
    if self._sizes != src._sizes:
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    if self._is_packed() and src._is_packed():
        _written(self, src._v)
    else:
        for a, b in zip(self.parts(), src.parts()):
            a.copy_(b)
    return self


@on_nested("fill_")
def fill_(self, value):
    if isinstance(value, Tensor) and value._shape:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {len(value._shape)} dimensions."
        )
    _written(self, T.full_like(self._v, 0).fill_(value))
    return self


@on_nested("zero_")
def zero_(self):
    return fill_(self, 0)


def _like(name):
    @on_nested(name)
    def like(self, *args, **options):
        wants = options.pop("requires_grad", False)
        out = over(getattr(T, name)(self.contiguous()._v, *args, **options), self._sizes)
        return out._requiring_grad() if wants else out


for _name in "empty_like ones_like zeros_like full_like rand_like randn_like".split():
    _like(_name)


def _converting(name):
    @on_nested(name)
    def convert(self, *args, **kwargs):
        args = [a._v if isinstance(a, NestedTensor) else a for a in args]
        buffer = getattr(self._v, name)(*args, **kwargs)
        return self if buffer is self._v else self._with(buffer)


for _name in (*TO_ANOTHER, *CONVERSIONS):
    _converting(_name)


@on_nested("is_same_size")
def is_same_size(self, other):
    if not isinstance(self, NestedTensor) or not isinstance(other, NestedTensor):
        mine, theirs = ("is nested" if isinstance(t, NestedTensor) else "is not nested" for t in (self, other))
        raise RuntimeError(f"Expected both self and other to be nested tensors. Self {mine}. While Other {theirs}.")
    return self._sizes == other._sizes


# ----------------------------------------------------------------------------------------------- each tensor for itself
def _each(self, f):
    return nested([f(p) for p in self.parts()]) if self._sizes else self


@on_nested("softmax")
def softmax(self, dim=None, dtype=None, _stacklevel=3):
    if not self._sizes:
        return clone(self)
    d = wrap_dim(dim, self.dim())
    if not d:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return _each(self, lambda p: T.softmax(p, d - 1, dtype=dtype))


@on_nested("sum")
def sum_(self, dim=None, keepdim=False, *, dtype=None):
    if dim is None:
        raise could_not_run("sum", self)
    dims = [dim] if isinstance(dim, int) else list(dim)
    if len(dims) != 1:
        raise RuntimeError(
            f"NestedTensor only allows reduction of a single dimension for now. Got {len(dims)} dimensions instead."
        )
    d = wrap_dim(dims[0], self.dim())
    if d != self.dim() - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {d} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return _each(self, lambda p: p.sum(-1, True, dtype=dtype))


@on_nested("layer_norm")
def layer_norm(self, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    if len(normalized_shape) >= self.dim() - 1:
        raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
    for i, n in enumerate(normalized_shape):
        if self._shape[i - len(normalized_shape)] != n:
            raise RuntimeError(f"The shape at dimension {i}of normalized_shape doesn't match the input")
    return _each(self, lambda p: F.layer_norm(p, normalized_shape, weight, bias, eps))


@on_nested("embedding")
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    rows = F.embedding(input.buffer(), weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    return over(rows.reshape(-1), [(*s, weight._shape[1]) for s in input._sizes])


@on_nested("linear")
def linear(input, weight, bias=None):
    if not isinstance(input, NestedTensor):
        raise could_not_run("linear", next(t for t in (weight, bias) if isinstance(t, NestedTensor)))
    for name, t in (("weight", weight), ("bias", bias)):
        if isinstance(t, NestedTensor):
            raise RuntimeError(f"Linear does not support nested {name} when input is a nested tensor.")
    if input.dim() != 3 or len(weight._shape) != 2:
        dims = f"Nested tensor dim: {input.dim()}. Dense tensor dim: {len(weight._shape)}"
        raise RuntimeError(f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. {dims}")
    if not input._is_packed():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    last = {s[-1] for s in input._sizes}
    if len(last) > 1:
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
            + "\n".join(str(s[-1]) for s in input._sizes)
        )
    if last and last != {weight._shape[1]}:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal "
            f"'weight.size(1), but got: last_dim = {min(last)}, and weight.size(1) = {weight._shape[1]}"
        )
    rows = F.linear(input.buffer().reshape(-1, weight._shape[1]), weight, bias)
    return over(rows.reshape(-1), [(s[0], weight._shape[0]) for s in input._sizes])


# ------------------------------------------------------------------------------------------------ products
_PRODUCT = "Expected both to be nested, but got a {} self and {} other"


@on_nested("bmm")
def bmm(self, mat2):
    for name, t in (("batch1", self), ("batch2", mat2)):
        if t.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    a, b = (t.parts() if isinstance(t, NestedTensor) else t.unbind(0) for t in (self, mat2))
    if len(a) != len(b):
        raise RuntimeError(f"Expected size for the 1st dimension of batch2 tensor to be: {len(a)} but got: {len(b)}.")
    for i, (x, y) in enumerate(zip(a, b)):
        if x._shape[1] != y._shape[0]:
            sizes = "x".join(map(str, x._shape)), "x".join(map(str, y._shape))
            raise RuntimeError(f"{i}-th nested matrices in batch cannot be multiplied ({sizes[0]} and {sizes[1]})")
    return nested([x @ y for x, y in zip(a, b)])


@on_nested("matmul", "__matmul__")
def matmul(self, other):
    if not (isinstance(self, NestedTensor) and isinstance(other, NestedTensor)):
        _mismatch(self, other, _PRODUCT)
    for which, t in (("1st", self), ("2nd", other)):
        if t.dim() < 3:
            raise RuntimeError(
                "matmul: For nested tensors, only inputs with >= 3 dims are currently supported. "
                f"{which} input has rank: {t.dim()}"
            )
    if len(self._sizes) != len(other._sizes):
        sizes = f"{len(self._sizes)} but got: {len(other._sizes)}"
        raise RuntimeError(f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {sizes}.")
    for a, b in zip(self._sizes, other._sizes):
        if a[:-2] != b[:-2]:
            raise RuntimeError(
                "matmul: For nested tensors, batch dimensions must have the same sizes, "
                f"got {list(a[:-2])} and {list(b[:-2])} for nested tensors"
            )
        if a[-1] != b[-2]:
            raise RuntimeError(
                f"matmul: Nested tensors cannot be matrix multiplied ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
            )
    return nested([x @ y for x, y in zip(self.parts(), other.parts())])


@on_nested("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    if not all(isinstance(t, NestedTensor) for t in (query, key, value)):
        raise RuntimeError("scaled_dot_product_attention: query, key and value are to be nested, all of them")
    if attn_mask is not None or is_causal:
        what = "an explicit attn_mask is set" if attn_mask is not None else "is_causal=True"
        raise RuntimeError(
            f"_scaled_dot_product_attention: Nested tensors for query / key are not supported when {what}"
        )
    parts = zip(query.parts(), key.parts(), value.parts())
    return nested(
        [F.scaled_dot_product_attention(*qkv, dropout_p=dropout_p, scale=scale, enable_gqa=enable_gqa) for qkv in parts]
    )


# ------------------------------------------------------------------------------------------------ views
@on_nested("transpose", "swapaxes", "swapdims")
def transpose(self, dim0, dim1):
    a, b = wrap_dim(dim0, self.dim()), wrap_dim(dim1, self.dim())
    if a == b:
        return self
    if not a or not b:
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")

    def swapped(rows):
        rows = [list(r) for r in rows]
        for r in rows:
            r[a - 1], r[b - 1] = r[b - 1], r[a - 1]
        return [tuple(r) for r in rows]

    return _seen(self, swapped(self._sizes), swapped(self._strides), self._offsets)


def _proposed(self, name, size):
    """Return the size that each tensor has under a new size.

    -1 keeps the size of the tensor in that dimension; for an additional dimension it is inferred.
    """
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if not self._sizes:
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if not size:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if size[0] != len(self._sizes):
        raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
    if len(size) < 2:
        raise RuntimeError(f"{name}: For now nested view cannot squeeze the underlying tensors")
    if list(size[1:]).count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    return [_proposed_part(s, size) for s in self._sizes]


def _proposed_part(s, whole):
    size = whole[1:]
    if any(n < -1 for n in size):
        raise RuntimeError(f"invalid shape dimension {min(size)}")
    new = [s[i] if n == -1 and i < len(s) else n for i, n in enumerate(size)]
    if -1 in new:
        new[new.index(-1)] = numel(s) // max(numel([n for n in new if n != -1]), 1)
    if numel(new) != numel(s):
        raise RuntimeError(f"shape '{list(whole)}' is invalid for input of size {numel(s)}")
    return tuple(new)


@on_nested("view")
def view(self, *size):
    sizes = _proposed(self, "view", size)
    try:
        strides = [p.detach().view(s).stride() for p, s in zip(self.parts(), sizes)]
    except RuntimeError as error:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from error
    return _seen(self, sizes, strides, self._offsets)


@on_nested("reshape")
def reshape(self, *size):
    sizes = _proposed(self, "reshape", size)
    return view(self, *size) if self._is_packed() else nested([p.reshape(s) for p, s in zip(self.parts(), sizes)])


@on_nested("view_as", "reshape_as")
def view_as(self, other):
    return over(self.contiguous()._v, other._sizes)


@on_nested("squeeze")
def squeeze(self, dim=None):
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, "
            "however you can use squeeze(Tensor self, int dim) instead if you need this feature, "
            "please open an issue on github describing your use case."
        )
    d = wrap_dim(dim, self.dim())
    if not d:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment if you need this "
            "feature, please open an issue"
        )
    if self.dim() == 2:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeezing a nested tensor of singleton tensors is not supported at the "
            "moment"
        )
    if self._shape[d] != 1:
        return self
    cut = lambda rows: [r[: d - 1] + r[d:] for r in rows]  # noqa: E731
    return _seen(self, cut(self._sizes), cut(self._strides), self._offsets)


@on_nested("unsqueeze")
def unsqueeze(self, dim):
    d = wrap_dim(dim, self.dim() + 1)
    if not d:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you need this "
            "feature, please open an issue on github describing your use case."
        )
    sizes = [s[: d - 1] + (1,) + s[d - 1 :] for s in self._sizes]
    strides = [
        st[: d - 1] + (s[d - 1] * st[d - 1] if d - 1 < len(s) else 1,) + st[d - 1 :]
        for s, st in zip(self._sizes, self._strides)
    ]
    return _seen(self, sizes, strides, self._offsets)


def _last(self, name, dim):
    d = wrap_dim(dim, self.dim())
    if d != self.dim() - 1:
        spoken = "Chunk" if name == "chunk" else name
        raise RuntimeError(f"{spoken} for nested tensors is currently only supported for the last dimension.")
    if not self._is_packed():
        raise RuntimeError(f"{name} expects `self` to be contiguous.")
    return self._shape[d]


class _Undifferentiable(Function):
    """Pass the buffer on to a view for which PyTorch has no gradient: backward raises an error."""

    @staticmethod
    def forward(ctx, buffer, text):
        ctx.text = text
        return buffer.view_as(buffer)

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError(ctx.text)


def _pieces(self, sizes, text):
    found, at, buffer = [], 0, _Undifferentiable.apply(self._v, text)
    for n in sizes:
        offsets = [o + at * st[-1] for o, st in zip(self._offsets, self._strides)]
        found.append(over(buffer, [(*s[:-1], n) for s in self._sizes], self._strides, offsets))
        at += n
    return tuple(found)


@on_nested("chunk")
def chunk(self, chunks, dim=0):
    size = _last(self, "chunk", dim)
    if chunks <= 0 or size % chunks:
        raise RuntimeError(
            f"Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by "
            f"chunks. Got: {size} % {chunks} != 0"
        )
    return _pieces(self, [size // chunks] * chunks, "derivative for aten::chunk is not implemented")


@on_nested("split_with_sizes")
def split_with_sizes(self, split_sizes, dim=0):
    size = _last(self, "split_with_sizes", dim)
    if sum(split_sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension "
            f"{self.dim() - 1}), but got {list(split_sizes)}"
        )
    return _pieces(self, split_sizes, "the derivative for 'aten::split_with_sizes' is not implemented")


@on_nested("select")
def select(self, dim, index):
    d = wrap_dim(dim, self.dim())
    if not d:
        n = len(self._sizes)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")
        return self.parts()[index]
    for i, s in enumerate(self._sizes):
        if not -s[d - 1] <= index < s[d - 1]:
            raise IndexError(
                f"index {index} is out of bounds for dimension {d - 1} of the {i}th constituent tensor with size "
                f"{s[d - 1]}"
            )
    cut = lambda rows: [r[: d - 1] + r[d:] for r in rows]  # noqa: E731
    offsets = [o + index % s[d - 1] * st[d - 1] for o, s, st in zip(self._offsets, self._sizes, self._strides)]
    return _seen(self, cut(self._sizes), cut(self._strides), offsets)


@on_nested("__getitem__")
def getitem(self, index):
    first, *rest = index if isinstance(index, tuple) else (index,)
    if not isinstance(first, int):
        if isinstance(first, slice) and first == slice(None) and not rest:
            return self
        raise could_not_run("slice.Tensor", self)
    part = select(self, 0, first)
    return part[tuple(rest)] if rest else part
