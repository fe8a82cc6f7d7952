"""Neural network functions: embeddings, padding, distances, attention."""

import math
import warnings

from ..autograd import no_grad
from ..backend import backend
from ..call.out import SAME_DTYPE
from ..context import PROCESS
from ..declare import composite, op
from ..device import META, contiguous_format
from .common import LINALG, F, T, check_number, dt, has_values, only
from .memory import format_strides, suggested_format

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


# ------------------------------------------------------------------------------------------------ embeddings
def _check_indices(indices, name="indices", fn="embedding"):
    if indices.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(
            f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got "
            f"{indices.type()} instead (while checking arguments for {fn})"
        )


def _embedding_meta(weight, indices, *_):
    if len(weight._shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices)
    return (*indices._shape, weight._shape[1]), weight.dtype


def _embedding_grad(g, weight_shape, indices, padding_idx, scale_grad_by_freq, sparse):
    if sparse:
        if scale_grad_by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        from .sparse import rows_gradient

        return rows_gradient(g, weight_shape, indices, padding_idx)
    return _dense_backward.call(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


def _dense_double(g, indices, padding_idx):
    out = T.embedding(g, indices)
    return out if padding_idx < 0 else out.masked_fill((indices == padding_idx).unsqueeze(-1), 0)


_EMBEDDING = dict(
    call=lambda p, weight, indices, *_: p(indices, weight),
    meta=_embedding_meta,
    derivative={"weight": _embedding_grad},
    opmath=False,
    out=False,
)
op(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
    "bool sparse=False) -> Tensor",
    "Embedding",
    **_EMBEDDING,
)
_dense_backward = op(
    "_C.embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, "
    "bool scale_grad_by_freq) -> Tensor",
    "EmbeddingDenseBackward",
    derivative={"grad_output": _dense_double},
    meta=lambda g, indices, n, *_: ((n, g._shape[-1]), g.dtype),
)


def _renorm(weight, indices, max_norm, norm_type):
    with no_grad():
        weight = T.detach(weight) if PROCESS.duals else weight  # keeps the tangent unchanged
        T.embedding_renorm_(weight, indices.contiguous(), max_norm, norm_type)


@composite(
    "embedding_renorm_(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", method=False, out=False
)
def embedding_renorm_(self, indices, max_norm, norm_type):
    _check_indices(indices, fn="embedding_renorm_")
    rows = T.unique(indices)
    if rows.numel():
        values = self[rows]
        norms = LINALG.vector_norm(values, norm_type, -1, keepdim=True)
        self[rows] = T.where(norms > max_norm, values * (max_norm / (norms + 1e-7)), values)
    return self


def _padding_index(padding_idx, rows):
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


@composite(
    "nn.functional.embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, "
    "float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    out=False,
)
def embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
    if len(weight._shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding_idx = _padding_index(padding_idx, weight._shape[0])
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    return T.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _one_hot_args(self, num_classes):
    if self.dtype is not dt.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        if self.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(self.max().item()) + 1
    elif num_classes <= 0 and self.numel() == 0:
        raise RuntimeError("num_classes should be positive")
    if backend(self.device).host and self.numel():  # on other devices, reading a value would wait for the device
        if self.min().item() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes <= self.max().item():
            raise RuntimeError("Class values must be smaller than num_classes.")
    return self, num_classes


_ONE_HOT = dict(
    prepare=_one_hot_args,
    meta=lambda self, num_classes: ((*self._shape, num_classes), dt.int64),
    call=lambda p, self, n: p.of(-1)(self, n, 1, 0),
)
op(
    "nn.functional.one_hot(Tensor self, int num_classes=-1) -> Tensor",
    "OneHotExt",
    out=False,
    alias=("_C._nn.one_hot",),
    python=False,
    **_ONE_HOT,
)


# ------------------------------------------------------------------------------------------------ padding
def _pad_meta(self, pad, value):
    n = len(self._shape)
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even but instead it equals " + str(len(pad)))
    if len(pad) > 2 * n:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {n} dimensions."
        )
    shape = list(self._shape)
    for i in range(len(pad) // 2):
        d, a, b = n - 1 - i, pad[2 * i], pad[2 * i + 1]
        shape[d] += a + b
        if shape[d] < 0:
            raise RuntimeError("narrow(): length must be non-negative.")  # PyTorch cuts the input before it pads
    check_number(value, self.dtype)
    return tuple(shape), self.dtype, self._stride and format_strides(shape, suggested_format(self))


_CONSTANT_PAD_ND = dict(meta=_pad_meta, derivative=lambda g, pad: T.constant_pad_nd(g, [-p for p in pad], 0))
op(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
    "ConstantPadND",
    opmath=False,
    method=False,
    out=False,
    **_CONSTANT_PAD_ND,
)


def _edge_meta(mode, dims):
    name = f"{_EDGES[mode]}{dims}d"

    def meta(self, padding):
        n, shape = len(self._shape), list(self._shape)
        if len(padding) != 2 * dims:
            raise RuntimeError(f"padding size is expected to be {2 * dims}, but got: {len(padding)}")
        if n not in (dims + 1, dims + 2) or 0 in shape[1 if n == dims + 2 else 0 :]:
            raise RuntimeError(
                f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other "
                f"non-zero dimensions for input, but got: {shape}"
            )
        padded = shape[:]
        for i in range(dims):
            d, a, b = n - 1 - i, padding[2 * i], padding[2 * i + 1]
            padded[d] += a + b
            if mode == "reflect" and max(a, b) >= shape[d]:
                raise RuntimeError(
                    f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, "
                    f"but got: padding ({a}, {b}) at dimension {d} of input {shape}"
                )
        if all(s < 1 for s in padded[-dims:]):
            old, new = (
                ", ".join(f"{label}: {s}" for label, s in zip("DHW"[-dims:], sizes[-dims:]))
                for sizes in (shape, padded)
            )
            raise RuntimeError(f"input ({old}) is too small. Calculated output {new}")
        if min(padded) < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(padded)}: {padded}")
        only(name, self, dt.INT, dt.FLOAT, dt.COMPLEX)
        return tuple(padded), self.dtype, self._stride and format_strides(padded, suggested_format(self))

    return meta


def _edge(mode, dims):
    """Declare reflection_padNd or replication_padNd with its backward operator, and return the forward operator."""
    name, prim = f"_C._nn.{_EDGES[mode]}{dims}d", f"{_EDGES[mode].title().replace('_', '')}{dims}D"
    copies = dict(
        meta=_edge_meta(mode, dims),
        derivative=lambda g, self, padding: gradient.call(g, self, padding),
        opmath=False,
        out=SAME_DTYPE,
    )
    forward = op(f"{name}(Tensor self, int[{2 * dims}] padding) -> Tensor", prim, **copies)
    of_input = lambda g, self, padding: (
        self._shape,
        self.dtype,
        self._stride and format_strides(self._shape, suggested_format(self)),
    )
    grads = {
        "grad_output": lambda g, padding: forward.call(g, padding),
        "self": lambda g, self_shape: g.new_zeros(self_shape),
    }
    sums = dict(meta=of_input, derivative=grads, out=SAME_DTYPE)
    gradient = op(
        f"{name}_backward(Tensor grad_output, Tensor self, int[{2 * dims}] padding) -> Tensor", prim + "Grad", **sums
    )
    return forward


_EDGES = {"reflect": "reflection_pad", "replicate": "replication_pad"}
EDGES = {(mode, dims): _edge(mode, dims) for mode in _EDGES for dims in (1, 2, 3)}


def edge_sources(mode, n, before, after):
    """Return for each padded position along a dimension of n elements the index of its source element."""
    at = range(-before, n + after)
    return (
        [-i if i < 0 else 2 * (n - 1) - i if i >= n else i for i in at]
        if mode == "reflect"
        else [min(max(i, 0), n - 1) for i in at]
    )


def _wrapped(x, dim, a, b):
    """Pad x circularly along dim: `a` elements before it, `b` elements after it. Negative amounts crop."""
    n = x._shape[dim]
    low, high = max(a, 0), max(b, 0)
    x, n = (x.narrow(dim, low - a, n + a + b - low - high), n + a + b - low - high) if a < 0 or b < 0 else (x, n)
    if low > n or high > n:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    parts = [p for p, k in ((x.narrow(dim, n - low, low), low), (x, 1), (x.narrow(dim, 0, high), high)) if k]
    return T.cat(parts, dim) if len(parts) > 1 else x


@composite("nn.functional.pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor", out=False)
def pad(input, pad, mode, value):
    n = len(input._shape)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * n:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {n}"
        )
    if mode == "constant":
        return T.constant_pad_nd(input, pad, float(value or 0))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    k = len(pad) // 2
    if not (k + 1 == n or k + 2 == n) or k > 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {n}D input tensor.\nSupported combinations for non-constant "
            "padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: "
            "padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular":
        return EDGES[mode, k].call(input, pad)
    if 0 in input._shape[n - k - (n == k + 1) :]:
        raise RuntimeError(
            f"Expected {k + 1}D or {k + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input._shape)}"
        )
    out = input
    for i in range(k):
        out = _wrapped(out, n - 1 - i, pad[2 * i], pad[2 * i + 1]) if pad[2 * i] or pad[2 * i + 1] else out
    return out.clone(memory_format=contiguous_format) if out is input or min(pad) < 0 else out  # a crop is a view


