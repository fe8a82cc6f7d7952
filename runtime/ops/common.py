"""What operator files share: dimension and shape checks, short names of operators."""
import operator

from .. import dtypes as dt
from ..op import REGISTRY_FN, method
from ..tensor import Tensor, contiguous_strides, is_contiguous, numel


class _Torch:
    """`T.add(x, y)` is torch.add: operators by name, looked up when first used."""

    def __init__(self, ns):
        self._ns = ns

    def __getattr__(self, name):
        f = method(name) if self._ns == "Tensor" else REGISTRY_FN(name, self._ns)
        if f is None:
            raise AttributeError(f"no operator {self._ns}.{name}")
        setattr(self, name, f)
        return f


T, F, M, LINALG, SPECIAL = _Torch("torch"), _Torch("nn.functional"), _Torch("Tensor"), _Torch("linalg"), _Torch("special")


def wrap_dim(dim, n):
    """A dimension in [0, n), or PyTorch's IndexError."""
    if dim.__class__ is not int:
        dim = operator.index(dim)
    m = n or 1
    if -m <= dim < m:
        return dim + m if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-m}, {m - 1}], but got {dim})")


def wrap_dims(dims, n, empty_is_all=True):
    """Sorted unique dimensions; None (and the empty list, unless told) means all."""
    if dims is None or (len(dims) == 0 and empty_is_all):
        return tuple(range(n))
    out = [wrap_dim(d, n) for d in dims]
    if len(set(out)) != len(out):
        raise RuntimeError(f"dim {next(d for d in out if out.count(d) > 1)} appears multiple times in the list of dims")
    return tuple(sorted(out))


def check_float(name, t):
    if t.dtype.category < dt.FLOAT:
        raise RuntimeError(f"{name}: expected a floating point or complex tensor, but got {t.dtype}")


def only(kernel, t, *categories, half=True):
    """PyTorch's error for a dtype that a kernel of its own lacks: one of another category, or a half type."""
    if t.dtype.category not in categories or not half and t.dtype in dt.OPMATH:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dt.scalar_name(t.dtype)}'")


def conj(x):
    """The conjugate where it differs; real tensors as they are."""
    return T.conj(x) if isinstance(x, Tensor) and x.dtype.is_complex else x.conjugate() if x.__class__ is complex else x


__all__ = ["T", "F", "M", "LINALG", "SPECIAL", "dt", "Tensor", "wrap_dim", "wrap_dims", "numel", "contiguous_strides", "is_contiguous", "check_float", "only",
           "conj"]
