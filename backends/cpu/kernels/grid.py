"""The gradients of grid_sample, computed in one pass over the neighbours of each point."""

from itertools import product

import numpy as np

from ..table import decomposed, numpy

WHY = (
    "GridSampler2DGrad prints errors of its own; composed it takes twenty operators for each combination of "
    "neighbours: 3 times slower at 64k elements"
)


def _reflected(c, low, high):
    """Reflect coordinates between two borders, and return them with their derivatives with respect to c.

    The borders are given as twice their values.
    """
    if low == high:
        return np.zeros_like(c), np.zeros_like(c)
    least, span = low / 2, (high - low) / 2
    sign = np.where(c < least, -1, 1).astype(c.dtype)
    away = np.abs(c - least)
    flips, extra = np.floor(away / span), np.fmod(away, span)
    even = flips % 2 == 0
    return np.where(even, extra + least, span - extra + least).astype(c.dtype), np.where(even, sign, -sign)


def _in_picture(c, size, padding, align):
    """Return (coordinates, derivatives) after padding: 0 keeps coordinates, 1 clips, 2 reflects and clips."""
    slope = np.ones_like(c)
    if padding == 2:
        c, slope = _reflected(c, *((0, 2 * (size - 1)) if align else (-1, 2 * size - 1)))
    if padding:
        slope = np.where((c > 0) & (c < size - 1), slope, 0)  # at a border PyTorch's derivative is 0
        c = np.clip(c, 0, size - 1)
    return c, slope


def _neighbours(c, size, mode, padding, align):
    """Return [(position, weight, derivative of the weight with respect to the grid)] of one dimension.

    The derivative is None for the mode "nearest".
    """
    c, scale = ((c + 1) / 2 * (size - 1), (size - 1) / 2) if align else (((c + 1) * size - 1) / 2, size / 2)
    c, slope = _in_picture(c, size, padding, align)
    slope = slope * scale
    # NaN and infinity count as outside of the input, as in PyTorch
    c = np.where(np.isfinite(c), np.clip(c, -(2**31), 2**31), -100)
    if mode == 1:
        return [(np.rint(c).astype(np.int64), np.ones_like(c), None)]
    low = np.floor(c)
    at = low.astype(np.int64)
    return [(at, low + 1 - c, -slope), (at + 1, c - low, slope)]


def _backward(g, x, grid, mode, padding, align):
    """Return the gradients of the input (N, C, *sizes) and of the grid (N, *points, dimensions)."""
    n, channels, *sizes = x.shape
    dims, length = len(sizes), int(np.prod(sizes))
    g, flat = g.reshape(n, channels, -1), x.reshape(-1)
    points = g.shape[2]
    each = [
        _neighbours(grid[..., dims - 1 - k].reshape(n, points), size, mode, padding, align)
        for k, size in enumerate(sizes)
    ]
    of_picture = np.zeros(n * channels * length)
    of_grid = np.zeros((dims, n, points), grid.dtype)
    plane = (np.arange(n * channels) * length).reshape(n, channels, 1)
    for corner in product(*each):
        inside = np.ones((n, points), bool)
        at = np.zeros((n, points), np.int64)
        for (position, _, _), size in zip(corner, sizes):
            inside &= (position >= 0) & (position < size)
            at = at * size + np.clip(position, 0, size - 1)
        weights = [np.where(inside, w, 0) for _, w, _ in corner]
        whole = np.prod(weights, axis=0)
        at = (plane + at[:, None]).reshape(-1)
        of_picture += np.bincount(at, (g * whole[:, None]).reshape(-1), len(of_picture))
        if mode == 0:
            seen = np.einsum("ncp,ncp->np", flat.take(at).reshape(g.shape), g)
            for k, (_, _, slope) in enumerate(corner):
                others = np.prod([w for j, w in enumerate(weights) if j != k], axis=0) if dims > 1 else 1
                of_grid[k] += np.where(inside, seen * slope * others, 0)
    of_grid = np.stack([of_grid[dims - 1 - k] for k in range(dims)], -1)
    return of_picture.astype(x.dtype).reshape(x.shape), of_grid.reshape(grid.shape)


for _dims in (2, 3):
    decomposed(f"_C.grid_sampler_{_dims}d_backward", "half types are rounded at every step", "f16 bf16")
    numpy(f"_C.grid_sampler_{_dims}d_backward", WHY, _backward, dtypes="f32 f64")
