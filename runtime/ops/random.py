"""Random numbers from PyTorch's own streams (runtime/generator.py), drawn in the memory order of the filled tensor."""

import math
import warnings

from ..autograd import check_inplace
from ..autograd.tangents import visible
from ..backend import backend
from ..call.geometry import in_order, memory_order
from ..call.out import CAST, Out, with_out
from ..classes import dispatching
from ..context import CONTEXT, PROCESS
from ..declare import composite, op
from ..device import HOST, META
from ..generator import default_of, on_host
from ..tensor import alias, strided_view
from .common import T, Tensor, dt, has_values, like_self, numel
from .creation import LIKE, OPTS, _flag, _like, _options, _size
from .memory import copy_
from .pointwise import no_derivative

RANDOM = OPTS.replace("ScalarType?", "Generator? generator=None, ScalarType?", 1)
RANDOM_LIKE = LIKE.replace("ScalarType?", "Generator? generator=None, ScalarType?", 1)

# kind: name of the distribution; params: its parameters; size: in memory order
_DRAW = dict(
    meta=lambda kind, size, params, generator, dtype, device: (tuple(size), dtype),
    opmath=False,
    method=False,
    role="draw",
    empty_ok=True,
)
draw_op = op(
    "_draw(str kind, int[] size, Any params, Any generator, ScalarType dtype, Device device) -> Tensor", **_DRAW
)


def draw(kind, size, params, generator, dtype, device):
    """Return a new contiguous tensor of random numbers."""
    if dtype.is_complex and kind in ("uniform", "normal"):
        if kind == "normal":
            params = (*params[:1], params[1] / math.sqrt(2), *params[2:])
        return alias(
            T.view_as_complex(draw(kind, (*size, 2), params, generator, dtype.to_real(), device))
        )  # the result is not a view
    _place(generator, device)
    if device is HOST or device is META:
        return draw_op.call(kind, tuple(size), params, generator, dtype, device)
    if backend(device).draws(kind):
        return draw_op.call(kind, tuple(size), params, generator or default_of(device), dtype, device)
    generator = on_host(generator, device)
    if kind == "dropout":  # one byte of each element is copied to the device
        kept = draw_op.call("bernoulli", tuple(size), (1 - params[0],), generator, dt.bool_, HOST)
        scale = T.ones((), dtype=dt.OPMATH.get(dtype, dtype), device=HOST) / (1 - params[0])
        return kept.to(device).to(dtype) * scale.item()
    return draw_op.call(kind, tuple(size), params, generator, dtype, HOST).to(device)


def _place(generator, device):
    where = device if generator is None or device is META else generator.device
    if where.type != device.type:
        raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{where.type}'")


def _draw_as(kind, like, params, generator, dtype=None):
    """Return random numbers in the shape and memory order of `like`."""
    shape, d = tuple(like._shape), dtype or like.dtype
    order = None if like._stride is None else memory_order(shape, [like])
    if order is None:
        return draw(kind, shape, params, generator, d, like.device)
    r = draw(kind, tuple(shape[i] for i in order), params, generator, d, like.device)
    return in_order(r, shape, order)


# ------------------------------------------------------------------------------------------------ filling in place
def _fill(self, kind, params, generator):
    check_inplace(self)  # raise before any number is drawn
    return copy_(self, _draw_as(kind, self, params, generator))


def _filler(schema, params):
    """Declare Tensor.NAME_; params(*args) returns the parameters of the distribution."""
    name = schema[: schema.index("(")]

    def fill(self, *args):
        *args, generator = args
        return _fill(self, name, params(*args), generator)

    composite(
        f"Tensor.{name}_(Tensor self, {schema[len(name) + 1 : -1]}*, Generator? generator=None) -> Tensor", out=False
    )(fill)


_filler("uniform(float from=0.0, float to=1.0, )", lambda lo, hi: (lo, hi))
_filler("exponential(float lambd=1.0, )", lambda lambd: (lambd,))
_filler("geometric(float p, )", lambda p: (p,))
_filler("log_normal(float mean=1.0, float std=2.0, )", lambda mean, std: (mean, std))
_filler("cauchy(float median=0.0, float sigma=1.0, )", lambda median, sigma: (median, sigma))


