"""Masked operators: masked out elements are filled with the identity of the operator."""

import torch

from . import _sparse
from .maskedtensor.core import Combine, is_masked_tensor

_SMALL_INTS = (torch.uint8, torch.bool, torch.int8, torch.int16, torch.int32)


def _limit(x, lowest):
    if torch.is_floating_point(x):
        return -torch.inf if lowest else torch.inf
    if torch.is_complex(x):
        raise TypeError(f"the extremum of {x.dtype} input is not defined")
    if x.dtype is torch.bool:
        raise NotImplementedError(f"identity of {'amax' if lowest else 'amin'} on {x.dtype} input")
    return torch.iinfo(x.dtype).min if lowest else torch.iinfo(x.dtype).max


_IDENTITY = {
    "sum": lambda x: 0,
    "prod": lambda x: 1,
    "amax": lambda x: _limit(x, True),
    "amin": lambda x: _limit(x, False),
    "logsumexp": lambda x: -torch.inf if torch.is_complex(x) else _limit(x, True),
    "median": lambda x: torch.nan,
}


def _reduction_identity(op_name, input, *args):
    """Return the identity of a reduction of the input as a 0-D tensor, or None if there is none.

    args: the order of a norm.
    """
    name = op_name.rpartition(".")[2]
    if name in ("mean", "var", "std"):
        return None
    if name == "norm" and args and args[0] == -torch.inf and not torch.is_floating_point(input):
        raise AssertionError(f"input must be floating point, got {input.dtype}")
    known = {"cumsum": "sum", "cumprod": "prod", "argmax": "amax", "logaddexp": "amax", "argmin": "amin"}.get(
        name, name
    )
    identity = _IDENTITY.get(_norm_identity(*args) if name == "norm" else known)
    if (
        identity is None
        or known in ("amax", "amin", "logsumexp")
        and not (torch.is_signed(input) or input.dtype is torch.uint8)
    ):
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    dtype = torch.float if name == "median" and not torch.is_floating_point(input) else input.dtype
    return torch.tensor(identity(input), dtype=dtype, device=input.device)


