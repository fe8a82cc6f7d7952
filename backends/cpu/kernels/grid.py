"""grid_sample and its gradients, computed in one pass over the neighbours of each point."""

from itertools import product

import numpy as np

from ...quiet import quiet
from ..table import decomposed, numpy, without

WHY = (
    "GridSampler2DGrad prints errors of its own; composed it takes twenty operators for each combination of "
    "neighbours: 3 times slower at 64k elements"
)


def _reflected(c, size, align, planes):
    """Reflect coordinates at both borders, and return them with their derivatives with respect to c."""
    least, span = (0, size - 1) if align else (-0.5, size)
    if not span:
        return np.zeros_like(c), np.zeros_like(c)
    sign = np.where(c < least, -1, 1).astype(c.dtype)
    away = np.abs(c - least)
    if planes:
        extra = away - np.trunc(away / (2 * span)) * (2 * span)
        forward = extra <= span
        return np.minimum(extra, 2 * span - extra) + c.dtype.type(least), np.where(forward, sign, -sign)
    flips, extra = np.floor(away / span), np.fmod(away, span)
    even = flips % 2 == 0
    return np.where(even, extra + least, span - extra + least).astype(c.dtype), np.where(even, sign, -sign)


def _in_picture(c, size, padding, align, planes):
    """Return (coordinates, derivatives) after padding: 0 keeps coordinates, 1 clips, 2 reflects and clips.

    Clipped, NaN is 0 in an image (planes), and the last position in a volume, as in PyTorch.
    """
    slope = np.ones_like(c)
    if padding == 2:
        c, slope = _reflected(c, size, align, planes)
    if padding:
        slope = np.where((c > 0) & (c < size - 1), slope, 0)  # at a border PyTorch's derivative is 0
        c = np.where(np.isnan(c), 0 if planes else size - 1, np.clip(c, 0, size - 1)).astype(c.dtype)
    return c, slope


def _neighbours(c, size, mode, padding, align, planes):
    """Return [(position, weight, derivative of the weight with respect to the grid)] of one dimension.

    The weight and the derivative are None for the mode "nearest". PyTorch rounds the coordinates of images (planes) in
    another order than those of volumes.
    """
    if planes:
        c, scale = ((c + 1) * ((size - 1) / 2), (size - 1) / 2) if align else ((c + 1) * (size / 2) - 0.5, size / 2)
    else:
        c, scale = ((c + 1) / 2 * (size - 1), (size - 1) / 2) if align else (((c + 1) * size - 1) / 2, size / 2)
    c, slope = _in_picture(c, size, padding, align, planes)
    slope = slope * scale
    known = np.isfinite(c)  # other positions are outside

    def position(a):
        return np.where(known, np.clip(a, -(2**31), 2**31), -100).astype(np.int64)

    if mode == 1:
        return [(position(np.rint(c)), None, None)]
    low = np.floor(c)
    at = position(low)
    return [(at, low + 1 - c, -slope), (at + 1, c - low, slope)]


def _corners(x, grid, mode, padding, align):
    """Yield (inside, flat position, weights, slopes) of each combination of neighbours.

    Outside of an image PyTorch reads zeros, which NaN as a weight makes NaN; outside of a volume it adds nothing.
    """
    n, _, *sizes = x.shape
    dims, planes = len(sizes), len(sizes) == 2
    points = int(np.prod(grid.shape[1:-1]))
    each = [
        _neighbours(grid[..., dims - 1 - k].reshape(n, points), size, mode, padding, align, planes)
        for k, size in enumerate(sizes)
    ]
    for corner in product(*each):
        inside = np.ones((n, points), bool)
        at = np.zeros((n, points), np.int64)
        for (position, _, _), size in zip(corner, sizes):
            inside &= (position >= 0) & (position < size)
            at = at * size + np.clip(position, 0, size - 1)
        weights = [w if w is None or planes else np.where(inside, w, 0) for _, w, _ in corner]
        yield inside, at, weights, [slope for _, _, slope in corner]


def _planes(x):
    """Return the offset of each plane of the input in its memory."""
    n, channels, *sizes = x.shape
    return (np.arange(n * channels) * int(np.prod(sizes))).reshape(n, channels, 1)


def _forward(x, grid, mode, padding, align):
    """Return the values (N, C, *points) of the input (N, C, *sizes) at the points of the grid."""
    flat, plane, out = np.ascontiguousarray(x).reshape(-1), _planes(x), None
    with quiet():
        for inside, at, weights, _ in _corners(x, grid, mode, padding, align):
            value = np.where(inside[:, None], flat.take(plane + at[:, None]), x.dtype.type(0))
            if mode == 0:
                value = value * np.prod(weights[::-1], axis=0)[:, None]
            out = value if out is None else out + value
    return out.astype(x.dtype, copy=False).reshape(*x.shape[:2], *grid.shape[1:-1])


def _backward(g, x, grid, mode, padding, align):
    """Return the gradients of the input (N, C, *sizes) and of the grid (N, *points, dimensions)."""
    n, channels, *sizes = x.shape
    dims = len(sizes)
    g, flat, plane = g.reshape(n, channels, -1), x.reshape(-1), _planes(x)
    points = g.shape[2]
    of_picture = np.zeros(x.size)
    of_grid = np.zeros((dims, n, points), grid.dtype)
    with quiet():
        for inside, at, weights, slopes in _corners(x, grid, mode, padding, align):
            whole = np.where(inside, 1 if mode == 1 else np.prod(weights, axis=0), 0)
            at = (plane + at[:, None]).reshape(-1)
            of_picture += np.bincount(at, (g * whole[:, None]).reshape(-1), x.size)
            if mode == 0:
                seen = np.where(inside, np.einsum("ncp,ncp->np", flat.take(at).reshape(g.shape), g), 0)
                for k, slope in enumerate(slopes):
                    others = np.prod([w for j, w in enumerate(weights) if j != k], axis=0) if dims > 1 else 1
                    of_grid[k] += seen * slope * others
    of_grid = np.stack([of_grid[dims - 1 - k] for k in range(dims)], -1)
    return of_picture.astype(x.dtype).reshape(x.shape), of_grid.reshape(grid.shape)


for _dims in (2, 3):
    _name = f"_C.grid_sampler_{_dims}d"
    without(_name, "rounds half away from 0, hides NaN, and half types once", "f16 bf16 f32 f64")
    decomposed(f"{_name} {_name}_backward", "half types are rounded at every step", "f16 bf16")
    numpy(f"{_name}_backward", WHY, _backward, dtypes="f32 f64")
    numpy(_name, f"GridSampler{_dims}D rounds half away from 0, and hides NaN", _forward, dtypes="f32 f64")
