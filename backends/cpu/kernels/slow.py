"""MindSpore's primitives that are right but slower than NumPy: the kernels of MINDTORCH_KERNELS=pyboost alone.

The other modes use NumPy's kernels, which the other files of this folder enter with the figures. Where a primitive is
wrong for some arguments (no elements, NaN, indices out of range), NumPy's kernel takes those.
"""

import numpy as np

from ...host import INTS, alias
from ..table import decomposed, legacy, numpy_row, pyboost_
from .activation import _do, _s, _select
from .indexing import check_bounds, check_places, check_rows
from .pointwise import _prim
from .reduction import BLOCK

SLOWER = "right, and slower than NumPy's kernel, which the other modes use"
REAL = f"{INTS} f32 f64"


def _as_array(a):
    """Return a tensor, or each tensor of a list, as an array, and anything else as it is."""
    if isinstance(a, (list, tuple)):
        return type(a)(map(_as_array, a))
    return alias(a) if hasattr(a, "asnumpy") else a


def _unless(wrong, fn, name):
    """Return a kernel fn(prim, *args) that leaves arguments for which wrong(*args) is true to NumPy's kernel."""

    def kernel(prim, *args):
        if wrong(*args):
            return numpy_row(name)(*map(_as_array, args))
        return fn(prim, *args)

    return kernel


# ------------------------------------------------------------------------------------------------ reductions
def _is_empty(x, *_):
    return 0 in x.shape


def _summed_in_one_run(x, dims, *_):
    """Whether x has no elements, or many are added one after the other, whose rounding errors add up."""
    across = [x.shape[d] for d in dims if d != len(x.shape) - 1]
    return 0 in x.shape or max(across, default=0) > BLOCK


def _unordered(x, *_):
    """Whether x has no elements, no dimensions, or a NaN, which MindSpore's extremes ignore."""
    a = alias(x)
    return not a.ndim or not a.size or a.dtype.kind == "f" and np.isnan(a.min())


for _name, _primitive, _dtypes in (("sum", "SumExt", "bool f32 f64 c64 c128"), ("mean", "MeanExt", "f32 f64")):
    pyboost_(
        _name,
        _primitive,
        SLOWER,
        _unless(_summed_in_one_run, lambda prim, x, dims, keepdim, dtype: prim(x, dims, keepdim, None), _name),
        dtypes=_dtypes,
    )
pyboost_(
    "prod",
    "ProdExt",
    SLOWER,
    _unless(_is_empty, lambda prim, x, dim, keepdim, dtype: prim(x, dim, keepdim, None), "prod"),
    dtypes="f32 f64",
)
for _name, _primitive in {"any": "ReduceAny", "all": "ReduceAll"}.items():
    pyboost_(_name, _primitive, SLOWER, _unless(_is_empty, lambda prim, x: prim(x, ()), _name), dtypes="bool")
    pyboost_(
        _name + ".dims",
        _primitive,
        SLOWER,
        _unless(_is_empty, lambda prim, x, dims, keepdim: prim.of(keepdim)(x, dims), _name + ".dims"),
        dtypes="bool",
    )
for _name in ("max", "min"):
    _cap = _name.capitalize()
    pyboost_(_name, _cap, SLOWER, _unless(_unordered, lambda prim, x: prim(x), _name), dtypes=REAL)
    pyboost_(
        "a" + _name,
        "Reduce" + _cap,
        SLOWER,
        _unless(_unordered, lambda prim, x, dims, keepdim: prim.of(keepdim)(x, dims), "a" + _name),
        dtypes=REAL,
    )
    pyboost_(
        _name + ".dim",
        _cap + "Dim",
        SLOWER,
        _unless(_unordered, lambda prim, x, dim, keepdim: prim(x, dim, keepdim), _name + ".dim"),
        dtypes=REAL,
    )
    legacy(
        "arg" + _name,
        "Arg" + _name,
        SLOWER,
        _unless(
            lambda x, dim, keepdim: dim is None or _unordered(x),
            lambda prim, x, dim, keepdim: prim.of(dim)(x),
            "arg" + _name,
        ),
        dtypes="f32 f64",
    )


# ------------------------------------------------------------------------------------------------ elementwise
def _isclose(prim, a, b, rtol, atol, equal_nan):
    """Compare by IsClose and by Equal, because IsClose takes two equal infinities for different."""
    return _prim("LogicalOr")(prim.of(rtol, atol, equal_nan)(a, b), _prim("Equal")(a, b))


pyboost_("_isclose", "IsClose", SLOWER, _isclose, dtypes="f32 f64")
pyboost_(
    "_nan_to_num",
    "NanToNum",
    SLOWER,
    lambda prim, x, nan, posinf, neginf: prim.of(nan, posinf, neginf)(x),
    dtypes="f32",
)
_SELECTED = f"bool {INTS} f32 f64 c64"
pyboost_("_where", "Select", SLOWER, dtypes=_SELECTED)
pyboost_("masked_fill", "MaskedFill", SLOWER, dtypes=_SELECTED)
legacy("addcmul", "Addcmul", SLOWER, lambda prim, x, a, b, value: prim(x, a, b, _s(x, value)), dtypes="f32 f64")

# ------------------------------------------------------------------------------------------------ activations
pyboost_("relu", "Maximum", SLOWER, lambda prim, x: prim(_s(x, 0), x), dtypes="f32 f64")
pyboost_("relu_backward", "Select", SLOWER, lambda prim, g, y: _select(_do("LessEqual", y, 0), 0, g), dtypes="f32 f64")