# ------------------------------------------------------------------------------------------------ distances
@composite("nn.functional.normalize(Tensor input, float p=2.0, Any dim=1, float eps=1e-12) -> Tensor")
def normalize(input, p, dim, eps):
    return input / LINALG.vector_norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)


@composite(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor", out=False
)
def pairwise_distance(x1, x2, p, eps, keepdim):
    return T.norm(x1 - x2 + eps, p, -1, keepdim)


# ------------------------------------------------------------------------------------------------ bags
BAGS = ("sum", "mean", "max")


def _bags(weight, indices, offsets, by_freq, mode, sparse, weights, include_last, padding_idx):
    """Return (bags, bag of every index, sizes of the bags, index of every maximum) as torch.embedding_bag does."""
    if weight.device is META:  # no values are read; like PyTorch, accept indices on any device
        indices, offsets = indices.to(META), offsets.to(META)
    _check_indices(indices, fn="embedding_bag")
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got {weight.type()} instead (while checking arguments for embedding_bag)"
        )
    rows, count = weight._shape[0], indices.numel()
    if padding_idx is not None:
        padding_idx = _padded_row(padding_idx, rows)
    if weights is not None:
        _check_bag_weights(weight, weights, mode)
    if has_values(offsets) and offsets.numel():
        first, last = offsets[0].item(), offsets[-1].item()
        if first:
            raise RuntimeError(
                f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                f"However, got {first}\n[ torch.{dt.LEGACY[offsets.dtype]}Tensor{{}} ]"
            )
        if last > count:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {last}"
            )
    starts = offsets[:-1] if include_last else offsets
    bags, device = starts._shape[0], weight.device
    bag = T.searchsorted(starts.contiguous(), T.arange(count, device=device, dtype=starts.dtype), right=True) - 1
    try:
        x = T.embedding(weight, indices, -1 if padding_idx is None else padding_idx, by_freq, sparse)
    except IndexError:
        raise _outside(weight, indices, mode, padding_idx) from None
    if weights is not None:
        x = x * weights.unsqueeze(-1)
    kept = T.ones(count, dtype=dt.bool_, device=device) if padding_idx is None else indices != padding_idx
    sizes = T.zeros(bags, dtype=indices.dtype, device=device).index_add(0, bag, kept.to(indices.dtype))
    if mode == 2:
        out, top = _largest(x, indices, starts, count, kept, sizes)
        return out, bag.to(indices.dtype), sizes, top
    x = x if padding_idx is None else x.masked_fill(kept.logical_not().unsqueeze(-1), 0)
    exact = dt.OPMATH.get(weight.dtype, weight.dtype)  # accumulate in this dtype and round once at the end
    out = T.zeros((bags, weight._shape[1]), dtype=exact, device=device).index_add(0, bag, x.to(exact))
    if mode == 1:
        return (out / sizes.clamp_min(1).unsqueeze(-1).to(exact)).to(weight.dtype), bag.to(indices.dtype), sizes, sizes
    none = T.zeros_like(sizes)
    return out.to(weight.dtype), bag[:0] if padding_idx is None and weights is None else bag, none, none


