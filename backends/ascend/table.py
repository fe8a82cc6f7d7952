"""The table of differences on Ascend.

It holds other primitives or arguments than the operators declare, refused dtypes, in-place primitives and replacements
for missing ones.
"""

import os

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.registry import DECOMPOSITIONS, operators
from ..host import WIDER, dtype_set
from ..plan import Kernel
from . import chips
from .bindings import arity, exists, used
from .primitives import TAKES
from .substitutes import SUBSTITUTES

REFUSED = {
    dt.complex32: "no aclnn function computes in complex32",
    dt.uint16: "aclnn has no arithmetic in uint16",
    dt.uint32: "aclnn has no arithmetic in uint32",
    dt.uint64: "aclnn has no arithmetic in uint64",
}
# in-place operators: the primitive that writes into its first argument, and a function that calls it with the
# operator's arguments
INPLACE = {
    "add": ("InplaceAddExt", lambda prim, a, b, alpha=1: prim(a, b, alpha)),
    "sub": ("InplaceSubExt", lambda prim, a, b, alpha=1: prim(a, b, alpha)),
    "mul": ("InplaceMul", lambda prim, a, b: prim(a, b)),
}
ANY_RANK = {"_distinct"}  # operators that take 0-d tensors although they have an argument `dim`
# whether operators without an Ascend kernel run on the CPU, with copies there and back
FALLBACK = os.environ.get("MINDTORCH_NPU_FALLBACK", "").lower() == "cpu"
_inplace: dict = {}
_unless: dict = {}
_kernels: dict = {}  # full name of an operator -> the kernel used instead of the declared primitive


def pyboost_(names, primitive, why, fn=None, dtypes=None, broadcasts=True):
    """Enter another primitive or other arguments than the operators declare; fn(prim, *args) maps the arguments."""
    for name in names.split():
        _kernels[name] = Kernel(
            "pyboost", fn, primitive, None if dtypes is None else dtype_set(dtypes), why=why, broadcasts=broadcasts
        )


def unless(names, predicate, why, fn=None):
    """Enter a kernel for arguments that the primitive does not take.

    fn, or the decomposition where fn is None, is used for calls for which predicate(*args) is true.
    """
    for name in names.split():
        kernel = Kernel("composite", fn or DECOMPOSITIONS[name], why=why)
        depends(name, lambda *args, kernel=kernel: kernel if predicate(*args) else None)


def depends(name, choose):
    """Enter choose(*args), which returns the kernel for these arguments, or None for the one of all others."""
    _unless[name] = choose


def unfit(op, args):
    """Return the kernel for arguments that the primitive does not take, or None if it takes them."""
    choose = _unless.get(op.full)
    return None if choose is None else choose(*args)


def conditional(op):
    """Whether the kernel depends on the arguments of the call."""
    return op.full in _unless


def inplace(names, primitive):
    """Decorate fn(prim, *args), which writes into its first argument: @inplace("index_put", PRIMITIVE).

    The out-of-place operator runs fn on a copy.
    """

    def deco(fn):
        def copied(prim, x, *args):
            x = pyboost.primitive("Clone", target="Ascend")(x)
            fn(prim, x, *args)
            return x

        for name in names.split():
            _inplace[name] = primitive, fn
            pyboost_(name, primitive, "writes into its first argument", copied)
        return fn

    return deco


def inplace_kernel(op):
    """Return (primitive, fn) of an operator with a primitive that writes into its first argument, or None."""
    return _inplace.get(op.full)


def composite(names, why):
    """Decorate a function over dispatched operators (Tensors in, Tensor out).

    It replaces the decomposition that every backend has.
    """

    def deco(fn):
        for name in names.split():
            _kernels[name] = Kernel("composite", fn, why=why)
        return fn

    return deco


def kernel(op):
    """Return the kernel of an operator; `why` of an unsupported one names what is missing."""
    if op.full in _kernels:
        return _kernels[op.full]
    if op.options.role == "draw":
        return Kernel("host", None, why="draws PyTorch's numbers, on the host, which are moved")
    if op.prim and exists(op.prim):
        return Kernel("pyboost", None, op.prim, where=op.where)
    fn = DECOMPOSITIONS.get(op.full)
    lacks = f"{op.prim} has no Ascend kernel" if op.prim else "MindSpore has no primitive for it"
    return (
        Kernel("composite", fn, why=lacks)
        if fn is not None
        else Kernel("unsupported", None, why=lacks + " and nothing stands in")
    )


