"""The one comparator of the differential tests: what a result of ours and the real torch's differ in.

Results are dicts and lists of numbers, strings, arrays, and what run_cases.plain makes of tensors, sizes and
exceptions.
"""

from itertools import islice

import numpy as np

# (relative, absolute), torch.testing.assert_close's own defaults; all other dtypes must be equal. Python's numbers are
# mostly float32's.
TOLERANCE = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
    "float": (1e-5, 1e-6),
}
STRICT = {"float32": (1.3e-6, 2e-6), "complex64": (1e-7, 1e-7)}  # a file of cases takes it by the name TOLERANCE
# For whole programs, which carry differences on; absolute in units of the largest value of the result
NEAR = (1e-3, 1e-5)
LATER = (1e-3, 1e-4)  # after optimizer steps
COARSE = (5e-2, 3e-2)  # bfloat16 through a whole model
MACHINES = (1e-3, 1e-3)  # the real torch on another processor, which adds in another order
SELF = (1e-5, 1e-6)  # other memory, other alignment: not always the same last bits
DRAWN = (1e-6, 1e-6)  # normal random numbers: a few units in the last place; all others are the same


def by_dtype(dtype, expected):
    return TOLERANCE.get(dtype, (0, 0))


def drift(ours, theirs, what, near=None):
    """The differences of two results of a program, by `near`; None: they must be equal."""
    floats = [
        np.abs(x).max() for _, x in leaves(theirs) if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size
    ]
    relative, absolute = (near[0], near[1] * max(floats, default=1)) if near else (0, 0)
    return differences(
        ours, theirs, what, lambda dtype, _: (relative, absolute) if dtype.startswith("float") else (0, 0)
    )


def tidy(x, values=True, strides=True):
    """A result to compare: of strides only those that say something, values and strides if they are wanted."""
    if isinstance(x, tuple) and x and x[0] == "tensor":
        said = tuple(s if n != 1 else None for n, s in zip(x[2], x[3])) if strides and 0 not in x[2] else None
        return (*x[:3], said, x[4], x[5] if values else None)
    return [tidy(v, values, strides) for v in x] if isinstance(x, list) else x


def leaves(x, where=""):
    """(path, value) of each value in dicts and lists of them."""
    if isinstance(x, (dict, list)):
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            yield from leaves(v, f"{where}[{k!r}]")
    else:
        yield where, x


def differences(ours, theirs, where="result", tolerance=by_dtype, strides=True):
    """A line for each difference.

    `tolerance` tells (relative, absolute) from the dtype's name and the expected value.
    """

    def compare(a, b, where):
        if isinstance(b, dict) and isinstance(a, dict) and a.keys() == b.keys():
            for k in b:
                yield from compare(a[k], b[k], f"{where}[{k!r}]")
        elif isinstance(b, dict) and isinstance(a, dict):
            yield (
                f"{where}: only ours {[k for k in a if k not in b][:20]}, "
                f"only expected {[k for k in b if k not in a][:20]}"
            )
        elif isinstance(b, list) and isinstance(a, list) and len(a) == len(b):
            for i, pair in enumerate(zip(a, b)):
                yield from compare(*pair, f"{where}[{i}]")
        elif is_tensor(a) and is_tensor(b):
            x, y = ([t[i] for i in ((1, 2, 3, 4) if strides else (1, 2, 4))] for t in (a, b))
            if x != y or (a[5] is None) != (b[5] is None):
                yield f"{where}: {x}, expected {y}"
            elif b[5] is not None:
                yield from arrays(a[5], b[5], where, b[1].removeprefix("torch."))
        elif isinstance(b, np.ndarray) and isinstance(a, np.ndarray):
            yield from arrays(a, b, where, b.dtype.name)
        elif isinstance(b, tuple) and b[:1] == ("raises",) and isinstance(a, tuple) and a[:2] == b[:2]:
            return  # messages may differ
        elif isinstance(b, tuple) and isinstance(a, tuple) and len(a) == len(b) and {type(a), type(b)} == {tuple}:
            for i, pair in enumerate(zip(a, b)):
                yield from compare(*pair, f"{where}[{i}]")
        elif isinstance(b, float) and type(a) in (float, int):
            rtol, atol = tolerance("float", b)
            if not (a == b or a != a and b != b or abs(a - b) <= max(rtol * abs(b), atol)):
                yield f"{where}: {a!r}, expected {b!r}"
        elif type(a) is not type(b) or a != b:
            yield f"{where}: {a!r:.600}, expected {b!r:.600}"

    def arrays(a, b, where, dtype):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            yield f"{where}: {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
            return
        rtol, atol = tolerance(dtype, b) if b.dtype.kind in "fc" else (0, 0)
        with np.errstate(all="ignore"):
            equal = np.isclose(a, b, rtol, atol, equal_nan=True) if rtol or atol else (a == b) | (a != a) & (b != b)
            if not equal.all():
                wrong = ~np.atleast_1d(equal)
                x, y = np.atleast_1d(a)[wrong], np.atleast_1d(b)[wrong]
                far = f", {np.fmax.reduce(np.abs(x - y)):.3g} off" if b.dtype.kind in "fc" else ""
                yield f"{where}: {x.size} of {a.size} differ{far}: {x[:8]}, expected {y[:8]}"

    return compare(ours, theirs, where)


def is_tensor(x):
    return isinstance(x, tuple) and x[:1] == ("tensor",)


def same(ours, theirs, where="result", tolerance=by_dtype, strides=True):
    """Assert that there are no differences."""
    found = list(islice(differences(ours, theirs, where, tolerance, strides), 8))
    assert not found, "\n".join(found)