def _padded_row(padding_idx, rows):
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}"
        )
    return padding_idx % rows


def _check_bag_weights(weight, weights, mode):
    if mode != 0:
        raise RuntimeError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'"
        )
    if weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {weight.type()} does not equal {weights.type()} (while checking "
            "arguments for embedding_bag)"
        )


def _outside(weight, indices, mode, padding_idx):
    """Return the error for an index that is out of range. PyTorch's sum kernels use another message than the others."""
    rows = weight._shape[0]
    i, index = next((i, n) for i, n in enumerate(indices.tolist()) if not 0 <= n < rows)
    if mode != 2 and padding_idx is None and weight.dtype is not dt.float64:
        return RuntimeError(f"Index {i} of input takes value {index} which is not in the valid range [0, {rows})")
    return RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {index}")


def _largest(x, indices, starts, count, kept, sizes):
    """Return every bag's maximum over its rows, and the index that it came from.

    The bags are padded to the same length with -inf.
    """
    ends = T.cat((starts[1:], T.full((1,), count, dtype=starts.dtype, device=starts.device)))
    width = count if not has_values(starts) else int((ends - starts).max().item()) if starts.numel() else 0
    shape = (starts._shape[0], x._shape[1])
    if not width or not count:
        return x[:0].sum(0).expand(shape).clone(memory_format=contiguous_format), T.zeros(
            shape, dtype=indices.dtype, device=x.device
        )
    at = starts.unsqueeze(1) + T.arange(width, device=starts.device, dtype=starts.dtype)
    inside, at = at < ends.unsqueeze(1), at.clamp_max(count - 1)
    inside = inside & kept[at]
    values, which = x[at].masked_fill(inside.logical_not().unsqueeze(-1), -math.inf).max(1)
    empty = (sizes == 0).unsqueeze(-1)
    top = indices[at.gather(1, which)]
    return values.masked_fill(empty, 0), top.masked_fill(empty, 0)


