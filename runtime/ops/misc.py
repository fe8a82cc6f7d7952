"""Grouped matrix products, gradient scaling, optimizer steps, Python functions of single values, small operators."""

import operator

from ..autograd import forward
from ..autograd.tangents import current_level
from ..backend import backend
from ..declare import composite
from ..registry import implicit
from .common import T, dt, has_values, numel
from .creation import FUNCTIONS


# ------------------------------------------------------------------------------------------------ grouped products
def _check_groups(a, b, offs, bias, out_dtype):
    for name, m in (("mat_a", a), ("mat_b", b)):
        if len(m._shape) not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
        if m.dtype not in (dt.float32, dt.bfloat16, dt.float16):
            raise RuntimeError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {dt.scalar_name(m.dtype)}"
            )
    if (offs is None) != (len(a._shape) == len(b._shape) == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if a._shape[-1] != b._shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if offs is not None and offs.dtype is not dt.int32:
        raise RuntimeError("Offsets have to be int32")
    sizes = [m._shape[0] for m in (a, b) if len(m._shape) == 3] + ([offs._shape[0]] if offs is not None else [])
    if any(n != sizes[0] for n in sizes):
        raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


def _grouped_mm(a, b, offs, bias, out_dtype):
    """Multiply groups of rows of a, of columns of b, or of the common dimension, that end at `offs`.

    Each group has a matrix of its own.
    """
    _check_groups(a, b, offs, bias, out_dtype)
    if offs is None:
        return T.bmm(a, b)
    if not has_values(offs):
        groups = (offs._shape[0],) if len(a._shape) == len(b._shape) else ()
        return a.new_empty((*groups, a._shape[-2], b._shape[-1]))
    ends = offs.tolist()
    parts = list(zip([0, *ends], ends))
    if len(a._shape) == len(b._shape):
        return T.stack([a[:, i:j] @ b[i:j] for i, j in parts])
    if len(a._shape) == 2:
        tail = a._shape[0] - (ends[-1] if ends else 0)
        return T.cat([a[i:j] @ w for (i, j), w in zip(parts, b)] + [a.new_zeros((tail, b._shape[-1]))] * (tail > 0))
    return T.cat([w @ b[:, i:j] for (i, j), w in zip(parts, a)], 1)


@composite(
    "nn.functional.grouped_mm(Tensor mat_a, Tensor mat_b, *, Tensor? offs=None, Tensor? bias=None, "
    "ScalarType? out_dtype=None) -> Tensor",
    out=False,
)
def grouped_mm(mat_a, mat_b, offs, bias, out_dtype):
    return T._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


composite(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    method=False,
    out=False,
)(_grouped_mm)


# ------------------------------------------------------------------------------------------------ scaled gradients
def _one_float(**tensors):
    for name, t in tensors.items():
        if numel(t._shape) != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if t.dtype is not dt.float32:
            raise RuntimeError(f"{name} must be a float tensor.")


@composite(
    "_amp_foreach_non_finite_check_and_unscale_(Tensor[] self, Tensor found_inf, Tensor inv_scale) -> ()",
    out=False,
    method=False,
)
def unscale_(self, found_inf, inv_scale):
    """Multiply gradients by inv_scale in place, and set found_inf to 1 if one of them contains inf or NaN."""
    _one_float(inv_scale=inv_scale, found_inf=found_inf)
    for grad in self:
        if grad.dtype.category != dt.FLOAT:
            raise NotImplementedError(
                f"\"_amp_foreach_non_finite_check_and_unscale_cpu\" not implemented for '{dt.scalar_name(grad.dtype)}'"
            )
    kernel = backend(found_inf.device).fused("_amp_foreach_non_finite_check_and_unscale_")
    if kernel is not None and kernel(self, found_inf, inv_scale) is not None:
        return
    if self:
        finite = T.stack([T.isfinite(grad).all().to(found_inf.device) for grad in self])
        found_inf.data.copy_(found_inf.maximum(finite.all().logical_not()))  # PyTorch counts no versions here
    for grad in self:
        grad.data.mul_(inv_scale)


@composite(
    "_amp_update_scale_(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, "
    "float scale_backoff_factor, int growth_interval)"
    " -> Tensor",
    out=False,
    method=False,
)
def update_scale_(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval):
    """Decrease the gradient scale after a step with inf or NaN, or increase it.

    It is increased after growth_interval steps without inf or NaN, unless that would make it inf.
    """
    if growth_tracker.dtype is not dt.int32 or numel(growth_tracker._shape) != 1:
        raise RuntimeError(
            "growth_tracker must be "
            + ("an int tensor." if numel(growth_tracker._shape) == 1 else "a 1-element tensor.")
        )
    _one_float(current_scale=self, found_inf=found_inf)
    if found_inf.item():
        growth_tracker.zero_()
        return self.mul_(scale_backoff_factor)
    if growth_tracker.item() + 1 < growth_interval:
        growth_tracker.add_(1)
        return self
    growth_tracker.zero_()
    grown = self * scale_growth_factor
    return self.copy_(grown) if T.isfinite(grown).item() else self


# ------------------------------------------------------------------------------------------------ optimizers
@composite(
    "_adam_(Tensor self, Tensor grad, Tensor exp_avg, Tensor exp_avg_sq, float weight1, float beta2, float weight2, "
    "float root, float eps, float step_size, float keep, int step, float lr) -> Tensor",
    out=False,
    method=False,
    mutates=(0, 0, 2, 3),
)
def adam_(self, grad, exp_avg, exp_avg_sq, weight1, beta2, weight2, root, eps, step_size, keep, step, lr):
    """Do one step of Adam for one parameter, in place.

    This is self *= keep, the update of both averages, and self -= step_size * exp_avg / (sqrt(exp_avg_sq) / root +
    eps). step and lr are the numbers from which root, step_size and keep were computed, for kernels that correct the
    bias themselves.
    """
    self.mul_(keep)
    exp_avg.lerp_(grad, weight1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=weight2)
    return self.addcdiv_(exp_avg, (exp_avg_sq.sqrt() / root).add_(eps), value=-step_size)


def adam_numbers(step, lr, beta1, beta2, eps, weight_decay, decoupled):
    """Return the numbers of one Adam step: the arguments of `_adam_` from weight1 to keep."""
    keep = 1 - lr * weight_decay if decoupled else 1.0
    return 1 - beta1, beta2, 1 - beta2, (1 - beta2**step) ** 0.5, eps, lr / (1 - beta1**step), keep


@composite(
    "_adam_step_(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] state_steps, "
    "float lr, float beta1, float beta2, float weight_decay, float eps, bool decoupled, bool maximize) -> Tensor[]",
    out=False,
    method=False,
    mutates=(0, 2, 3, 4),
)
def adam_step_(
    self, grads, exp_avgs, exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, decoupled, maximize
):
    """Do one step of Adam for parameters of one dtype on one device, in place, and increment state_steps."""
    for p, grad, average, square, count in zip(self, grads, exp_avgs, exp_avg_sqs, state_steps):
        step = count.add_(1).item()
        grad = -grad if maximize else grad
        if weight_decay and not decoupled:
            grad = grad.add(p, alpha=weight_decay)
        T._adam_(
            p, grad, average, square, *adam_numbers(step, lr, beta1, beta2, eps, weight_decay, decoupled), int(step), lr
        )
    return self


@composite(
    "_sgd_step_(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffers, float lr, float momentum, float dampening, "
    "float weight_decay, bool nesterov, bool maximize) -> Tensor[]",
    out=False,
    method=False,
    mutates=(0, 2),
)
def sgd_step_(self, grads, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov, maximize):
    """Do one step of SGD with momentum for parameters of one dtype on one device, in place."""
    for p, grad, buffer in zip(self, grads, momentum_buffers):
        grad = -grad if maximize else grad
        if weight_decay:
            grad = grad.add(p, alpha=weight_decay)
        buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        p.add_(grad.add(buffer, alpha=momentum) if nesterov else buffer, alpha=-lr)
    return self


# ------------------------------------------------------------------------------------------------ apply_ and map_
def _mapped(name, self, others, function):
    """Overwrite each value of self with function(value, values of the others...), and return self."""
    if self.requires_grad or any(o.requires_grad for o in others):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    if not has_values(self):
        return self
    for o in others:
        if o.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {self.type()} for 'other' (got {o.type()})")
    values = zip(*(t.reshape(-1).tolist() for t in (self, *(o.expand(self._shape) for o in others))))
    self.data.copy_(
        FUNCTIONS["tensor"]([_stored(function(*v), self.dtype) for v in values], dtype=self.dtype).reshape(self._shape)
    )  # through .data, which leaves the version counter as it is
    return self


def _stored(value, dtype):
    """Convert a function's result to an element, or raise Python's conversion error."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if dtype.category < dt.FLOAT:
        return operator.index(value)
    if not hasattr(value, "__float__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


@composite("Tensor.apply_(Tensor self, Any callable) -> Tensor")
def apply_(self, callable):
    return _mapped("apply_", self, (), callable)


@composite("Tensor.map_(Tensor self, Tensor other, Any callable) -> Tensor")
def map_(self, other, callable):
    return _mapped("map_", self, (other,), callable)


@composite("Tensor.map2_(Tensor self, Tensor x, Tensor y, Any callable) -> Tensor")
def map2_(self, x, y, callable):
    return _mapped("map2_", self, (x, y), callable)


# ------------------------------------------------------------------------------------------------ small functions
composite("dequantize(Tensor self) -> Tensor", out=False)(lambda self: self.to(dt.float32))


@composite("_assert_async(Tensor self, str? assert_msg=None) -> Any", out=False)
def assert_async(self, assert_msg):
    if has_values(self) and not bool(self):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


@composite("Tensor.record_stream(Tensor self, Any s) -> Any", out=False)
def record_stream(self, s):
    record = getattr(backend(self.device), "record_stream", None)
    if record is not None:
        return record(self, s)
    raise NotImplementedError(f'"record_stream" is not implemented for device {self.device}')


@composite(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
    "Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    method=False,
    out=False,
)
def scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum):
    if not all(t.dtype.name.startswith("float8") for t in (self, mat2)):
        raise RuntimeError(f"_scaled_mm: expected matrices of float8 types, got {self.dtype} and {mat2.dtype}")
    d = out_dtype or self.dtype
    out = (self.float() * scale_a) @ (mat2.float() * scale_b)
    out = out if bias is None else out + bias.float()
    return (out * scale_result if scale_result is not None and d.name.startswith("float8") else out).to(d)


# ------------------------------------------------------------------------------------------------ forward mode
def _level(name, level):
    found = current_level()
    if found is None or level != 0:
        raise RuntimeError(f"Invalid level given to {name}")
    return found


@implicit("_make_dual")
@composite("_make_dual(Tensor(a) primal, Tensor tangent, int level) -> Tensor(a)", out=False)
def _make_dual(primal, tangent, level):
    """Return a view of a tensor, with a tangent."""
    return forward.make_dual(primal, tangent, _level("_make_dual", level))


@implicit("_unpack_dual")
@composite("_unpack_dual(Tensor(a) dual, int level) -> (Tensor(a) primal, Tensor tangent)", out=False)
def _unpack_dual(dual, level):
    """Return a view of a tensor without its tangent, and the tangent."""
    return forward.unpack_dual(dual, _level("_unpack_dual", level))
