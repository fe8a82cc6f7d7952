"""Resampling: interpolation, grid sampling, unfold and fold, pixel shuffling."""

import math
import numbers
import warnings
from itertools import product

from .. import registry
from ..autograd import enable_grad, grad
from ..call.autocast import FLOAT32
from ..call.out import SAME_DTYPE
from ..context import CONTEXT
from ..declare import composite, op
from ..device import contiguous_format
from ..symbolic import SymInt
from ..tensor import check_bytes, unviewed
from .common import F, T, Tensor, dt, numel
from .memory import in_format, keep_format

NAMES = ("W", "HW", "DHW")


# ------------------------------------------------------------------------------------------------ interpolation
# operator: (mode, number of dimensions, PyBoost primitive); linear and cubic modes take align_corners
UPSAMPLE = {
    "upsample_nearest1d": ("nearest", 1, "UpsampleNearest1D"),
    "upsample_nearest2d": ("nearest", 2, "UpsampleNearest2D"),
    "upsample_nearest3d": ("nearest", 3, "UpsampleNearest3D"),
    "_upsample_nearest_exact1d": ("nearest-exact", 1, None),
    "_upsample_nearest_exact2d": ("nearest-exact", 2, None),
    "_upsample_nearest_exact3d": ("nearest-exact", 3, None),
    "upsample_linear1d": ("linear", 1, "UpsampleLinear1D"),
    "upsample_bilinear2d": ("linear", 2, "UpsampleBilinear2D"),
    "upsample_trilinear3d": ("linear", 3, "UpsampleTrilinear3D"),
    "upsample_bicubic2d": ("cubic", 2, "UpsampleBicubic2D"),
    "_upsample_bilinear2d_aa": ("linear-aa", 2, None),
    "_upsample_bicubic2d_aa": ("cubic-aa", 2, None),
    "_upsample_lanczos2d_aa": ("lanczos-aa", 2, None),
}


def _check_sizes(old, new):
    if any(n <= 0 for n in (*old, *new)):
        label = NAMES[len(old) - 1]
        raise RuntimeError(
            "Input and output sizes should be greater than 0, "
            f"but got input ({', '.join(f'{l}: {s}' for l, s in zip(label, old))}){' and' * (len(old) == 1)} output "
            f"({', '.join(f'{l}: {s}' for l, s in zip(label, new))})"
        )


def _upsample_meta(mode, dims):
    def meta(self, output_size, align_corners, scales):
        if len(self._shape) != dims + 2 or len(output_size) != dims:
            raise RuntimeError(
                f"It is expected input_size equals to {dims + 2} and output_size to {dims}, "
                f"but got sizes {len(self._shape)} and {len(output_size)}"
            )
        _check_sizes(self._shape[2:], output_size)
        if 0 in self._shape[1:]:
            raise RuntimeError(
                f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(self._shape)}"
            )
        if self.dtype.category != dt.FLOAT and not (self.dtype is dt.uint8 and (mode[:7] == "nearest" or dims == 2)):
            kernel = f"upsample_{mode}{dims}d"
            if mode in ("nearest", "linear"):  # the kernel that PyTorch chooses first
                two = {"nearest": "upsample_nearest2d_channels_last", "linear": "upsample_bilinear2d_channels_last"}
                kernel = two[mode] if dims == 2 else f"compute_indices_weights_{mode}"
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{dt.scalar_name(self.dtype)}'")
        return in_format(*check_bytes((*self._shape[:2], *output_size), self.dtype), self)

    return meta


def _upsample_call(mode, dims, back):
    """Return how the primitive is called: nearest takes no align_corners, trilinear takes it in the constructor."""

    def call(p, x, size, align, scales):
        q = p.of(align) if mode == "linear" and dims == 3 else p
        tail = (scales,) if mode == "nearest" or dims == 3 else (scales, align)
        return q(x, size, tuple(x.shape[2:]), *tail) if back else q(x, size, *tail)

    return call