@composite("Tensor.normal_(Tensor self, float mean=0.0, float std=1.0, *, Generator? generator=None) -> Tensor")
def normal_(self, mean, std, generator):
    return _fill(self, "normal", (mean, std, self.is_contiguous()), generator)


composite("Tensor.random_(Tensor self, *, Generator? generator=None) -> Tensor")(
    lambda self, generator: _fill(self, "random", (), generator)
)


@composite("Tensor.random_.to(Tensor self, int to, *, Generator? generator=None) -> Tensor")
def random_to_(self, to, generator):
    return _fill(self, "integers", (0, to), generator)


@composite("Tensor.random_.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor")
def random_from_(self, from_, to, generator):
    return _fill(self, "integers", (from_, to), generator)


@composite("Tensor.bernoulli_.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor")
def bernoulli_tensor_(self, p, generator):
    check_inplace(self)
    shape, p = self._shape, p.expand(self._shape)
    order = None if self._stride is None else memory_order(shape, [self])
    if order is None:
        return copy_(self, _bernoulli(p, self.dtype, generator))
    return copy_(self, in_order(_bernoulli(p.permute(order), self.dtype, generator), shape, order))


@composite("Tensor.bernoulli_(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor")
def bernoulli_number_(self, p, generator):
    return _fill(self, "bernoulli", (p,), generator)


# ------------------------------------------------------------------------------------------------ from sizes
def _from_size(name, kind, params):
    @composite(f"{name}(int[] size, *, {RANDOM}) -> Tensor", varargs="size")
    def make(size, generator, dtype, layout, device, requires_grad, pin_memory):
        d, dev = _options(dtype, layout, device)
        return _flag(draw(kind, _size(size), params, generator, d, dev), requires_grad)

    @composite(f"{name}_like(Tensor self, *, {RANDOM_LIKE}) -> Tensor", method=False, out=False)
    def like(self, generator, dtype, layout, device, requires_grad, memory_format, pin_memory):
        return _flag(_filled_like(self, kind, params, generator, dtype, layout, device, memory_format), requires_grad)


def _filled_like(self, kind, params, generator, dtype, layout, device, fmt):
    t = _like(self, dtype, layout, device, fmt, lambda s, d, dev: T.empty(s, dtype=d, device=dev))
    params = (*params[:2], t.is_contiguous()) if kind == "normal" else params
    r = _draw_as(kind, t, params, generator)
    return r if r._stride == t._stride or r.__class__ in dispatching else strided_view(r, t._shape, t._stride, 0)


_from_size("rand", "uniform", (0.0, 1.0))
_from_size("randn", "normal", (0.0, 1.0, True))


def _randint(low, high, size, generator, dtype, layout, device, requires_grad):
    d, dev = _options(dtype, layout, device, dt.int64)
    return _flag(draw("integers", _size(size), (low, high), generator, d, dev), requires_grad)


@composite(f"randint(int high, int[] size, *, {RANDOM}) -> Tensor")
def randint(high, size, generator, dtype, layout, device, requires_grad, pin_memory):
    return _randint(0, high, size, generator, dtype, layout, device, requires_grad)


@composite(f"randint.low(int low, int high, int[] size, *, {RANDOM}) -> Tensor")
def randint_low(low, high, size, generator, dtype, layout, device, requires_grad, pin_memory):
    return _randint(low, high, size, generator, dtype, layout, device, requires_grad)


@composite(f"randint_like(Tensor self, int high, *, {RANDOM_LIKE}) -> Tensor", method=False, out=False)
def randint_like(self, high, generator, dtype, layout, device, requires_grad, memory_format, pin_memory):
    return _flag(
        _filled_like(self, "integers", (0, high), generator, dtype, layout, device, memory_format), requires_grad
    )


@composite(
    f"randint_like.low_dtype(Tensor self, int low, int high, *, {RANDOM_LIKE}) -> Tensor", method=False, out=False
)
def randint_like_low(self, low, high, generator, dtype, layout, device, requires_grad, memory_format, pin_memory):
    return _flag(
        _filled_like(self, "integers", (low, high), generator, dtype, layout, device, memory_format), requires_grad
    )


@composite(f"randperm(int n, *, {RANDOM}) -> Tensor")
def randperm(n, generator, dtype, layout, device, requires_grad, pin_memory):
    d, dev = _options(dtype, layout, device, dt.int64)
    return _flag(draw("permutation", _size((n,)), (), generator, d, dev), requires_grad)