@composite(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, "
    "int? padding_idx=None) -> (Tensor, Tensor, Tensor, Tensor)",
    out=False,
    no_forward="_embedding_bag",
)
def embedding_bag(*args):
    return _bags(*args)


@composite(
    "nn.functional.embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, "
    "float norm_type=2, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) -> Tensor",
    out=False,
    no_forward="_embedding_bag",
)
def f_embedding_bag(
    input,
    weight,
    offsets,
    max_norm,
    norm_type,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    include_last_offset,
    padding_idx,
):
    if weight.dtype is dt.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
            "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=3,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input._shape != per_sample_weights._shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.size()}) is not None, "
            f"then it must have the same shape as the input ({input.size()})"
        )
    _check_bags(input, weight, offsets)
    if len(input._shape) == 2:  # each row is a bag
        bags, length = input._shape
        offsets, include_last_offset = T.arange(bags, dtype=input.dtype, device=input.device) * length, False
        input, per_sample_weights = (
            input.reshape(-1),
            None if per_sample_weights is None else per_sample_weights.reshape(-1),
        )
    _check_bag_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _renorm(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return _bags(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        BAGS.index(mode),
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


def _check_bags(input, weight, offsets):
    n = len(input._shape)
    if len(weight._shape) != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight._shape)}")
    if n not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {n}")
    if n == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets)}"
        )
    if n == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if n == 1 and len(offsets._shape) != 1:
        raise ValueError("offsets has to be a 1D Tensor")


def _check_bag_mode(mode, scale_grad_by_freq, sparse):
    if mode not in BAGS:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")


# ------------------------------------------------------------------------------------------------ attention
def canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """Convert a mask to one that is added to the scores: True becomes -inf."""
    if mask is None:
        return None
    if mask.dtype is not dt.bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    return mask if mask.is_floating_point() else T.zeros_like(mask, dtype=target_type).masked_fill(mask, -math.inf)


