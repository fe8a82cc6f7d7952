"""Reductions, scans, order statistics, histograms."""

import math
from functools import cache

from ..call.autocast import FLOAT32, FLOAT32_ON_ACCELERATORS
from ..call.out import INPUT_DTYPE, LEADING, SAME_DTYPE, SAME_SCALAR_TYPE, UNNAMED_SCALAR_TYPE, Out
from ..context import CONTEXT
from ..declare import BY_PARTS, composite, op
from ..registry import OPERATORS
from ..signatures import mismatch
from ..tensor import unviewed
from ..warn import warn, warn_once
from .common import MANY_DIMS, T, Tensor, conj, dt, has_values, numel, wrap_dim, wrap_dims


# ------------------------------------------------------------------------------------------------ shared
def reduced(shape, dims, keepdim):
    if len(dims) == len(shape) and not keepdim:
        return ()
    return tuple([1 if i in dims else s for i, s in enumerate(shape) if keepdim or i not in dims])


def _dims(self, dim, empty_is_all=True):
    """Return the dimensions to reduce, sorted; an empty tuple for a 0-d tensor."""
    dims = wrap_dims(dim, len(self._shape), empty_is_all)
    return dims if self._shape else ()


def _one_dim(self, dim):
    """Return the dimension of a reduction along a single dimension."""
    n = len(self._shape)
    if n > 64:
        raise RuntimeError(MANY_DIMS)
    return wrap_dim(dim, n)


def _spread(g, shape, dims, keepdim):
    """Expand a reduced tensor to the shape before the reduction."""
    return _restore(g, shape, dims, keepdim).expand(shape)


def _restore(g, shape, dims, keepdim):
    """Insert the reduced dimensions with size 1 again, unless they were kept or the reduced tensor is 0-d."""
    if not keepdim and g._shape:
        for d in dims:
            g = g.unsqueeze(d)
    return g


def _count(shape, dims):
    return numel([shape[d] for d in dims])


def _not_implemented(kernel, self, bool_too=False):
    if self.dtype.is_complex or bool_too and self.dtype is dt.bool_:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dt.scalar_name(self.dtype)}'")


def _unsupported(name, self, bool_too=False):
    if self.dtype.is_complex or bool_too and self.dtype is dt.bool_:
        raise RuntimeError(f"{name}(): does not support {'complex' if self.dtype.is_complex else 'bool'} input")


def _nonempty(name, self, dims, error=IndexError, hint="", call="()"):
    """Raise the error of a reduction without identity over no elements.

    `dims` of None means all dimensions. `call` is what the message has after the name.
    """
    if dims is None and 0 in self._shape:
        raise error(f"{name}{call}: Expected reduction dim to be specified for input.numel() == 0.{hint}")
    for d in dims or ():
        if self._shape and self._shape[d] == 0:
            raise IndexError(f"{name}{call}: Expected reduction dim {d} to have non-zero size.")


HINT = " Specify the reduction dim with the 'dim' argument."


# ------------------------------------------------------------------------------------------------ sum, mean, prod
def _sum_dtype(self, dtype):
    """Return (input, result dtype): integers are summed as int64, and the input is converted to a given dtype."""
    if dtype is None:
        return self, dt.int64 if self.dtype.category < dt.FLOAT else self.dtype
    return (
        self if dtype is self.dtype or dtype is dt.int64 and self.dtype.category < dt.FLOAT else self.to(dtype)
    ), dtype


@cache
def _all(n):
    """All dimensions, where dim was not given. Cached, so that `is` tells this case from an explicit tuple."""
    return tuple(range(n))


def _name_of(cap):
    """Return the naming function of a reduction's node: number 0 for all dimensions without a given dim, else 1."""
    return lambda given, shapes: (
        f"{cap}Backward{int(given['dim'] is not None and given['dim'] is not _all(len(shapes['self'])))}"
    )


def _sum_prepare(self, dim, keepdim, dtype):
    dims = _all(len(self._shape)) if dim is None else _dims(self, dim)
    if dtype is not None or self.dtype.category < dt.FLOAT:
        self, dtype = _sum_dtype(self, dtype)
    return self, dims, keepdim, dtype or self.dtype


def _reduced_meta(self, dim, keepdim, dtype):
    return reduced(self._shape, dim, keepdim), dtype


_without_dtype = lambda p, self, dim, keepdim, dtype: p(self, dim, keepdim, None)
_SUM = dict(
    prepare=_sum_prepare,
    meta=_reduced_meta,
    call=_without_dtype,
    derivative=lambda g, self_shape, dim, keepdim: _spread(g, self_shape, dim, keepdim),
)
op(
    "sum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "SumExt",
    autocast=FLOAT32_ON_ACCELERATORS,
    node=_name_of("Sum"),
    out=LEADING,
    **_SUM,
)


def _mean_prepare(self, dim, keepdim, dtype):
    d = dtype or self.dtype
    if d.category < dt.FLOAT:
        what = (
            "could not infer output dtype. Input dtype"
            if dtype is None
            else "could not infer output dtype. Optional dtype"
        )
        raise RuntimeError(f"mean(): {what} must be either a floating point or complex dtype. Got: {dt.scalar_name(d)}")
    return (
        self if d is self.dtype else self.to(d),
        _all(len(self._shape)) if dim is None else _dims(self, dim),
        keepdim,
        d,
    )


_mean_grad = lambda g, self_shape, dim, keepdim: _spread(g, self_shape, dim, keepdim) / max(_count(self_shape, dim), 1)
_MEAN = dict(prepare=_mean_prepare, meta=_reduced_meta, call=_without_dtype, derivative=_mean_grad)
op(
    "mean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "MeanExt",
    node=_name_of("Mean"),
    **_MEAN,
)


