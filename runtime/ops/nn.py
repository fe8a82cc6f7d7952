"""Functions of networks: embeddings, padding, shuffles, distances, attention."""
import math
import warnings

from ..autograd import MODE, no_grad
from ..op import composite, op
from .common import F, LINALG, M, T, Tensor, dt, wrap_dim

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


# ------------------------------------------------------------------------------------------------ embeddings
def _check_indices(indices, name="indices", fn="embedding"):
    if indices.dtype not in (dt.int64, dt.int32):
        raise RuntimeError(f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got "
                           f"{indices.type()} instead (while checking arguments for {fn})")


def _embedding_meta(weight, indices, *_):
    if len(weight._shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices)
    return (*indices._shape, weight._shape[1]), weight.dtype


def _embedding_grad(g, weight_shape, indices, padding_idx, scale_grad_by_freq, sparse):
    if sparse:
        raise NotImplementedError("embedding: sparse gradients (sparse=True) are not supported; use sparse=False")
    return _dense_backward.call(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


def _dense_double(g, indices, padding_idx):
    out = T.embedding(g, indices)
    return out if padding_idx < 0 else out.masked_fill((indices == padding_idx).unsqueeze(-1), 0)


op("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", "Embedding",
   call=lambda p, weight, indices, *_: p(indices, weight), meta=_embedding_meta, derivative={"weight": _embedding_grad}, opmath=False, out=False)
_dense_backward = op("_C.embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) "
                     "-> Tensor", "EmbeddingDenseBackward", derivative={"grad_output": _dense_double},
                     meta=lambda g, indices, n, *_: ((n, g._shape[-1]), g.dtype))


def _renorm(weight, indices, max_norm, norm_type):
    with no_grad():
        T.embedding_renorm_(weight, indices.contiguous(), max_norm, norm_type)


@composite("embedding_renorm_(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", method=False, out=False)
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


@composite("nn.functional.embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
           "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", out=False)
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
    return self, num_classes


op("nn.functional.one_hot(Tensor self, int num_classes=-1) -> Tensor", "OneHotExt", prepare=_one_hot_args, out=False, alias=("_C._nn.one_hot",),
   meta=lambda self, num_classes: ((*self._shape, num_classes), dt.int64), call=lambda p, self, n: p.of(-1)(self, n, 1, 0))


# ------------------------------------------------------------------------------------------------ padding
def _pad_meta(self, pad, value):
    n = len(self._shape)
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even but instead it equals " + str(len(pad)))
    if len(pad) > 2 * n:
        raise RuntimeError(f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} while the "
                           f"input has {n} dimensions.")
    shape = list(self._shape)
    for i in range(len(pad) // 2):
        d, a, b = n - 1 - i, pad[2 * i], pad[2 * i + 1]
        shape[d] += a + b
        if shape[d] < 0:
            raise RuntimeError(f"The input size {self._shape[d]}, plus negative padding {a} and {b} resulted in a negative output size, which is "
                               f"invalid. Check dimension {d} of your input.")
    return tuple(shape), self.dtype


op("constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", "ConstantPadND", meta=_pad_meta, opmath=False, method=False,
   derivative=lambda g, pad: T.constant_pad_nd(g, [-p for p in pad], 0))


def _pad_edge(x, dim, a, b, mode):
    """x with its own values before and after along dim; negative amounts cut off."""
    n = x._shape[dim]
    low, high = max(a, 0), max(b, 0)
    if mode == "circular" and (a < 0 or b < 0):
        x, n, a, b = x.narrow(dim, low - a, n + a + b - low - high), n + a + b - low - high, low, high
    if mode == "reflect":
        if low >= n or high >= n:
            raise RuntimeError("Padding size should be less than the corresponding input dimension, but got: padding "
                               f"({a}, {b}) at dimension {dim} of input {list(x._shape)}")
        first, last = x.narrow(dim, 1, low).flip(dim), x.narrow(dim, n - 1 - high, high).flip(dim)
    elif mode == "circular":
        if low > n or high > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        first, last = x.narrow(dim, n - low, low), x.narrow(dim, 0, high)
    else:
        size = list(x._shape)
        size[dim] = low
        first = x.narrow(dim, 0, 1).expand(size)
        size[dim] = high
        last = x.narrow(dim, n - 1, 1).expand(size)
    if n + a + b < 1:
        raise RuntimeError(f"input (size: {n}) is too small for the padding ({a}, {b}) along dimension {dim}: the calculated output size is "
                           f"{n + a + b}")
    parts = [p for p, k in ((first, low), (x, 1), (last, high)) if k]
    y = T.cat(parts, dim) if len(parts) > 1 else x
    return y.narrow(dim, max(-a, 0), n + a + b) if a < 0 or b < 0 else y


@composite("nn.functional.pad(Tensor input, int[] pad, str mode='constant', Scalar? value=None) -> Tensor", out=False)
def pad(input, pad, mode, value):
    n = len(input._shape)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * n:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding length {len(pad)} and "
                           f"input of dimension {n}")
    if mode == "constant":
        return T.constant_pad_nd(input, pad, value or 0)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise RuntimeError(f"Unrecognised padding mode {mode}")
    k = len(pad) // 2
    if not (k + 1 == n or k + 2 == n) or k > 3:
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    if 0 in input._shape[n - k - (n == k + 1):]:
        raise RuntimeError(f"Expected {k + 1}D or {k + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
                           f"but got: {list(input._shape)}")
    out = input
    for i in range(k):
        out = _pad_edge(out, n - 1 - i, pad[2 * i], pad[2 * i + 1], mode) if pad[2 * i] or pad[2 * i + 1] else out
    return out.clone() if out is input else out
