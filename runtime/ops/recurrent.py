"""Recurrent layers: one operator for each kind, which runs one layer in one direction over whole sequences.

torch.lstm and the similar functions are built on these operators. The operators of single steps are the decomposition
that any device can run (decompositions/recurrent.py); a gradient that is differentiated again goes through them as
well. The input of a layer is (time, batch, features), or packed: (rows, features) and the batch size of each step,
which never grows.
"""

from ..autograd import enable_grad, grad
from ..autograd.tangents import carry
from ..call.autocast import LOWER, get_dtype
from ..context import CONTEXT
from ..declare import composite, op
from .common import F, T, dt, numel


# -------------------------------------------------------------------------------------------- single steps by operators
# A step takes (projected input, states, recurrent weight, its bias, LSTM's projection) and returns (states, what the
# gradients read). The first state is the output.
def _step_rnn(activation):
    def step(x, states, w_hh, b_hh, w_hr=None):
        return (getattr(T, activation)(x + F.linear(states[0], w_hh, b_hh)),), ()

    return step


def _step_lstm(x, states, w_hh, b_hh, w_hr=None):
    h, c = states
    gates = x + F.linear(h, w_hh, b_hh)
    (i, f, _, o), g = T.sigmoid(gates).chunk(4, 1), T.tanh(gates.chunk(4, 1)[2])
    c = T.addcmul(f * c, i, g)
    h = o * T.tanh(c)
    return (h if w_hr is None else F.linear(h, w_hr), c), (T.cat((i, f, g, o), 1), c)


def _step_gru(x, states, w_hh, b_hh, w_hr=None):
    (h,) = states
    size = h.size(1)
    hidden = F.linear(h, w_hh, b_hh)
    r, z = T.sigmoid(x[:, : 2 * size] + hidden[:, : 2 * size]).chunk(2, 1)
    hidden = hidden[:, 2 * size :]
    n = T.tanh(T.addcmul(x[:, 2 * size :], r, hidden))
    return (T.lerp(n, h, z),), (T.cat((r, z, n), 1), hidden)


# mode: (rows of the weights, step function, widths of the tensors that the gradients read); rows and widths are
# multiples of the hidden size
MODES = {
    "RNN_TANH": (1, _step_rnn("tanh"), ()),
    "RNN_RELU": (1, _step_rnn("relu"), ()),
    "LSTM": (4, _step_lstm, (4, 1)),
    "GRU": (3, _step_gru, (3, 1)),
}


def resized(states, n, later, ended):
    """Return the states for a step of n sequences, which may be more or fewer than in the previous step.

    `later` holds the initial states of the sequences that start here; states of sequences that end are appended to
    `ended`.
    """
    running = states[0].size(0)
    if n > running:
        return [T.cat([s, start[running:n]]) for s, start in zip(states, later)]
    if n < running:
        ended.append([s[n:] for s in states])
        return [s[:n] for s in states]
    return states


