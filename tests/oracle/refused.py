"""Calls that differ from a sample of PyTorch's own in one argument: most of them are refused, some are not.

refused(name, folder)  in the real torch: samples as plain data, each with what the real torch gives for its variants
outcomes(torch, sample)  the same for either torch: {variant: outcome}
"""

import numpy as np
from samples import DTYPES, as_data, attempt, decode, infos, resolve, tensors

SAMPLES = 2  # of each OpInfo
CRASHING = "lu_unpack", "native_batch_norm"  # the real torch reads beyond its memory there
OTHER_DTYPES = "bool", "int64", "complex64", "float16"


def with_memory(shape, dtype, fill):
    """A contiguous tensor of the given shape as plain data, whose elements are `fill`."""
    names = {"bfloat16": "uint16"}
    elements = np.full(int(np.prod(shape)), fill, getattr(np, names.get(dtype, dtype).replace("bool", "bool_")))
    stride, strides = 1, []
    for n in reversed(shape):
        strides.insert(0, stride)
        stride *= max(n, 1)
    raw = elements.tobytes() if elements.size else b""
    return ("tensor", f"torch.{dtype}", raw, tuple(shape), tuple(strides), False)


def other_tensors(value):
    """Yield (what is changed, tensor as plain data) for a tensor as plain data."""
    dtype, shape = value[1].removeprefix("torch."), list(value[3])
    for other in OTHER_DTYPES:
        if other != dtype:
            yield other, with_memory(shape, other, 1)
    shapes = {"no dimension": [], "one more": [1, *shape], "longer": [*shape[:-1], 7], "empty": [*shape[:-1], 0]}
    if shape:
        shapes |= {"one less": shape[1:], "first longer": [shape[0] + 1, *shape[1:]], "four": [2, 3, 4, 5]}
    for what, other in shapes.items():
        if other != shape:
            yield what, with_memory(other, dtype, 1)
    yield "None", ("value", None)
    yield "number", ("value", 2)


def other_values(value):
    """Yield (what is changed, value as plain data) for an argument that is no tensor."""
    kind, v = value[:2]
    if kind in ("list", "tuple", "Size"):
        yield "shorter", (kind, v[:-1])
        yield "longer", (kind, [*v, *(v[-1:] or [("value", 1)])])
        yield "nothing", (kind, [])
        for what, other in list(other_values(v[0]) if v and v[0][0] == "value" else ()):
            yield f"first {what}", (kind, [other, *v[1:]])
    elif kind == "value" and isinstance(v, (bool, np.bool_)):
        yield "not", ("value", not v)
        yield "text", ("value", "x")
    elif kind == "value" and isinstance(v, (int, float, complex, np.generic)):
        for other in (-1, 0, 50, -50, 2.5, 1 + 2j, "x", None, True):
            if other != v or type(other) is not type(v):
                yield repr(other), ("value", other)
    elif kind == "value" and isinstance(v, str):
        yield "unknown", ("value", "nonsense")
        yield "number", ("value", 1)
    elif kind == "value" and v is None:
        yield "one", ("value", 1)
        yield "text", ("value", "x")
    elif kind == "named":
        yield "int32", ("named", "torch.dtype", "torch.int32")
        yield "number", ("value", 1)


def variants(sample):
    """Yield (label, args, kwargs), as plain data, that differ from a sample's in one place."""
    (kind, args), (_, kwargs) = sample["args"], sample["kwargs"]
    places = [*enumerate(args), *kwargs.items()]
    for place, value in places:
        for what, other in other_tensors(value) if value[0] == "tensor" else other_values(value):
            changed = list(args), dict(kwargs)
            changed[isinstance(place, str)][place] = other
            yield f"{place}: {what}", (kind, changed[0]), ("dict", changed[1])
    yield "one more", (kind, [*args, ("value", "x")]), ("dict", kwargs)
    yield "by another name", (kind, args), ("dict", kwargs | {"nonsense": ("value", 1)})
    if args:
        yield "one less", (kind, args[:-1]), ("dict", kwargs)


def outcomes(torch, sample):
    """What the variants of a sample give: the error, or dtypes and shapes."""
    f = resolve(torch, sample["name"])

    def call(args, kwargs):
        args, kwargs = decode(torch, args), decode(torch, kwargs)
        given = [f"a[{i}]" for i in range(len(args))] + [f"{name}=k[{name!r}]" for name in kwargs]
        result = eval(f"f({', '.join(given)})", {"f": f, "a": args, "k": kwargs})  # as a program writes it
        return ["gives", *(f"{t.dtype} {list(t.shape)}" for t in tensors(torch, result))]

    with torch.no_grad():
        return {label: attempt(call, args, kwargs) for label, args, kwargs in variants(sample)}


def refused(name, folder):
    import torch

    result = []
    for info in infos(name):
        dtype = next((d for d in (getattr(torch, d) for d in DTYPES) if d in info.supported_dtypes("cpu")), None)
        if dtype is None or name in CRASHING:
            continue
        torch.manual_seed(0)
        for s in list(info.sample_inputs("cpu", dtype))[:SAMPLES]:
            if (sample := as_data(torch, name, s)) is not None:
                result.append((sample, outcomes(torch, sample)))
    return result