# ------------------------------------------------------------------------------------------- from tensors of parameters
def _sampler(schema, derivative=None, meta=None, out=None, **options):
    """Declare an operator that draws on the host with its arguments as parameters; the last argument is `generator`."""
    inner = op(
        "_C." + schema,
        role="draw",
        opmath=False,
        meta=meta or like_self,
        derivative=derivative,
        method=False,
        **options,
    )

    def sample(*args):
        device = args[0].device
        *args, generator = args
        _place(generator, device)
        if device is HOST or device is META:
            return inner.call(*args, generator)
        if backend(device).draws(inner.full):
            return inner.call(*args, generator or default_of(device))
        args = [a.cpu() if isinstance(a, Tensor) else a for a in args]
        return inner.call(*args, on_host(generator, device)).to(device)

    composite(schema, method="multinomial" in schema, out=out)(sample)
    return sample


_zero = {"self": lambda g: T.zeros_like(g)}
_bernoulli = _sampler(
    "_bernoulli(Tensor self, ScalarType dtype, Any generator) -> Tensor",
    _zero,
    lambda self, dtype, generator: (self._shape, dtype),
)
_sampler("poisson(Tensor self, Generator? generator=None) -> Tensor", _zero)
_sampler(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
    {k: no_derivative("derivative for aten::binomial is not implemented", RuntimeError) for k in ("count", "prob")},
    lambda count, prob, generator: (count._shape, count.dtype),
    prepare=lambda count, prob, generator: (*T.broadcast_tensors(count, prob), generator),
    no_forward="aten::binomial",
)
_sampler(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
    lambda g, self, out: g * T._standard_gamma_grad(self, out),
    no_forward="_standard_gamma",
)
_sampler(
    "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
    {"self": no_derivative("derivative for aten::_sample_dirichlet is not implemented", RuntimeError)},
    no_forward="aten::_sample_dirichlet",
)
op("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", meta=like_self, method=False)
op(
    "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
    meta=lambda x, alpha, total: (x._shape, x.dtype),
    method=False,
)


@composite("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", inplace_function=True, out=CAST)
def bernoulli(self, generator):
    return _bernoulli(self, self.dtype, generator)


@composite("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", inplace_function=True, out=CAST)
def bernoulli_p(self, p, generator):
    return draw("bernoulli", self._shape, (p,), generator, self.dtype, self.device)


def _multinomial_meta(self, num_samples, replacement, generator):
    if not 1 <= len(self._shape) <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if self.dtype.category != dt.FLOAT:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {dt.scalar_name(self.dtype)}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > self._shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    return (*self._shape[:-1], num_samples), dt.int64


_sampler(
    "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
    meta=_multinomial_meta,
    out=Out("{name} expects {Want} tensor out, got: {Got}", resized=None),
)
_normal_grads = {"mean": lambda g: T.zeros_like(g), "std": lambda g: T.zeros_like(g)}
_normal_op = op(
    "_normal(Tensor|Scalar mean, Tensor|Scalar std) -> Tensor",
    method=False,
    function=False,
    memory=True,
    derivative=_normal_grads,
)


def _normal(mean, std, generator):
    t = mean if isinstance(mean, Tensor) else std
    if isinstance(std, Tensor):
        if std.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if has_values(std) and numel(std._shape) and not (std >= 0).all():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        shape = T.broadcast_tensors(mean, std)[0]._shape
    else:
        shape = t._shape
    z = draw("normal", shape, (0.0, 1.0, True), generator, t.dtype, t.device)
    out = (z * std + mean).detach()
    if CONTEXT.grad and any(isinstance(t, Tensor) and t._requires_grad for t in (mean, std)):
        _normal_op.record(out, (mean, std))
    for level in visible() if PROCESS.duals else ():
        if any(isinstance(t, Tensor) and level.get(t) is not None for t in (mean, std)):
            level.put(out, T.zeros_like(out))
    return out


composite("normal(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", method=False)(
    lambda mean, std, generator: _normal(mean, std, generator)
)


@composite(
    "normal.Tensor_float(Tensor mean, float std=1.0, *, Generator? generator=None, Tensor? out=None) -> Tensor",
    method=False,
    out=False,
)
def normal_tensor_float(mean, std, generator, out):
    if out is None:
        return _normal(mean, std, generator)
    return with_out(
        "normal", _normal(T.broadcast_tensors(mean, out)[0], std, generator), out
    )  # the size is that of mean broadcast with out


