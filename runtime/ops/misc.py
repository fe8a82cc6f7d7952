"""Recurrences as loops over time of dispatched operators (the input is projected for all steps at once), and products of groups."""

from ..declare import composite
from .common import F, T, dt
from .creation import FUNCTIONS

# one step: (projected input, states, recurrent weight, its bias, LSTM's projection) -> states; the first state is the output


def _step_rnn(activation):
    def step(x, states, w_hh, b_hh, w_hr=None):
        return (getattr(T, activation)(x + F.linear(states[0], w_hh, b_hh)),)

    return step


def _step_lstm(x, states, w_hh, b_hh, w_hr=None):
    h, c = states
    gates = x + F.linear(h, w_hh, b_hh)
    i, f, _, o = T.sigmoid(gates).chunk(4, 1)
    g = T.tanh(gates.chunk(4, 1)[2])
    c = T.addcmul(f * c, i, g)
    h = o * T.tanh(c)
    return (h if w_hr is None else F.linear(h, w_hr)), c


def _step_gru(x, states, w_hh, b_hh, w_hr=None):
    (h,) = states
    size = h.size(1)
    hidden = F.linear(h, w_hh, b_hh)
    r, z = T.sigmoid(x[:, : 2 * size] + hidden[:, : 2 * size]).chunk(2, 1)
    n = T.tanh(T.addcmul(x[:, 2 * size :], r, hidden[:, 2 * size :]))
    return (T.lerp(n, h, z),)


# mode: (rows of the weights in hidden sizes, step)
MODES = {"RNN_TANH": (1, _step_rnn("tanh")), "RNN_RELU": (1, _step_rnn("relu")), "LSTM": (4, _step_lstm), "GRU": (3, _step_gru)}