def _require(ok, text):
    if not ok:
        raise AssertionError(text)


def _check_ranks(query, key, value, padding_mask, mask, heads):
    """Check the number of dimensions of all inputs, and return whether they have a batch dimension."""
    n = query.dim()
    _require(n in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    kind = f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected"
    _require(
        key.dim() == n and value.dim() == n,
        f"{kind} `key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively",
    )
    if padding_mask is not None:
        _require(
            padding_mask.dim() == n - 1,
            f"{kind} `key_padding_mask` to be `None` or {n - 1}-D but found {padding_mask.dim()}-D tensor instead",
        )
    if mask is not None:
        _require(
            mask.dim() in (2, 3), f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
        shape = (heads, query._shape[0], key._shape[0])
        _require(
            n == 3 or mask.dim() == 2 or mask._shape == shape,
            f"Expected `attn_mask` shape to be {shape} but got {mask.size()}",
        )
    return n == 3


def _packed_projections(query, key, value, weight, bias):
    """Project query, key and value with the three parts of one matrix; identical inputs share one product."""
    _require(key._shape == value._shape, f"key shape {key.size()} does not match value shape {value.size()}")
    _require(weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
    e = query._shape[-1]
    if key is value:
        if query is key:
            return F.linear(query, weight, bias).chunk(3, -1)
        (wq, wkv), (bq, bkv) = weight.split([e, 2 * e]), (None, None) if bias is None else bias.split([e, 2 * e])
        return (F.linear(query, wq, bq), *F.linear(key, wkv, bkv).chunk(2, -1))
    return _projections((query, key, value), weight.chunk(3), bias)


def _separate_projections(query, key, value, weights, bias):
    """Project query, key and value with a separate matrix each."""
    _require(
        key._shape[:2] == value._shape[:2],
        f"key's sequence and batch dims {key.size()[:2]} do not match value's {value.size()[:2]}",
    )
    for name, w in zip("qkv", weights):
        _require(w is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
    return _projections((query, key, value), weights, bias)


def _projections(inputs, weights, bias):
    return [F.linear(x, w, b) for x, w, b in zip(inputs, weights, (None,) * 3 if bias is None else bias.chunk(3))]


@composite(
    "nn.functional.multi_head_attention_forward(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, "
    "int num_heads, Tensor? in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, "
    "float dropout_p, Tensor out_proj_weight, Tensor? out_proj_bias, bool training=True, "
    "Tensor? key_padding_mask=None, bool need_weights=True, Tensor? attn_mask=None, "
    "bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, "
    "Tensor? v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, "
    "bool is_causal=False) -> Any",
    out=False,
)
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim,
    heads,
    in_weight,
    in_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_weight,
    out_bias,
    training,
    padding_mask,
    need_weights,
    mask,
    separate,
    q_weight,
    k_weight,
    v_weight,
    static_k,
    static_v,
    average,
    is_causal,
):
    batched = _check_ranks(query, key, value, padding_mask, mask, heads)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        padding_mask = None if padding_mask is None else padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    source = key.shape[0]
    padding_mask = canonical_mask(
        padding_mask, "key_padding_mask", None if mask is None else mask.dtype, "attn_mask", query.dtype
    )
    if is_causal and mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding_mask is None and not need_weights:
        mask = None
    else:
        mask = canonical_mask(mask, "attn_mask", None, "", query.dtype, False)
        is_causal = is_causal and padding_mask is None
    _require(width == embed_dim, f"was expecting embedding dimension of {embed_dim}, but got {width}")
    _require(width % heads == 0, f"embed_dim {width} not divisible by num_heads {heads}")
    size = width // heads
    if separate:
        q, k, v = _separate_projections(query, key, value, (q_weight, k_weight, v_weight), in_bias)
    else:
        q, k, v = _packed_projections(query, key, value, in_weight, in_bias)
    mask = _attention_mask(mask, batch * heads, length, source)
    k, v = _with_bias(k, v, bias_k, bias_v, static_k, static_v)
    q, k, v = (x.reshape(x.shape[0], batch * heads, size).transpose(0, 1) for x in (q, k, v))
    k, v = _or_static(k, static_k, "static_k"), _or_static(v, static_v, "static_v")
    if add_zero_attn:
        k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
    # appended keys are never masked
    more = (bias_k is not None) + bool(add_zero_attn)
    if more:
        mask, padding_mask = (None if m is None else F.pad(m, (0, more)) for m in (mask, padding_mask))
    mask = _with_padding(mask, padding_mask, batch, heads, k.shape[1])
    attend = _attend_with_weights if need_weights else _attend
    out, weights = attend(q, k, v, mask, dropout_p if training else 0.0, is_causal, (batch, heads))
    out = F.linear(out.reshape(length * batch, width), out_weight, out_bias)
    out = out.reshape(length, batch, out.shape[1])
    if weights is not None:
        weights = weights.mean(1) if average else weights
        weights = weights if batched else weights.squeeze(0)
    return out if batched else out.squeeze(1), weights


def _attention_mask(mask, rows, length, source):
    """Check the shape of the mask and return it with a batch dimension, which may be of size 1."""
    if mask is None:
        return None
    want = (length, source) if mask.dim() == 2 else (rows, length, source)
    if mask._shape != want:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.size()}, but should be {want}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _with_bias(k, v, bias_k, bias_v, static_k, static_v):
    """Append the learned biases to keys and values, if there are any."""
    _require(
        (bias_k is None) == (bias_v is None),
        f"bias_{'k' if bias_v is None else 'v'} is set but bias_{'v' if bias_v is None else 'k'} is None",
    )
    if bias_k is None:
        return k, v
    _require(static_k is None, "bias cannot be added to static key.")
    _require(static_v is None, "bias cannot be added to static value.")
    return (T.cat([x, b.repeat(1, x._shape[1], 1)]) for x, b in ((k, bias_k), (v, bias_v)))


def _or_static(x, static, name):
    """Return `static` if it is given, otherwise the projected tensor (batch * heads, length, size)."""
    if static is None:
        return x
    _require(static._shape[0] == x._shape[0], f"expecting {name}.size(0) of {x._shape[0]}, but got {static._shape[0]}")
    _require(static._shape[2] == x._shape[2], f"expecting {name}.size(2) of {x._shape[2]}, but got {static._shape[2]}")
    return static


def _with_padding(mask, padding_mask, batch, heads, source):
    """Combine both masks into one that is added to the scores."""
    if padding_mask is None:
        return mask
    _require(
        padding_mask._shape[0] == batch,
        f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding_mask._shape[0]}",
    )
    _require(
        padding_mask._shape[1] == source,
        f"Expected key_padded_mask.shape[1] to be {source}, but got {padding_mask._shape[1]}",
    )
    padding_mask = padding_mask.reshape(batch, 1, 1, source).expand(-1, heads, -1, -1).reshape(batch * heads, 1, source)
    return padding_mask if mask is None else mask + padding_mask


def _attend_with_weights(q, k, v, mask, dropout_p, is_causal, groups):
    """Return the output (length, batch * heads, size) and the weights of each head. `groups` is (batch, heads)."""
    _require(not is_causal or mask is not None, "FIXME: is_causal not implemented for need_weights")
    q = q * math.sqrt(1 / q._shape[2])
    weights = T.bmm(q, k.transpose(-2, -1)) if mask is None else T.baddbmm(mask, q, k.transpose(-2, -1))
    weights = F.softmax(weights, -1)
    weights = F.dropout(weights, dropout_p) if dropout_p > 0 else weights
    return T.bmm(weights, v).transpose(0, 1), weights.reshape(*groups, *weights._shape[1:])


def _attend(q, k, v, mask, dropout_p, is_causal, groups):
    """Return the output (length, batch, heads, size), without weights."""
    if mask is not None:
        mask = mask.unsqueeze(0) if mask._shape[0] == 1 else mask.reshape(*groups, *mask._shape[1:])
    q, k, v = (x.reshape(*groups, *x._shape[1:]) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal).permute(2, 0, 1, 3), None
