"""ATen operators that have no public function of their own, implemented with other operators.

Most of them are reachable only as torch.ops.aten.NAME.
"""

import functools

from .. import dtypes as dt
from ..autograd import enable_grad
from ..autograd import grad as autograd_grad
from ..backend import backend
from ..declare import BY_PARTS, composite
from ..device import HOST, contiguous_format, usable
from ..registry import F, Namespace, decomposition
from ..tensor import capacity
from .common import T, numel, refuse_batches, wrap_dim
from .fused import GRADIENTS
from .loss import nll_loss2d_gradient
from .matmul import attention_weights, has_flash_attention, repeat_heads

NN = Namespace("_C._nn")


def by_one_kernel(name):
    """Decorate the formula of a gradient, `name`, that a device's backend may compute by one kernel."""

    def deco(formula):
        decomposition(GRADIENTS[name].full)(formula)

        @functools.wraps(formula)
        def run(g, self, *args):
            kernel = None if self.device is HOST else backend(self.device).fused(name)
            found = None if kernel is None else kernel(g, self, *args)
            return formula(g, self, *args) if found is None else found

        return run

    return deco


@composite("aten._softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
def _softmax(self, dim, half_to_float):
    """Return softmax; with half_to_float, a half-precision input is converted to float32 first."""
    return T.softmax(self.float() if half_to_float else self, dim)


@composite("aten._log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
def _log_softmax(self, dim, half_to_float):
    """Return log_softmax; with half_to_float, a half-precision input is converted to float32 first."""
    return T.log_softmax(self.float() if half_to_float else self, dim)


@composite("aten._softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor")
def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax's input."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, True)).to(input_dtype)


@composite(
    "aten._log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"
)
def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of log_softmax's input."""
    return (grad_output - output.exp() * grad_output.sum(dim, True)).to(input_dtype)


def shrink_backward(grad, self, lambd):
    """Return 0 where |self| <= lambd, and the gradient elsewhere, also at NaN."""
    return T.where(T.abs(self) <= lambd, 0, grad)


composite("aten.hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor")(
    by_one_kernel("aten.hardshrink_backward")(shrink_backward)
)
composite("aten.softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor")(
    by_one_kernel("aten.softshrink_backward")(shrink_backward)
)


@composite("aten._new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor")
def _new_zeros_with_same_feature_meta(self, other, self_num_batch_dims):
    """Return zeros with other's shape and strides, batched over the first dimensions of self.

    Each sample takes as much memory as other's whole storage.
    """
    batch = self._shape[:self_num_batch_dims]
    room = capacity(other)
    strides = (*(room * numel(batch[i + 1 :]) for i in range(len(batch))), *other.stride())
    zeros = T.zeros((room * numel(batch),), dtype=other.dtype, device=other.device)
    return zeros.as_strided((*batch, *other._shape), strides, other.storage_offset())


@composite("aten.hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor")
@by_one_kernel("aten.hardsigmoid_backward")
def hardsigmoid_backward(grad_output, self):
    """Return grad_output / 6 where |self| < 3, and 0 elsewhere."""
    return T.where(T.abs(self) < 3, grad_output / 6, 0)


@composite("aten._prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)")
def _prelu_kernel_backward(grad_output, self, weight):
    """The gradients of prelu's input and weight."""
    return T.where(self > 0, grad_output, grad_output * weight), T.where(self > 0, 0, grad_output * self)


@composite("aten.glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor")
@by_one_kernel("aten.glu_backward")
def glu_backward(grad_output, self, dim):
    """Return the gradient of glu's input, both halves concatenated."""
    a, b = self.chunk(2, dim)
    gate = T.sigmoid(b)
    gated = grad_output * gate
    return T.cat([gated, gated * (1 - gate) * a], dim)


@composite(
    "aten.elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
    "Tensor self_or_result) -> Tensor"
)
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    """Return the gradient of elu's input, from the input itself or, with is_result, from elu's result."""
    x = self_or_result
    negative = (
        (x + alpha * scale) * input_scale
        if is_result
        else T.exp(x * input_scale if input_scale != 1 else x) * (input_scale * alpha * scale)
    )
    return grad_output * T.where(x <= 0, negative, scale)


@composite(
    "aten.leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor"
)
def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    """Return the gradient of leaky_relu's input.

    `self` may be the input or the result: only its sign is used, which is the same.
    """
    return T.where(self > 0, grad_output, grad_output * negative_slope)


_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


@composite(
    f"aten._to_copy(Tensor self, *, {_OPTIONS}, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor"
)
def _to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format):
    """Return a copy with another dtype, device or memory format."""
    return T._to_copy(self, dtype, None if device is None else usable(device), memory_format)


@composite("aten.threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor")
@by_one_kernel("aten.threshold_backward")
def threshold_backward(grad_output, self, threshold):
    """Return the gradient where self is above the threshold, and 0 elsewhere."""
    compared = self.to(dt.OPMATH.get(self.dtype, self.dtype))  # so that the threshold is not rounded to a half type
    return T.where(compared <= threshold, T.zeros_like(grad_output), grad_output)


@composite(
    "aten.scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)
def scalar_tensor(s, dtype, layout, device, pin_memory):
    """Return a 0-d tensor with the value of a number."""
    return T.full((), s, dtype=dtype, device=device)


@composite("aten.lift_fresh(Tensor self) -> Tensor")
@composite("aten.lift(Tensor self) -> Tensor")
def lift_fresh(self):
    """Return the tensor itself. Dispatch modes see this call when a tensor is made from Python values."""
    return self


@composite(
    "aten.convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
    "bool transposed, int[] output_padding,"
    " int groups) -> Tensor"
)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Return a convolution over 1 to 3 dimensions, or a transposed one."""
    n = len(weight._shape) - 2
    if transposed:
        function = (T.conv_transpose1d, T.conv_transpose2d, T.conv_transpose3d)[n - 1]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (T.conv1d, T.conv2d, T.conv3d)[n - 1](input, weight, bias, stride, padding, dilation, groups)


@composite(
    "aten.embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
    "bool sparse=False) -> Tensor"
)
def embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """Look up rows of a table. A negative padding_idx excludes no row from the gradient."""
    return F.embedding(
        indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


@composite(
    "aten.slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)", out=False
)
def slice(self, dim, start, end, step):
    """Return a range of one dimension, as a view."""
    return T._slice(self, dim, start, end, step)


@composite("aten.index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", out=False)
def index(self, indices):
    """Return self[indices]; None selects a whole dimension."""
    return T._index(self, indices)


@composite("aten.alias(Tensor(a) self) -> Tensor(a)", out=False)
def alias(self):
    """Return a view of the whole tensor."""
    return T._alias(self)


@composite("aten._local_scalar_dense(Tensor self) -> Scalar", out=False)
def _local_scalar_dense(self):
    """Return the value of a one-element tensor as a Python number."""
    if 0 in self._shape:
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return self.item()


@composite("aten.lift_fresh_copy(Tensor self) -> Tensor")
def lift_fresh_copy(self):
    """Return a copy of the tensor."""
    return T.clone(self)


@composite("_is_all_true(Tensor self) -> Tensor")
def _is_all_true(self):
    """Whether all elements are true."""
    return T.all(self)


@composite("_is_any_true(Tensor self) -> Tensor")
def _is_any_true(self):
    """Whether at least one element is true."""
    return T.any(self)


@composite("aten.sym_size(Tensor self, int? dim=None) -> Any", out=False)
def sym_size(self, dim):
    """Return the size of a dimension, or of all dimensions."""
    return self.size() if dim is None else self.size(dim)


@composite("aten.sym_stride(Tensor self, int? dim=None) -> Any", out=False)
def sym_stride(self, dim):
    """Return the stride of a dimension, or of all dimensions."""
    return self.stride() if dim is None else self.stride(dim)


@composite("aten.sym_numel(Tensor self) -> Any", out=False)
def sym_numel(self):
    """Return the number of elements."""
    return self.numel()


@composite("aten.sym_storage_offset(Tensor self) -> Any", out=False)
def sym_storage_offset(self):
    """Return the storage offset of the first element."""
    return self.storage_offset()


@composite("aten.log_sigmoid(Tensor self) -> Tensor")
def log_sigmoid(self):
    """Return nn.functional.logsigmoid of the input."""
    return F.logsigmoid(self)


@composite("aten.log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor")
def log_sigmoid_backward(grad_output, self, buffer):
    """The gradient of logsigmoid's input."""
    return grad_output * T.sigmoid(-self)


@composite("aten.mish_backward(Tensor grad_output, Tensor self) -> Tensor", out=False)
@by_one_kernel("aten.mish_backward")
def mish_backward(grad_output, self):
    """The gradient of mish's input."""
    wide = dt.OPMATH.get(self.dtype, self.dtype)  # so that half types are rounded once, as by PyTorch's kernel
    g, x = grad_output.to(wide), self.to(wide)
    inner, gate = T.tanh(F.softplus(x)), T.sigmoid(x)
    return (g * (inner + x * gate * (1 - inner * inner))).to(self.dtype)


@composite("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", method=False, derivative=BY_PARTS)
def _chunk_cat(tensors, dim, num_chunks):
    """Split each tensor into num_chunks chunks along dim, and concatenate the k-th chunks of all tensors.

    Tensors are padded with zeros to chunks of equal size, and chunks are flattened from dim on.
    """
    dim = wrap_dim(dim, len(tensors[0]._shape))
    lead, parts = tensors[0]._shape[:dim], []
    for t in tensors:
        size = -(-t._shape[dim] // num_chunks)
        pad = [0, 0] * (len(t._shape) - 1 - dim) + [0, size * num_chunks - t._shape[dim]]
        parts.append(T.constant_pad_nd(t, pad).reshape((*lead, num_chunks, -1)))
    return T.cat(parts, dim + 1)


@composite(
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    method=False,
    out=False,
)
def _unsafe_index_put(self, indices, values, accumulate):
    """Return the result of index_put."""
    return T.index_put(self, indices, values, accumulate)


def _inside(self, indices):
    """Clamp out-of-bounds indices to the edge of their dimension."""
    return [None if i is None else i.clamp(-n, n - 1) for i, n in zip(indices, self._shape)]


@composite(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", method=False, out=False
)
def _unsafe_masked_index(self, mask, indices, fill):
    """Return self[indices] where mask is true, else `fill`. Indices may be out of bounds where it is false."""
    return T.where(mask, T._index(self, _inside(self, indices)), fill)


@composite(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    method=False,
    out=False,
)
def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    """Add the values to self at the indices, where mask is true."""
    return T.index_put(self, _inside(self, indices), T.where(mask, values, 0), True)


@composite("_stack(Tensor[] tensors, int dim=0) -> Tensor", method=False)
def _stack(tensors, dim):
    """Return the result of stack."""
    return T.stack(tensors, dim)


@composite("aten._reshape_copy(Tensor self, int[] size) -> Tensor", out=False)
def _reshape_copy(self, size):
    """Return a reshaped copy, which never shares memory with self."""
    return T.reshape(self, size).clone(memory_format=contiguous_format)


@composite(
    "aten.unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
    "(Tensor, Tensor, Tensor)",
    out=False,
)
def unique_dim(self, dim, sorted, return_inverse, return_counts):
    """Return the unique slices along dim, the index of each input slice among them, and their counts."""
    return T.unique(self, sorted, True, True, dim)


@composite(
    "aten.normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor", out=False
)
def normal_functional(self, mean, std, generator):
    """Return normally distributed numbers in the shape of self."""
    return T.empty_like(self).normal_(mean, std, generator=generator)


@composite(
    "aten.nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, "
    "int ignore_index, Tensor total_weight) -> Tensor"
)
def nll_loss2d_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight):
    """Return the gradient of nll_loss2d's input."""
    return nll_loss2d_gradient(grad_output, self, target, weight, reduction, ignore_index, total_weight)


@composite(
    "aten.embedding_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq, "
    "bool sparse) -> Tensor",
    out=False,
)
def embedding_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse):
    """Return the gradient of embedding's weight."""
    table = T.zeros((num_weights, grad._shape[-1]), dtype=grad.dtype, device=grad.device)
    return _pulled(lambda w: embedding(w, indices, padding_idx, scale_grad_by_freq, sparse), table, grad)


@composite("aten.index_select_backward(Tensor grad, int[] self_sizes, int dim, Tensor index) -> Tensor", out=False)
def index_select_backward(grad, self_sizes, dim, index):
    """The gradient of index_select's input."""
    return T.zeros(self_sizes, dtype=grad.dtype, device=grad.device).index_add(dim, index, grad)


@composite("aten.trace_backward(Tensor grad, int[] sizes) -> Tensor", out=False)
def trace_backward(grad, sizes):
    """The gradient of trace's input."""
    return T.eye(*sizes, dtype=grad.dtype, device=grad.device) * grad


@composite("aten.masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes) -> Tensor", out=False)
def masked_scatter_backward(grad_output, mask, sizes):
    """The gradient of masked_scatter's source."""
    picked = T.masked_select(grad_output, mask)
    return T.cat([picked, picked.new_zeros((numel(sizes) - picked._shape[0],))]).reshape(sizes)


@composite("aten.masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor", out=False)
def masked_select_backward(grad, input, mask):
    """The gradient of masked_select's input."""
    return _pulled(lambda x: T.masked_select(x, mask), input, grad)


@composite(
    "aten.value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, int[] sizes, "
    "bool keepdim) -> Tensor",
    out=False,
)
def value_selecting_reduction_backward(grad, dim, indices, sizes, keepdim):
    """Return the gradient of a reduction that selects one element along dim, such as max."""
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return T.zeros(sizes, dtype=grad.dtype, device=grad.device).scatter(dim, indices, grad)


def pulled_back(fn, inputs, gradient, wanted=None):
    """Return the gradients of a function's arguments, None for those that are not wanted.

    If the function returns a tuple, its first element is differentiated.
    """
    refuse_batches(inputs)
    leaves = [t.detach()._requiring_grad(bool(each)) for t, each in zip(inputs, wanted or [True] * len(inputs))]
    with enable_grad():
        out = fn(*leaves)
    found = iter(
        autograd_grad(out[0] if isinstance(out, tuple) else out, [t for t in leaves if t._requires_grad], gradient)
    )
    return tuple(next(found) if t._requires_grad else None for t in leaves)


def _pulled(fn, x, grad):
    return pulled_back(fn, (x,), grad)[0]


@composite("aten.cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor", out=False)
def cumprod_backward(grad, input, dim, output):
    """The gradient of cumprod's input."""
    return _pulled(lambda x: T.cumprod(x, dim), input, grad)


@composite("aten.matrix_exp_backward(Tensor self, Tensor grad) -> Tensor", out=False)
def matrix_exp_backward(self, grad):
    """The gradient of matrix_exp's input."""
    return _pulled(T.matrix_exp, self, grad)


@composite("aten._cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor")
def _cdist_backward(grad, x1, x2, p, cdist):
    """The gradient of cdist's first argument."""
    return _pulled(lambda x: T.cdist(x, x2, p), x1, grad)


@composite("aten._pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor")
def _pdist_backward(grad, self, p, pdist):
    """The gradient of pdist's input."""
    return _pulled(lambda x: F.pdist(x, p), self, grad)


_SAMPLED = (
    "Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, "
    "bool[2] output_mask"
)


def _sampled_back(dims):
    @composite(f"aten.grid_sampler_{dims}d_backward({_SAMPLED}) -> (Tensor, Tensor)", out=False)
    def backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask):
        """Return the gradients of grid_sample's input and grid, None where output_mask is false."""
        sampled = lambda *both: T.grid_sampler(*both, interpolation_mode, padding_mode, align_corners)
        return pulled_back(sampled, (input, grid), grad_output, output_mask)


