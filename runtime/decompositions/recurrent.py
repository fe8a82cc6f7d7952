"""Recurrent layers by the operators of their steps.

Gradients are computed over whole sequences from what the forward pass kept.
"""

from ..ops.common import T
from ..ops.recurrent import MODES, by_steps, resized
from ..registry import decomposition, implicit


def _layer(mode):
    def layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse, train):
        states = (hx,) if cx is None else (hx, cx)
        out, states, kept = by_steps(mode, input, states, (w_ih, w_hh, b_ih, b_hh, w_hr), sizes, reverse)
        none = input.new_empty(0)
        return (*[out, *states, none][:3], *[*(kept() if train else ()), none, none][:2])

    return layer


# ------------------------------------------------------------------------------------------------ gradients
# slopes(states before each row, outputs, kept values...) -> factors of each row
# back(factors of a step, gradients of its states) -> (gradients of its gates, gradients of the states before it)
# The latter do not include the part that passes through the recurrent weight.
def _lstm_slopes(before, out, gates, cells):
    i, f, g, o = gates.chunk(4, -1)
    tanh = T.tanh(cells)
    by_cell = (g * i * (1 - i), before[1] * f * (1 - f), i * (1 - g * g))
    return T.cat((*by_cell, tanh * o * (1 - o)), -1), o * (1 - tanh * tanh), f


def _lstm_back(factors, states):
    slopes, through, f = factors
    dh, dc = states
    dc = T.addcmul(dc, dh, through)
    return T.cat((dc, dc, dc, dh), -1) * slopes, (None, dc * f)


def _gru_slopes(before, out, gates, hidden):
    r, z, n = gates.chunk(3, -1)
    new = (1 - z) * (1 - n * n)
    return T.cat((new * r * (1 - r) * hidden, z * (1 - z) * (before[0] - n), new * r, new), -1), z


def _gru_back(factors, states):
    (dh,) = states
    return dh.repeat(1, 4) * factors[0], (dh * factors[1],)


def _rnn_back(factors, states):
    return states[0] * factors[0], (None,)


_BACK = {
    "LSTM": (_lstm_slopes, _lstm_back),
    "GRU": (_gru_slopes, _gru_back),
    "RNN_TANH": (lambda before, out, *_: (1 - out * out,), _rnn_back),
    "RNN_RELU": (lambda before, out, *_: (T.sign(out),), _rnn_back),
}


def _before(steps, start, reverse):
    """Return the state before each step, in the order of the input."""
    found, previous = [], start[:0]
    for s in reversed(steps) if reverse else steps:
        n, running = s.size(0), previous.size(0)
        found.append(previous[:n] if n <= running else T.cat((previous, start[running:n])))
        previous = s
    return found[::-1] if reverse else found


def _backward(mode):
    slopes, back = _BACK[mode]

    def layer_backward(
        input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, g_out, g_h, g_c, out, kept, more, sizes, reverse, needs
    ):
        parts, join = (lambda a: a.unbind(0) if sizes is None else a.split(sizes)), T.stack if sizes is None else T.cat
        before = [join(_before(parts(a), s, reverse)) for a, s in ((out, hx), (more, cx)) if s is not None]
        later = [T.zeros_like(s) if g is None else g for s, g in ((hx, g_h), (cx, g_c)) if s is not None]
        g_out = T.zeros_like(out) if g_out is None else g_out
        rows, gates, heads, ended = [parts(a) for a in (g_out, *slopes(before, out, kept, more))], [], [], []
        steps = list(zip(*rows)) if reverse else list(zip(*rows))[::-1]
        states = [s[: steps[0][0].size(0)] for s in later]
        for g, *factors in steps:
            dh, *rest = resized(states, g.size(0), later, ended)
            dh = dh + g
            heads.append(dh)
            d, (dh, *rest) = back(factors, [dh if w_hr is None else dh @ w_hr, *rest])
            gates.append(d)
            d = d[:, : w_hh.size(0)] @ w_hh
            states = [d if dh is None else d + dh, *rest]
        if ended:
            states = [T.cat([s, *(e[i] for e in reversed(ended))]) for i, s in enumerate(states)]
        d, heads = (T.cat(a if reverse else a[::-1]) for a in (gates, heads))
        n = w_hh.size(0)
        by_state, by_input = (d, d) if d.size(1) == n else (d[:, :n], T.cat((d[:, : n // 3 * 2], d[:, n:]), 1))
        grads = (
            lambda: (by_input @ w_ih).reshape(input.shape),
            lambda: states[0],
            lambda: states[1],
            lambda: by_input.t() @ input.reshape(-1, input.size(-1)),
            lambda: by_state.t() @ before[0].reshape(-1, hx.size(-1)),
            lambda: by_input.sum(0),
            lambda: by_state.sum(0),
            lambda: heads.t() @ (kept.chunk(4, -1)[3] * T.tanh(more)).reshape(-1, cx.size(-1)),
        )
        return tuple(grad() if need else input.new_empty(0) for grad, need in zip(grads, needs))

    return layer_backward


for _mode in MODES:
    for _name, _function in (
        (f"_{_mode.lower()}_layer", _layer(_mode)),
        (f"_{_mode.lower()}_layer_backward", _backward(_mode)),
    ):
        decomposition(_name)(_function)
        # PyTorch's dispatcher sees the operators of the steps
        implicit(_name)(_function)
