"""Elementwise arithmetic, comparisons and mathematical functions."""
from ..op import ALWAYS_BOOL, COMPLEX_TO_FLOAT, DEFAULT, INT_TO_FLOAT, composite, op
from .common import T, Tensor, conj, dt


def _no_bool_sub(common, self, other, *rest):
    if all((x.dtype if isinstance(x, Tensor) else dt.scalar_dtype(x)) is dt.bool_ for x in (self, other)):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.")
    if any(isinstance(x, Tensor) and x.dtype is dt.bool_ or x.__class__ is bool for x in (self, other)):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                           "`logical_not()` operator instead.")
    return common, common


def _fold_alpha(self, other, alpha):
    """other * alpha, so that the kernel and the formulas see alpha=1."""
    if alpha == 1 and not isinstance(alpha, bool):
        return self, other, 1
    d = self.dtype if isinstance(self, Tensor) else dt.scalar_dtype(self)
    if isinstance(other, Tensor):
        d = dt.promote_types(d, other.dtype)
    if isinstance(alpha, bool) and d is not dt.bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and d.category < dt.FLOAT:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and d.category < dt.COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return self, other * alpha, 1


op("add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor", "Add", promote=DEFAULT, prepare=_fold_alpha, alpha=True,
   derivative={"self": lambda g: g, "other": lambda g: g})
op("sub(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor", "Sub", promote=_no_bool_sub, prepare=_fold_alpha, alpha=True,
   derivative={"self": lambda g: g, "other": lambda g: -g}, alias=("subtract",))
_rsub = op("_rsub(Tensor|Scalar self, Tensor|Scalar other) -> Tensor", "Sub", promote=_no_bool_sub, method=False, inplace=False,
           derivative={"self": lambda g: g, "other": lambda g: -g})


@composite("rsub(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor")
def rsub(self, other, alpha):
    return _rsub.call(other, self if alpha == 1 else self * alpha)


op("mul(Tensor self, Tensor|Scalar other) -> Tensor", "Mul", promote=DEFAULT, alias=("multiply",),
   derivative={"self": lambda g, other: g * conj(other), "other": lambda g, self: g * conj(self)})
_div = op("_div(Tensor|Scalar self, Tensor|Scalar other) -> Tensor", "Div", promote=INT_TO_FLOAT, method=False,
          derivative={"self": lambda g, other: g / conj(other), "other": lambda g, other, out: -g * conj(out / other)})
op("exp(Tensor self) -> Tensor", "Exp", promote=INT_TO_FLOAT, derivative=lambda g, out: g * conj(out))
op("neg(Tensor self) -> Tensor", "Neg", promote=lambda common, self: (common, common), derivative=lambda g: -g, alias=("negative",))
op("abs(Tensor self) -> Tensor", "Abs", promote=COMPLEX_TO_FLOAT, derivative=lambda g, self: g * T.sgn(self), alias=("absolute",))
for _name, _prim in {"eq": "Equal", "ne": "NotEqual", "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}.items():
    op(f"{_name}(Tensor self, Tensor|Scalar other) -> Tensor", _prim, promote=ALWAYS_BOOL,
       alias={"eq": (), "ne": ("not_equal",), "lt": ("less",), "le": ("less_equal",), "gt": ("greater",), "ge": ("greater_equal",)}[_name])
