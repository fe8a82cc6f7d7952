"""The table of what stands in for a primitive on CPU: kind, reason, dtypes, and the size from which it pays.

With MINDTORCH_KERNELS=fastest what measured.py knows of NumPy's kernels goes before it.
"""

from collections import Counter

from ...runtime import dtypes as dt
from ...runtime.backend import CHOICE
from ...runtime.registry import DECOMPOSITIONS
from ..host import ALL, FLOATS, WIDER, dtype_set
from ..plan import KINDS, SPREAD, Kernel
from . import measured
from .primitives import TAKES

MOVES = Counter()
_entries = {}
_resolved = {}


def _kernel(kind, fn, primitive=None, dtypes=None, **rest):
    """A row of the table; dtypes are names, or None for those that a primitive was measured to take."""
    takes = TAKES.get(primitive, frozenset()) if dtypes is None else dtype_set(dtypes)
    return Kernel(kind, fn, primitive, takes, **rest)


def _add(names, kernel):
    for n in names.split() if isinstance(names, str) else names:
        _entries.setdefault(n, []).append(kernel)


def pyboost_(names, primitive, why, fn=None, dtypes=None, above=0, broadcasts=True, tensors=False):
    """Another PyBoost primitive, or other arguments, than the operator declares."""
    _add(names, _kernel("pyboost", fn, primitive, dtypes, why=why, above=above, broadcasts=broadcasts, tensors=tensors))


def legacy(names, primitive, why, fn=None, dtypes=None, above=0, broadcasts=True, init=(), tensors=False, **attrs):
    """A legacy primitive; fn(prim, *args) maps the operator's arguments, attrs go to the primitive's constructor."""
    _add(
        names,
        _kernel(
            "legacy",
            fn,
            primitive,
            dtypes,
            why=why,
            above=above,
            broadcasts=broadcasts,
            init=init,
            attrs=attrs,
            tensors=tensors,
        ),
    )


def composite(names, why, dtypes=ALL, above=0):
    """@composite("log2", why="..."): a function over dispatched operators (Tensors in, Tensor out)."""

    def deco(fn):
        _add(names, _kernel("composite", fn, None, dtypes, why=why, above=above))
        return fn

    return deco


def decomposed(names, why, dtypes=ALL, above=0):
    """The operator's decomposition, which every backend has (runtime/decompositions)."""
    for n in names.split():
        _add(n, _kernel("composite", DECOMPOSITIONS[n], None, dtypes, why=why, above=above))


def numpy(names, why, fn=None, dtypes=ALL, above=0, when=None):
    """numpy("erfinv", why="...", fn=f) or as a decorator: arrays in, array out."""
    if fn is not None:
        _add(names, _kernel("numpy", fn, None, dtypes, why=why, above=above, when=when))
        return fn

    def deco(f):
        _add(names, _kernel("numpy", f, None, dtypes, why=why, above=above))
        return f

    return deco


_quick = {}


def quick(names, fn=None, dtypes=FLOATS):
    """quick("mm", fn=np.matmul) or as a decorator: a NumPy kernel that is only for MINDTORCH_KERNELS=fastest;
    arrays in, array out.
    """

    def deco(f):
        for n in names.split():
            _quick.setdefault(n, []).append(_kernel("numpy", f, None, dtypes, why="measured as faster"))
        return f

    return deco if fn is None else deco(fn)


_without = {}


def without(names, why, dtypes=None):
    """The declared primitive must not be used on CPU (missing, wrong, leaking or slow), for all or some dtypes."""
    for n in names.split():
        _without[n] = (why, None if dtypes is None else dtype_set(dtypes))


def instead(names, why, fn, dtypes=ALL):
    """NumPy in the place of the operator's own primitive."""
    without(names, why)
    numpy(names, why, fn, dtypes)


