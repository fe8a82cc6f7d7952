"""Resampling as a product with a matrix along each dimension: rows are results, columns sources."""

from .. import dtypes as dt
from ..ops.resample import UPSAMPLE
from ..registry import T, decomposition


def _cubic(x, a):
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    return T.where(x < 1, near, T.where(x < 2, ((x - 5) * x + 8) * x * a - 4 * a, 0))


def _lanczos(x):
    return T.where(x < 3, T.sinc(x) * T.sinc(x / 3), 0)


FILTERS = {
    "linear-aa": (1, lambda x: T.clamp(1 - x, min=0)),
    "cubic-aa": (2, lambda x: _cubic(x, -0.5)),
    "lanczos-aa": (3, _lanczos),
}


def matrix(mode, n, o, align, scale, like):
    """Return the weights (o, n) by which n sources give o results, in float32 or float64."""
    d = dt.float64 if like.dtype is dt.float64 else dt.float32
    step = ((n - 1) / (o - 1) if o > 1 else 0.0) if align else 1 / scale if scale else n / o
    to, source = T.arange(o, dtype=d, device=like.device)[:, None], T.arange(n, dtype=d, device=like.device)
    if mode in ("nearest", "nearest-exact"):
        at = T.floor((to + 0.5) * step if mode == "nearest-exact" else to * step).clamp(max=n - 1)
        return (source == at).to(d)
    if mode in FILTERS:
        support, weigh = FILTERS[mode]
        wide, centre = max(step, 1.0), step * (to + 0.5)
        low, high = T.trunc(centre - support * wide + 0.5), T.trunc(centre + support * wide + 0.5)
        w = T.where((source >= low) & (source < high), weigh(((source - centre + 0.5) / wide).abs()), 0)
        return w / w.sum(1, keepdim=True)
    at = step * to if align else step * (to + 0.5) - 0.5
    if mode == "linear":
        return T.clamp(1 - (at.clamp(0, n - 1) - source).abs(), min=0)
    first = T.floor(at)
    w = T.zeros((o, n), dtype=d, device=like.device)
    for tap in range(-1, 3):  # positions beyond an edge add to the weight of the edge
        w = w + (source == (first + tap).clamp(0, n - 1)) * _cubic((at - first - tap).abs(), -0.75)
    return w


def _resampled(mode, back):
    def fn(x, size, align, scales):
        """Resample x to `size`; with `back`, x is the gradient and `size` the shape of the source."""
        out = x.to(dt.float32) if x.dtype in (dt.float16, dt.bfloat16) or not x.dtype.is_floating_point else x
        spatial = size[2:] if back else size
        for k, s in enumerate(spatial):
            n, o = (s, x._shape[2 + k]) if back else (x._shape[2 + k], s)
            w = matrix(mode, n, o, align, scales[k] if scales else None, out)
            out = (out.movedim(2 + k, -1) @ (w if back else w.mT)).movedim(-1, 2 + k)
        return (out if x.dtype.is_floating_point else out.round()).to(x.dtype).contiguous()

    return fn


for _name, (_mode, _, _) in UPSAMPLE.items():
    decomposition(f"_C._nn.{_name}")(_resampled(_mode, False))
    decomposition(f"_C._nn.{_name}_backward")(_resampled(_mode, True))
