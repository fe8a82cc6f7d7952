"""What two results of a program differ in: dicts and lists of arrays and numbers."""

import numpy as np

# relative; and absolute, in units of the largest value of its kind
NEAR = (1e-3, 1e-5)
LATER = (1e-3, 1e-4)  # after optimizer steps, which carry differences on
COARSE = (5e-2, 3e-2)  # bfloat16 through a whole model
SELF = (1e-5, 1e-6)  # other memory, other alignment: not always the same last bits
DRAWN = (1e-6, 1e-6)  # normal random numbers: a few units in the last place; all others are the same


def leaves(x, where=""):
    """(path, value) of each value in dicts and lists of them."""
    if isinstance(x, (dict, list)) and x:
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            yield from leaves(v, f"{where}[{k!r}]")
    else:
        yield where, x


def differences(ours, theirs, what, near=None):
    """Lines that say where two results differ: integers never may, floats by `near` (relative, absolute)."""
    ours, theirs = dict(leaves(ours, what)), dict(leaves(theirs, what))
    if ours.keys() != theirs.keys():
        yield f"{what}: only one side has {sorted(ours.keys() ^ theirs.keys())}"
    floats = [np.abs(v).max() for v in theirs.values() if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size]
    for where in ours.keys() & theirs.keys():
        a, b = ours[where], theirs[where]
        if not isinstance(b, (np.ndarray, float)):
            if type(a) is not type(b) or a != b:
                yield f"{where}: {a!r}, expected {b!r}"
            continue
        a, b = np.asarray(a), np.asarray(b)
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            yield f"{where}: {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        elif b.dtype.kind != "f" or not near:
            if not np.array_equal(a, b, equal_nan=b.dtype.kind == "f"):
                yield f"{where}: {(a != b).sum()} of {a.size} differ: {a.ravel()[:12]}, expected {b.ravel()[:12]}"
        elif not np.allclose(a, b, near[0], near[1] * max(floats, default=1), equal_nan=True):
            yield f"{where}: {np.nanmax(np.abs(a - b)):.3g} off, the largest is {np.nanmax(np.abs(b)):.3g}"
