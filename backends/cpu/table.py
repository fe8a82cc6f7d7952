"""The table of what stands in for a primitive on CPU: kind, reason, dtypes, and the size from which it pays."""

from collections import Counter
from functools import partial

from ...runtime import dtypes as dt
from ...runtime import pyboost
from .primitives import DTYPES

CODES = {
    "b": dt.bool_,
    "B": dt.uint8,
    "a": dt.int8,
    "s": dt.int16,
    "i": dt.int32,
    "l": dt.int64,
    "e": dt.float16,
    "z": dt.bfloat16,
    "f": dt.float32,
    "d": dt.float64,
    "F": dt.complex64,
    "D": dt.complex128,
    "t": dt.uint16,
    "u": dt.uint32,
    "v": dt.uint64,
    "x": dt.float8_e4m3fn,
    "y": dt.float8_e5m2,
    "w": dt.float8_e4m3fnuz,
    "q": dt.float8_e5m2fnuz,
    "E": dt.complex32,
}
ALL, INTS, FLOATS, COMPLEXES, REALS = "".join(CODES), "Basil", "fd", "FD", "Basilfd"
# where a kernel lacks a dtype: the wider ones in which the result is the same
WIDER = {
    dt.float16: (dt.float32, dt.float64),
    dt.bfloat16: (dt.float32, dt.float64),
    dt.float32: (dt.float64,),
    dt.complex64: (dt.complex128,),
    dt.bool_: (dt.uint8, dt.int32, dt.int64, dt.float32),
    dt.uint8: (dt.int16, dt.int32, dt.int64),
    dt.int8: (dt.int16, dt.int32, dt.int64),
    dt.int16: (dt.int32, dt.int64),
    dt.int32: (dt.int64,),
}
MOVES = Counter()
# operators that compute nothing from tensors: the report counts them apart
ROLES = {"_full": "fill", "_arange": "fill", "_linspace": "fill", "_draw": "draw"}
# above=SPREAD: preferred for a large result over which some operand must be spread
SPREAD = float("inf")
_entries = {}
_resolved = {}


class Kernel:
    """One way to compute an operator.

    kind: pyboost, legacy, composite or numpy. fn: for pyboost and legacy a primitive's name, or a function (prim, *args) where `primitive`
    names it. dtypes: codes it takes. why: the reason a later kind stands in. above: elements from which it is preferred, or 0.
    tensors: fn takes the runtime's tensors, because it looks at strides, or at values on the host, before it calls the primitive.
    """

    __slots__ = ("kind", "fn", "primitive", "init", "attrs", "dtypes", "why", "above", "broadcasts", "tensors")

    def __init__(self, kind, fn, primitive=None, dtypes=None, why="", above=0, broadcasts=True, init=(), attrs=None, tensors=False):
        self.kind, self.fn, self.primitive, self.why, self.above, self.broadcasts = kind, fn, primitive, why, above, broadcasts
        self.init, self.attrs, self.tensors = init, attrs or {}, tensors
        codes = dtypes if dtypes is not None else DTYPES.get(primitive, "") if kind in ("pyboost", "legacy") else ALL
        self.dtypes = frozenset(CODES[c] for c in codes)

    def takes(self, dtype):
        return dtype in self.dtypes

    def bind(self, op):
        if self.kind in ("pyboost", "legacy") and self.primitive:
            prim = pyboost.primitive(self.primitive, *self.init, legacy=self.kind == "legacy", **self.attrs)
            mapping = self.fn or (op.prim_call if self.kind == "pyboost" and op.prim == self.primitive else None)
            if mapping is None:
                return prim
            return partial(mapping, prim)
        return self.fn


def _add(names, kernel):
    for n in names.split() if isinstance(names, str) else names:
        _entries.setdefault(n, []).append(kernel)


def pyboost_(names, primitive, why, fn=None, dtypes=None, above=0, broadcasts=True, tensors=False):
    """Another PyBoost primitive, or other arguments, than the operator declares."""
    _add(names, Kernel("pyboost", fn, primitive, dtypes, why, above, broadcasts, tensors=tensors))


def legacy(names, primitive, why, fn=None, dtypes=None, above=0, broadcasts=True, init=(), **attrs):
    """A legacy primitive; fn(prim, *args) maps the operator's arguments, attrs go to the primitive's constructor."""
    _add(names, Kernel("legacy", fn, primitive, dtypes, why, above, broadcasts, init, attrs))


def composite(names, why, dtypes=ALL, above=0):
    """@composite("log2", why="..."): a function over dispatched operators (Tensors in, Tensor out)."""

    def deco(fn):
        _add(names, Kernel("composite", fn, None, dtypes, why, above))
        return fn

    return deco


def numpy(names, why, fn=None, dtypes=ALL, above=0):
    """numpy("erfinv", why="...", fn=f) or as a decorator: arrays in, array out."""
    if fn is not None:
        _add(names, Kernel("numpy", fn, None, dtypes, why, above))
        return fn

    def deco(f):
        _add(names, Kernel("numpy", f, None, dtypes, why, above))
        return f

    return deco


_without = {}


def without(names, why, dtypes=None):
    """The declared primitive must not be used on CPU (missing, wrong, leaking or slow), for all or some dtypes."""
    for n in names.split():
        _without[n] = (why, None if dtypes is None else frozenset(CODES[c] for c in dtypes))


def kernels(op):
    """The kernels of an operator in the order of preference."""
    ks = _resolved.get(op)
    if ks is None:
        ks = []
        bar = _without.get(op.full)
        codes = DTYPES.get(op.prim)
        if op.prim and codes and not (bar and bar[1] is None):
            k = Kernel("pyboost", None, op.prim, codes)
            if bar:
                k.dtypes = k.dtypes - bar[1]
            ks.append(k)
        ks += _entries.get(op.full, ())
        rank = {"pyboost": 0, "legacy": 1, "composite": 2, "numpy": 3}
        ks.sort(key=lambda k: rank[k.kind])
        _resolved[op] = ks
    return ks


_switch = {}


def switches(op, dtype=None):
    """The number of elements from which another kernel is chosen (for one dtype), or None."""
    s = _switch.get((op, dtype), 0)
    if s == 0:
        above = [k.above for k in kernels(op) if k.above and (dtype is None or k.takes(dtype))]
        s = _switch[op, dtype] = min(above) if above else None
    return s


updates = {}


def update(names, why, above, dtypes=FLOATS):
    """@update("mul", why=..., above=2048): fn(out, *args) computes an in-place elementwise operator within the tensor's NumPy alias."""

    def deco(fn):
        for n in names.split():
            updates[n] = Kernel("numpy", fn, None, dtypes, why, above)
        return fn

    return deco


_inplace = {}


def inplace(names):
    """@inplace("index_put"): moves bytes within a tensor's NumPy alias instead of computing a copy and writing it back."""

    def deco(fn):
        for n in names.split():
            _inplace[n] = fn
        return fn

    return deco


def inplace_kernel(op):
    return _inplace.get(op.full)
