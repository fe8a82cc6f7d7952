"""What differs on Ascend: refused dtypes, primitives without an Ascend kernel and what stands in, in-place primitives."""

from ...runtime import dtypes as dt

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

# no kernel of its own is ever asked for: drawn on the host, whose stream is PyTorch's, then moved
DRAWN = frozenset(("_draw", *("_C." + n for n in "_bernoulli multinomial poisson binomial _standard_gamma _sample_dirichlet".split())))


def binding(op):
    """(kind, primitive or function, reason) of an operator: pyboost, composite, host, or None where it is unsupported."""
    from .bindings import exists

    if op.full in DRAWN:
        return "host", None, "draws PyTorch's numbers, which are moved"
    if op.prim and exists(op.prim):
        return "pyboost", op.prim, ""
    fn = composites().get(op.full)
    if fn is not None:
        return "composite", fn, f"{op.prim or 'no primitive'} has no Ascend kernel"
    return None, None, f"{op.prim or 'no primitive'} has no Ascend kernel and nothing stands in"


_composites = None


def composites():
    """Functions over dispatched operators, shared with the CPU's table: they name no device."""
    global _composites
    if _composites is None:
        from ..cpu import table as cpu

        _composites = {name: k.fn for name, ks in cpu._entries.items() for k in ks if k.kind == "composite"}
    return _composites