def _scales_apart(mode, dims):
    """Return a function that converts to the arguments that PyTorch passes below autograd.

    These have one scale for each dimension, and align_corners only for modes that interpolate between pixels. The
    backward operator also gets output_size.
    """
    names = [f"scales_{d}" for d in "dhw"[3 - dims :]] if dims > 1 else ["scales"]

    def values(given):
        theirs = {n: v for n, v in given.items() if n != "scales" and (n != "align_corners" or mode[:7] != "nearest")}
        if "grad_output" in theirs:
            theirs["output_size"] = theirs["grad_output"]._shape[2:]
        return theirs | dict(zip(names, given.get("scales") or ()))

    return values


def _declare(name, mode, dims, prim):
    grad = lambda g, self_shape, align_corners, scales: keep_format(
        back.call(g, self_shape, align_corners, scales), *[g] * (mode != "cubic" and (dims < 3 or mode == "linear"))
    )
    apart = _scales_apart(mode, dims)
    options = dict(
        meta=_upsample_meta(mode, dims),
        call=_upsample_call(mode, dims, False),
        derivative=grad,
        out=SAME_DTYPE,
        aten_values=apart,
    )
    o = op(
        f"_C._nn.{name}(Tensor self, int[] output_size, bool align_corners=False, Any scales=None) -> Tensor",
        prim,
        **options,
    )
    again = lambda g, grad_output_shape, align_corners, scales: o.call(g, grad_output_shape[2:], align_corners, scales)
    options = dict(
        meta=lambda g, size, *_: (size, g.dtype),
        call=_upsample_call(mode, dims, True),
        derivative=again,
        out=False,
        aten_values=apart,
    )
    args = "Tensor grad_output, int[] input_size, bool align_corners, Any scales"
    back = op(f"_C._nn.{name}_backward({args}) -> Tensor", prim and prim + "Grad", **options)
    return o


_upsample = {name: _declare(name, *spec) for name, spec in UPSAMPLE.items()}
_MODES = {
    "nearest": "upsample_nearest{}d",
    "nearest-exact": "_upsample_nearest_exact{}d",
    "linear": "upsample_linear1d",
    "bilinear": "upsample_bilinear2d",
    "trilinear": "upsample_trilinear3d",
    "bicubic": "upsample_bicubic2d",
    "lanczos": "upsample_lanczos2d",
}
_RANK = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4, "lanczos": 4}


def _per_dimension(name, value, input):
    """Return a tuple with one value for each spatial dimension."""
    spatial = list(input._shape[2:])
    if not isinstance(value, (tuple, list)):
        return (value,) * len(spatial)
    if len(value) != len(spatial):
        what, key, letter = (
            ("output size of", "output size", "o") if name == "size" else ("scale_factor of shape", "scale_factor", "s")
        )
        raise ValueError(
            f"Input and {'output' if name == 'size' else name} must have the same number of spatial dimensions, "
            f"but got input with spatial dimensions of {spatial} and {what} {value}. Please provide input tensor in "
            f"(N, C, d1, d2, ...,dK) format and {key} in ({letter}1, {letter}2, ...,{letter}K) format."
        )
    return tuple(value)