_sampled_back(2)
_sampled_back(3)


@composite(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, "
    "bool enable_gqa=False) -> (Tensor, Tensor)",
    method=False,
    out=False,
)
def _scaled_dot_product_attention_math(
    query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa
):
    """Return (attention, attention weights).

    dropout_mask, if given, tells which weights dropout keeps; otherwise they are drawn at random.
    """
    if enable_gqa:
        key, value = repeat_heads(query, key, value)
    # scaled_dot_product_attention has already turned its boolean mask into 0 and -inf: here True becomes 1
    if attn_mask is not None and attn_mask.dtype is dt.bool_:
        attn_mask = attn_mask.to(query.dtype)
    weights = attention_weights(query, key, attn_mask, is_causal, scale)
    if dropout_p and dropout_mask is None:
        weights = T.dropout(weights, dropout_p, True)
    elif dropout_p:
        weights, value = T.masked_fill(weights, dropout_mask.logical_not(), 0), value / (1 - dropout_p)
    return T.matmul(weights, value), weights


@composite(
    "aten._fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int",
    out=False,
)
def _fused_sdp_choice(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """Return the number of the SDPBackend that scaled_dot_product_attention uses.

    It is 1 for flash attention and 0 for the math implementation.
    """
    return int(has_flash_attention(query, key, value, attn_mask, dropout_p, enable_gqa))


def _cast(name):
    @composite(f"aten._cast_{name}(Tensor self, bool non_blocking=False) -> Tensor", out=False)
    def cast(self, non_blocking):
        """Return the tensor in another dtype."""
        return getattr(self, name.lower())()


for _name in ("Byte", "Char", "Double", "Float", "Int", "Long", "Short", "Half"):
    _cast(_name)


def _pooled(name, dims):
    @composite(
        f"aten.{name}(Tensor self, int[{dims}] kernel_size, int[{dims}] stride=[], int[{dims}] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"
    )
    def pool(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        """Return average pooling; an empty stride means the kernel size."""
        padding = tuple(padding) * dims if isinstance(padding, (tuple, list)) and len(padding) == 1 else padding
        return getattr(F, name)(
            self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override
        )


_pooled("avg_pool2d", 2)
_pooled("avg_pool3d", 3)


def _resampled(name, dims, corners):
    scales = [f"scales_{d}" for d in "dhw"[3 - dims :]] if dims > 1 else ["scales"]
    aligned = "bool align_corners, " if corners else ""
    single = ", ".join(f"float? {s}=None" for s in scales)

    @composite(f"aten.{name}(Tensor self, int[{dims}] output_size, {aligned}{single}) -> Tensor")
    def resample(self, output_size, *rest):
        """Resample the input to output_size.

        The scales are the user's scale factors, where output_size was computed from them.
        """
        align_corners, factors = (rest[0], rest[1:]) if corners else (False, rest)
        return getattr(NN, name)(self, output_size, align_corners, list(factors) if any(factors) else None)

    @composite(
        f"aten.{name}_backward(Tensor grad_output, int[{dims}] output_size, int[{dims + 2}] input_size, "
        f"{aligned}{single}) -> Tensor"
    )
    def backward(grad_output, output_size, input_size, *rest):
        """Return the gradient of the input."""
        align_corners, factors = (rest[0], rest[1:]) if corners else (False, rest)
        return getattr(NN, name + "_backward")(
            grad_output, input_size, align_corners, list(factors) if any(factors) else None
        )

    @composite(
        f"aten.{name}.vec(Tensor input, int[]? output_size, {aligned}float[]? scale_factors) -> Tensor", out=False
    )
    def by_factors(input, output_size, *rest):
        """Resample the input to output_size or, where that is None, by scale_factors."""
        align_corners, factors = (rest[0], rest[1]) if corners else (False, rest[0])
        if output_size is None:
            output_size = [int(s * f) for s, f in zip(input._shape[2:], factors)]
        return getattr(NN, name)(input, output_size, align_corners, factors)


for _dims, _linear in ((1, "linear"), (2, "bilinear"), (3, "trilinear")):
    _resampled(f"upsample_nearest{_dims}d", _dims, False)
    _resampled(f"_upsample_nearest_exact{_dims}d", _dims, False)
    _resampled(f"upsample_{_linear}{_dims}d", _dims, True)
_resampled("upsample_bicubic2d", 2, True)
_resampled("_upsample_bilinear2d_aa", 2, True)
_resampled("_upsample_bicubic2d_aa", 2, True)