def kernels(op):
    """The kernels of an operator in the order of preference."""
    ks = _resolved.get(op)
    if ks is None:
        ks = []
        bar = _without.get(op.full)
        takes = TAKES.get(op.prim)
        if takes and not (bar and bar[1] is None):
            ks.append(Kernel("pyboost", None, op.prim, takes - bar[1] if bar else takes, where=op.where))
        ks += _entries.get(op.full, ())
        if all(k.above or k.when for k in ks) and op.full in DECOMPOSITIONS:
            ks.append(_kernel("composite", DECOMPOSITIONS[op.full], dtypes=ALL, why="no primitive"))
        ks.sort(key=lambda k: KINDS.index(k.kind))
        _resolved[op] = ks
    return ks


def choose(op, dtype, large=False):
    """(kernel, dtype that it computes in): the first kernel that takes the dtype, or a wider one. large: those for
    large tensors go first.
    """
    found = [k for k in kernels(op) if k.when is None and (large or k.above == 0)]
    if large:
        found.sort(key=lambda k: k.above == 0)
    for wide in (dtype, *WIDER.get(dtype, ())):
        for k in found:
            if wide.np is not None and k.takes(wide):
                return k, wide
    raise NotImplementedError(
        f"\"{op.full}\" not implemented for '{dt.scalar_name(dtype)}' on device cpu: no kernel for dtype {dtype}"
    )


def preferred(op, dtype):
    """The kernel that some calls of the operator are preferred on, by their arguments, or None."""
    return next((k for k in kernels(op) if k.when is not None and k.takes(dtype)), None)


_switch = {}


def switches(op, dtype=None):
    """The number of elements from which another kernel is chosen (for one dtype), or None."""
    s = _switch.get((op, dtype), 0)
    if s == 0:
        above = [k.above for k in kernels(op) if k.above and (dtype is None or k.takes(dtype))]
        s = _switch[op, dtype] = min(above) if above else None
    return s


def ladder(op, dtype, fastest=CHOICE == "fastest"):
    """[(elements from which it is chosen, kernel, dtype that it computes in)], the first from 0 on.

    SPREAD stands for itself.
    """
    steps = [(0, *choose(op, dtype))]
    switch = switches(op, dtype if op.promote is not None else None)
    if switch is not None:
        steps.append((switch, *choose(op, dtype, True)))
    best = measured.kinds(op.full, dtype) if fastest else None
    kernel = numpy_kernel(op, dtype) if best else None
    return steps if kernel is None else _merged(steps, best, kernel, dtype)


def quick_kernels(op):
    """The NumPy kernels of an operator that are for `fastest` alone."""
    return _quick.get(op.full, [])


def numpy_kernel(op, dtype):
    """The NumPy kernel of an operator that takes the dtype as it is, whatever its size; None if there is none."""
    return next((k for k in (*quick_kernels(op), *kernels(op)) if k.kind == "numpy" and k.takes(dtype)), None)


def _merged(steps, best, kernel, dtype):
    """The ladder with `kernel` in the classes of size where it measured fastest."""
    spread = [s for s in steps if s[0] == SPREAD]
    steps, found = [s for s in steps if s[0] != SPREAD], []
    for (start, end), kind in zip(measured.CLASSES, best):
        if kind == "numpy":
            found.append((start, kernel, dtype))
        else:
            found.append((start, *[s for s in steps if s[0] <= start][-1][1:]))
            found += [s for s in steps if start < s[0] < end]
    found = [s for i, s in enumerate(found) if not i or s[1] is not found[i - 1][1]]
    return found + (spread if found[-1][1] is not kernel else [])


updates = {}


def update(names, why, dtypes=FLOATS):
    """@update("mul", why=...): fn(out, *args) computes an in-place elementwise operator within the tensor's NumPy
    alias.
    """

    def deco(fn):
        for n in names.split():
            updates[n] = _kernel("numpy", fn, None, dtypes, why=why)
        return fn

    return deco


_inplace = {}


def inplace(names):
    """@inplace("index_put"): moves bytes within a tensor's NumPy alias instead of computing a copy and writing it
    back.
    """

    def deco(fn):
        for n in names.split():
            _inplace[n] = fn
        return fn

    return deco


def inplace_kernel(op):
    return _inplace.get(op.full)