def _wanted_size(input, size, scale_factor, recompute, mode):
    """Return (output size, scales that the kernel uses instead of the ratios of the sizes, or None)."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        size = _per_dimension("size", size, input)
        if not all(
            hasattr(s, "__index__") and not (isinstance(s, Tensor) and s.dtype.category >= dt.FLOAT) for s in size
        ):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                f"but got size with types {[type(s) for s in size]}"
            )
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return [s if s.__class__ is SymInt else s.__index__() for s in size], None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = _per_dimension("scale_factor", scale_factor, input)
    kept = not (recompute or mode == "area")
    if kept and not isinstance(scales[0], numbers.Real):
        return None, scales  # refused by the function that takes them
    scales = tuple(map(float, scales))
    return [math.floor(s * f) for s, f in zip(input.shape[2:], scales)], scales if kept else None


def _check_mode(mode, n, antialias, align_corners):
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and n == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if n not in (3, 4, 5) or mode not in _MODES and mode != "area":
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {n}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if n != _RANK.get(mode, n):
        raise NotImplementedError(f"Got {n}D input, but {mode} mode needs {_RANK[mode]}D input")


@composite(
    "nn.functional.interpolate(Tensor input, Any size=None, Any scale_factor=None, str mode='nearest', "
    "bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
    out=False,
)
def interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    n = len(input._shape)
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    size, scales = _wanted_size(input, size, scale_factor, recompute_scale_factor, mode)
    _check_mode(mode, n, antialias, align_corners)
    if mode == "area":
        return (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[n - 3](input, size)
    name = _MODES[mode].format(n - 2)
    name = f"_{name}_aa" if antialias else name
    if size is None:
        aligned = () if "nearest" in name else (bool(align_corners),)
        return registry.function("_C._nn", name)(input, None, *aligned, list(scales))
    return keep_format(_upsample[name].call(input, size, bool(align_corners), scales), input)


def _old_name(name, mode, align):
    @composite(
        f"nn.functional.{name}(Tensor input, Any size=None, Any scale_factor=None"
        + (", str mode='nearest', bool? align_corners=None" if mode is None else "")
        + ") -> Tensor",
        out=False,
    )
    def upsample(input, size, scale_factor, m=mode, a=align):
        warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
        return interpolate(input, size, scale_factor, m, a, None, False)


for _spec in (("upsample", None, None), ("upsample_nearest", "nearest", None), ("upsample_bilinear", "bilinear", True)):
    _old_name(*_spec)


# ------------------------------------------------------------------------------------------------ sampling at points
MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _grid_meta(dims):
    def meta(input, grid, mode, padding, align_corners):
        x, g = input._shape, grid._shape
        if not g or g[0] != x[0]:
            raise RuntimeError(
                f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {list(x)} "
                f"and grid with sizes {list(g)}"
            )
        if g[-1] != len(x) - 2:
            raise RuntimeError(
                f"grid_sampler(): expected grid to have size {len(x) - 2} in last dimension, "
                f"but got grid with sizes {list(g)}"
            )
        if len(x) != dims + 2 or len(g) != dims + 2:
            raise RuntimeError(
                f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, "
                f"but got input with sizes {list(x)} and grid with sizes {list(g)}"
            )
        for d in range(2, len(x)):
            if x[d] == 0:
                raise RuntimeError(
                    "grid_sampler(): expected input to have non-empty spatial dimensions, "
                    f"but input has sizes {list(x)} with dimension {d} being empty"
                )
        if grid.dtype is not input.dtype:
            raise RuntimeError(
                f"expected scalar type {dt.scalar_name(input.dtype)} but found {dt.scalar_name(grid.dtype)}"
            )
        if input.dtype.category != dt.FLOAT:
            raise NotImplementedError(
                f"\"grid_sampler_{dims}d_cpu_kernel_impl\" not implemented for '{dt.scalar_name(input.dtype)}'"
            )
        if mode == 2 and dims == 3:
            raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
        return (*x[:2], *g[1:-1]), input.dtype

    return meta


def grid_gradients(g, input, grid, mode, padding, align, needs=(True, True)):
    """Return the gradients of input and grid through the operators that the sampling is composed of.

    They can be differentiated again.
    """
    graph = CONTEXT.grad
    given = (input, grid) if graph else tuple(t.detach()._requiring_grad() for t in (input, grid))
    with enable_grad():
        out = _sample(*given, mode, padding, align)
    wanted = [t for t, n in zip(given, needs) if n]
    got = iter(grad([out], wanted, [g], create_graph=graph, allow_unused=True, materialize_grads=True))
    return tuple(next(got) if n else None for n in needs)


def _grid_op(dims):
    name, meta = f"grid_sampler_{dims}d", _grid_meta(dims)
    args = "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners"
    back = op(
        f"_C.{name}_backward(Tensor grad_output, {args}) -> (Tensor, Tensor)",
        meta=lambda g, input, grid, *_: [(input._shape, input.dtype), (grid._shape, grid.dtype)],
        out=False,
        opmath=False,
    )

    def gradients(g, input, grid, interpolation_mode, padding_mode, align_corners, needs):
        how = interpolation_mode, padding_mode, align_corners
        if CONTEXT.grad:
            return grid_gradients(g, input, grid, *how, needs)
        return tuple(r if n else None for r, n in zip(back.call(g, input, grid, *how), needs))

    o = op(
        f"_C.{name}({args}) -> Tensor",
        f"GridSampler{dims}D",
        meta=meta,
        out=False,
        derivative={("input", "grid"): gradients},
        no_forward=name,
        opmath=False,  # PyTorch rounds half types after every step: coordinates, weights, terms
        call=lambda p, x, grid, mode, pad, align: p.of(MODES[mode], PADDINGS[pad], align)(x, grid),
    )

    @composite(f"{name}({args}) -> Tensor", out=False, no_forward=name)
    def sample(input, grid, mode, padding, align):
        if mode != 2:
            return o.call(input, grid, mode, padding, align)
        meta(input, grid, mode, padding, align)
        return _sample(input, grid, mode, padding, align)

    return sample


_grid_2d, _grid_3d = _grid_op(2), _grid_op(3)


def _in_range(c, size, padding, align, planes):
    """Map coordinates into the image as the padding mode requires.

    NaN becomes 0 in an image (planes), and the last position in a volume. At a border the derivative is 0.
    """
    if padding == 2:
        low, span = (0, size - 1) if align else (-0.5, size)
        if span == 0:
            c = T.zeros_like(c)
        elif planes:
            c = (c - low).abs()
            c = c - (c.detach() / (2 * span)).trunc() * (2 * span)
            c = T.where(c <= span, c, 2 * span - c) + low
        else:
            c = (c - low).abs()
            flips, extra = (c / span).floor(), c.fmod(span)
            c = T.where(flips.remainder(2) == 0, extra + low, span - extra + low)
    if not padding:
        return c
    if planes:
        c = T.where(c > 0, c, 0)
        return T.where(c < size - 1, c, size - 1)
    c = T.where(c < size - 1, c, size - 1)
    return T.where(c > 0, c, 0)


def _cubic(t):
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _neighbours(c, size, mode, padding, align, planes):
    """Return the (position, weight) pairs that a coordinate in [-1, 1] reads along one dimension."""
    if align:
        c = (c + 1) * ((size - 1) / 2) if planes else (c + 1) / 2 * (size - 1)
    else:
        c = (c + 1) * (size / 2) - 0.5 if planes else ((c + 1) * size - 1) / 2
    if mode != 2:
        c = _in_range(c, size, padding, align, planes)
    if mode == 1:
        return [(c.detach().round(), None)]
    low = c.detach().floor()
    if mode == 0:
        return [(low, low + 1 - c), (low + 1, c - low)]
    return [(_in_range(low + (j - 1), size, padding, align, planes), w) for j, w in enumerate(_cubic(c - low))]


def _sample(input, grid, mode, padding, align):
    """Sample the input: gather and weight every combination of neighbours.

    Outside of an image PyTorch reads zeros, which NaN as a weight makes NaN; outside of a volume it adds nothing.
    """
    sizes, dims = input._shape[2:], len(input._shape) - 2
    flat, points, out = input.flatten(2), grid._shape[1:-1], None
    for combination in product(
        *(_neighbours(grid[..., dims - 1 - k], s, mode, padding, align, dims == 2) for k, s in enumerate(sizes))
    ):
        at = weight = inside = None
        for _, w in reversed(combination):
            weight = w if weight is None else weight * w
        for (c, _), s in zip(combination, sizes):
            ok, c = (c >= 0) & (c < s), c.to(dt.int64)
            inside = ok if inside is None else inside & ok
            at = c if at is None else at * s + c
        at = T.where(inside, at, 0).flatten(1).unsqueeze(1).expand(*flat._shape[:2], numel(points))
        value = flat.gather(2, at).reshape(*flat._shape[:2], *points)
        value = T.where(inside.unsqueeze(1), value, 0)
        if weight is not None:
            value = value * (weight if dims == 2 else T.where(inside, weight, 0)).unsqueeze(1)
        out = value if out is None else out + value
    return out


@composite(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    out=False,
)
def grid_sampler(input, grid, mode, padding, align):
    if len(input._shape) == 5 and mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return (_grid_3d if len(input._shape) == 5 else _grid_2d)(input, grid, mode, padding, align)


def _align(name, align_corners):
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            f"Please specify align_corners=True if the old behavior is desired. See the documentation of {name} for "
            "details.",
            stacklevel=4,
        )
    return bool(align_corners)


@composite(
    "nn.functional.grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', "
    "bool? align_corners=None) -> Tensor",
    out=False,
    autocast=FLOAT32,
)
def grid_sample(input, grid, mode, padding_mode, align_corners):
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    return grid_sampler(
        input, grid, MODES.index(mode), PADDINGS.index(padding_mode), _align("grid_sample", align_corners)
    )


@composite("affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor", out=False)
def affine_grid_generator(theta, size, align_corners):
    """Return the coordinates in [-1, 1] of every output pixel, mapped by the affine matrices theta."""
    N, spatial = size[0], size[2:]
    axes = []
    for k, s in enumerate(reversed(spatial)):
        c = T.linspace(-1, 1, s, dtype=theta.dtype, device=theta.device) if s > 1 else theta.new_zeros(1)
        c = c if align_corners else c * ((s - 1) / s)
        axes.append(c.reshape([s if d == len(spatial) - 1 - k else 1 for d in range(len(spatial))]).expand(spatial))
    base = (
        T.stack([*axes, T.ones(spatial, dtype=theta.dtype, device=theta.device)], -1)
        .reshape(1, -1, len(spatial) + 1)
        .expand(N, -1, -1)
    )
    return unviewed(T.bmm(base, theta.transpose(1, 2)).reshape(N, *spatial, len(spatial)))


@composite("nn.functional.affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor", out=False)
def affine_grid(theta, size, align_corners):
    align_corners = _align("grid_sample", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    k = len(size) - 2
    if k not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {tuple(size)}."
        )
    if len(theta._shape) != 3 or theta._shape[1:] != (k, k + 1):
        raise ValueError(
            f"Expected a batch of {k}D affine matrices of shape Nx{k}x{k + 1} for size {tuple(size)}. "
            f"Got {theta.size()}."
        )
    if any(n <= 0 for n in size):
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    if align_corners and any(n == 1 for n in size[2:]):
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. "
            "This is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=3,
        )
    return affine_grid_generator(theta, size, align_corners)


# ------------------------------------------------------------------------------------------------ sliding blocks
def _block_count(size, kernel, dilation, padding, stride):
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]


def _check_blocks(kernel, dilation, padding, stride, **more):
    for name, v in {"kernel_size": kernel, "dilation": dilation, "padding": padding, "stride": stride, **more}.items():
        if len(v) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(v)}")
    for name, short, v in (
        ("kernel size", "kernel", kernel),
        ("stride", "stride", stride),
        ("dilation", "dilation", dilation),
        ("padding", "pad", padding),
    ):
        if min(v) < (short != "pad"):
            what = "non-negative" if short == "pad" else "greater than zero"
            raise RuntimeError(f"{name} should be {what}, but got {short}_height: {v[0]} {short}_width: {v[1]}")


def _im2col_meta(self, kernel, dilation, padding, stride):
    n, c, *spatial = self._shape
    blocks = _block_count(spatial, kernel, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(spatial)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, calculated shape of the array of sliding blocks as {tuple(blocks)}, "
            "but its components must be at least one."
        )
    return (n, c * numel(kernel), numel(blocks)), self.dtype


def _col2im_meta(self, size, kernel, dilation, padding, stride):
    n, ck, blocks = self._shape
    if ck % numel(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={ck} and kernel_size={tuple(kernel)}."
        )
    want = _block_count(size, kernel, dilation, padding, stride)
    given = (
        f"output_size={tuple(size)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
        f"padding={tuple(padding)}, stride={tuple(stride)}"
    )
    if min(want) < 1:
        raise RuntimeError(
            f"Given {given}, calculated shape of the array of sliding blocks as {tuple(want)}, "
            "which is too small (non-positive)"
        )
    if numel(want) != blocks:
        raise RuntimeError(
            f"Given {given}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{want[0]} * {want[1]} = {numel(want)}, but got input.size(2)={blocks}."
        )
    return (n, ck // numel(kernel), *size), self.dtype


_im2col_grad = lambda g, self_shape, kernel_size, dilation, padding, stride: _col2im.call(
    g, self_shape[2:], kernel_size, dilation, padding, stride
)
_IM2COL = dict(meta=_im2col_meta, derivative=_im2col_grad)
_im2col = op(
    "_C._nn.im2col(Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> Tensor",
    "Im2ColExt",
    opmath=False,
    **_IM2COL,
)
_COL2IM = dict(
    meta=_col2im_meta,
    derivative=lambda g, kernel_size, dilation, padding, stride: _im2col.call(
        g, kernel_size, dilation, padding, stride
    ),
)
_col2im = op(
    "_C._nn.col2im(Tensor self, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, "
    "int[] stride) -> Tensor",
    "Col2ImExt",
    **_COL2IM,
)


def _with_batch(x, rank, text):
    if len(x._shape) not in (rank - 1, rank) or 0 in x._shape[len(x._shape) - rank + 1 :]:
        raise RuntimeError(f"Expected {rank - 1}D or {rank}D (batch mode) tensor {text}, but got: {list(x._shape)}")
    return x if len(x._shape) == rank else x.unsqueeze(0)


@composite(
    "nn.functional.unfold(Tensor input, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, "
    "int[2] stride=1) -> Tensor",
    out=False,
)
def unfold(input, kernel_size, dilation, padding, stride):
    _check_blocks(kernel_size, dilation, padding, stride)
    if len(input._shape) < 3:
        input.size(len(input._shape))  # raises IndexError: PyTorch reads the sizes first
    x = _with_batch(input, 4, "with possibly 0 batch size and other non-zero dimensions for input")
    out = _im2col.call(x, kernel_size, dilation, padding, stride)
    return out if x is input else out.squeeze(0)


@composite(
    "nn.functional.fold(Tensor input, int[2] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, "
    "int[2] stride=1) -> Tensor",
    out=False,
)
def fold(input, output_size, kernel_size, dilation, padding, stride):
    _check_blocks(kernel_size, dilation, padding, stride, output_size=output_size)
    x = _with_batch(input, 3, "for input with possibly 0 batch size and non-zero dimensions for input")
    out = _col2im.call(x, output_size, kernel_size, dilation, padding, stride)
    return out if x is input else out.squeeze(0)


# ------------------------------------------------------------------------------------------------ channels and pixels
def _check_pixels(name, x, factor, label):
    if len(x._shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(x._shape)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {label}, but got {factor}")


def _rearranged(x, self):
    """Return x in the memory format of self, copied if it is a view of self."""
    return keep_format(x.clone(memory_format=contiguous_format) if x._storage is self._storage else x, self)


@composite(
    "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
    method=False,
    out=False,
    derivative=lambda g, upscale_factor: T.pixel_unshuffle(g, upscale_factor),
)
def pixel_shuffle(self, r):
    """Rearrange (*, C r r, H, W) to (*, C, H r, W r)."""
    _check_pixels("pixel_shuffle", self, r, "upscale_factor")
    *lead, c, h, w = self._shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    x = self.reshape(*lead, c // (r * r), r, r, h, w).permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return _rearranged(x.reshape(*lead, c // (r * r), h * r, w * r), self)


@composite(
    "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
    method=False,
    out=False,
    derivative=lambda g, downscale_factor: T.pixel_shuffle(g, downscale_factor),
)
def pixel_unshuffle(self, r):
    """Rearrange (*, C, H r, W r) to (*, C r r, H, W)."""
    _check_pixels("pixel_unshuffle", self, r, "downscale_factor")
    *lead, c, h, w = self._shape
    for name, at, s in (("height", -2, h), ("width", -1, w)):
        if s % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({at})={s} is "
                f"not divisible by {r}"
            )
    n = len(lead)
    x = self.reshape(*lead, c, h // r, r, w // r, r).permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return _rearranged(x.reshape(*lead, c * r * r, h // r, w // r), self)


_unshuffled = lambda g, groups, self_shape: T.channel_shuffle(g, self_shape[1] // groups)


@composite(
    "channel_shuffle(Tensor self, int groups) -> Tensor",
    method=False,
    out=False,
    alias=("native_channel_shuffle",),
    derivative=_unshuffled,
)
def channel_shuffle(self, groups):
    if len(self._shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self._shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *rest = self._shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return _rearranged(self.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(self._shape), self)