def _canonical_dim(dim, ndim):
    """Return the dimensions sorted and non-negative; None and () mean all dimensions."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim, dims = max(ndim, 1), []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        dims.append(d % ndim)
    return tuple(sorted(dims))


def _input_mask(input, *args, mask=None, **kwargs):
    """Return the mask in the shape and layout of the input; args and kwargs are those of the operator."""
    if input.layout not in (torch.strided, torch.sparse_coo, torch.sparse_csr):
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = _sparse.broadcast(mask, input.shape)
    return _sparse.conform(mask, input)


def _output_mask(op, input, *args, **kwargs):
    """Return which elements of op(input, *args, **kwargs) depend on at least one unmasked element."""
    name = op.__name__
    if name in _ELEMENTWISE:
        return _input_mask(input, *args, **kwargs)
    if name not in _REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    position = 1 if name == "norm" else 0
    dim = args[position] if len(args) > position else kwargs.get("dim", -1 if name == "median" else None)
    found = _input_mask(input, *args, **kwargs)
    for d in reversed(_canonical_dim(dim, input.ndim) if input.ndim else ()):
        found = found.any(dim=d, keepdim=bool(kwargs.get("keepdim", False)))
    return found


_ELEMENTWISE = {"softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"}
_REDUCTIONS = {"sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp"}


def _where(mask, input, fill_value):
    """Return input where the mask is True and fill_value elsewhere.

    For a sparse tensor, only elements that the mask specifies as True are in the result.
    """
    if mask.layout is torch.strided:
        return torch.where(mask, input, fill_value)
    return _sparse.where(mask, input, fill_value)


def _fill(identity, input, mask):
    if is_masked_tensor(input):
        return Combine.apply(input.get_data(), input.get_mask(), lambda data, mask: _fill(identity, data, mask))
    if mask is None:
        return input
    value = torch.tensor(_IDENTITY[identity](input), dtype=input.dtype, device=input.device)
    return _where(_input_mask(input, mask=mask), input, value)


def _combine_input_and_mask(op, input, mask, *args):
    """Return the input with masked out elements filled with the operator's identity.

    args: the order of a norm.
    """
    if not callable(op):
        raise ValueError(f"_combine_input_and_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__
    if name == "norm":
        return _fill(_norm_identity(*args), input, mask)
    return _fill({"argmax": "amax", "argmin": "amin", "mean": "sum", "logaddexp": "amax"}.get(name, name), input, mask)


def _norm_identity(ord=2.0):
    return "amin" if ord == float("-inf") else "sum"


def _widened(input, dtype):
    return dtype if dtype is not None else torch.int64 if input.dtype in _SMALL_INTS else input.dtype


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the sum of the unmasked elements over the given dimensions."""
    x, dims, dtype = _fill("sum", input, mask), _canonical_dim(dim, input.ndim), _widened(input, dtype)
    if x.layout is not torch.strided:
        return _sparse.reduced("sum", x, dims, bool(keepdim), dtype, 0)
    return torch.sum(x, dims, bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the product of the unmasked elements over the given dimensions."""
    x, dtype = _fill("prod", input, mask), _widened(input, dtype)
    if x.layout is not torch.strided:
        return _sparse.reduced("prod", x, _canonical_dim(dim, input.ndim), bool(keepdim), dtype, 1)
    result = x.to(dtype)
    for d in reversed(_canonical_dim(dim, input.ndim)):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def _scan(name, identity):
    def f(input, dim, *, dtype=None, mask=None):
        dtype = dtype or input.dtype
        return getattr(torch, name)(_fill(identity, input, mask), _canonical_dim(dim, input.ndim)[0], dtype=dtype).to(
            dtype
        )

    return _named(f, name, "The masked scan.")


def _named(f, name, doc):
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return f


def _extremum(name):
    def f(input, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = _fill(name.replace("arg", "a"), input, mask)
        dim = dim if name.startswith("arg") else _canonical_dim(dim, input.ndim)
        if x.layout is not torch.strided:
            return _sparse.reduced(name, x, dim, bool(keepdim), dtype or input.dtype, _limit(input, name == "amax"))
        return getattr(torch, name)(x, dim, bool(keepdim)).to(dtype or input.dtype)

    return _named(f, name, "The masked extremum.")


cumsum, cumprod = _scan("cumsum", "sum"), _scan("cumprod", "prod")
amax, amin, argmax, argmin = map(_extremum, ("amax", "amin", "argmax", "argmin"))


def _count(input, dim, keepdim, mask):
    ones = (
        torch.ones(input.shape, dtype=torch.int64, device=input.device)
        if mask is None
        else _input_mask(input, mask=mask)
    )
    return ones.sum(_canonical_dim(dim, input.ndim), keepdim=bool(keepdim))


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the mean of the unmasked elements over the given dimensions.

    A dtype that is neither floating point nor complex raises ValueError.
    """
    source, dtype = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {dtype}"
        )
    if input.layout is not torch.strided:
        return _sparse_mean(input, dim, keepdim, dtype, mask)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def _sparse_mean(input, dim, keepdim, dtype, mask):
    if mask is None:
        raise ValueError("masked mean expects explicit mask for sparse tensor inputs")
    inside = _input_mask(input, mask=mask)
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=inside)
    return _sparse.divided(total, sum(inside, dim, keepdim=keepdim, dtype=torch.int64, mask=inside))


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Return the median of the unmasked elements along a dimension; of two candidates it is the lower one.

    Without a floating point dtype, a fully masked out row raises ValueError.
    """
    x = input if torch.is_floating_point(input) else input.to(torch.float)
    result = torch.nanmedian(_fill("median", x, mask), _canonical_dim(dim, input.ndim)[0], keepdim).values
    if x is input:
        return result
    if torch.isnan(result).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return log(sum(exp)) of the unmasked elements over the given dimensions."""
    return torch.logsumexp(_fill("logsumexp", input, mask), _canonical_dim(dim, input.ndim), keepdim=keepdim).to(
        dtype or input.dtype
    )


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """Return log(exp(input) + exp(other)), where each operand has its own mask."""
    return torch.logaddexp(_fill("amax", input, input_mask), _fill("amax", other, other_mask)).to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Return the vector norm of the unmasked elements over the given dimensions."""
    x = _fill(_norm_identity(ord), input, mask)
    return torch.linalg.vector_norm(x, ord, _canonical_dim(dim, input.ndim), bool(keepdim), dtype=dtype or input.dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Return the variance of the unmasked elements over the given dimensions.

    Giving both unbiased and correction raises AssertionError.
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    correction = float(correction) if correction is not None else 1.0 if unbiased is None else float(unbiased)
    real = input.dtype.is_floating_point or input.dtype.is_complex
    dtype = dtype or (input.dtype if real else torch.float32)
    compute = dtype if dtype.is_floating_point or dtype.is_complex else torch.float32
    center = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / _count(input, dim, True, mask)
    x = input - center
    total = sum(x * x.conj(), dim, keepdim=keepdim, dtype=compute, mask=mask)
    count = _count(input, dim, keepdim, mask)
    if correction:
        count = (count.to(total.real.dtype) - correction).clamp(min=0)
    return (total / count).to(dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Return the standard deviation of the unmasked elements over the given dimensions."""
    return torch.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


def _normalization(name, identity):
    def f(input, dim, *, dtype=None, mask=None):
        x = _fill(identity, input, mask)
        return getattr(torch.nn.functional, name)(x, _canonical_dim(dim, input.ndim)[0], dtype=dtype or input.dtype)

    return _named(f, name, "The masked normalisation.")


softmax, log_softmax, softmin = (
    _normalization("softmax", "amax"),
    _normalization("log_softmax", "amax"),
    _normalization("softmin", "amin"),
)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """Divide the input by the norm of its unmasked elements along `dim`, which is at least eps."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _fill("sum", input, mask) / torch.maximum(length, length.new_full([], eps))
