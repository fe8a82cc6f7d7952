"""ATen functions that PyTorch's own modules call: fused attention, row pruning, assertions in graphs."""

import math

from .. import dtypes as dt
from ..declare import composite
from ..registry import F
from .common import T, wrap_dim
from .creation import tensor


def _refuse(*checks):
    for holds, text in checks:
        if not holds:
            raise RuntimeError(text)


@composite(
    "_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)",
    method=False,
    out=False,
)
def transform_bias_rescale_qkv(qkv, qkv_bias, num_heads):
    """Add the bias and split projections (B, T, 3 D) into queries, keys and values of shape (B, H, T, D / H).

    The queries are scaled by 1 / sqrt(D / H).
    """
    batch, length, width = qkv._shape
    size = width // 3 // num_heads
    _refuse(
        (
            width == 3 * num_heads * size,
            f"_transform_bias_rescale_qkv: a last dimension of {width} is not three times {num_heads} heads",
        )
    )
    q, k, v = (qkv + qkv_bias).reshape((batch, length, 3, num_heads, size)).permute((2, 0, 3, 1, 4)).unbind(0)
    return (q / math.sqrt(size)).contiguous(), k.contiguous(), v.contiguous()


@composite(
    "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, "
    "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, "
    "bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    method=False,
    out=False,
)
def native_multi_head_attention(
    query,
    key,
    value,
    embed_dim,
    num_head,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask,
    need_weights,
    average_attn_weights,
    mask_type,
):
    """Multi-head attention over inputs of shape (B, T, D). Return the output and the weights.

    The weights are (B, T, T) when averaged over heads, (B, H, T, T) otherwise, or None. `mask` is True where attention
    is not allowed; `mask_type` is that of _masked_softmax: 0 for (T, T), 1 for (B, T), 2 for (B, H, T, T).
    """
    dims = len(query._shape)
    _refuse((dims == 3, f"expected 3-D `query`, got {dims}-D tensor"))
    width = query._shape[-1]
    _refuse(
        (width == embed_dim, f"passed-in embed_dim {embed_dim} didn't match last dim of query {width}"),
        (all(len(t._shape) == 3 for t in (key, value)), "expected 3-D `key` and `value`"),
        (query._shape == key._shape == value._shape, "expected `query`/`key`/`value` shapes to match"),
        (len(qkv_weight._shape) == 2, f"expected 2-D `qkv_weight`, got {len(qkv_weight._shape)}-D tensor"),
        (qkv_weight._shape[0] == 3 * width, "expected `qkv_weight` first dim to be 3x embed_dim"),
        (qkv_weight._shape[1] == width, "expected `qkv_weight` second dim to be embed_Dim"),
        (len(qkv_bias._shape) == 1, f"expected 1-D `qkv_bias`, got {len(qkv_bias._shape)}-D tensor"),
        (qkv_bias._shape[0] == 3 * width, "expected `qkv_bias` first dim and first dim of query to be equal"),
        (width % num_head == 0, "`embed_dim` must divide evenly by `num_heads`"),
    )
    if query is key is value:
        qkv = F.linear(query, qkv_weight)
    else:
        qkv = T.cat([F.linear(t, w) for t, w in zip((query, key, value), qkv_weight.chunk(3))], -1)
    q, k, v = transform_bias_rescale_qkv(qkv, qkv_bias, num_head)
    scores = T.matmul(q, k.transpose(-2, -1))
    weights = T.softmax(scores, -1) if mask is None else masked_softmax(scores, mask, -1, mask_type)
    out = T.matmul(weights, v).transpose(1, 2).reshape(query._shape)
    shown = None if not need_weights else weights.mean(1) if average_attn_weights else weights
    return F.linear(out, proj_weight, proj_bias), shown


@composite(
    "_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor", method=False, out=False
)
def masked_softmax(self, mask, dim, mask_type):
    """softmax that ignores the elements where the mask is True.

    mask_type: 0 for a mask of scores (L, L), 1 for a mask of keys (B, L), 2 for a mask of the same shape as self.
    """
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    if mask_type not in (0, 1, 2):
        raise RuntimeError("Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)")
    if mask_type == 1:
        mask = mask.reshape((mask._shape[0], 1, 1, mask._shape[1]))
    return T.softmax(T.masked_fill(self, mask, -math.inf), -1 if dim is None else dim)  # NaN where everything is masked


