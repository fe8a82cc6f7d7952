"""What differs on Ascend: other primitives or arguments than the operators declare, dtypes that are refused, in-place
primitives, what stands in.
"""

import os

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.registry import DECOMPOSITIONS, operators
from ..host import WIDER, dtype_set
from ..plan import Kernel
from .bindings import arity, exists, used
from .primitives import TAKES

REFUSED = {
    dt.complex32: "no aclnn function computes in complex32",
    dt.uint16: "aclnn has no arithmetic in uint16",
    dt.uint32: "aclnn has no arithmetic in uint32",
    dt.uint64: "aclnn has no arithmetic in uint64",
}
# operators that write into their first argument without a copy: the primitive, and how it takes the operator's
# arguments
INPLACE = {
    "add": ("InplaceAddExt", lambda prim, a, b, alpha=1: prim(a, b, alpha)),
    "sub": ("InplaceSubExt", lambda prim, a, b, alpha=1: prim(a, b, alpha)),
    "mul": ("InplaceMul", lambda prim, a, b: prim(a, b)),
}
ANY_RANK = {"_distinct"}  # take a tensor without dimensions as it is, though they have an argument `dim`
# operators without an Ascend kernel run on the CPU, copied there and back, and are counted
FALLBACK = os.environ.get("MINDTORCH_NPU_FALLBACK", "").lower() == "cpu"
_inplace: dict = {}
_unless: dict = {}
_kernels: dict = {}  # operator's full name -> the kernel that is called instead of the declared primitive


def pyboost_(names, primitive, why, fn=None, dtypes=None, broadcasts=True):
    """Another primitive, or other arguments, than the operator declares; fn(prim, *args) maps them."""
    for name in names.split():
        _kernels[name] = Kernel(
            "pyboost", fn, primitive, None if dtypes is None else dtype_set(dtypes), why=why, broadcasts=broadcasts
        )


def unless(names, predicate, why, fn=None):
    """fn, or the decomposition, stands in where predicate(*args) is true: arguments that the primitive does not
    take.
    """
    for name in names.split():
        _unless[name] = predicate, Kernel("composite", fn or DECOMPOSITIONS[name], why=why)


def unfit(op, args):
    """The kernel for arguments that the primitive does not take, or None."""
    found = _unless.get(op.full)
    return found[1] if found and found[0](*args) else None


def conditional(op):
    """Whether the kernel depends on the arguments of the call."""
    return op.full in _unless


def inplace(names, primitive):
    """@inplace("index_put", PRIMITIVE): fn(prim, *args) writes into its first argument;
    as an operator it runs on a copy of that.
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
    """(primitive, fn) of an operator that has one which writes into its first argument, or None."""
    return _inplace.get(op.full)


def composite(names, why):
    """A function over dispatched operators (Tensors in, Tensor out), where the decomposition that every backend has is
    not it.
    """

    def deco(fn):
        for name in names.split():
            _kernels[name] = Kernel("composite", fn, why=why)
        return fn

    return deco


def kernel(op):
    """The kernel of an operator; one that has neither primitive nor function tells by `why` what is lacking."""
    if op.options.role == "draw":
        return Kernel("host", None, why="draws PyTorch's numbers, on the host, which are moved")
    if op.full in _kernels:
        return _kernels[op.full]
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
    """The kernels of an operator in the order of preference."""
    first, fn = kernel(op), DECOMPOSITIONS.get(op.full)
    return (
        [first]
        if fn is None or first.fn is fn
        else [first, Kernel("composite", fn, why="for dtypes that the first does not take")]
    )


def stated(k):
    """The dtypes that a kernel takes, or None where none are refused."""
    return k.dtypes or (TAKES.get(k.primitive) if k.kind == "pyboost" else None)


def check(op, dtype):
    """NotImplementedError for a dtype that no tensor on an NPU has."""
    if dtype in REFUSED:
        raise NotImplementedError(
            f"{op.full if op else 'empty'}: dtype {dtype} is not supported on device npu: {REFUSED[dtype]}"
        )


def choose(op, dtype, instead=None):
    """(kernel, dtype that it computes in): of the declared kernel and the decomposition the first that takes the dtype,
    or a wider one.

    instead: the kernel that the arguments ask for.
    """
    check(op, dtype)
    if instead is not None:
        return instead, dtype
    k = kernel(op)
    takes = stated(k)
    if k.kind in ("pyboost", "composite"):
        if takes is None or dtype in takes:
            return k, dtype
        if op.full in DECOMPOSITIONS and k.primitive is not None:
            return Kernel("composite", DECOMPOSITIONS[op.full], why=f"{k.primitive} takes no {dtype}"), dtype
        for wide in WIDER.get(dtype, ()):
            if wide in takes:
                return k, wide
    if FALLBACK:
        return Kernel("fallback", None, why=k.why or f"{k.primitive} takes no {dtype}"), dtype
    why = k.why if k.kind == "unsupported" else f"CANN states no {dtype} for {k.primitive}"
    raise NotImplementedError(f"{op.full}: no kernel for dtype {dtype} on device npu: {why}")


def bound():
    """The primitives that operators are bound to, in place too."""
    kernels = [kernel(o) for o in operators() if o.fn is None and o.geometry is None and not o.options.memory]
    return {k.primitive for k in kernels if k.kind == "pyboost"} | {
        p for p, _ in (*INPLACE.values(), *_inplace.values())
    }


def rows():
    """Rows (operator, primitive, kind, note) of every operator that has a kernel of its own."""
    found = []
    for o in operators():
        if o.fn is not None or o.geometry is not None or o.options.memory:
            continue
        k = kernel(o)
        note = k.why
        if k.kind == "pyboost" and k.fn is None:
            have, n = arity(o.prim), used(o)
            if have is None and o.prim_call is None:
                note = "called without its constructor's arguments"
            elif have and n is not None and not have[0] <= n <= have[1]:
                note = f"called with {n} arguments, takes {have[0]} to {have[1]}"
        found.append((o.full, k.primitive or o.prim or "-", k.kind, note))
    return sorted(found)