@composite(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    derivative=BY_PARTS,
)
def nansum(self, dim, keepdim, dtype):
    wrap_dims(dim, len(self._shape))  # raises its errors first
    if self.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    return (self.masked_fill(self.isnan(), 0) if self.dtype.is_floating_point else self).sum(dim, keepdim, dtype=dtype)


@composite("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
def nanmean(self, dim, keepdim, dtype):
    if self.dtype.category < dt.FLOAT:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {dt.scalar_name(self.dtype)}"
        )
    if dtype is not None and dtype.category < dt.FLOAT:
        raise RuntimeError(
            f"nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex "
            f"dtype. Got: {dt.scalar_name(dtype)}"
        )
    return self.nansum(dim, keepdim, dtype=dtype) / self.isnan().logical_not().sum(dim, keepdim)


def _prod_prepare(self, dim, keepdim, dtype):
    self, dtype = _sum_dtype(self, dtype)
    return self, None if dim is None else _one_dim(self, dim), keepdim, dtype


def _prod_grad(g, self, out, dim, keepdim):
    """Return g * out / self, or use the products of the other elements where an element is zero."""
    if not self._shape:
        return g
    if dim is None:
        zeros = 1 if not has_values(self) else int((self == 0).sum())
        if not zeros:
            return g * conj(out / self)
        if zeros > 1 and not CONTEXT.grad:
            return T.zeros_like(self)
        return (g * conj(_others(self.reshape((-1,)), 0))).reshape(self._shape)
    g = g if keepdim else g.unsqueeze(dim)
    if has_values(self) and not (self == 0).any():
        return g * conj((out if keepdim else out.unsqueeze(dim)) / self)
    return g * conj(_others(self, dim))