@composite(
    "_rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor, Tensor)",
    method=False,
    out=False,
)
def rowwise_prune(weight, mask, compressed_indices_dtype):
    """Return the rows of a matrix that a mask keeps, and the new index of each row, -1 for removed rows."""
    _refuse(
        (
            compressed_indices_dtype in (dt.int32, dt.int64),
            "compressed_indices_dtype should be either int(int32) or long(int64).",
        ),
        (
            mask._shape[:1] == weight._shape[:1],
            "Number of elements in 'mask' should be equivalent to the number of rows in 'weights'.",
        ),
        (mask.dtype is dt.bool_, f"expected scalar type Bool but found {dt.scalar_name(mask.dtype)}"),
    )
    places = T.where(mask, T.cumsum(mask, 0) - 1, -1)
    return weight[mask], places.to(compressed_indices_dtype)


_LAYOUTS = {
    "torch.strided": "Strided",
    "torch.sparse_coo": "Sparse",
    **{f"torch.sparse_{c}": f"Sparse{c.capitalize()}" for c in ("csr", "csc", "bsr", "bsc")},
}


@composite(
    "_assert_tensor_metadata(Tensor a, int[]? size=None, int[]? stride=None, ScalarType? dtype=None, *, "
    "Device? device=None, Layout? layout=None) -> Any",
    method=False,
    out=False,
)
def assert_tensor_metadata(a, size, stride, dtype, device, layout):
    """Raise RuntimeError where sizes, strides, dtype, device or layout of a tensor differ from the expected ones."""

    def check(what, expected, got, name=str):
        if expected is not None and expected != got:
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {name(expected)}, Got: {name(got)}")

    check("sizes", None if size is None else list(size), list(a._shape))
    check("strides", None if stride is None else list(stride), list(a.stride()) if stride is not None else None)
    check("dtype", dtype, a.dtype, dt.scalar_name)
    check("device", device, a.device)
    check("layout", layout, a._layout, lambda x: _LAYOUTS.get(str(x), str(x)))


@composite("_assert_scalar(Tensor|Scalar self, str assert_msg) -> Any", method=False, out=False)
def assert_scalar(self, assert_msg):
    """Raise RuntimeError if the number is zero."""
    if not self:
        raise RuntimeError(assert_msg)


@composite("_shape_as_tensor(Tensor self) -> Tensor", method=False, out=False)
def shape_as_tensor(self):
    """Return the sizes as an int64 tensor."""
    return tensor(list(self._shape), dtype=dt.int64)


@composite("_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor", method=False, out=False)
def reshape_from_tensor(self, shape):
    """Reshape to the sizes that a tensor holds."""
    return T.reshape(self, shape.tolist())


@composite("_dim_arange(Tensor like, int dim) -> Tensor", method=False, out=False)
def dim_arange(like, dim):
    """Return the indices along a dimension."""
    return T.arange(like._shape[wrap_dim(dim, len(like._shape))], dtype=dt.int64, device=like.device)


@composite("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", method=False, out=False)
def euclidean_dist(x1, x2):
    """Return the Euclidean distances between rows."""
    return T.cdist(x1, x2, 2.0, "use_mm_for_euclid_dist")


@composite("_conj_physical(Tensor self) -> Tensor", method=False, out=False)
def conj_physical(self):
    """Return the conjugate in its own memory."""
    return T.conj_physical(self)


@composite("_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", method=False, out=False)
def add_relu(self, other, alpha):
    """Return relu(self + alpha * other)."""
    return T.relu(T.add(self, other, alpha=alpha))


@composite(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, "
    "int unroll_dim=1) -> Tensor",
    method=False,
    out=False,
)
def trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim):
    """Multiply three tensors, unsqueezed at the dimensions in their expand lists, and sum the product over sumdim."""
    for places, k in ((expand1, 0), (expand2, 1), (expand3, 2)):
        for d in sorted(places):
            i1, i2, i3 = (t.unsqueeze(d) if k == n else t for n, t in enumerate((i1, i2, i3)))
    product = i1 * i2 * i3
    return product.sum(tuple(sumdim)) if sumdim else product


@composite("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", method=False, out=False)
def weight_norm_interface(v, g, dim):
    """Return v * (g / norms) and the norms of v over all dimensions except dim."""
    norms = T.norm_except_dim(v, 2, dim)
    return v * (g / norms), norms


@composite("_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor", method=False, out=False)
def compute_linear_combination(input, coefficients):
    """Return linear combinations of the slices of `input`, one for each row of the coefficients."""
    return T.tensordot(coefficients, input, 1)
