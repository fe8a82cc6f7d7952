"""What differs on Ascend: refused dtypes, primitives without an Ascend kernel and what stands in, in-place primitives."""

from ...runtime import dtypes as dt
from ...runtime.registry import DECOMPOSITIONS, operators
from ..plan import Kernel
from .bindings import arity, exists, used

# aclnn gets these unfiltered from MindSpore and fails late: refuse at the call
REFUSED = {
    dt.complex32: "no aclnn kernel takes complex32",
    dt.complex128: "the NPU computes complex numbers in complex64 at most",
    dt.float64: "the NPU has no double precision units; convert to float32, or keep the tensor on the CPU",
    dt.uint16: "aclnn has no uint16",
    dt.uint32: "aclnn has no uint32",
    dt.uint64: "aclnn has no uint64",
}
# operators that write into their first argument without a copy
INPLACE = {
    "add": "InplaceAddExt",
    "sub": "InplaceSubExt",
    "mul": "InplaceMul",
    "div": "InplaceDiv",
    "index_put": "InplaceIndexPut",
    "index_add": "InplaceIndexAddExt",
    "index_copy": "InplaceIndexCopy",
    "scatter.src": "InplaceScatterSrc",
    "scatter.value": "InplaceScatterValue",
    "scatter_add": "InplaceScatterAdd",
}


def binding(op):
    """The kernel of an operator; one that has neither primitive nor function tells by `why` what is lacking."""
    if op.options.role == "draw":
        return Kernel("host", None, why="draws PyTorch's numbers, on the host, which are moved")
    if op.prim and exists(op.prim):
        return Kernel("pyboost", None, op.prim)
    fn = DECOMPOSITIONS.get(op.full)
    lacks = f"{op.prim or 'no primitive'} has no Ascend kernel"
    return Kernel("composite", fn, why=lacks) if fn is not None else Kernel("unsupported", None, why=lacks + " and nothing stands in")


def rows():
    """Rows (operator, primitive, kind, note) of every operator that has a kernel of its own."""
    found = []
    for o in operators():
        if o.fn is not None or o.geometry is not None or o.options.memory:
            continue
        kernel = binding(o)
        note = kernel.why
        if kernel.kind == "pyboost":
            have, n = arity(o.prim), used(o)
            if have is None and o.prim_call is None:
                note = "called without its constructor's arguments"
            elif have and n is not None and not have[0] <= n <= have[1]:
                note = f"called with {n} arguments, takes {have[0]} to {have[1]}"
        found.append((o.full, o.prim or "-", kernel.kind, note))
    return sorted(found)