def _others(x, dim):
    """Return for each element the product of the other elements along dim."""
    n = x._shape[dim]
    if n == 0:
        return x
    one = T.ones_like(x.narrow(dim, 0, 1))
    before = T.cat([one, x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    return before * T.cat([one, x.narrow(dim, 1, n - 1).flip(dim)], dim).cumprod(dim).flip(dim)


_prod_meta = lambda self, dim, keepdim, dtype: (() if dim is None else reduced(self._shape, (dim,), keepdim), dtype)
_PROD = dict(prepare=_prod_prepare, meta=_prod_meta, call=_without_dtype, derivative=_prod_grad)
op(
    "prod(Tensor self, int? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "ProdExt",
    autocast=FLOAT32,
    node=_name_of("Prod"),
    out=LEADING,
    **_PROD,
)


@composite("Tensor.sum_to_size(Tensor self, int[] size) -> Tensor", varargs="size")
def sum_to_size(self, size):
    shape = self._shape
    lead = len(shape) - len(size)
    if lead < 0 or any(s != 1 and s != n for s, n in zip(size, shape[lead:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    dims = [i for i in range(len(shape)) if i < lead or size[i - lead] == 1 != shape[i]]
    if not dims and shape:
        return self
    r = self.sum(dims, True)
    return r.reshape(size) if lead else r


@composite("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
@composite("count_nonzero(Tensor self, int? dim=None) -> Tensor")
def count_nonzero(self, dim):
    dims = (
        None if dim is None else wrap_dims((dim,) if dim.__class__ is int else dim, len(self._shape))
    )  # raises its errors first
    return (self if self.dtype is dt.bool_ else self != 0).sum(dims)


def _keepdims(p, self, dim, keepdim):
    return p.of(keepdim)(self, dim)


# ------------------------------------------------------------------------------------------------ any, all
def _bool_like(self):
    return dt.uint8 if self.dtype is dt.uint8 else dt.bool_


_TRUTH = Out("{name} only supports bool tensor for result, got: {Got}", also=(dt.bool_, dt.uint8))
for _name, _prim in {"any": "ReduceAny", "all": "ReduceAll"}.items():
    op(
        f"{_name}(Tensor self) -> Tensor",
        _prim,
        meta=lambda self: ((), _bool_like(self)),
        call=lambda p, self: p(self, ()),
        out=_TRUTH,
    )
    _prepare = lambda self, dim, keepdim: (self, _dims(self, dim, dim is None), keepdim)
    _meta = lambda self, dim, keepdim: (reduced(self._shape, dim, keepdim), _bool_like(self))
    _over = lambda self, dim, keepdim, _n=_name: OPERATORS["torch"][_n][2].call(self, (dim,), keepdim)
    composite(f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", out=_TRUTH)(_over)
    op(
        f"{_name}.dims(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor",
        _prim,
        prepare=_prepare,
        meta=_meta,
        call=_keepdims,
        out=_TRUTH,
    )


# ------------------------------------------------------------------------------------------------ hashes
def _hash_prepare(self, dim, keepdim, mode):
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    _not_implemented("xor_sum_cpu", self)
    dims = _dims(self, dim)
    _nonempty("hash_tensor", self, dims if dim else None, RuntimeError, HINT, "")
    return self, dims, keepdim, mode


def _hash_meta(self, dim, keepdim, mode):
    return reduced(self._shape, dim, keepdim), dt.uint64


_HASH = dict(prepare=_hash_prepare, meta=_hash_meta, opmath=False)
op("hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor", **_HASH)


# ------------------------------------------------------------------------------------------------ extremes
def _equal_share(g, self, out):
    """The gradient of a full reduction to one of several equal elements: shared between them."""
    mask = self.isnan() if has_values(self) and out.isnan() else self == out
    # a NaN gradient reaches only those elements; PyTorch writes it into contiguous zeros
    return T.where(mask, g / mask.sum(), 0).contiguous()


def _share(g, self, out, dim, keepdim):
    mask = self == _restore(out, self._shape, dim, keepdim)
    return _restore(g, self._shape, dim, keepdim) * mask / mask.sum(dim, True)


def _chosen(g, shape, dim, index, keepdim):
    """Return the gradient of values that were picked by index along dim."""
    if not shape:
        return g
    if not keepdim:
        g, index = g.unsqueeze(dim), index.unsqueeze(dim)
    return g.new_zeros(shape).scatter(dim, index, g)


def _chosen_grad(g0, self_shape, dim, out1, keepdim):
    return _chosen(g0, self_shape, dim, out1, keepdim)


def _along(self, dim, *rest):
    return self, wrap_dim(dim, len(self._shape)), *rest


_PICKED = dict(prepare=_along, derivative=_chosen_grad, non_differentiable=(1,))


def _pair(self, dim, keepdim):
    """Return (shape, dtype) of the values and of the int64 indices of a reduction along one dimension."""
    shape = reduced(self._shape, (dim,), keepdim)
    return [(shape, self.dtype), (shape, dt.int64)]


def _extremes(name):
    cap, arg = name.capitalize(), "arg" + name

    def full(self):
        _nonempty(name, self, None, RuntimeError, HINT)
        _not_implemented(name + "_all", self)
        return (), self.dtype

    def along(self, dim, keepdim):
        _nonempty(name, self, (dim,))
        _unsupported(name, self)
        return _pair(self, dim, keepdim)

    def values(self, dim, keepdim):
        _nonempty("a" + name, self, dim)
        shape = reduced(self._shape, dim, keepdim)
        if 0 not in shape:
            _not_implemented(name + "_values_cpu", self)
        return shape, self.dtype

    def prepare(self, dim, keepdim):
        if not dim:
            _nonempty("a" + name, self, None, RuntimeError, HINT)
        return self, _dims(self, dim), keepdim

    def position(self, dim, keepdim):
        _nonempty(arg, self, None if dim is None else (dim,))
        return reduced(self._shape, range(len(self._shape)) if dim is None else (dim,), keepdim), dt.int64

    op(f"{name}(Tensor self) -> Tensor", cap, meta=full, derivative=_equal_share, opmath=False, node=f"{cap}Backward1")
    composite(f"{name}.other(Tensor self, Tensor other) -> Tensor")(
        lambda self, other: getattr(T, name + "imum")(self, other)
    )

    def one(self, dim, keepdim):
        return self, _one_dim(self, dim), keepdim

    dim_options = dict(meta=along, opmath=False, out=SAME_DTYPE, apart=True, **{**_PICKED, "prepare": one})
    op(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        cap + "Dim",
        **dim_options,
    )
    values_options = dict(
        prepare=prepare, meta=values, call=_keepdims, derivative=_share, opmath=False, out=INPUT_DTYPE
    )
    op(f"a{name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", f"Reduce{cap}", **values_options)

    def one_dim(self, dim, keepdim):
        _unsupported(arg, self, True)
        return self, None if dim is None else _one_dim(self, dim), keepdim

    op(
        f"{arg}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        f"Arg{cap}Ext",
        meta=position,
        opmath=False,
        out=SAME_DTYPE,
        prepare=one_dim,
    )


_extremes("max")
_extremes("min")


@composite(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    out=SAME_DTYPE,
    derivative=BY_PARTS,
)
def aminmax(self, dim, keepdim):
    dims = () if dim is None else (wrap_dim(dim, len(self._shape)),)
    _not_implemented("aminmax_cpu", self)
    if dim is None and 0 in self._shape:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    _nonempty("aminmax", self, dims, call="")
    return T.amin(self, dims, keepdim), T.amax(self, dims, keepdim)


_OLD_AMINMAX = (
    "_aminmax is deprecated as of PyTorch 1.11 and will be removed in a future release. Use aminmax instead. "
    "This warning will only appear once per process."
)


def _old_aminmax(self, dim=None, keepdim=False):
    warn_once(_OLD_AMINMAX)
    return tuple(aminmax(self, dim, keepdim))


composite("_aminmax(Tensor self) -> (Tensor, Tensor)", method=False, out=False)(_old_aminmax)
composite("_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", method=False, out=False)(
    _old_aminmax
)


# ------------------------------------------------------------------------------------------------ variance
_NO_FREEDOM = (
    "std()/var(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
    "numel divided by output numel)."
)


def _var_prepare(self, dim, correction, keepdim):
    if self.dtype.category < dt.FLOAT:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    dims = _dims(self, dim)
    return self, dims, 1 if correction is None else correction, keepdim


def _var_grad(g, self, dim, correction, keepdim):
    dof = _count(self._shape, dim) - correction
    if not self._shape or dof <= 0:
        return g * float("nan") * (self - self)
    return _restore(g, self._shape, dim, keepdim) * (2 / dof) * (self - self.mean(dim, True))


def _var_meta(self, dim, correction, keepdim):
    return reduced(self._shape, dim, keepdim), self.dtype.to_real()


def _var_mean_meta(self, dim, correction, keepdim):
    shape = reduced(self._shape, dim, keepdim)
    return [(shape, self.dtype.to_real()), (shape, self.dtype)]


def _std_var_grad(g, self, out, dim, correction, keepdim):
    return _var_grad((g / (out * 2)).masked_fill(out == 0, 0), self, dim, correction, keepdim)


_var_mean_grad = lambda g0, g1, self, dim, correction, keepdim: (
    _var_grad(g0, self, dim, correction, keepdim) + _mean_grad(g1, self._shape, dim, keepdim)
)
_std_mean_grad = lambda g0, g1, self, out0, dim, correction, keepdim: (
    _std_var_grad(g0, self, out0, dim, correction, keepdim) + _mean_grad(g1, self._shape, dim, keepdim)
)
_VAR = dict(prepare=_var_prepare, meta=_var_meta, derivative=_var_grad)
_var = op(
    "_var(Tensor self, int[]? dim=None, Scalar? correction=None, bool keepdim=False) -> Tensor",
    "Var",
    method=False,
    **_VAR,
)
_STD = dict(prepare=_var_prepare, meta=_var_meta, derivative=_std_var_grad)
_std = op(
    "_std(Tensor self, int[]? dim=None, Scalar? correction=None, bool keepdim=False) -> Tensor",
    "Std",
    method=False,
    **_STD,
)
_VAR_MEAN = dict(prepare=_var_prepare, meta=_var_mean_meta, derivative=_var_mean_grad)
_var_mean = op(
    "_var_mean(Tensor self, int[]? dim=None, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    method=False,
    **_VAR_MEAN,
)
_STD_MEAN = dict(prepare=_var_prepare, meta=_var_mean_meta, derivative=_std_mean_grad)
_std_mean = op(
    "_std_mean(Tensor self, int[]? dim=None, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
    method=False,
    **_STD_MEAN,
)


def _variances():
    for name, prim, both in (
        ("var", _var, False),
        ("std", _std, False),
        ("var_mean", _var_mean, True),
        ("std_mean", _std_mean, True),
    ):
        ret = "(Tensor, Tensor)" if both else "Tensor"

        def compute(self, dim, correction, keepdim, _p=prim):
            _, dims, freedom, _ = _var_prepare(self, dim, correction, keepdim)
            if _count(self._shape, dims) <= freedom and 0 not in reduced(self._shape, dims, False):
                warn(_NO_FREEDOM)
            return _p.call(self, dim, correction, keepdim)

        for args, fn in (
            ("bool unbiased=True", lambda self, unbiased, _f=compute: _f(self, None, int(unbiased), False)),
            (
                "int[1]? dim, bool unbiased=True, bool keepdim=False",
                lambda self, dim, unbiased, keepdim, _f=compute: _f(self, dim, int(unbiased), keepdim),
            ),
            ("int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False", compute),
        ):
            composite(f"{name}(Tensor self, {args}) -> {ret}", method=not both, out=not both)(fn)


_variances()


# ------------------------------------------------------------------------------------------------ logarithms of sums
def _lse_prepare(self, dim, keepdim):
    return self if self.dtype.category >= dt.FLOAT else self.to(dt.get_default_dtype()), _dims(self, dim), keepdim


_logsumexp_meta = lambda self, dim, keepdim: (reduced(self._shape, dim, keepdim), self.dtype)
_logsumexp_grad = lambda g, self, out, dim, keepdim: _lse_grad(
    *(_restore(t, self._shape, dim, keepdim) for t in (g, out)), self
)
_LOGSUMEXP = dict(
    prepare=_lse_prepare,
    meta=_logsumexp_meta,
    derivative=_logsumexp_grad,
    alias=("special.logsumexp",),
    autocast=FLOAT32_ON_ACCELERATORS,
)
op("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "LogSumExp", **_LOGSUMEXP)


def _lse_grad(g, out, self):
    return g * conj((self - out.masked_fill(out == -math.inf, 0)).exp())


# ------------------------------------------------------------------------------------------------ scans
def _scan_prepare(self, dim, dtype):
    dim = wrap_dim(dim, len(self._shape))
    d = dtype or (dt.int64 if self.dtype.category < dt.FLOAT else self.dtype)
    return self if d is self.dtype else self.to(d), dim, d


def _reverse_cumsum(g, dim):
    return g if numel(g._shape) <= 1 or g._shape[dim] == 1 else g.flip(dim).cumsum(dim).flip(dim)


def _cumprod_grad(g, self, out, dim):
    """Return sum over k >= i of g_k * out_k / x_i.

    Where x holds a zero, the sum is computed from the products of the other elements.
    """
    if not self._shape or self._shape[dim] <= 1:
        return g
    if has_values(self) and not (self == 0).any():
        return _reverse_cumsum(g * conj(out), dim) / conj(self)
    if not CONTEXT.grad:
        # Before the first zero: the same formula. At the first zero: the products of the other elements, up to the
        # second zero. After the first zero: zero.
        seen = (self == 0).cumsum(dim)
        at = (self == 0) & (seen == 1)
        others = (g * conj(self.masked_fill(at, 1).cumprod(dim))).masked_fill(seen != 1, 0).sum(dim, True)
        ahead = _reverse_cumsum((g * conj(out)).masked_fill(seen != 0, 0), dim) / conj(self)
        return T.where(seen == 0, ahead, T.where(at, others, 0))
    n = self._shape[dim]
    grads, one = [], T.ones_like(self.narrow(dim, 0, 1))
    for i in range(n):
        before = self.narrow(dim, 0, i).prod(dim, True) if i else one
        after = T.cat([one, self.narrow(dim, i + 1, n - i - 1)], dim).cumprod(dim)
        grads.append((g.narrow(dim, i, n - i) * conj(before * after)).sum(dim, True))
    return T.cat(grads, dim)


_scan_meta = lambda self, dim, dtype: (self._shape, dtype)
_CUMSUM = dict(
    prepare=_scan_prepare,
    meta=_scan_meta,
    call=lambda p, self, dim, dtype: p(self, dim, None),
    derivative=lambda g, dim: _reverse_cumsum(g, dim),
)
op(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    "CumsumExt",
    inplace=True,
    autocast=FLOAT32_ON_ACCELERATORS,
    out=LEADING,
    **_CUMSUM,
)
_CUMPROD = dict(
    prepare=_scan_prepare,
    meta=_scan_meta,
    derivative=_cumprod_grad,
    inplace=True,
    autocast=FLOAT32_ON_ACCELERATORS,
    out=LEADING,
)
op("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", **_CUMPROD)


def _pick_scan(name, prim, call=None):
    def meta(self, dim):
        _not_implemented(name + "_cpu", self)
        return [(self._shape, self.dtype), (self._shape, dt.int64)]

    def grad(g0, self_shape, dim, out1):
        return T.zeros(self_shape, dtype=g0.dtype, device=g0.device).scatter_add(dim, out1, g0) if self_shape else g0

    def along(self, dim):
        if not self._shape and dim not in (-1, 0):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        if 0 in self._shape:
            return self, 0  # PyTorch does not check the dimension of an empty tensor
        return _along(self, dim)

    options = dict(
        prepare=along,
        meta=meta,
        call=call,
        derivative=grad,
        opmath=False,
        out=UNNAMED_SCALAR_TYPE,
        non_differentiable=(1,),
    )
    op(f"{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)", prim, **options)


_pick_scan("cummax", "Cummax", lambda p, self, dim: p.of(dim)(self))
_pick_scan("cummin", "CumminExt")


def _lcse_grad(g, self, out, dim):
    if not self._shape:
        return g
    if g.dtype.is_complex:
        return conj(((conj(g).log() - out).flip(dim).logcumsumexp(dim).flip(dim) + self).exp())
    low = T.full((), dt.finfo(g.dtype).min, dtype=g.dtype, device=g.device)
    size = g.abs().log()

    def part(sign):
        return ((T.where(sign, size, low) - out).flip(dim).logcumsumexp(dim).flip(dim) + self).exp()

    return part(g > 0) - part(g < 0)


def _lcse_forward(op, args, tangents, outs):
    """Return the tangent of logcumsumexp.

    The gradient formula takes the logarithm of g, which cannot be differentiated at 0, so the tangent has its own
    formula. It takes the logarithm of the tangent in the same way.
    """
    (x, dim), v, out = args, tangents[0], outs[0]
    if not x._shape:
        return [v]
    if v.dtype.is_complex:
        return [((v.log() + x).logcumsumexp(dim) - out).exp()]

    def part(v):
        return ((v.clamp_min(0).log() + x).logcumsumexp(dim) - out).exp()

    return [part(v) - part(-v)]


def _lcse_meta(self, dim):
    if self.dtype.category < dt.FLOAT:
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{dt.scalar_name(self.dtype)}'")
    return self._shape, self.dtype


_LCSE = dict(prepare=_along, meta=_lcse_meta, derivative=_lcse_grad, forward=_lcse_forward)
op("logcumsumexp(Tensor self, int dim) -> Tensor", out=UNNAMED_SCALAR_TYPE, **_LCSE)


# ------------------------------------------------------------------------------------------------ order statistics
_MEDIAN_DTYPES = Out(
    (
        "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; "
        "but type torch.{Got}Tensor does not equal torch.{Want}Tensor (while checking arguments for median)",
        "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{Got}Tensor instead "
        "(while checking arguments for median)",
    )
)


def _medians(name, full, along):
    def all_meta(self):
        _not_implemented("median_cpu", self, True)
        return (), self.dtype

    def dim_meta(self, dim, keepdim):
        _nonempty("median", self, (dim,))
        _not_implemented("median_out", self, True)
        return _pair(self, dim, keepdim)

    inner = op(f"_{name}(Tensor self) -> Tensor", full, meta=all_meta, derivative=_equal_share, method=False)

    @composite(f"{name}(Tensor self) -> Tensor", out=False)
    def median(self):
        if 0 in self._shape:
            nothing = (
                math.nan
                if self.dtype.category >= dt.FLOAT
                else dt.iinfo(self.dtype).min
                if self.dtype.itemsize > 3
                else self.dtype is dt.bool_
            )
            return T.full((), nothing, dtype=self.dtype, device=self.device)
        return inner.call(self)

    options = dict(meta=dim_meta, node=f"{name.capitalize()}Backward1", out=_MEDIAN_DTYPES)
    op(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        along,
        **options,
        **_PICKED,
    )


_medians("median", "MedianExt", "MedianDim")
_medians("nanmedian", None, None)


def _mode_meta(self, dim, keepdim):
    _not_implemented("mode_cpu", self)
    _nonempty("mode", self, (dim,))
    return _pair(self, dim, keepdim)


def _kth_meta(self, k, dim, keepdim):
    _nonempty("kthvalue", self, (dim,))
    if self._shape:
        _not_implemented("kthvalue_cpu", self, True)
    if not 1 <= k <= (self._shape[dim] if self._shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    return _pair(self, dim, keepdim)


_MODE_DTYPES = Out(
    tuple(f"expected scalar type '{{Want}}' but got '{{Got}}' for {what} output" for what in ("values", "indices"))
)
op(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    meta=_mode_meta,
    out=_MODE_DTYPES,
    **_PICKED,
)
_KTH_DTYPES = Out(("output values must be of same type as input", "output indices must be of scalar type Long"))
_KTHVALUE = dict(
    prepare=lambda self, k, dim, keepdim: (self, k, wrap_dim(dim, len(self._shape)), keepdim),
    meta=_kth_meta,
    derivative=_chosen_grad,
)
op(
    "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "Kthvalue",
    out=_KTH_DTYPES,
    **_KTHVALUE,
)


def _checked_quantiles(self, q):
    """Check the quantiles to compute and return them as a tensor."""
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        return T.full((), q, dtype=self.dtype, device=self.device)
    if len(q._shape) > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.dtype is not self.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.device is not self.device:
        raise RuntimeError("quantile() q tensor must be on the same device as the input tensor")
    if has_values(q) and not ((q >= 0) & (q <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return q


def _quantile(self, q, dim, keepdim, interpolation, skip_nan):
    if self.dtype not in (dt.float32, dt.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    q = _checked_quantiles(self, q)
    if 0 in self._shape:
        raise RuntimeError("quantile() input tensor must be non-empty")
    n = len(self._shape)
    d = None if dim is None else wrap_dim(dim, n)
    # the reduced dimension last, one more in front of it for each q
    x = self.reshape((-1,)) if d is None else self.movedim(d, -1) if n else self.reshape((1,))
    shape = (
        (*(1,) * n,) if keepdim and d is None else () if d is None else reduced(self._shape, (d,), keepdim) if n else ()
    )
    x = x.sort(-1)[0]
    last = x._shape[-1] - 1
    nan = x.isnan()
    if skip_nan:
        rank = (q.reshape((-1,)) * (nan.logical_not().sum(-1, True) - 1).to(x.dtype)).clamp(min=0)
    else:
        rank = (q.reshape((-1,)) * last).expand((*x._shape[:-1], numel(q._shape))).masked_fill(nan.any(-1, True), last)
    if interpolation in ("lower", "higher", "nearest"):
        rank = {"lower": T.floor, "higher": T.ceil, "nearest": T.round}[interpolation](rank)
    low = rank.to(dt.int64)
    out = x.gather(-1, low)
    if interpolation in ("linear", "midpoint"):
        weight = T.full((), 0.5, dtype=x.dtype, device=x.device) if interpolation == "midpoint" else rank - low
        out = T.lerp(out, x.gather(-1, rank.ceil().to(dt.int64)), weight)
    out = out.movedim(-1, 0)
    return unviewed(out.reshape((*q._shape, *shape)))


for _name in ("quantile", "nanquantile"):
    composite(
        f"{_name}(Tensor self, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> "
        f"Tensor",
        out=Out("quantile() out tensor must be same dtype as the input tensor", contiguous=True),
        autocast=FLOAT32,
    )(
        lambda self, q, dim, keepdim, interpolation, _skip=_name == "nanquantile": _quantile(
            self, q, dim, keepdim, interpolation, _skip
        )
    )


# ----------------------------------------------------------------------------------------------- differences, integrals
@composite(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", out=SAME_SCALAR_TYPE
)
def diff(self, n, dim, prepend, append):
    if not self._shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, len(self._shape))
    for t in (prepend, append):
        if t is not None and len(t._shape) != len(self._shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for k, (have, wanted) in enumerate(zip(t._shape, self._shape) if t is not None else ()):
            if k != d and have != wanted:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({k}) = {wanted}, but got tensor.size({k}) = {have}"
                )
    if n == 0:
        return self.clone()
    x = (
        T.cat([t for t in (prepend, self, append) if t is not None], d)
        if prepend is not None or append is not None
        else self
    )
    for _ in range(min(n, x._shape[d])):
        a, b = x._slice(d, 1), x._slice(d, 0, -1 if x._shape[d] else 0)
        x = a ^ b if x.dtype is dt.bool_ else a - b
    return x


def _trapezoid(y, x, dx, dim, cumulative):
    for t in (y, x):
        if t is not None and t.dtype is dt.bool_:
            raise RuntimeError(
                f"{'cumulative_' if cumulative else ''}trapezoid: received a bool input for "
                f"{'`y`' if x is None else '`x` or `y`'}, but bool is not supported"
            )
    d = wrap_dim(dim, len(y._shape))
    if y._shape[d] == 0:
        return y.clone() if cumulative else y.new_zeros(reduced(y._shape, (d,), False))
    left, right = y._slice(d, 0, y._shape[d] - 1), y._slice(d, 1)
    if x is None:
        return (
            (left + right).cumsum(d) * (dx / 2)
            if cumulative
            else (y.sum(d) - (y.select(d, 0) + y.select(d, -1)) * 0.5) * dx
        )
    if not x._shape:
        raise RuntimeError("trapezoid: x must have a dimension")
    if len(x._shape) == 1:
        if x._shape[0] != y._shape[d]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = x.reshape([-1 if i == d else 1 for i in range(len(y._shape))])
    elif len(x._shape) < len(y._shape):
        x = x.reshape([1] * (len(y._shape) - len(x._shape)) + list(x._shape))
    n = x._shape[d]
    steps = x._slice(d, 1) - x._slice(d, 0, n - 1)
    if cumulative:
        return ((left + right) * steps).cumsum(d) / 2
    return (steps * (left + right)).sum(d) / 2


for _name, _cumulative in {"trapezoid": False, "cumulative_trapezoid": True}.items():
    _also = {} if _cumulative else {"alias": ("trapz",)}
    composite(f"{_name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", method=False, out=False, **_also)(
        lambda y, x, dim, _c=_cumulative: _trapezoid(y, x, None, dim, _c)
    )
    composite(f"{_name}(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", method=False, out=False, **_also)(
        lambda y, dx, dim, _c=_cumulative: _trapezoid(y, None, dx, dim, _c)
    )


def _differences(x, d, h, edge_order):
    """Return central differences along d, one-sided at the edges. h is a number or a 1-d tensor of coordinates."""
    n = x._shape[d]

    def at(a, b=None):
        return x._slice(
            d, a if a >= 0 else n + a, (a if a >= 0 else n + a) + 1 if b is None else n + b if b <= 0 else b
        )

    if isinstance(h, Tensor):
        steps = h.diff().reshape([-1 if i == d else 1 for i in range(len(x._shape))])
        p, q = steps._slice(d, 0, n - 2), steps._slice(d, 1)

        def step(i):
            return steps._slice(d, i if i >= 0 else n - 1 + i, (i if i >= 0 else n - 1 + i) + 1)

        middle = at(0, -2) * (-q / (p * (p + q))) + at(1, -1) * ((q - p) / (p * q)) + at(2, 0) * (p / (q * (p + q)))
    else:
        middle = (at(2, 0) - at(0, -2)) / (2 * h)

        def step(i):
            return h

    if edge_order == 1:
        first, last = (at(1) - at(0)) / step(0), (at(-1) - at(-2)) / step(-1)
    else:

        def edge(a, b, c, p, q):
            return a * ((2 * p + q) / (p * (p + q))) - b * ((p + q) / (p * q)) + c * (p / (q * (p + q)))

        first, last = -edge(at(0), at(1), at(2), step(0), step(1)), edge(at(-1), at(-2), at(-3), step(-1), step(-2))
    return T.cat([first, middle, last], d)


def _check_coordinates(self, d, s):
    if len(s._shape) != 1:
        raise RuntimeError(
            f"torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{len(s._shape)} dimensions!"
        )
    if s.device is not self.device:
        raise RuntimeError(
            f"torch.gradient expected each tensor to be on the same device, but got {self.device} and {s.device}!"
        )
    if s._shape[0] != self._shape[d]:
        raise RuntimeError(
            "torch.gradient expected each dimension size to match the length of its coordinates, "
            f"but got {self._shape[d]} and {s._shape[0]}"
        )


def _spacings(spacing, dims, n):
    """Return one spacing for each dimension. `dims` are the given dimensions, or None for all n."""
    count = n if dims is None else len(dims)
    h = list(spacing) if isinstance(spacing, (tuple, list)) else [1 if spacing is None else spacing] * count
    if len(h) != count:
        got = (
            f"got a list of length {len(h)}"
            if dims is None
            else f"got a spacing argument of length {len(h)} and a dim argument of length {count}."
        )
        want = f"a list of length equal to 'self.dim() = {n}', since dim argument was not given"
        want = want if dims is None else "it's spacing and dim arguments to have the same length"
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or {want}, but {got}")
    return h


@composite(
    "gradient(Tensor self, *, Any spacing=None, int[1]? dim=None, int edge_order=1) -> Tensor[]",
    method=False,
    out=False,
)
def gradient(self, spacing, dim, edge_order):
    n = len(self._shape)
    wrap_dims(dim, n, False)  # only raises its errors; the given order is kept
    dims = range(n) if dim is None else [wrap_dim(d, n) for d in dim]
    if self.dtype is dt.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    h = _spacings(spacing, dim, n)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for d, s in zip(dims, h):
        if isinstance(s, Tensor):
            _check_coordinates(self, d, s)
        if self._shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_differences(self, d, s, edge_order) for d, s in zip(dims, h))


# ------------------------------------------------------------------------------------------------ counting
def _bincount_prepare(self, weights, minlength):
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.dtype.category != dt.INT:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{dt.scalar_name(self.dtype)}'")
    if len(self._shape) != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._shape != self._shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is not None and weights.dtype not in (dt.float32, dt.float64):
        weights = weights.to(dt.float64)
    return self, weights, minlength


def no_meta(name):
    def meta(self, *args):
        if not has_values(self):
            raise NotImplementedError(
                f"{name}: the shape of the result depends on values, which a tensor on device meta does not have "
                f"(dtype {self.dtype}, shape {list(self._shape)})"
            )
        return None, dt.int64

    return meta


_BINCOUNT = dict(
    prepare=_bincount_prepare,
    meta=lambda self, weights, minlength: (
        no_meta("bincount")(self)[0],
        dt.int64 if weights is None else weights.dtype,
    ),
)
op(
    "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    "BincountExt",
    out=False,
    opmath=False,
    no_forward="aten::bincount",
    **_BINCOUNT,
)


def _histc_meta(self, bins, min, max):
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if self.dtype.category != dt.FLOAT:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{dt.scalar_name(self.dtype)}'")
    if max < min:
        raise RuntimeError("torch.histc: max must be larger than min")
    return (bins,), self.dtype


op(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    "HistcExt",
    meta=_histc_meta,
    opmath=False,
    out=SAME_SCALAR_TYPE,
)


def _edges(self, bins, range_, dim=0):
    """Return the bin edges of one dimension: as given, or evenly spaced over the given range or the values."""
    if isinstance(bins, Tensor):
        return bins
    if range_ is not None:
        low, high = range_
    elif self.numel():
        low, high = float(self.min()), float(self.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return T.linspace(low, high, bins + 1, dtype=self.dtype, device=self.device)


def _histogramdd(self, edges, weight, density):
    """Return the counts, or sums of weights, of the points in the cells between the edges.

    Each row of self is a point. The last cell of each dimension includes its upper edge.
    """
    inside, flat = None, None
    for d, e in enumerate(edges):
        x, n = self.select(-1, d), e._shape[0] - 1
        at = T.searchsorted(e, x.contiguous(), right=True) - 1
        at = T.where(x == e[-1], n - 1, at)
        ok = (x >= e[0]) & (x <= e[-1])
        inside = ok if inside is None else inside & ok
        flat = at if flat is None else flat * n + at
    if inside is None:  # points without coordinates belong to no cell
        return self.new_full((), math.nan if density else 0)
    w = T.ones(inside._shape, dtype=self.dtype, device=self.device) if weight is None else weight
    shape = tuple(e._shape[0] - 1 for e in edges)
    hist = self.new_zeros((numel(shape),)).index_add(0, flat[inside], w[inside]).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / e.diff().reshape([-1 if i == d else 1 for i in range(len(edges))])
    return hist


def _check_bins(self, bins):
    """Raise PyTorch's errors for invalid bins: a tensor of edges or a number of bins for each dimension."""
    n, said = self._shape[-1], "torch.histogramdd: "
    if len(bins) != n:
        if any(isinstance(b, Tensor) for b in bins):
            raise RuntimeError(
                f"{said}expected {n} sequences of bin edges for a {n}-dimensional histogram but got {len(bins)}"
            )
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    for d, b in enumerate(bins):
        if not isinstance(b, Tensor):
            continue
        if b.dtype is not self.dtype:
            kinds = (
                f"input with dtype {dt.c_name(self.dtype)} and bins for dimension {d} with dtype {dt.c_name(b.dtype)}"
            )
            raise RuntimeError(f"{said}input tensor and bins tensors should have the same dtype, but got {kinds}")
        if len(b._shape) != 1:
            raise RuntimeError(
                f"{said}bins tensor should have one dimension, but got {len(b._shape)} dimensions in the bins tensor "
                f"for dimension {d}"
            )
        if not b._shape[0]:
            raise RuntimeError(
                f"{said}bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
                f"dimension {d}"
            )


def _check_histogram(self, bins, range_, weight):
    """Raise PyTorch's errors for invalid arguments of a histogram over points, the rows of self."""
    n, said = self._shape[-1], "torch.histogramdd: "
    if self.dtype not in (dt.float32, dt.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{dt.scalar_name(self.dtype)}'")
    _check_bins(self, bins)
    if weight is not None and weight.dtype is not self.dtype:
        kinds = f"input({dt.c_name(self.dtype)}), and weight({dt.c_name(weight.dtype)})"
        raise RuntimeError(
            f"{said}if weight tensor is provided, input tensor and weight tensor should have the same dtype, "
            f"but got {kinds}"
        )
    if weight is not None and weight._shape != self._shape[:-1]:
        raise RuntimeError(
            f"{said}if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {list(self._shape)} and weight with shape "
            f"{list(weight._shape)}"
        )
    for d, b in enumerate(bins):
        count = b._shape[0] - 1 if isinstance(b, Tensor) else b
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
    if range_ is not None and len(range_) != 2 * n:
        raise RuntimeError(
            f"{said}for a {n}-dimensional histogram range should have {2 * n} elements, but got {len(range_)}"
        )


def _histogram(self, bins, range, weight, density):
    if range is not None and not isinstance(range, (tuple, list)):
        raise mismatch("histogram", False, (self, bins), {"range": range})
    points, weight = self.reshape((-1, 1)), None if weight is None else weight.reshape((-1,))
    _check_histogram(points, [bins], range, weight)
    e = _edges(self, bins, range)
    hist = _histogramdd(points, [e], weight, density)
    return hist, e.clone() if e is bins else e


_HISTOGRAM_DTYPES = Out(
    (
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {want} and hist {got}",
        "torch.histogram: input tensor and bin_edges tensor should have the same dtype, "
        "but got input {want} and bin_edges {got} for dimension 0",
    )
)
composite(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, "
    "Tensor bin_edges)",
    out=_HISTOGRAM_DTYPES,
)(lambda self, bins, weight, density: _histogram(self, bins, None, weight, density))
composite(
    "histogram(Tensor self, int bins=100, *, Any range=None, Tensor? weight=None, bool density=False) -> (Tensor "
    "hist, Tensor bin_edges)",
    out=_HISTOGRAM_DTYPES,
)(_histogram)


@composite(
    "histogramdd(Tensor self, Any bins, Any range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, "
    "Tensor[] bin_edges)",
    out=False,
    method=False,
)
def histogramdd(self, bins, range, weight, density):
    if not isinstance(bins, (int, tuple, list)):
        raise mismatch("histogramdd", False, (self, bins), {})
    bins = list(bins) if isinstance(bins, (tuple, list)) else [bins] * self.size(-1)
    if len(self._shape) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    _check_histogram(self, bins, range, weight)
    points = self.reshape((numel(self._shape[:-1]), self._shape[-1]))
    edges = [
        _edges(points.select(-1, d), b, None if range is None else range[2 * d : 2 * d + 2], d)
        for d, b in enumerate(bins)
    ]
    return _histogramdd(points, edges, None if weight is None else weight.reshape((-1,)), density), tuple(edges)


# ------------------------------------------------------------------------------------------------ covariance
def _check_weights_of_cov(name, t, category, n):
    if len(t._shape) > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(t._shape)} dimensions"
        )
    if t.dtype.category != category:
        kind = "integral" if category == dt.INT else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {dt.scalar_name(t.dtype)} dtype"
        )
    if numel(t._shape) != n:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{numel(t._shape)} != {n}"
        )
    if n and (t < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", out=False)
def cov(self, correction, fweights, aweights):
    if len(self._shape) > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {len(self._shape)} dimensions"
        )
    if self.dtype is dt.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = self if len(self._shape) == 2 else self.reshape((1, -1))
    n, w = x._shape[1], None
    for name, t, category in (("fweights", fweights, dt.INT), ("aweights", aweights, dt.FLOAT)):
        if t is not None:
            _check_weights_of_cov(name, t, category, n)
            w = t if w is None else w * t
    total = n if w is None else w.sum()
    if w is not None and n and total == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if w is None else x * w).sum(1) / total
    norm = total - (correction if correction == 0 or aweights is None else correction * (w * aweights).sum() / total)
    if isinstance(norm, Tensor):
        norm = norm if norm > 0 else T.zeros_like(norm)
    elif norm <= 0:
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        norm = 0
    x = x - mean.unsqueeze(1)
    c = T.mm(x, conj((x if w is None else x * w).t()))
    return (c / norm).squeeze()


@composite("corrcoef(Tensor self) -> Tensor", out=False)
def corrcoef(self):
    if len(self._shape) > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {len(self._shape)} "
            f"dimensions"
        )
    c = self.cov()
    if not c._shape:
        return c / c
    d = c.diagonal()
    s = (d.real if d.dtype.is_complex else d).sqrt()
    c = c / s.unsqueeze(1) / s.unsqueeze(0)
    return T.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.dtype.is_complex else c.clamp(-1, 1)
