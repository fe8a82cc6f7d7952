"""Joining, repeating and reordering.

Tile and Triu are used where they are fast enough, NumPy's copies where MindSpore copies views element by element.
"""

import numpy as np

from ...host import INTS, alias
from ..arrays import check_places, zeroed
from ..table import instead, legacy, numpy, pyboost_, without

# ------------------------------------------------------------------------------------------------ cat, stack
CAT = "moves bytes alone, and Concat is 4 to 5 times slower at 64k elements"
instead("_cat", CAT, lambda tensors, dim: np.concatenate(tensors, dim))

STACK = "StackExt has no CPU kernel; Stack and Concat on the last dimension take 650 us against 41 at 64k elements"
numpy("stack", STACK, lambda tensors, dim: np.stack(tensors, dim))

# ------------------------------------------------------------------------------------------------ flip, roll, repeat
instead(
    "_flip",
    "ReverseV2 takes 765 us against 22 at 64k elements",
    lambda x, dims: np.flip(x, dims).copy() if x.ndim else x.copy(),
)
numpy(
    "roll",
    "Roll has no CPU kernel; Concat of two views takes 20 ms against 0.36 at 3M elements",
    lambda x, shifts, dims: np.roll(x, shifts, dims) if dims else np.roll(x, shifts[0]),
)


@numpy("repeat", "Tile lacks the dtype and empty tensors")
def repeat(x, repeats):
    return np.tile(x, repeats)


without("repeat", "fails on 0-d and empty tensors")
pyboost_(
    "repeat",
    "Tile",
    "fails on 0-d tensors",
    lambda prim, x, repeats: prim(x, repeats) if x.shape else np.tile(alias(x), repeats),
    f"bool {INTS} f32 f64 c64",
)
numpy(
    "_repeat_interleave",
    "RepeatInterleaveTensor has no CPU kernel",
    lambda repeats: np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats),
)

# ------------------------------------------------------------------------------------------------ triangles
legacy("tril", "Tril", "TrilExt has no CPU kernel", lambda prim, x, k: prim.of(k)(x), f"bool {INTS} f32 f64")
numpy("tril", "Tril lacks the dtype", np.tril)
numpy("triu", "Triu lacks the dtype", np.triu)
for _name, _gone in {
    "tril": lambda x, k: ~np.tri(*x.shape[-2:], k, dtype=bool),
    "triu": lambda x, k: np.tri(*x.shape[-2:], k - 1, dtype=bool),
}.items():
    numpy(
        _name,
        f"{_name.title()} is 7 to 19 times slower at 1M elements",
        lambda x, k, gone=_gone: zeroed(gone(x, k), x),
        f"bool {INTS} f32 f64",
        above=32768,
    )

# ------------------------------------------------------------------------------------------------ masks
numpy("masked_select", "MaskedSelect lacks the dtype", lambda x, mask: x[mask])


def _masked_scatter(x, mask, source):
    n = int(np.count_nonzero(mask))
    if n > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out = np.array(x, order="C")
    out[mask] = source.reshape(-1)[:n]
    return out


without("masked_scatter", "fails late, and at the next operator again, where the source is too short")
numpy(
    "masked_scatter",
    "MaskedScatter fails late, and at the next operator again, where the source is too short",
    _masked_scatter,
)

# ----------------------------------------------------------------------------------------------- reductions into a copy
UFUNC = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
    "max": np.maximum,
    "min": np.minimum,
}
WHY = "the TensorScatter primitives take no include_self and no mean"


def _start(dtype, reduce):
    """Return the identity element of the reduction."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind in "iu":
        i = np.iinfo(dtype)
        return i.min if "max" in reduce else i.max
    return ("max" not in reduce) if dtype.kind == "b" else -np.inf if "max" in reduce else np.inf


def _reduce_at(x, at, src, reduce, include_self):
    """Return a copy of x with src reduced into the positions `at`."""
    out = np.array(x, order="C")
    if not include_self:
        out[at] = _start(x.dtype, reduce)
    np_at = (
        UFUNC[reduce].at
        if x.dtype != bool or reduce not in ("sum", "prod", "mean")
        else {"sum": np.logical_or, "mean": np.logical_or, "prod": np.logical_and}[reduce].at
    )
    np_at(out, at, src)
    if reduce == "mean":
        count = np.zeros(x.shape, np.int64)
        np.add.at(count, at, 1)
        count = np.maximum(count + bool(include_self), 1)
        out = (
            out / count.astype(x.dtype if x.dtype.kind == "c" else count.dtype)
            if x.dtype.kind in "fc"
            else out // count
        )
    return out


@numpy("scatter_reduce", WHY)
def scatter_reduce(x, dim, index, src, reduce, include_self):
    shape = x.shape
    x, index, src = np.atleast_1d(x), np.atleast_1d(index), np.atleast_1d(src)
    check_places(index, x.shape[dim], dim)
    at = list(np.ogrid[tuple(slice(0, s) for s in index.shape)])
    at[dim] = index
    at = tuple(np.broadcast_arrays(*at))
    return _reduce_at(x, at, src[tuple(slice(0, s) for s in index.shape)], reduce, include_self).reshape(shape)


@numpy("index_reduce", WHY)
def index_reduce(x, dim, index, source, reduce, include_self):
    shape = x.shape
    x, source = np.atleast_1d(x), np.atleast_1d(source)
    index = index.reshape(-1)
    if index.size and (index.min() < 0 or index.max() >= x.shape[dim]):
        raise IndexError("index out of range in self")
    return _reduce_at(x, (slice(None),) * dim + (index,), source, reduce, include_self).reshape(shape)


@numpy("segment_reduce", "no primitive reduces segments of several rows")
def segment_reduce(x, reduce, lengths, indices, offsets, axis, unsafe, initial):
    rows = x.reshape((-1,) + x.shape[axis:])
    ends = lengths.reshape(-1, lengths.shape[-1]).cumsum(-1)
    out = np.empty((rows.shape[0], lengths.shape[-1]) + x.shape[axis + 1 :], x.dtype)
    start = _start(x.dtype, reduce) if initial is None else initial
    for row, stops, o in zip(rows, ends, out):
        for k, (a, b) in enumerate(zip([0, *stops[:-1]], stops)):
            v = UFUNC[reduce].reduce(row[a:b], 0, initial=start)
            o[k] = v if reduce != "mean" else np.nan if a == b and initial is None else v / (b - a) if a != b else v
    return out.reshape(lengths.shape + x.shape[axis + 1 :])
