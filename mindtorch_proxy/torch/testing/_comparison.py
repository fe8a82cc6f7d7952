"""assert_close: checks that two values are equal up to the tolerances of their dtypes."""

import cmath
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from typing_extensions import deprecated

_DTYPE_PRECISIONS = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_NUMBERS = {int: torch.int64, float: torch.float64, complex: torch.complex128}


class _Mismatch(Exception):
    """A difference: an error of the class ``kind``, and the path of the item."""

    def __init__(self, kind, text, path=()):
        super().__init__(text)
        self.kind, self.text, self.path = kind, text, path

    def to_error(self, msg):
        text = self.text
        if self.path:
            text += f"\n\nThe failure occurred for item {''.join(str([p]) for p in self.path)}"
        return self.kind(msg(text) if callable(msg) else text if msg is None else msg)


def default_tolerances(*inputs, dtype_precisions=None):
    """Return (rtol, atol): the maxima of the tolerances of the inputs' dtypes."""
    dtypes = [x.dtype if isinstance(x, torch.Tensor) else x for x in inputs]
    for d in dtypes:
        if not isinstance(d, torch.dtype):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(d)} instead.")
    rtols, atols = zip(*((dtype_precisions or _DTYPE_PRECISIONS).get(d, (0.0, 0.0)) for d in dtypes))
    return max(rtols), max(atols)


def _tolerances(o, path, *inputs):
    rtol, atol = o["rtol"], o["atol"]
    if (rtol is None) != (atol is None):
        raise _Mismatch(
            ValueError,
            "Both 'rtol' and 'atol' must be either specified or omitted, "
            f"but got no {'rtol' if rtol is None else 'atol'}.",
            path,
        )
    return default_tolerances(*inputs) if rtol is None else (rtol, atol)


def _difference(kind, diff, index, tolerance, exact):
    text = (
        f"{kind.title()} difference: {diff}"
        if index is None
        else f"Greatest {kind} difference: {diff} at index {index}"
    )
    return text + ("" if exact else f" (up to {tolerance} allowed)")


def _mismatch_text(what, extra, absolute, relative, rtol, atol):
    exact = rtol == 0 and atol == 0
    return "\n".join(
        (
            f"{what} are not {'equal' if exact else 'close'}!\n",
            extra,
            _difference("absolute", *absolute, atol, exact),
            _difference("relative", *relative, rtol, exact),
        )
    )


def _scalar_text(actual, expected, rtol, atol, what="Scalars"):
    diff = abs(actual - expected)
    relative = float("inf") if expected == 0 else diff / abs(expected)
    return _mismatch_text(what, f"Expected {expected} but got {actual}.", (diff, None), (relative, None), rtol, atol)


def _tensor_text(actual, expected, matches, rtol, atol, what):
    total = matches.numel()
    wrong = total - int(matches.sum())
    extra = f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})"
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    diff = torch.abs(actual - expected).masked_fill(matches, 0)
    relative = (diff / torch.abs(expected)).masked_fill(matches, 0)

    def greatest(t):
        value, i = torch.max(t.flatten(), 0)
        return value.item(), tuple(int(k) for k in np.unravel_index(int(i), tuple(t.shape)))

    return _mismatch_text(what, extra, greatest(diff), greatest(relative), rtol, atol)


def _close(actual, expected, rtol, atol, equal_nan, path, what=None):
    matches = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if matches.all():
        return
    if actual.dtype.is_floating_point and actual.dtype.itemsize == 1:
        wrong, first = matches.numel() - int(matches.sum()), tuple(torch.nonzero(~matches)[0].tolist())
        text = (
            f"{what or 'Tensor-likes'} are not 'equal'!\n\nMismatched elements: {wrong} / {matches.numel()} "
            f"({wrong / matches.numel():.1%})\nThe first mismatched element is at index {first}."
        )
    elif actual.dim() == 0:
        text = _scalar_text(actual.item(), expected.item(), rtol, atol, what or "Scalars")
    else:
        text = _tensor_text(actual, expected, matches, rtol, atol, what or "Tensor-likes")
    raise _Mismatch(AssertionError, text, path)


