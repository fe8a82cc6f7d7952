"""Pooling: max, average, adaptive, Lp and fractional pools, and max unpooling.

Max pools return flat indices into the plane. Average pools are linear, so the derivative of their backward is the pool.
"""

import math
from itertools import product

from ..call.autocast import FLOAT32
from ..call.bind import as_int
from ..call.out import SAME_DTYPE
from ..context import CONTEXT
from ..declare import composite, op
from ..determinism import alert_not_deterministic
from ..device import channels_last, channels_last_3d, contiguous_format
from ..registry import ATEN
from .common import F, T, dt, has_values, numel, only
from .memory import in_format, keep_format, suggested_format

LETTERS = {1: "W", 2: "HW", 3: "DHW"}


# ------------------------------------------------------------------------------------------------ arguments
def _per_dim(fn, name, v, dims):
    if len(v) not in (1, dims):
        if dims == 1:
            raise RuntimeError(
                f"{fn}() {name} must be an int, list of ints or tuple of ints of size 1 but got size {len(v)}"
            )
        raise RuntimeError(f"{fn}: {name} must either be a single int, or a tuple of {('two', 'three')[dims - 2]} ints")
    return tuple(v) * (dims if len(v) == 1 else 1)


def _pool_args(fn, dims, kernel, stride, padding, dilation=(1,), plain=False):
    """Check the arguments of a pool and return them with one value for each dimension.

    `plain` selects PyTorch's checks and messages for max_pool1d with neither gradient nor indices.
    """
    kernel = _per_dim(fn, "kernel_size", kernel, dims)
    if not stride and not plain and min(kernel) == 0:
        raise RuntimeError("stride should not be zero")
    stride = _per_dim(fn, "stride", stride, dims) if stride else kernel
    padding, dilation = _per_dim(fn, "padding", padding, dims), _per_dim(fn, "dilation", dilation, dims)
    prefix = f"{fn}() " if plain else ""
    for name, v, text in (
        ("kernel_size", kernel, f"kernel size should be greater than zero, but got {_spelled('k', kernel)}"),
        ("stride", stride, "stride should not be zero"),
        ("dilation", dilation, f"dilation should be greater than zero, but got {_spelled('dilation', dilation)}"),
    ):
        if min(v) <= 0:
            raise RuntimeError(f"{prefix}{name} must be greater than zero, but got {v[0]}" if plain else text)
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(
                f"{prefix}padding must be non-negative, but got {p}"
                if plain
                else f"pad must be non-negative, but got pad: {p}"
            )
        if p > (k // 2 if plain else (d * (k - 1) + 1) // 2):
            raise RuntimeError(
                f"{prefix}padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
                if plain
                else f"pad should be at most half of effective kernel size, but got pad={p}, "
                f"kernel_size={k} and dilation={d}"
            )
        if p > k // 2:
            raise RuntimeError(
                f"pad should be smaller than or equal to half of kernel size, but got pad = {p}, k = {k}"
            )
    return kernel, stride, padding, dilation


def _spelled(name, v):
    return " ".join(f"{name}{l}: {x}" for l, x in zip(LETTERS[len(v)], v))


def _check_input(fn, x, dims):
    n, spatial = len(x._shape), x._shape[-dims:]
    if n not in (dims + 1, dims + 2) or 0 in x._shape[n - dims - 1 :]:
        if dims == 1:
            raise RuntimeError(
                f"{fn}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
                f"but got:{list(x._shape)}"
            )
        if n in (dims + 1, dims + 2):
            raise RuntimeError(
                f"{fn}: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
                f"but got:{list(x._shape)}"
                if dims == 2
                else f"{fn}: Expected input's non-batch dimensions to have positive length, but input has a shape of "
                f"{tuple(x._shape)} and non-batch dimension {n - dims - 1 + x._shape[n - dims - 1 :].index(0)} has "
                "length zero!"
            )
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    only(fn, x, dt.INT, dt.FLOAT, dt.COMPLEX)
    return spatial


def pooled(spatial, kernel, stride, padding, dilation, ceil):
    """Return the number of windows along each dimension."""
    out = []
    for n, k, s, p, d in zip(spatial, kernel, stride, padding, dilation):
        o = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
        out.append(o - 1 if ceil and (o - 1) * s >= n + p else o)
    return out


def _out_size(fn, x, spatial, kernel, stride, padding, dilation, ceil):
    out = pooled(spatial, kernel, stride, padding, dilation, ceil)
    if any(n < 1 for n in out):
        if len(out) == 1:
            raise RuntimeError(f"{fn}() Invalid computed output size: {out[0]}")
        c = x._shape[-len(out) - 1]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, (c, *spatial)))}). Calculated output size: "
            f"({'x'.join(map(str, (c, *out)))}). Output size is too small"
        )
    return tuple(out)


