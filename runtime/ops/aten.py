"""PyTorch's operators below autograd that have no public function, and that are another one's kernel here: torch.ops.aten.NAME alone reaches them."""

from .. import dtypes as dt
from ..declare import composite
from ..device import usable
from ..registry import F, Namespace
from ..tensor import capacity
from .common import T, numel

NN = Namespace("_C._nn")


@composite("aten._softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
def _softmax(self, dim, half_to_float):
    """softmax; half_to_float: in float32, of a half type."""
    return T.softmax(self.float() if half_to_float else self, dim)


@composite("aten._log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
def _log_softmax(self, dim, half_to_float):
    """log_softmax; half_to_float: in float32, of a half type."""
    return T.log_softmax(self.float() if half_to_float else self, dim)


@composite("aten._softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor")
def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax's input."""
    weighted = grad_output * output
    return (weighted - output * weighted.sum(dim, True)).to(input_dtype)


@composite("aten._log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor")
def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of log_softmax's input."""
    return (grad_output - output.exp() * grad_output.sum(dim, True)).to(input_dtype)


@composite("aten.hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor")
@composite("aten.softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor")
def shrink_backward(grad, self, lambd):
    """The gradient outside of what is shrunk to zero."""
    return T.where(T.abs(self) > lambd, grad, 0)


@composite("aten._new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor")
def _new_zeros_with_same_feature_meta(self, other, self_num_batch_dims):
    """Zeros that lie in memory as other does, gaps included, once for each place of self's first dimensions."""
    batch = self._shape[:self_num_batch_dims]
    room = capacity(other)
    strides = (*(room * numel(batch[i + 1 :]) for i in range(len(batch))), *other.stride())
    zeros = T.zeros((room * numel(batch),), dtype=other.dtype, device=other.device)
    return zeros.as_strided((*batch, *other._shape), strides, other.storage_offset())


@composite("aten.hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor")
def hardsigmoid_backward(grad_output, self):
    """The gradient where hardsigmoid rises."""
    return T.where(T.abs(self) < 3, grad_output / 6, 0)


@composite("aten._prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)")
def _prelu_kernel_backward(grad_output, self, weight):
    """The gradients of prelu's input and weight."""
    return T.where(self > 0, grad_output, grad_output * weight), T.where(self > 0, 0, grad_output * self)


@composite("aten.glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor")
def glu_backward(grad_output, self, dim):
    """The gradients of both halves of glu's input."""
    a, b = self.chunk(2, dim)
    gate = T.sigmoid(b)
    gated = grad_output * gate
    return T.cat([gated, gated * (1 - gate) * a], dim)


@composite("aten.elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor")
def elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    """The gradient of elu's input from that, or from elu's result."""
    x = self_or_result
    negative = (x + alpha * scale) * input_scale if is_result else T.exp(x * input_scale if input_scale != 1 else x) * (input_scale * alpha * scale)
    return grad_output * T.where(x > 0, scale, negative)


@composite("aten.leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor")
def leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    """The gradient of leaky_relu's input from that, or from its result, which has its sign."""
    return T.where(self > 0, grad_output, grad_output * negative_slope)


_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


@composite(f"aten._to_copy(Tensor self, *, {_OPTIONS}, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor")
def _to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format):
    """A copy in another dtype, on another device, in another layout of memory."""
    return T._to_copy(self, dtype, None if device is None else usable(device), memory_format)


@composite("aten.threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor")
def threshold_backward(grad_output, self, threshold):
    """The gradient where self is above the threshold, else 0."""
    compared = self.to(dt.OPMATH.get(self.dtype, self.dtype))  # the number is not rounded to a half type
    return T.where(compared <= threshold, T.zeros_like(grad_output), grad_output)


@composite("aten.scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")
def scalar_tensor(s, dtype, layout, device, pin_memory):
    """A tensor of one number, without dimensions."""
    return T.full((), s, dtype=dtype, device=device)


@composite("aten.lift_fresh(Tensor self) -> Tensor")
@composite("aten.lift(Tensor self) -> Tensor")
def lift_fresh(self):
    """The tensor as it is: what dispatch modes are told of one that was made from Python's values."""
    return self


@composite(
    "aten.convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding,"
    " int groups) -> Tensor"
)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolution of 1 to 3 dimensions, or its transpose."""
    n = len(weight._shape) - 2
    if transposed:
        function = (T.conv_transpose1d, T.conv_transpose2d, T.conv_transpose3d)[n - 1]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (T.conv1d, T.conv2d, T.conv3d)[n - 1](input, weight, bias, stride, padding, dilation, groups)


@composite("aten.embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor")
def embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """Rows of a table; padding_idx -1: none is left out of the gradient."""
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@composite("aten.slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)", out=False)
def slice(self, dim, start, end, step):
    """A range of one dimension, as a view."""
    return T._slice(self, dim, start, end, step)


@composite("aten.index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", out=False)
def index(self, indices):
    """self[indices], None standing for a whole dimension."""
    return T._index(self, indices)


@composite("aten.alias(Tensor(a) self) -> Tensor(a)", out=False)
def alias(self):
    """The same memory, as a view."""
    return T._alias(self)


@composite("aten._local_scalar_dense(Tensor self) -> Scalar", out=False)
def _local_scalar_dense(self):
    """The one value as a number."""
    if 0 in self._shape:
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return self.item()


@composite("aten.lift_fresh_copy(Tensor self) -> Tensor")
def lift_fresh_copy(self):
    """A copy."""
    return T.clone(self)


@composite("_is_all_true(Tensor self) -> Tensor")
def _is_all_true(self):
    """Whether every element is."""
    return T.all(self)


@composite("_is_any_true(Tensor self) -> Tensor")
def _is_any_true(self):
    """Whether one element is."""
    return T.any(self)


@composite("aten.sym_size(Tensor self, int? dim=None) -> Any", out=False)
def sym_size(self, dim):
    """The size of a dimension, or of all."""
    return self.size() if dim is None else self.size(dim)


@composite("aten.sym_stride(Tensor self, int? dim=None) -> Any", out=False)
def sym_stride(self, dim):
    """The stride of a dimension, or of all."""
    return self.stride() if dim is None else self.stride(dim)


@composite("aten.sym_numel(Tensor self) -> Any", out=False)
def sym_numel(self):
    """The number of elements."""
    return self.numel()


@composite("aten.sym_storage_offset(Tensor self) -> Any", out=False)
def sym_storage_offset(self):
    """Where the first element lies in the storage."""
    return self.storage_offset()


def _pooled(name, dims):
    @composite(
        f"aten.{name}(Tensor self, int[{dims}] kernel_size, int[{dims}] stride=[], int[{dims}] padding=0, bool ceil_mode=False, "
        "bool count_include_pad=True, int? divisor_override=None) -> Tensor"
    )
    def pool(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        """Averages of windows; no stride: that of the windows."""
        padding = tuple(padding) * dims if isinstance(padding, (tuple, list)) and len(padding) == 1 else padding
        return getattr(F, name)(self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)


_pooled("avg_pool2d", 2)
_pooled("avg_pool3d", 3)


def _resampled(name, dims, corners):
    scales = [f"scales_{d}" for d in "dhw"[3 - dims :]] if dims > 1 else ["scales"]
    aligned = "bool align_corners, " if corners else ""
    single = ", ".join(f"float? {s}=None" for s in scales)

    @composite(f"aten.{name}(Tensor self, int[{dims}] output_size, {aligned}{single}) -> Tensor")
    def resample(self, output_size, *rest):
        """Values at other places; scales: those that were asked for, where the sizes come from them."""
        align_corners, factors = (rest[0], rest[1:]) if corners else (False, rest)
        return getattr(NN, name)(self, output_size, align_corners, list(factors) if any(factors) else None)

    @composite(f"aten.{name}_backward(Tensor grad_output, int[{dims}] output_size, int[{dims + 2}] input_size, {aligned}{single}) -> Tensor")
    def backward(grad_output, output_size, input_size, *rest):
        """The gradient of the input."""
        align_corners, factors = (rest[0], rest[1:]) if corners else (False, rest)
        return getattr(NN, name + "_backward")(grad_output, input_size, align_corners, list(factors) if any(factors) else None)

    @composite(f"aten.{name}.vec(Tensor input, int[]? output_size, {aligned}float[]? scale_factors) -> Tensor", out=False)
    def by_factors(input, output_size, *rest):
        """Values at other places; the sizes, or the factors that give them."""
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