def _leaky_relu(prim, x, slope):
    return (prim if slope <= 1 else _prim("Minimum"))(_do("Mul", x, slope), x)


pyboost_("_C._nn.leaky_relu", "Maximum", SLOWER, _leaky_relu, dtypes="f32 f64")
pyboost_(
    "leaky_relu_backward",
    "Select",
    SLOWER,
    lambda prim, g, x, slope: _select(_do("Greater", x, 0), g, _do("Mul", g, slope)),
    dtypes="f32 f64",
)
pyboost_("silu_backward", "SiLUGrad", SLOWER, dtypes="f32 f64")


def _gelu(prim, x, approximate):
    if approximate == "tanh":
        return _prim("GeLU")(x)
    return _prim("Mul")(_do("Mul", x, 0.5), _do("Add", prim(_do("Mul", x, 0.5**0.5)), 1))


pyboost_("nn.functional.gelu", "Erf", SLOWER, _gelu, dtypes="f32 f64")


# ------------------------------------------------------------------------------------------------ rows by their indices
_MOVED = f"bool {INTS} f16 f32 f64 c64 c128"


def _rows(prim, weight, indices, *_):
    check_rows(alias(indices), weight.shape[0])
    return prim(weight, indices, 0)


legacy("embedding", "Gather", SLOWER, _unless(_is_empty, _rows, "embedding"), dtypes=_MOVED)


def _by_index(prim, x, indices):
    at, index = next((d, a) for d, a in enumerate(indices) if a is not None)
    array = alias(index)
    check_bounds(array, x.shape[at], 0)
    if array.size and array.min() < 0:
        index = _select(_do("Less", index, 0), _do("Add", index, x.shape[at]), index)
    return prim(x, index, at)


def _along(prim, x, dim, index):
    check_rows(alias(index), x.shape[dim])
    return prim(x, _prim("Reshape")(index, (-1,)), dim)


legacy(
    "_index",
    "Gather",
    SLOWER,
    _unless(lambda x, indices: 0 in x.shape or sum(a is not None for a in indices) != 1, _by_index, "_index"),
    dtypes=_MOVED,
)
legacy(
    "index_select",
    "Gather",
    SLOWER,
    _unless(lambda x, dim, index: dim == 1 or 0 in x.shape or not x.shape, _along, "index_select"),
    dtypes=_MOVED,
)


def _gather(prim, x, dim, index, sparse_grad):
    if not x._shape or not index._shape or x._stride is not None:  # an expanded tensor would be copied
        return numpy_row("gather")(x._array(), dim, index._array(), sparse_grad)
    check_places(index._array(), x._shape[dim], dim)
    return prim(x._mstensor(), dim, index._mstensor())


pyboost_("gather", "GatherD", SLOWER, _gather, dtypes=_MOVED, tensors=True)


# ------------------------------------------------------------------------------------------------ shapes
pyboost_("_cat", "Concat", SLOWER, dtypes=_MOVED)
legacy("stack", "Stack", SLOWER, lambda prim, tensors, dim: prim.of(dim)(tuple(tensors)), dtypes=_MOVED)
pyboost_(
    "_flip",
    "ReverseV2",
    SLOWER,
    _unless(
        lambda x, dims: not x.shape or not dims or 0 in x.shape, lambda prim, x, dims: prim.of(tuple(dims))(x), "_flip"
    ),
    dtypes=_MOVED,
)
legacy(
    "constant_pad_nd",
    "PadV3",
    SLOWER,
    _unless(
        lambda x, pad, value: not x.shape or 0 in x.shape or not pad or min(pad) < 0,
        lambda prim, x, pad, value: prim(x, tuple(pad), _s(x, value)),
        "constant_pad_nd",
    ),
    dtypes=f"{INTS} f16 f32 f64 c64 c128",
    init=("constant", True),
)
legacy(
    "nn.functional.one_hot",
    "OneHot",
    SLOWER,
    _unless(
        lambda x, n: not alias(x).size or alias(x).min() < 0 or alias(x).max() >= n,
        lambda prim, x, n: prim(x, n, _s(x, 1), _s(x, 0)),
        "nn.functional.one_hot",
    ),
    dtypes="i64",
    init=(-1,),
)


# ------------------------------------------------------------------------------------------------ norms and losses
def _layer_norm(prim, x, shape, weight, bias, eps):
    """Return LayerNorm's result, its mean, and the reciprocal root of its variance with eps."""
    begin = len(x.shape) - len(shape)
    weight = _prim("Ones")(tuple(shape), x.dtype) if weight is None else weight
    bias = _prim("Zeros")(tuple(shape), x.dtype) if bias is None else bias
    out, mean, variance = prim.of(begin, begin, eps)(x, weight, bias)
    return out, mean, _prim("Rsqrt")(_do("Add", variance, eps))


legacy("native_layer_norm", "LayerNorm", SLOWER, _unless(_is_empty, _layer_norm, "native_layer_norm"), dtypes="f32")
for _name in (
    "_lstm_layer _gru_layer _rnn_tanh_layer _rnn_relu_layer elu_backward softplus_backward "
    "_C._nn.mse_loss _C._nn.mse_loss_backward _C._nn.smooth_l1_loss _C._nn.smooth_l1_loss_backward "
    "_C._nn.huber_loss _C._nn.huber_loss_backward "
    "_C._nn.binary_cross_entropy_with_logits _C._nn.binary_cross_entropy_with_logits_backward"
).split():
    decomposed(_name, SLOWER, dtypes="f32 f64")