def _keep(out, x, dims):
    """Give the result the memory format of x.

    Like PyTorch, one-dimensional pools see each line as a plane of one row, and three-dimensional pools see a volume
    without a batch dimension as a batch of one.
    """
    if x._stride is None or dims == 2 or dims == 1 and len(x._shape) < 3 or dims == 3 and len(x._shape) == 5:
        return keep_format(out, x)
    many = out.__class__ is tuple
    results = out if many else (out,)
    if dims == 1:
        kept = tuple(keep_format(o.unsqueeze(2), x.unsqueeze(2)).squeeze(2) for o in results)
    elif x.unsqueeze(0).is_contiguous(memory_format=channels_last_3d):
        kept = tuple(o.unsqueeze(0).contiguous(memory_format=channels_last_3d).squeeze(0) for o in results)
    else:
        return out
    return kept if many else kept[0]


# ------------------------------------------------------------------------------------------------ maxima
def put_back(g, indices, shape, dims):
    """Add up g at the flat positions `indices` in planes of the given shape."""
    plane, rows = numel(shape[-dims:]), numel(shape[:-dims])
    at = indices.reshape(rows, numel(indices._shape[-dims:])) + T.arange(
        0, rows * plane, max(plane, 1), device=g.device
    )[:rows].unsqueeze(1)
    room = g.new_zeros(rows * plane)  # not written in place where the sum may be differentiated
    return (room.index_add if CONTEXT.grad else room.index_add_)(0, at.reshape(-1), g.reshape(-1)).reshape(shape)


def _kept_gradient(g, self, indices, dims):
    """Return the gradient of a max pool's input, in the input's memory format."""
    return _keep(put_back(g, indices, self._shape, dims), self, dims)


_put_back2d = op(
    "_C._nn.max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[] kernel_size, int[] stride, "
    "int[] padding, int[] dilation, bool ceil_mode, Tensor indices) -> Tensor",
    meta=lambda g, self, *_: in_format(self._shape, g.dtype, self),
    out=False,
)