def _run_direction(step, x, sizes, states, weights, reverse):
    """One layer in one direction over x: (time, batch, features), or packed rows with the batch size of each step.

    Returns the outputs in the form of x, and the last states.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    projected = F.linear(x, w_ih, b_ih)
    steps = projected.unbind(0) if sizes is None else projected.split(sizes)
    outputs, ended = [], []
    if sizes is not None and reverse:  # sequences start as the batch grows
        later, states = states, [s[: sizes[-1]] for s in states]
    for x_t in reversed(steps) if reverse else steps:
        n, running = x_t.size(0), states[0].size(0)
        if n > running:
            states = [T.cat([s, start[running:n]]) for s, start in zip(states, later)]
        elif n < running:  # sequences end as the batch shrinks
            ended.append([s[n:] for s in states])
            states = [s[:n] for s in states]
        states = step(x_t, states, w_hh, b_hh, w_hr)
        outputs.append(states[0])
    if reverse:
        outputs.reverse()
    if ended:
        states = [T.cat([s, *(e[i] for e in reversed(ended))]) for i, s in enumerate(states)]
    return T.stack(outputs) if sizes is None else T.cat(outputs), states


def run(mode, x, sizes, states, weights, num_layers, dropout, train, bidirectional):
    """All layers; states are tensors of (layers * directions, batch, features), weights the five of each layer and direction."""
    step, directions, last = MODES[mode][1], 1 + bidirectional, []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            i = layer * directions + direction
            output, final = _run_direction(step, x, sizes, [s[i] for s in states], weights[i], direction == 1)
            outputs.append(output)
            last.append(final)
        x = T.cat(outputs, -1) if bidirectional else outputs[0]
        if dropout and train and layer < num_layers - 1:
            x = F.dropout(x, dropout, True)
    return x, tuple(T.stack(s) for s in zip(*last))


# ------------------------------------------------------------------------------------------------ torch.lstm and its like
def _grouped(params, has_biases, count):
    """The flat weights as the five of each layer and direction, None for those that it lacks."""
    n = len(params) // count
    for i in range(0, n * count, n):
        w = list(params[i : i + n])
        biases = w[2:4] if has_biases else [None, None]
        rest = w[4:] if has_biases else w[2:]
        yield [*w[:2], *biases, rest[0] if rest else None]


def _declare(name, mode):
    pair = mode == "LSTM"
    hx, out = ("Tensor[] hx", "(Tensor, Tensor, Tensor)") if pair else ("Tensor hx", "(Tensor, Tensor)")
    rest = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"

    def layers(x, sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        weights = list(_grouped(params, has_biases, num_layers * (1 + bidirectional)))
        return run(mode, x, sizes, hx if pair else (hx,), weights, num_layers, dropout, train, bidirectional)

    @composite(f"{name}.input(Tensor input, {hx}, {rest}, bool batch_first) -> {out}", out=False)
    def padded(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        x, states = layers(input.transpose(0, 1) if batch_first else input, None, hx, params, has_biases, num_layers, dropout, train, bidirectional)
        return (x.transpose(0, 1) if batch_first else x, *states)

    @composite(f"{name}.data(Tensor data, Tensor batch_sizes, {hx}, {rest}) -> {out}", out=False)
    def packed(data, batch_sizes, *a):
        x, states = layers(data, batch_sizes.tolist(), *a)
        return (x, *states)

    @composite(f"{name}_cell(Tensor input, {hx}, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> {out if pair else 'Tensor'}", out=False)
    def cell(input, hx, w_ih, w_hh, b_ih, b_hh):
        states = MODES[mode][1](F.linear(input, w_ih, b_ih), hx if pair else (hx,), w_hh, b_hh)
        return states if pair else states[0]


for _mode in MODES:
    _declare(_mode.lower(), _mode)


# ------------------------------------------------------------------------------------------------ products of groups (mixtures of experts)
def _check_groups(a, b, offs, bias, out_dtype):
    for name, m in (("mat_a", a), ("mat_b", b)):
        if len(m._shape) not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
        if m.dtype not in (dt.float32, dt.bfloat16, dt.float16):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {dt.scalar_name(m.dtype)}")
    if (offs is None) != (len(a._shape) == len(b._shape) == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if a._shape[-1] != b._shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if offs is not None and offs.dtype is not dt.int32:
        raise RuntimeError("Offsets have to be int32")
    sizes = {m._shape[0] for m in (a, b) if len(m._shape) == 3} | ({offs._shape[0]} if offs is not None else set())
    if len(sizes) > 1:
        raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


def _grouped_mm(a, b, offs, bias, out_dtype):
    """Rows of a (or columns of b, or the common dimension) fall into groups that end at `offs`, each with a matrix of its own."""
    _check_groups(a, b, offs, bias, out_dtype)
    if offs is None:
        return T.bmm(a, b)
    ends = offs.tolist()
    parts = list(zip([0, *ends], ends))
    if len(a._shape) == len(b._shape):
        return T.stack([a[:, i:j] @ b[i:j] for i, j in parts])
    if len(a._shape) == 2:
        tail = a._shape[0] - (ends[-1] if ends else 0)
        return T.cat([a[i:j] @ w for (i, j), w in zip(parts, b)] + [a.new_zeros((tail, b._shape[-1]))] * (tail > 0))
    return T.cat([w @ b[:, i:j] for (i, j), w in zip(parts, a)], 1)


@composite("nn.functional.grouped_mm(Tensor mat_a, Tensor mat_b, *, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor", out=False)
def grouped_mm(*args):
    return _grouped_mm(*args)


composite("_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor", method=False, out=False)(
    _grouped_mm
)


# ------------------------------------------------------------------------------------------------ optimizers
@composite(
    "_adam_(Tensor self, Tensor grad, Tensor exp_avg, Tensor exp_avg_sq, float weight1, float beta2, float weight2, float root, float eps, "
    "float step_size, float keep) -> Tensor",
    out=False,
    method=False,
    mutates=(0, 0, 2, 3),
)
def adam_(self, grad, exp_avg, exp_avg_sq, weight1, beta2, weight2, root, eps, step_size, keep):
    """One step of Adam for one parameter, in place: self *= keep, the averages, self -= step_size * exp_avg / (sqrt(exp_avg_sq) / root + eps)."""
    self.mul_(keep)
    exp_avg.lerp_(grad, weight1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=weight2)
    return self.addcdiv_(exp_avg, (exp_avg_sq.sqrt() / root).add_(eps), value=-step_size)


# ------------------------------------------------------------------------------------------------ one value at a time
def _mapped(name, self, others, function):
    """self, overwritten by function(value, values of the others...)."""
    if self.requires_grad or any(o.requires_grad for o in others):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    if self.is_meta:
        return self
    for o in others:
        if o.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {self.type()} for 'other' (got {o.type()})")
    values = zip(*(t.reshape(-1).tolist() for t in (self, *(o.expand(self._shape) for o in others))))
    return self.copy_(FUNCTIONS["tensor"]([function(*v) for v in values], dtype=self.dtype).reshape(self._shape))


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
    if not self.is_meta and not bool(self):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


@composite("Tensor.record_stream(Tensor self, Any s) -> Any", out=False)
def record_stream(self, s):
    raise NotImplementedError(f'"record_stream" is not implemented for device {self.device}')


@composite(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? "
    "out_dtype=None, bool use_fast_accum=False) -> Tensor",
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