def by_steps(mode, x, states, weights, sizes, reverse):
    """Run a layer step by step and return (outputs, last states, function that returns what the gradients read)."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    projected = F.linear(x, w_ih, b_ih)
    steps = projected.unbind(0) if sizes is None else projected.split(sizes)
    outputs, kept, ended, later = [], [], [], states
    states = [s[: steps[-1 if reverse else 0].size(0)] for s in states]
    for x_t in reversed(steps) if reverse else steps:
        states, read = MODES[mode][1](x_t, resized(states, x_t.size(0), later, ended), w_hh, b_hh, w_hr)
        outputs.append(states[0])
        kept.append(read)
    if reverse:
        outputs.reverse()
        kept.reverse()
    if ended:
        states = [T.cat([s, *(e[i] for e in reversed(ended))]) for i, s in enumerate(states)]
    join = T.stack if sizes is None else T.cat
    return join(outputs), states, lambda: [join(k) for k in zip(*kept)]


# ------------------------------------------------------------------------------------------------ one layer
_TENSORS = ("input", "hx", "cx", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr")  # only an LSTM has cx, w_hr and a second state
_ARGS = "Tensor input, Tensor hx, Tensor? cx, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh, Tensor? w_hr"


def _recurs(args, needs):
    """Whether the recurrent weight's values matter: for the state's gradient, which later steps need."""
    input, sizes = args[0], args[8]
    return needs[1] or any(needs) and (input._shape[0] if sizes is None else len(sizes)) > 1


_any, _never = (lambda args, needs: any(needs)), (lambda args, needs: False)  # noqa: E731
_READS = {"input": ("w_ih",), "w_ih": ("input",), "w_hh": _recurs, "hx": ("w_hh",), "cx": _any, "w_hr": _any}
_READS |= {"b_ih": _never, "b_hh": _never}


def _check(input, hx, others):
    if input._shape[0] == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    for t in others:
        if t is not None and t.dtype is not input.dtype:
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {input.dtype} and {t.dtype}")
    for x, w in ((input, others[2]), (hx, others[3])):
        if x._shape[-1] != w._shape[1]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({numel(x._shape[:-1])}x{x._shape[-1]} and "
                f"{w._shape[1]}x{w._shape[0]})"
            )


def _layer_meta(mode):
    gates, _, widths = MODES[mode]

    def meta(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse, train):
        _check(input, hx, (hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr))
        rows, batch, d = input._shape[:-1], input._shape[1] if sizes is None else sizes[0], input.dtype
        states = [((batch, hx._shape[1]), d), ((0,) if cx is None else (batch, cx._shape[1]), d)]
        kept = [((*rows, w * (w_hh._shape[0] // gates)), d) if train else ((0,), d) for w in widths]
        return [((*rows, hx._shape[1]), d), *states, *kept, *[((0,), d)] * (2 - len(kept))]

    return meta


def _gradients_by_operators(mode):
    """Return a function that computes the gradients through the operators of single steps.

    The gradients have a graph where gradients are recorded.
    """

    def gradients(gs, tensors, sizes, reverse, needs):
        graph = CONTEXT.grad
        given = [
            t if t is None or graph and (t._requires_grad or not n) else carry(t, t.detach())._requiring_grad(n)
            for t, n in zip(tensors, needs)
        ]
        input, hx, cx, *weights = given
        with enable_grad():
            out, states, _ = by_steps(mode, input, (hx,) if cx is None else (hx, cx), weights, sizes, reverse)
        outs, gs = zip(*[(o, g) for o, g in zip((out, *states), gs) if g is not None])
        got = iter(
            grad(
                outs,
                [t for t, n in zip(given, needs) if n],
                gs,
                create_graph=graph,
                allow_unused=True,
                materialize_grads=True,
            )
        )
        return tuple(next(got) if n else None for n in needs)

    return gradients


def _declare_layer(mode):
    name, plain = mode.lower(), _gradients_by_operators(mode)

    back = op(
        f"_{name}_layer_backward({_ARGS}, Tensor? g_out, Tensor? g_h, Tensor? g_c, Tensor out, Tensor kept, "
        "Tensor more, int[]? sizes, bool reverse, bool[] needs) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, "
        "Tensor, Tensor)",
        meta=lambda *args: [(t._shape if n else (0,), args[0].dtype) for t, n in zip(args, args[-1])],
        out=False,
        empty_ok=True,
    )

    def gradients(gs, input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, out0, out3, out4, sizes, reverse, needs):
        gs, tensors = [*gs, None, None][:3], (input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr)
        if CONTEXT.grad:
            return plain(gs, tensors, sizes, reverse, needs)
        return tuple(
            g if n else None for g, n in zip(back.call(*tensors, *gs, out0, out3, out4, sizes, reverse, needs), needs)
        )

    return op(
        f"_{name}_layer({_ARGS}, int[]? sizes, bool reverse, bool train) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
        meta=_layer_meta(mode),
        derivative={_TENSORS: gradients},
        node="MkldnnRnnLayerBackward0" if mode == "LSTM" else None,
        reads=_READS | {"hx": _any} if mode == "GRU" else _READS,
        non_differentiable=(3, 4) if mode == "LSTM" else (2, 3, 4),
        out=False,
        autocast=None if mode == "GRU" else LOWER,
    )


LAYERS = {mode: _declare_layer(mode) for mode in MODES}


def _layer(mode, x, states, weights, sizes, reverse, call=None):
    """Run one layer in one direction and return (outputs, last states). `call` runs the operator below autocast."""
    tensors = (x, *states, *(None,) * (2 - len(states)), *weights)
    composed = call is not None or mode == "GRU" or mode == "LSTM" and x.dtype is dt.float16  # of steps, in PyTorch
    if composed and CONTEXT.autocast_enabled.get(x.device.type):
        tensors = _in_one_dtype(tensors, dt.promote_types(states[0].dtype, get_dtype(x.device.type)))
        call = LAYERS[mode].call
    train = CONTEXT.grad and any(t is not None and t._requires_grad for t in tensors)
    out = (call or getattr(T, f"_{mode.lower()}_layer"))(*tensors, sizes, reverse, train)
    return out[0], out[1 : 1 + len(states)]


def _in_one_dtype(tensors, dtype):
    """Return operands under autocast in the dtype of the result, to which PyTorch's steps promote state and products.

    float64 is left as it is.
    """
    if any(t is not None and t.dtype is dt.float64 for t in tensors):
        return tensors
    with CONTEXT.set(autocast=None):
        return tuple(t if t is None or t.dtype is dtype else t.to(dtype) for t in tensors)


def run(mode, x, sizes, states, weights, num_layers, dropout, train, bidirectional):
    """Run all layers and return (outputs, last states).

    `states` are tensors of (layers * directions, batch, features), `weights` holds the five of each layer and
    direction. `sizes` is the batch size of each step of a packed input, else None.
    """
    directions, last = 1 + bidirectional, []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            i = layer * directions + direction
            output, final = _layer(mode, x, [s[i] for s in states], weights[i], sizes, direction == 1)
            outputs.append(output)
            last.append(final)
        x = T.cat(outputs, -1) if bidirectional else outputs[0]
        if dropout and train and layer < num_layers - 1:
            x = F.dropout(x, dropout, True)
    if not bidirectional and CONTEXT.grad and x._requires_grad and not _is_one_node(mode, x, sizes, weights):
        x = x.clone()  # PyTorch composes these of steps, so that programs may write to the outputs
    return x, tuple(T.stack(s) for s in zip(*last))


def _is_one_node(mode, x, sizes, weights):
    """Whether PyTorch computes a layer by one call of oneDNN, which keeps its outputs for backward."""
    return mode == "LSTM" and sizes is None and x.dtype is not dt.float64 and all(w[4] is None for w in weights)


def step(mode, x, states, w_ih, w_hh, b_ih, b_hh):
    """Return the states after one step over x: (batch, features). Autocast does not apply to gated cells."""
    call = None if mode.startswith("RNN") else LAYERS[mode].call
    return _layer(mode, x.unsqueeze(0), states, (w_ih, w_hh, b_ih, b_hh, None), None, False, call)[1]


# ----------------------------------------------------------------------------------------------- torch.lstm and similar
def _grouped(params, has_biases, count):
    """Yield the five weights of each layer and direction from the flat list, with None for missing ones."""
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
        x, states = layers(
            input.transpose(0, 1) if batch_first else input,
            None,
            hx,
            params,
            has_biases,
            num_layers,
            dropout,
            train,
            bidirectional,
        )
        return (x.transpose(0, 1) if batch_first else x, *states)

    @composite(f"{name}.data(Tensor data, Tensor batch_sizes, {hx}, {rest}) -> {out}", out=False)
    def packed(data, batch_sizes, *a):
        x, states = layers(data, batch_sizes.tolist(), *a)
        return (x, *states)

    @composite(
        f"{name}_cell(Tensor input, {hx}, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
        f"Tensor? b_hh=None) -> {out if pair else 'Tensor'}",
        out=False,
    )
    def cell(input, hx, w_ih, w_hh, b_ih, b_hh):
        states = step(mode, input, hx if pair else (hx,), w_ih, w_hh, b_ih, b_hh)
        return states if pair else states[0]


for _mode in MODES:
    _declare(_mode.lower(), _mode)