def put_back2d(g, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """Compute the gradient of max_pool2d by dispatched operators."""
    return _kept_gradient(g, self, indices, 2)


MAX_POOL = {}


def _max_pool_backward(name, dims):
    """Declare the backward operator of max pooling under PyTorch's name, and return the derivative that calls it."""
    windows = (
        ", ".join(f"int[{dims}] {each}" for each in ("kernel_size", "stride", "padding", "dilation"))
        + ", bool ceil_mode"
    )

    @composite(
        f"aten.{name}_with_indices_backward(Tensor grad_output, Tensor self, {windows}, Tensor indices) -> Tensor"
    )
    def backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
        if dims == 2 and not CONTEXT.grad:
            return _put_back2d.call(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices)
        return _kept_gradient(grad_output, self, indices, dims)

    def formula(g0, self, kernel_size, stride, padding, dilation, ceil_mode, out1):
        return getattr(ATEN, f"{name}_with_indices_backward")(
            g0, self, kernel_size, stride, padding, dilation, ceil_mode, out1
        )

    return formula


def _max_pool(dims):
    name = f"max_pool{dims}d"

    def meta(self, kernel, stride, padding, dilation, ceil_mode):
        out = (
            *self._shape[:-dims],
            *_out_size(name, self, _check_input(name, self, dims), kernel, stride, padding, dilation, ceil_mode),
        )
        return [in_format(out, self.dtype, self), in_format(out, dt.int64, self)]

    grads = {
        "self": (lambda g0, self_shape, out1: put_back(g0, out1, self_shape, 1))
        if dims == 1
        else _max_pool_backward(name, dims)
    }
    call = lambda p, x, k, s, pad, d, ceil: p.of(tuple(k), tuple(s), tuple(pad), tuple(d), ceil)(x)
    args = "Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode"
    options = dict(meta=meta, call=call, derivative=grads, non_differentiable=(1,), out=False)
    o = op(
        f"_C._nn.{name}_with_indices({args}) -> (Tensor, Tensor)",
        "MaxPoolWithIndices" if dims == 2 else None,
        **options,
    )
    MAX_POOL[dims] = o
    args = (
        f"int[{dims}] kernel_size, int[{dims}]? stride=None, int[{dims}] padding=0, int[{dims}] dilation=1, "
        "bool ceil_mode=False"
    )

    def pool(self, kernel, stride, padding, dilation, ceil, indices=False):
        plain = dims == 1 and not indices and not self._requires_grad
        if plain:
            only("max_pool1d_impl", self, dt.FLOAT)
        out = o.call(self, *_pool_args(name, dims, kernel, stride, padding, dilation, plain), ceil)
        return out if plain else _keep(out, self, dims)

    @composite(f"{name}(Tensor self, {args}) -> Tensor", method=False, out=False)
    def values(*a):
        return pool(*a)[0]

    @composite(
        f"nn.functional.{name}(Tensor input, {args}, bool return_indices=False) -> Any",
        out=False,
        autocast=FLOAT32 if dims == 3 else None,
    )
    def either(*a):
        out = pool(*a)
        return out if a[-1] else out[0]

    @composite(f"nn.functional.{name}_with_indices(Tensor input, {args}, bool return_indices=False) -> Any", out=False)
    def both(*a):
        return pool(*a[:-1], True)

    if dims == 1:
        composite(f"{name}_with_indices(Tensor self, {args}) -> (Tensor, Tensor)", method=False, out=False)(pool)


def _check_output(fn, size, dims, internal=False):
    if len(size) != dims:
        if dims == 1:
            raise RuntimeError(f"{fn}() argument 'output_size' should contain one int (got {len(size)})")
        raise RuntimeError(
            f"{fn}(): internal error: output_size.size() must be {dims}"
            if internal
            else f"{fn}: output_size must be {dims}"
        )
    return size


def _adaptive_size(x, output_size, dims):
    """Return output_size as ints, where None means the size of the input."""
    v = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    if len(v) >= len(x._shape) and dims > 1 and isinstance(output_size, (tuple, list)):
        raise ValueError(f"Input dimension should be at least {len(v) + 1}")
    sizes = (*(1,) * (len(v) - len(x._shape)), *x._shape[-len(v) :])  # inputs with too few dimensions are refused later
    return tuple(n if i is None else as_int(i) for i, n in zip(v, sizes))


def _check_line(fn, x, size):
    """Check the arguments of an adaptive pool along one dimension.

    Unlike the pools of nn.functional, these accept no None, and the number of dimensions is checked first.
    """
    if size is None or isinstance(size, (tuple, list)) and None in size:
        found = "not NoneType" if size is None else f"but found element of type NoneType at pos {size.index(None)}"
        raise TypeError(f"{fn}(): argument 'output_size' (position 2) must be tuple of ints, {found}")
    n = len(x._shape)
    if n not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {n}-dimensional tensor for argument #1 'self' (while checking "
            f"arguments for {fn})"
        )


def _check_adaptive(fn, x, size, dims, colon=""):
    n = len(x._shape)
    if n not in (dims + 1, dims + 2):
        raise RuntimeError(f"{fn}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(x._shape)}")
    for d in range(1 if "max" in fn or dims == 3 else n - dims, n):
        if x._shape[d] == 0:
            raise RuntimeError(
                f"{fn}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but input has sizes {list(x._shape)} with dimension {d} being empty"
            )
    if any(n < 0 for n in size):
        if "max" in fn:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(size)}: {[*x._shape[:-dims], *size]}"
            )
        raise RuntimeError(
            f"{fn}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, size))}}}"
        )
    if "max" in fn or any(n > 1 for n in size):  # averaging everything is a mean
        only(fn, x, dt.FLOAT)