class _TensorPair:
    def __init__(self, actual, expected, path, o):
        self.actual, self.expected, self.path, self.o = actual, expected, path, o
        self.rtol, self.atol = _tolerances(o, path, actual, expected)

    def compare(self):
        a, b, o = self.actual, self.expected, self.o
        for name, checked, get in (
            ("shape", True, lambda t: t.shape),
            ("layout", o["check_layout"], lambda t: t.layout),
            ("stride()", o["check_stride"], lambda t: t.stride()),
            ("device", o["check_device"], lambda t: t.device),
            ("dtype", o["check_dtype"], lambda t: t.dtype),
        ):
            if checked and get(a) != get(b):
                raise _Mismatch(
                    AssertionError, f"The values for attribute '{name}' do not match: {get(a)} != {get(b)}.", self.path
                )
        if "meta" in (a.device.type, b.device.type):
            return
        if a.device != b.device:
            a, b = a.cpu(), b.cpu()
        if a.dtype != b.dtype:
            unsigned = (torch.uint16, torch.uint32, torch.uint64)
            dtype = torch.promote_types(*(torch.int64 if t.dtype in unsigned else t.dtype for t in (a, b)))
            a, b = a.to(dtype), b.to(dtype)
        if a.layout != b.layout:
            a, b = (t if t.layout is torch.strided else t.to_dense() for t in (a, b))
        if a.dtype.is_floating_point and a.dtype.itemsize == 1 and (self.rtol, self.atol) != (0, 0):
            raise _Mismatch(
                AssertionError,
                f"Rtol={self.rtol} and atol={self.atol} are not supported for bitwise comparison of low dimensional "
                f"floats. Please use rtol=0.0 and atol=0.0.",
                self.path,
            )
        if a.is_sparse:
            for name, get in (("dimensions", lambda t: t.sparse_dim()), ("specified values", lambda t: t._nnz())):
                if get(a) != get(b):
                    raise _Mismatch(
                        AssertionError,
                        f"The number of {name} in sparse COO tensors does not match: {get(a)} != {get(b)}",
                        self.path,
                    )
            _close(a._indices(), b._indices(), 0, 0, False, self.path, "Sparse COO indices")
            _close(a._values(), b._values(), self.rtol, self.atol, o["equal_nan"], self.path, "Sparse COO values")
        elif a.layout in _COMPRESSED:
            self._compare_compressed(a, b, *_COMPRESSED[a.layout])
        else:
            _close(a, b, self.rtol, self.atol, o["equal_nan"], self.path)

    def _compare_compressed(self, a, b, layout, compressed, plain):
        if a._nnz() != b._nnz():
            text = f"The number of specified values in sparse {layout} tensors does not match: {a._nnz()} != {b._nnz()}"
            raise _Mismatch(AssertionError, text, self.path)
        for name in (compressed, plain):
            _close(getattr(a, name)(), getattr(b, name)(), 0, 0, False, self.path, f"Sparse {layout} {name}")
        _close(a.values(), b.values(), self.rtol, self.atol, self.o["equal_nan"], self.path, f"Sparse {layout} values")


_COMPRESSED = {
    torch.sparse_csr: ("CSR", "crow_indices", "col_indices"),
    torch.sparse_csc: ("CSC", "ccol_indices", "row_indices"),
    torch.sparse_bsr: ("BSR", "crow_indices", "col_indices"),
    torch.sparse_bsc: ("BSC", "ccol_indices", "row_indices"),
}


