"""Table entries of operators whose primitive needs other arguments on Ascend than the operator declares.

Some of them correct wrong results of a primitive.
"""

import functools

import numpy as np

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.device import device as Device
from ...runtime.ops.creation import arange_size
from ...runtime.ops.resample import UPSAMPLE
from ...runtime.registry import T
from ...runtime.tensor import wrap
from ..host import ms_dtype_of, number_array
from . import devices
from .table import composite, inplace, pyboost_, unless

primitive = functools.partial(pyboost.primitive, target="Ascend")


@functools.lru_cache(64)
def filled(shape, value, ms_dtype):
    """Return a cached tensor filled with one number; its users do not write into it."""
    return primitive("FillScalar")(shape, value, ms_dtype)


def copied(prim, x, *args):
    """Call a primitive that writes into its first argument, on a copy of that argument."""
    x = primitive("Clone")(x)
    prim(x, *args)
    return x


# ---------------------------------------------------------------- indexing
def _present(indices):
    """Replace None among the indices.

    For a dimension that is not indexed, aclnn takes a tensor with nine dimensions and no elements.
    """
    absent = pyboost.tensor_from_array(np.empty((0,) * 9, np.int64))
    return tuple(absent if i is None else i for i in indices)


pyboost_("_index", "Index", "an absent index is a tensor", lambda prim, x, indices: prim(x, _present(indices)))
pyboost_(
    "index_add",
    "IndexAddExt",
    "order of arguments",
    lambda prim, x, dim, index, source, alpha: prim(x, dim, index, source, alpha),
)


@inplace("index_put", "InplaceIndexPut")
def _index_put(prim, x, indices, values, accumulate):
    if not any(i is not None and 0 in i.shape for i in indices):  # aclnn would index the whole dimension with these
        prim(x, _present(indices), values, accumulate)


@inplace("index_copy", "InplaceIndexCopy")
def _index_copy(prim, x, dim, index, source):
    prim(x, dim, index, source)


@inplace("index_fill", "InplaceIndexFillTensor")
def _index_fill(prim, x, dim, index, value):
    value = primitive("Reshape")(value, ()) if hasattr(value, "asnumpy") else value
    prim(
        x,
        dim,
        index,
        value if hasattr(value, "asnumpy") else pyboost.tensor_from_array(number_array(value, ms_dtype_of(x))),
    )


# ---------------------------------------------------------------- normalization: an absent weight becomes ones
def _affine(weight, bias, shape, x):
    return filled(shape, 1, x.dtype) if weight is None else weight, filled(shape, 0, x.dtype) if bias is None else bias


WITHOUT = "its shape inference fails, or ends the process, without a weight"
pyboost_(
    "native_layer_norm",
    "LayerNormExt",
    WITHOUT,
    lambda prim, x, shape, weight, bias, eps: prim(x, shape, *_affine(weight, bias, tuple(shape), x), eps),
)
pyboost_(
    "_fused_rms_norm",
    "RmsNorm",
    WITHOUT,
    lambda prim, x, shape, weight, eps: prim.of(eps)(x, _affine(weight, None, tuple(shape), x)[0]),
)


@functools.partial(pyboost_, "native_group_norm", "GroupNorm", WITHOUT)
def _group_norm(prim, x, weight, bias, n, c, hxw, group, eps):
    return prim(x, group, *_affine(weight, bias, (c,), x), eps)


# ---------------------------------------------------------------- others
def _inverse_as(x, results):
    values, inverse, counts = results
    return values, primitive("Reshape")(inverse, tuple(x.shape)), counts


@functools.partial(
    pyboost_,
    "_C.embedding_dense_backward",
    "EmbeddingDenseBackward",
    "a padding_idx of -1 is the last row, none is None",
)
def _embedding_backward(prim, g, indices, rows, padding_idx, scale):
    return prim(g, indices, rows, None if padding_idx == -1 else padding_idx, scale)


pyboost_("nn.functional.logsigmoid", "LogSigmoid", "gives a buffer besides", lambda prim, x: prim(x)[0])


@functools.partial(pyboost_, "nn.functional.one_hot", "OneHotExt", "values are tensors")
def _one_hot(prim, x, n):
    on, off = (pyboost.tensor_from_array(np.array(v, np.int64)) for v in (1, 0))
    return prim.of(-1)(x, n, on, off)


# ---------------------------------------------------------------- arguments that the primitives do not take
def _with_fractions(start, end, step, dtype, device):
    return not dtype.is_floating_point and not all(float(n).is_integer() for n in (start, end, step))


def _whole_range(start, end, step, dtype, device):
    """Compute an integer arange as PyTorch does: the count from the fractions, the values from the integer parts."""
    n = arange_size(start, end, step, dtype)
    return (T.arange(n, device=device) * int(step) + int(start)).to(dtype)


def _has_scales(x, *args):
    return bool(args[-1])


for _name, (_, _, _prim) in UPSAMPLE.items():
    if _prim is not None:
        unless(
            f"_C._nn.{_name} _C._nn.{_name}_backward", _has_scales, f"{_prim} computes positions from the sizes alone"
        )
unless(
    "_var _std",
    lambda x, dim, correction, keepdim: correction != int(correction),
    "the primitive takes whole corrections",
)
unless("linalg.solve_triangular", lambda A, B, upper, left, unit: not left, "the primitive solves from the left only")
unless("_distinct", lambda x, dim, sort: dim is not None or not sort, "Unique2 sorts, and knows no dimension")
unless(
    "scatter.src scatter.value scatter_add",
    lambda x, dim, index, *a: 0 in index._shape,
    "no index, of any number of dimensions",
    lambda x, *args: x.clone(),
)
unless("_arange", _with_fractions, "of integers, with fractions", _whole_range)
unless("_full", lambda size, value, dtype, device: dtype.is_complex, "FillScalar takes no complex number")
pyboost_("_clamp", "ClampTensor", "bounds do not spread over each other", broadcasts=False)
pyboost_("polar", "Polar", "arguments do not spread over each other", broadcasts=False)
pyboost_(
    "_distinct",
    "Unique2",
    "its second result has no shape of a number",
    lambda prim, x, dim, sort: _inverse_as(x, prim(x, True, True, True)),
)


@composite(
    "_complex",
    "Complex has no Ascend kernel; MindSpore 2.7 has no view of real memory as complex, only the other way round",
)
def _complex(re, im):
    re, im = T.broadcast_tensors(re, im)
    out = T.empty(re._shape, dtype=dt.complex64 if re.dtype is dt.float32 else dt.complex128, device=re.device)
    out.real.copy_(re)
    out.imag.copy_(im)
    return out


@functools.partial(pyboost_, "_nonzero", "NonZero", "a dimension's positions are neighbours in PyTorch's memory")
def _nonzero(prim, x):
    m = primitive("Contiguous")(primitive("Transpose")(prim(x), (1, 0)))
    return wrap(m, tuple(m.shape), dt.int64, Device("npu", devices.index())).t()
