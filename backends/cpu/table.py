"""The table of CPU kernels used instead of or besides primitives: kind, reason, dtypes and minimum size.

With MINDTORCH_KERNELS=fastest the measurements of NumPy's kernels (measured.py) take precedence. With pyboost, rows
whose reason is speed alone (above a size, for some arguments, in place) serve only the dtypes that no primitive takes,
and kernels/slow.py enters the primitives that the other modes leave out as slow.
"""

from collections import Counter

from ...runtime import dtypes as dt
from ...runtime.backend import CHOICE
from ...runtime.registry import DECOMPOSITIONS
from ..host import ALL, FLOATS, WIDER, dtype_set
from ..plan import KINDS, SPREAD, Kernel
from . import measured
from .primitives import TAKES

PYBOOST = CHOICE == "pyboost"  # no kernel is chosen for its speed
MOVES = Counter()
_entries = {}
_resolved = {}


def _kernel(kind, fn, primitive=None, dtypes=None, **rest):
    """Make a row of the table; dtypes are names, or None for the dtypes measured for the primitive."""
    takes = TAKES.get(primitive, frozenset()) if dtypes is None else dtype_set(dtypes)
    return Kernel(kind, fn, primitive, takes, **rest)


def _add(names, kernel):
    if PYBOOST and kernel.when:
        return
    if PYBOOST:
        kernel.above = 0
    for n in names.split() if isinstance(names, str) else names:
        _entries.setdefault(n, []).append(kernel)


def pyboost_(names, primitive, why, fn=None, dtypes=None, above=0, broadcasts=True, tensors=False):
    """Enter another PyBoost primitive, or other arguments, than the operator declares."""
    _add(names, _kernel("pyboost", fn, primitive, dtypes, why=why, above=above, broadcasts=broadcasts, tensors=tensors))


def legacy(names, primitive, why, fn=None, dtypes=None, above=0, broadcasts=True, init=(), tensors=False, **attrs):
    """Enter a legacy primitive.

    fn(prim, *args) maps the operator's arguments; attrs go to the primitive's constructor.
    """
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
    """Enter a function over dispatched operators (Tensors in, Tensor out): @composite("log2", why="...")."""

    def deco(fn):
        _add(names, _kernel("composite", fn, None, dtypes, why=why, above=above))
        return fn

    return deco


def decomposed(names, why, dtypes=ALL, above=0):
    """Enter the operator's decomposition, which every backend has (runtime/decompositions)."""
    for n in names.split():
        _add(n, _kernel("composite", DECOMPOSITIONS[n], None, dtypes, why=why, above=above))


def numpy(names, why, fn=None, dtypes=ALL, above=0, when=None):
    """Enter a function on arrays, by numpy("erfinv", why="...", fn=f) or as a decorator."""
    if fn is not None:
        _add(names, _kernel("numpy", fn, None, dtypes, why=why, above=above, when=when))
        return fn

    def deco(f):
        _add(names, _kernel("numpy", f, None, dtypes, why=why, above=above))
        return f

    return deco


_quick = {}


def quick(names, fn=None, dtypes=FLOATS):
    """Enter a NumPy kernel for MINDTORCH_KERNELS=fastest only, by quick("mm", fn=np.matmul) or as a decorator.

    The kernel is a function on arrays.
    """

    def deco(f):
        for n in names.split():
            _quick.setdefault(n, []).append(_kernel("numpy", f, None, dtypes, why="measured as faster"))
        return f

    return deco if fn is None else deco(fn)


_without = {}


def without(names, why, dtypes=None):
    """Do not use the declared primitive on CPU (missing, wrong, leaking or slow), for all or some dtypes."""
    for n in names.split():
        _without[n] = (why, None if dtypes is None else dtype_set(dtypes))


def instead(names, why, fn, dtypes=ALL):
    """Replace the operator's own primitive by a NumPy function."""
    without(names, why)
    numpy(names, why, fn, dtypes)


def kernels(op):
    """Return the kernels of an operator in order of preference."""
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
    """Return (kernel, dtype that it computes in): the first kernel that takes the dtype, or a wider one.

    large: prefer the kernels for large tensors.
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
    """Return the kernel that is used for some calls only, depending on the arguments, or None."""
    return next((k for k in kernels(op) if k.when is not None and k.takes(dtype)), None)


_switch = {}


def switches(op, dtype=None):
    """Return the number of elements from which another kernel is chosen (for one dtype), or None."""
    s = _switch.get((op, dtype), 0)
    if s == 0:
        above = [k.above for k in kernels(op) if k.above and (dtype is None or k.takes(dtype))]
        s = _switch[op, dtype] = min(above) if above else None
    return s


def ladder(op, dtype, fastest=CHOICE == "fastest"):
    """Return [(elements from which it is chosen, kernel, dtype that it computes in)], the first from 0 on.

    The number of elements may be SPREAD.
    """
    steps = [(0, *choose(op, dtype))]
    switch = switches(op, dtype if op.promote is not None else None)
    if switch is not None:
        steps.append((switch, *choose(op, dtype, True)))
    best = measured.kinds(op.full, dtype) if fastest else None
    kernel = numpy_kernel(op, dtype) if best else None
    return steps if kernel is None else _merged(steps, best, kernel, dtype)


def quick_kernels(op):
    """Return the NumPy kernels of an operator that only `fastest` uses."""
    return _quick.get(op.full, [])


def numpy_row(full):
    """Return the function on arrays that the table has for any size, by the operator's full name."""
    return next(k.fn for k in _entries[full] if k.kind == "numpy" and not k.above)


def numpy_kernel(op, dtype):
    """Return the NumPy kernel of an operator that takes the dtype itself, at any size, or None."""
    return next((k for k in (*quick_kernels(op), *kernels(op)) if k.kind == "numpy" and k.takes(dtype)), None)


def _merged(steps, best, kernel, dtype):
    """Return the ladder with `kernel` in the size classes where it measured fastest."""
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
    """Enter an in-place elementwise kernel, which is only faster: @update("mul", why=...).

    fn(out, *args) computes in the tensor's NumPy alias.
    """

    def deco(fn):
        for n in () if PYBOOST else names.split():
            updates[n] = _kernel("numpy", fn, None, dtypes, why=why)
        return fn

    return deco


_inplace = {}


def inplace(names):
    """Enter a function that moves bytes in a tensor's NumPy alias: @inplace("index_put").

    This avoids computing a copy and writing it back.
    """

    def deco(fn):
        for n in names.split():
            _inplace[n] = fn
        return fn

    return deco


def inplace_kernel(op):
    return _inplace.get(op.full)