class _NumberPair:
    def __init__(self, actual, expected, path, o):
        self.actual, self.expected = (x.item() if isinstance(x, np.generic) else x for x in (actual, expected))
        self.path, self.o = path, o
        kinds = [next(d for t, d in _NUMBERS.items() if isinstance(x, t)) for x in (self.actual, self.expected)]
        self.rtol, self.atol = _tolerances(o, path, *kinds)

    def compare(self):
        a, b = self.actual, self.expected
        if self.o["check_dtype"] and type(a) is not type(b):
            raise _Mismatch(AssertionError, f"The (d)types do not match: {type(a)} != {type(b)}.", self.path)
        if a == b or (self.o["equal_nan"] and cmath.isnan(a) and cmath.isnan(b)):
            return
        diff = abs(a - b)
        if not (cmath.isfinite(diff) and diff <= self.atol + self.rtol * abs(b)):
            raise _Mismatch(AssertionError, _scalar_text(a, b, self.rtol, self.atol), self.path)


class _IdenticalPair:
    """A pair of None or of bools, which must be identical."""

    def __init__(self, actual, expected, path, what):
        self.args = actual, expected, path, what

    def compare(self):
        actual, expected, path, what = self.args
        if actual is not expected:
            raise _Mismatch(AssertionError, f"{what} mismatch: {actual} is not {expected}", path)


def _is_sequence(x):
    return isinstance(x, Sequence) and not isinstance(x, str)


def _pairs(actual, expected, path, o):
    """Yield the pairs to compare, recursively for sequences and mappings."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Mismatch(
                AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path
            )
        for i in range(len(actual)):
            yield from _pairs(actual[i], expected[i], (*path, i), o)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, extra = set(expected) - set(actual), set(actual) - set(expected)
        if missing or extra:
            raise _Mismatch(
                AssertionError,
                "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                f"{sorted(missing)}\nAdditional keys in the actual mapping: {sorted(extra)}",
                path,
            )
        for key in (
            sorted(actual, key=lambda k: (type(k).__name__, k))
            if all(isinstance(k, (str, int)) for k in actual)
            else actual
        ):
            yield from _pairs(actual[key], expected[key], (*path, key), o)
    else:
        yield _leaf_pair(actual, expected, path, o)


def _leaf_pair(actual, expected, path, o):
    if actual is None or expected is None:
        return _IdenticalPair(actual, expected, path, "None")
    both = actual, expected
    if all(isinstance(x, (bool, np.bool_)) for x in both):
        return _IdenticalPair(bool(actual), bool(expected), path, "Booleans")
    if all(isinstance(x, (int, float, complex, np.number)) for x in both):
        return _NumberPair(actual, expected, path, o)
    sparse = all(getattr(x, "layout", torch.strided) is not torch.strided for x in both)  # each layout has a class here
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual)) or sparse
    if related and (o["allow_subclasses"] or type(actual) is type(expected)):
        try:
            return _TensorPair(*(x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in both), path, o)
        except (TypeError, ValueError, RuntimeError):
            if isinstance(actual, torch.Tensor):
                raise
    raise _Mismatch(
        TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", path
    )


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raise AssertionError unless tensors, numbers, or containers of them are equal up to the tolerances."""
    __tracebackhide__ = True
    options = {
        "allow_subclasses": allow_subclasses,
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_device": check_device,
        "check_dtype": check_dtype,
        "check_layout": check_layout,
        "check_stride": check_stride,
    }
    try:
        pairs = list(_pairs(actual, expected, (), options))
    except _Mismatch as e:  # the structures of the inputs differ: msg is not used, as in PyTorch
        raise e.to_error(None) from None
    for pair in pairs:
        try:
            pair.compare()
        except _Mismatch as e:
            raise e.to_error(msg) from None


@deprecated(
    "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
    "Please use `torch.testing.assert_close()` instead.",
    category=FutureWarning,
)
def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Run ``assert_close`` with looser defaults and without comparing dtypes. Deprecated."""
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(
            actual,
            expected,
            dtype_precisions={torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)},
        )
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