def kernels(op):
    """Return the kernels of an operator in order of preference."""
    first, fn = kernel(op), DECOMPOSITIONS.get(op.full)
    return (
        [first]
        if fn is None or first.fn is fn
        else [first, Kernel("composite", fn, why="for dtypes that the first does not take")]
    )


def stated(k):
    """Return the dtypes that a kernel takes, or None where it takes all."""
    return k.dtypes or (TAKES.get(k.primitive) if k.kind == "pyboost" else None)


def check(op, dtype):
    """Raise NotImplementedError for a dtype that no tensor on an NPU can have."""
    name = op.full if op else "empty"
    if dtype in REFUSED:
        raise NotImplementedError(f"{name}: dtype {dtype} is not supported on device npu: {REFUSED[dtype]}")
    chips.check_bfloat16(dtype, name)


def choose(op, dtype, instead=None):
    """Return (kernel, dtype that it computes in) for an operator and a dtype.

    The kernel is the declared one or the decomposition, whichever takes the dtype first, or else the declared one in a
    wider dtype. Where the chip lacks the primitive, _by_chip decides. instead: the kernel that the arguments require.
    """
    check(op, dtype)
    if instead is not None:
        return instead, dtype
    k = kernel(op)
    takes = stated(k)
    if k.kind == "pyboost" and (lacking := _by_chip(op, k, dtype)) is not None:
        return lacking, dtype
    if k.kind in ("pyboost", "composite"):
        if takes is None or dtype in takes:
            return k, dtype
        if op.full in DECOMPOSITIONS and k.primitive is not None:
            return Kernel("composite", DECOMPOSITIONS[op.full], why=f"{k.primitive} takes no {dtype}"), dtype
        for wide in WIDER.get(dtype, ()):
            if wide in takes:
                return k, wide
    why = k.why if k.kind == "unsupported" else f"CANN states no {dtype} for {k.primitive}"
    return _on_cpu(op, dtype, why, k.why or f"{k.primitive} takes no {dtype}"), dtype


def _on_cpu(op, dtype, why, short=None):
    """Return the kernel that runs on the CPU if MINDTORCH_NPU_FALLBACK asks for it, else raise with the reason."""
    if FALLBACK:
        return Kernel("fallback", None, why=short or why)
    raise NotImplementedError(f"{op.full}: no kernel for dtype {dtype} on device npu: {why}")


def _by_chip(op, k, dtype):
    """Return what computes an operator whose primitive the chip lacks, or None where that is tried.

    A formula of a gradient stands in for every line of the table, a substitute for people's reports alone: pages slip,
    and a primitive that a page leaves out may run.
    """
    row = chips.limit(k.primitive, dtype)
    if row is None or not chips.gives_way(row):
        return None
    fn = SUBSTITUTES.get(op.full) if row.confidence != "stated" else None
    if fn is None and op.full.endswith("_backward"):
        fn = DECOMPOSITIONS.get(op.full)
    if fn is not None:
        return Kernel("composite", fn, why=chips.sentence(row))
    return _on_cpu(op, dtype, chips.sentence(row)) if chips.refused(row) else None


def bound():
    """Return the primitives that operators are bound to, including in-place ones."""
    kernels = [kernel(o) for o in operators() if o.fn is None and o.geometry is None and not o.options.memory]
    return {k.primitive for k in kernels if k.kind == "pyboost"} | {
        p for p, _ in (*INPLACE.values(), *_inplace.values())
    }


def rows():
    """Return rows (operator, primitive, kind, note) of all operators that need a kernel."""
    found = []
    for o in operators():
        if o.fn is not None or o.geometry is not None or o.options.memory:
            continue
        k = kernel(o)
        note = k.why
        if k.kind == "pyboost" and k.fn is None:
            have, n = arity(k.primitive), used(o)
            if have is None and o.prim_call is None:
                note = "called without its constructor's arguments"
            elif have and n is not None and not have[0] <= n <= have[1]:
                note = f"called with {n} arguments, takes {have[0]} to {have[1]}"
        found.append((o.full, k.primitive or o.prim or "-", k.kind, note))
    return sorted(found)