@composite("normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", method=False)
def normal_float_tensor(mean, std, generator):
    return _normal(mean, std, generator)


@composite(f"normal.float_float(float mean, float std, int[] size, *, {RANDOM}) -> Tensor", method=False)
def normal_numbers(mean, std, size, generator, dtype, layout, device, requires_grad, pin_memory):
    d, dev = _options(dtype, layout, device)
    return _flag(draw("normal", _size(size), (mean, std, True), generator, d, dev), requires_grad)


# ------------------------------------------------------------------------------------------------ dropout
def _check_p(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _dropout(x, p, train, features=False, alpha=False):
    _check_p(p)
    if p == 0 or not train or 0 in x._shape:
        return x
    if features and len(x._shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if p == 1:
        return x * x.new_zeros(())
    if x.dtype.category < dt.FLOAT:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {dt.scalar_name(x.dtype)}")
    fused = backend(x.device).fused("dropout") if not features and not alpha else None
    if fused is not None and (out := fused(x, p)) is not None:
        return out
    kind, params = ("bernoulli", (1 - p,)) if alpha else ("dropout", (p,))
    if features:
        noise = draw(kind, (*x._shape[:2], *(1,) * (len(x._shape) - 2)), params, None, x.dtype, x.device)
    else:
        noise = _draw_as(kind, x, params, None)
    if not alpha:
        return x * noise
    k = 1.7580993408473766
    a = 1 / math.sqrt((k * k * p + 1) * (1 - p))
    return x * (noise * a) + ((noise - 1) * (k * a) + k * a * p)


for _name, _kw in {
    "dropout": {},
    "feature_dropout": {"features": True},
    "alpha_dropout": {"alpha": True},
    "feature_alpha_dropout": {"features": True, "alpha": True},
}.items():
    composite(
        f"{_name}(Tensor input, float p, bool train) -> Tensor",
        method=False,
        out=False,
        inplace=True,
        inplace_function=True,
    )(lambda input, p, train, _kw=_kw: _dropout(input, p, train, **_kw))


def _functional(name, default, **kw):
    def f(input, p, training, inplace):
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        r = (
            T.dropout(input, p, training)
            if name == "dropout" and (PROCESS.interceptors or training.__class__ is not bool)  # which it refuses
            else _dropout(input, p, training, **kw)
        )
        return copy_(input, r) if inplace and r is not input else r

    composite(
        f"nn.functional.{name}(Tensor input, float p=0.5, bool training={default}, bool inplace=False) -> Tensor",
        out=False,
    )(f)
    return f


_functional("dropout", True)
_functional("alpha_dropout", False, alpha=True)
_functional("feature_alpha_dropout", False, features=True, alpha=True)


def _channels(n):
    name = f"dropout{n}d"

    def f(input, p, training, inplace):
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        dims = len(input._shape)
        if dims not in (n + 1, n + 2):
            said = (
                f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an error in a "
                "future release."
            )
            if n == 1:
                raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {dims}D input.")
            warnings.warn(said, UserWarning, stacklevel=4)
        if n == 2 and dims == 3:
            warnings.warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                "desired - input is interpreted as shape (N, C, L), where C is the channel dim. "
                "This behavior will change in a future release to interpret the input as one without a batch "
                "dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, "
                "please switch to using dropout1d instead.",
                UserWarning,
                stacklevel=4,
            )
        batched = dims == n + 2 or n == 2 or dims != n + 1
        x = input if batched else input.unsqueeze(0)
        r = _dropout(x, p, training, features=True)
        if inplace and r is not x:
            return copy_(input, r if batched else r.squeeze(0))
        return r if batched else r.squeeze(0)

    composite(
        f"nn.functional.{name}(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor", out=False
    )(f)


for _n in (1, 2, 3):
    _channels(_n)


@composite("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", method=False, out=False)
def native_dropout(input, p, train):
    if train is False or p == 0:
        return input.clone(), T.ones(input._shape, dtype=dt.bool_, device=input.device)
    mask = _draw_as("bernoulli", input, (1 - p,), None, dt.bool_)
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


@composite("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", method=False)
def native_dropout_backward(grad_output, mask, scale):
    return grad_output * mask * scale