def _adaptive_max(dims):
    name = f"adaptive_max_pool{dims}d"

    def meta(self, output_size):
        _check_output(name, output_size, dims, True)
        _check_adaptive(name, self, output_size, dims, ":")
        out = (*self._shape[:-dims], *output_size)
        return [in_format(out, d, *[self] * (dims == 2)) for d in (self.dtype, dt.int64)]

    if dims == 1:
        grads = {"self": lambda g0, self_shape, out1: put_back(g0, out1, self_shape, 1)}
    else:
        composite(f"aten.{name}_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor")(
            lambda grad_output, self, indices: keep_format(
                put_back(grad_output, indices, self._shape, dims), *[self] * (dims == 2)
            )
        )
        grads = {"self": lambda g0, self, out1: getattr(ATEN, f"{name}_backward")(g0, self, out1)}
    call = (lambda p, x, size: p.of(tuple(size))(x)) if dims == 2 else None
    options = dict(meta=meta, call=call, derivative=grads, non_differentiable=(1,), out=False)
    o = op(
        f"_C._nn.{name}(Tensor self, int[] output_size) -> (Tensor, Tensor)",
        f"AdaptiveMaxPool{dims}D" if dims < 3 else None,
        **options,
    )

    @composite(
        f"nn.functional.{name}(Tensor input, Any output_size, bool return_indices=False) -> Any",
        out=False,
        autocast=FLOAT32 if dims == 3 else None,
    )
    def either(input, output_size, return_indices):
        if dims == 1:
            _check_line(name, input, output_size)
        out = o.call(input, _adaptive_size(input, output_size, dims))
        out = _keep(out, input, dims) if dims < 3 else out
        return out if return_indices else out[0]

    @composite(
        f"nn.functional.{name}_with_indices(Tensor input, Any output_size, bool return_indices=False) -> Any", out=False
    )
    def both(input, output_size, return_indices):
        return o.call(input, _adaptive_size(input, output_size, dims))

    if dims == 1:
        composite(f"{name}(Tensor self, Any output_size) -> (Tensor, Tensor)", method=False, out=False)(
            lambda x, size: both(x, size, True)
        )


# ------------------------------------------------------------------------------------------------ averages
def _avg_meta(name, dims):
    def meta(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        if dims == 1 and len(self._shape) not in (2, 3):
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {len(self._shape)}-dimensional tensor for argument #1 'self' "
                f"(while checking arguments for avg_pool1d)"
            )
        spatial = _check_input(name, self, dims)
        if dims == 3 and any(n < k for n, k in zip(spatial, kernel)):
            image, window = (
                " ".join(f"{name}: {n}" for name, n in zip(names, sizes))
                for names, sizes in (("THW", spatial), (("kT", "kH", "kW"), kernel))
            )
            raise RuntimeError(f"input image ({image}) smaller than kernel size ({window})")
        out = (*self._shape[:-dims], *_out_size(name, self, spatial, kernel, stride, padding, (1,) * dims, ceil_mode))
        return in_format(out, self.dtype, *[self] * (dims == 2))

    return meta


def _avg_pool(dims):
    name = f"avg_pool{dims}d"
    rest = (
        "int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override"
    )
    if dims == 1:
        grad = lambda g, self_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: (
            back.call(g, self_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        )
    else:
        composite(f"aten.{name}_backward(Tensor grad_output, Tensor self, {rest}) -> Tensor")(
            lambda g, self, *windows: keep_format(back.call(g, self._shape, *windows), *[self] * (dims == 2))
        )
        grad = lambda g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: getattr(
            ATEN, f"{name}_backward"
        )(g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    options = dict(
        meta=_avg_meta(name, dims), call=(lambda p, *a: p(*a[:6])) if dims == 1 else None, derivative=grad, out=False
    )
    o = op(
        f"_C._nn.{name}(Tensor self, {rest}) -> Tensor", ("AvgPool1D", "AvgPool2D", "AvgPool3DExt")[dims - 1], **options
    )
    again = lambda g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: o.call(
        g, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    options = dict(meta=lambda g, size, *_: (size, g.dtype), derivative=again, out=False)
    back = op(f"_C._nn.{name}_backward(Tensor grad_output, int[] size, {rest}) -> Tensor", None, **options)
    args = (
        f"int[{dims}] kernel_size, int[{dims}]? stride=None, int[{dims}] padding=0, bool ceil_mode=False, "
        "bool count_include_pad=True"
    )

    def pool(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor=None):
        out = o.call(self, *_pool_args(name, dims, kernel, stride, padding)[:3], ceil_mode, count_include_pad, divisor)
        return out if dims == 3 else _keep(out, self, dims)

    if dims == 1:
        composite(f"{name}(Tensor self, {args}) -> Tensor", method=False, out=False, alias=(f"nn.functional.{name}",))(
            pool
        )
    else:
        composite(
            f"nn.functional.{name}(Tensor self, {args}, int? divisor_override=None) -> Tensor",
            out=SAME_DTYPE,
            python=False,
            autocast=FLOAT32 if dims == 3 else None,
        )(pool)


def spread(g, size, kernel, stride, padding, ceil, include, divisor):
    """Return the gradient of an average pool, computed by dispatched operators.

    The share of every output is added to the elements that its window covered.
    """
    dims = len(kernel)
    share = g / divisor if divisor else g / _window_sizes(size[-dims:], g, kernel, stride, padding, include)
    full = T.zeros(
        (
            *g._shape[:-dims],
            *(
                max(n + 2 * p, (o - 1) * s + k)
                for n, p, o, s, k in zip(size[-dims:], padding, g._shape[-dims:], stride, kernel)
            ),
        ),
        dtype=g.dtype,
        device=g.device,
    )
    for at in product(*map(range, kernel)):
        full[(..., *(slice(a, a + s * (o - 1) + 1, s) for a, s, o in zip(at, stride, g._shape[-dims:])))] += share
    return full[(..., *(slice(p, p + n) for p, n in zip(padding, size[-dims:])))].contiguous()


def _window_sizes(size, g, kernel, stride, padding, include):
    dims, total = len(kernel), None
    for d, (n, k, s, p) in enumerate(zip(size, kernel, stride, padding)):
        a = T.arange(g._shape[d - dims], device=g.device) * s - p
        count = (a + k).clamp_max(n + p) - a if include else (a + k).clamp_max(n) - a.clamp_min(0)
        count = count.to(g.dtype).reshape([-1 if i == d else 1 for i in range(dims)])
        total = count if total is None else total * count
    return total


def average_windows(self, output_size):
    """Return the averages of windows that divide each of the last dimensions into `output_size` parts.

    Computed by dispatched operators, one dimension after the other.
    """
    out, n = self, len(self._shape)
    for d, o in zip(range(n - len(output_size), n), output_size):
        parts = [out.narrow(d, a, b - a).mean(d, keepdim=True) for a, b in window_bounds(out._shape[d], o)]
        out = out.narrow(d, 0, 0) if not parts else parts[0] if o == 1 else T.cat(parts, d)
    return out


def spread_averages(g, size, dims):
    """Return the gradient of average_windows(), computed by dispatched operators."""
    n = len(size)
    for d in range(n - dims, n):
        total = None
        for i, (a, b) in enumerate(window_bounds(size[d], g._shape[d])):
            part = (g.narrow(d, i, 1) / (b - a)).expand((*g._shape[:d], b - a, *g._shape[d + 1 :]))
            part = F.pad(part, (*(0, 0) * (n - 1 - d), a, size[d] - b))
            total = part if total is None else total + part
        g = g.new_zeros(size[: d + 1] + g._shape[d + 1 :]) if total is None else total
    return g


def window_bounds(n, count):
    """Return (start, end) of each of `count` windows that divide n elements; neighbours may overlap."""
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


_averages = op(
    "_C._nn.adaptive_averages(Tensor self, int[] output_size) -> Tensor",
    meta=lambda self, output_size: ((*self._shape[: -len(output_size)], *output_size), self.dtype),
    derivative=lambda g, self_shape, output_size: _averages_backward.call(g, list(self_shape), len(output_size)),
    out=False,
)
_averages_backward = op(
    "_C._nn.adaptive_averages_backward(Tensor grad_output, int[] size, int dims) -> Tensor",
    meta=lambda g, size, dims: (tuple(size), g.dtype),
    derivative=lambda g, size, dims, grad_output_shape: _averages.call(g, list(grad_output_shape[-dims:])),
    out=False,
)


def _adaptive_avg_backward(name, dims):
    @composite(f"aten._{name}_backward(Tensor grad_output, Tensor self) -> Tensor")
    def backward(g, self):
        """Return the gradient of the input, from that of the averages."""
        for d in range(1, len(g._shape)):
            if not g._shape[d]:
                raise RuntimeError(
                    f"{name}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but "
                    f"grad_output has sizes {list(g._shape)} with dimension {d} being empty"
                )
        wide = g.to(dt.OPMATH.get(g.dtype, g.dtype))  # round once, not once for each dimension
        back = _averages_backward.call(wide, list(self._shape), dims).to(g.dtype)
        return keep_format(back, *[self] * (dims == 2))


def _adaptive_avg(dims):
    name = f"adaptive_avg_pool{dims}d"

    def pool(input, output_size):
        if dims == 1:
            _check_line(name, input, output_size)
        size = _adaptive_size(input, output_size, dims)
        _check_output(name, size, dims)
        _check_adaptive(name, input, size, dims)
        if dims == 1:
            return F.adaptive_avg_pool2d(input.unsqueeze(-2), (1, *size)).squeeze(-2)
        if input.dtype not in dt.OPMATH and all(o == 1 for o in size) and size != input._shape[-dims:]:
            if dims == 2 and suggested_format(input) is channels_last:  # PyTorch's strides of a one-pixel result
                out = input.mean((-1, -2), keepdim=True)
                return out.as_strided_(out._shape, (out._shape[1], 1, out._shape[1], out._shape[1]))
            return _keep(input.mean(tuple(range(-dims, 0)), keepdim=True), input, dims)
        return getattr(T, "_" + name)(input, size)

    def by_windows(input, size):
        spatial = input._shape[-dims:]
        if size == spatial:
            return (
                input.clone(memory_format=contiguous_format)
                if dims == 3
                else _keep(input.clone(memory_format=contiguous_format), input, dims)
            )
        if input.dtype in dt.OPMATH:  # round once, not once for each dimension
            return pool(input.to(dt.OPMATH[input.dtype]), size).to(input.dtype)
        if 0 not in size and 0 not in input._shape and all(n % o == 0 for n, o in zip(spatial, size)):
            return F.__getattr__(f"avg_pool{dims}d")(input, [n // o for n, o in zip(spatial, size)])
        out = _averages.call(input, size)
        return _keep(out, input, dims) if dims < 3 else out

    if dims == 1:
        composite(
            f"{name}(Tensor self, Any output_size) -> Tensor", method=False, out=False, alias=(f"nn.functional.{name}",)
        )(pool)
    else:
        signature = f"_{name}(Tensor self, int[{dims}] output_size) -> Tensor"

        _adaptive_avg_backward(name, dims)
        grad = lambda g, self, output_size: getattr(ATEN, f"_{name}_backward")(g, self)
        composite(signature, method=False, out=False, derivative=grad, node=f"AdaptiveAvgPool{dims}DBackward0")(
            by_windows
        )
        composite(
            f"nn.functional.{name}(Tensor input, Any output_size) -> Tensor",
            out=False,
            autocast=FLOAT32 if dims == 3 else None,
        )(pool)


def _lp_pool(dims):
    @composite(
        f"nn.functional.lp_pool{dims}d(Tensor input, Scalar norm_type, int[{dims}] kernel_size, "
        f"int[{dims}]? stride=None, bool ceil_mode=False) -> Tensor",
        out=False,
    )
    def lp_pool(input, norm_type, kernel_size, stride, ceil_mode):
        """Return the p-norm of every window."""
        if norm_type == math.inf:
            return F.__getattr__(f"max_pool{dims}d")(input, kernel_size, stride, 0, 1, ceil_mode)
        mean = F.__getattr__(f"avg_pool{dims}d")(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (
            (T.sign(mean) * F.relu(T.abs(mean)))
            .mul(numel(kernel_size * (dims if len(kernel_size) == 1 else 1)))
            .pow(1 / norm_type)
        )


# ------------------------------------------------------------------------------------------------ fractional
def _starts(samples, size, out, kernel):
    """Return the first positions (N, C, out) of the pseudo-random windows along one dimension."""
    if out == 1:
        return T.full((*samples._shape, 1), size - kernel, dtype=dt.int64, device=samples.device)
    alpha = (size - kernel) / (out - 1)
    u = samples.unsqueeze(-1)
    i = T.arange(out - 1, device=samples.device, dtype=samples.dtype)
    first = ((i + u) * alpha).to(dt.int64) - (u * alpha).to(dt.int64)
    return T.cat((first, T.full_like(first[..., :1], size - kernel)), -1)


def _check_samples(samples, x, dims):
    if samples.dtype is not x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if len(samples._shape) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(samples._shape)}")
    if samples._shape[0] < x._shape[0]:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples._shape[1] != x._shape[1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples._shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples._shape[2]}.")


def _by_ratio(name, spatial, ratio, dims):
    """Return the output sizes as a fraction of the input's sizes."""
    if ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    ratio = tuple(ratio) if isinstance(ratio, (tuple, list)) else (ratio,) * dims
    if dims == 2 and len(ratio) > 2:  # in three dimensions PyTorch uses the first three values
        raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    if len(ratio) < dims:
        raise IndexError("tuple index out of range")
    return [int(s * r) for s, r in zip(spatial, ratio)]


def _fractional(dims):
    name = f"fractional_max_pool{dims}d"

    def pool(input, kernel, output_size, output_ratio, samples):
        n = len(input._shape)
        spatial = input._shape[-dims:]
        if output_size is None:
            output_size = _by_ratio(name, spatial, output_ratio, dims)
        size = _per_dim(
            name, "output_size", output_size if isinstance(output_size, (tuple, list)) else (output_size,), dims
        )
        kernel = _per_dim(name, "kernel_size", kernel, dims)
        if n not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"{name}: Expected {dims + 1}D or {dims + 2}D tensor with optional 0 dim batch size for input, "
                f"but got: {list(input._shape)}"
            )
        if 0 in input._shape[n - dims - 1 :]:
            raise RuntimeError(
                f"{name}{'_out' if dims == 3 else ''}(): Expected input to have non-zero size for non-batch "
                f"dimensions, but got{list(input._shape)} with dimension "
                f"{n - dims - 1 + input._shape[n - dims - 1 :].index(0)} being empty."
            )
        for label, s, k, o in zip(("time", "height", "width")[-dims:], spatial, kernel, size):
            if o + k - 1 > s:
                raise RuntimeError(f"{name}(): pool {label} {k} too large relative to input {label} {s}")
        only(f"{name}_out_frame", input, dt.FLOAT)
        x = input if n == dims + 2 else input.unsqueeze(0)
        rows = x._shape[:2]
        if samples is None:
            samples = T.rand(*rows, dims, dtype=input.dtype, device=input.device)
        _check_samples(samples, x, dims)
        samples = samples[: rows[0], : rows[1]]
        flat = None
        for d, (s, k, o) in enumerate(zip(spatial, kernel, size)):
            # In two dimensions the first sample belongs to the last dimension.
            at = _starts(samples[..., 1 - d if dims == 2 else d], s, o, k).unsqueeze(-1) + T.arange(
                k, device=input.device
            )
            shape = [*rows, *(1,) * (2 * dims)]
            shape[2 + d], shape[2 + dims + d] = o, k
            at = at.reshape(shape)
            flat = at if flat is None else flat * s + at
        flat = flat.expand(*rows, *size, *kernel).reshape(*rows, *size, numel(kernel))
        top, where = x.flatten(2).gather(2, flat.flatten(2)).reshape(flat._shape).max(-1)
        indices = flat.gather(-1, where.unsqueeze(-1)).squeeze(-1)
        return (top, indices) if n == dims + 2 else (top.squeeze(0), indices.squeeze(0))

    args = (
        f"Tensor input, int[{dims}] kernel_size, Any output_size=None, Any output_ratio=None, "
        "bool return_indices=False, Tensor? _random_samples=None"
    )

    @composite(f"nn.functional.{name}({args}) -> Any", out=False, autocast=FLOAT32)
    def either(input, kernel, output_size, output_ratio, return_indices, samples):
        out = pool(input, kernel, output_size, output_ratio, samples)
        return out if return_indices else out[0]

    @composite(f"nn.functional.{name}_with_indices({args}) -> Any", out=False)
    def both(input, kernel, output_size, output_ratio, return_indices, samples):
        return pool(input, kernel, output_size, output_ratio, samples)


# --------------------------------------------------------------------------------------------- back to the input's size
def _unpool_size(input, kernel, stride, padding, output_size, dims):
    default = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(input._shape[-dims:], kernel, stride, padding)]
    if output_size is None:
        return default
    size = list(output_size)
    if len(size) == dims + 2:
        size = size[2:]
    if len(size) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, "
            f"but it has a length of '{len(size)}'"
        )
    for d, (o, base, s) in enumerate(zip(size, default, stride)):
        if not base - s < o < base + s:
            raise ValueError(f'invalid output_size "{tuple(size)}" (dim {d} must be between {base - s} and {base + s})')
    return size


def _unpooled(dims):
    more = "" if dims == 2 else ", int[3] stride, int[3] padding"
    grad = lambda g, indices, self_shape: g.flatten(-dims).gather(-1, indices.flatten(-dims)).reshape(self_shape)
    _ONE = dict(derivative={"self": grad}, node=f"MaxUnpool{dims}DBackward0", out=False)

    @composite(
        f"_C._nn.max_unpool{dims}d(Tensor self, Tensor indices, int[{dims}] output_size{more}) -> Tensor", **_ONE
    )
    def f(self, indices, output_size, *rest):
        """Write the values at their flat indices into zeros."""
        lead = self._shape[:-dims]
        zeros = self.new_zeros((*lead, numel(output_size)))
        out = zeros.scatter(-1, indices.flatten(-dims), self.flatten(-dims)).reshape((*lead, *output_size))
        return keep_format(out, self) if dims == 2 else out

    return f


UNPOOL = {dims: _unpooled(dims) for dims in (2, 3)}


def _within(indices, size):
    """Whether all indices are from 0 to size - 1."""
    low, high = T.aminmax(indices)
    return low.item() >= 0 and high.item() < size


def _max_unpool(dims):
    @composite(
        f"nn.functional.max_unpool{dims}d(Tensor input, Tensor indices, int[{dims}] kernel_size, "
        f"int[{dims}]? stride=None, int[{dims}] padding=0, int[]? output_size=None) -> Tensor",
        out=False,
        autocast=FLOAT32 if dims > 1 else None,
    )
    def max_unpool(input, indices, kernel_size, stride, padding, output_size):
        """Write the input's values at the flat indices from max pooling into zeros."""
        name = f"max_unpool{dims}d"
        only(f"max_unpool{max(dims, 2)}d", input, dt.FLOAT)
        alert_not_deterministic(f"max_unpooling{max(dims, 2)}d_forward_out")
        kernel = _per_dim(name, "kernel_size", kernel_size, dims)
        stride, padding = (
            _per_dim(name, "stride", stride, dims) if stride else kernel,
            _per_dim(name, "padding", padding, dims),
        )
        if len(input._shape) not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, "
                f"but got a tensor with {len(input._shape)} dimensions."
            )
        size = _unpool_size(input, kernel, stride, padding, output_size, dims)
        if indices.dtype is not dt.int64:
            raise RuntimeError(f"elements in indices should be type int64 but got: {dt.scalar_name(indices.dtype)}")
        if indices._shape != input._shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(input._shape)}) but got "
                f"indices tensor with shape: {list(indices._shape)}"
            )
        if indices.numel() and has_values(indices) and not _within(indices, numel(size)):
            bad = indices[(indices < 0) | (indices >= numel(size))]
            raise RuntimeError(
                f"Found an invalid max index: {bad[0].item()} (output volumes are of size {'x'.join(map(str, size))})"
            )
        if dims == 1:
            return UNPOOL[2].op.call(input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)
        return (
            UNPOOL[dims].op.call(input, indices, size)
            if dims == 2
            else UNPOOL[3].op.call(input, indices, size, stride, padding)
        )


for _dims in (1, 2, 3):
    _max_pool(_dims)
    _adaptive_max(_dims)
    _avg_pool(_dims)
    _adaptive_avg(_dims)
    _lp_pool(_dims)
    _max_unpool(_dims)
    if _dims > 1:
        _fractional(_dims)
