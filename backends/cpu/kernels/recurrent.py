"""Recurrent layers in NumPy.

One product covers the inputs of all steps, one more per step covers the state; gradients use products over whole
sequences. A row is one sequence at one step. A sigmoid is computed as (1 + tanh(x / 2)) / 2, so that one call of tanh
computes all gates of a step.
"""

import numpy as np

from ..arrays import ones
from ..blas import dot
from ..table import numpy


class _Steps:
    """The rows of each step, in order of computation."""

    def __init__(self, shape, sizes, reverse):
        sizes = [shape[1]] * shape[0] if sizes is None else sizes
        ends = np.cumsum(sizes).tolist()
        self.slices = [slice(end - n, end) for end, n in zip(ends, sizes)]
        if reverse:
            self.slices.reverse()
        self.most = sizes[0]

    def of(self, *arrays):
        """Yield, for each step, its slices of the arrays."""
        return zip(*[[a[s] for s in self.slices] for a in arrays])

    def back(self, *arrays):
        """Yield the same in reverse order."""
        return zip(*[[a[s] for s in reversed(self.slices)] for a in arrays])

    def before(self, rows, start):
        """Return the state before each row, given the state after each row and the initial states."""
        found, previous = np.empty_like(rows), start[:0]
        for s in self.slices:
            n, running = s.stop - s.start, len(previous)
            found[s] = previous[:n] if n <= running else np.concatenate([previous, start[running:n]])
            previous = rows[s]
        return found


class _States:
    """The states between steps.

    Sequences that start take theirs from `start`; states of sequences that end are collected.
    """

    def __init__(self, start, n):
        self.start, self.ended, self.now = start, [], [a[:n] for a in start]

    def resized(self, now, n):
        """Return the states for a step with n sequences."""
        running = len(now[0])
        if n > running:
            return [np.concatenate([a, start[running:n]]) for a, start in zip(now, self.start)]
        self.ended.append([a[n:] for a in now])
        return [a[:n] for a in now]

    def last(self, now):
        """Return the final states of all sequences, as new arrays."""
        return [np.concatenate([a, *(e[i] for e in reversed(self.ended))]) for i, a in enumerate(now)]


def _projected(x, w, *biases):
    out = dot(x, w.T)
    for b in biases:
        if b is not None:
            out += b
    return out


def _halves(gates, hidden, dtype, tanh):
    """Return the factors of the gates before and after tanh: 1/2 for a sigmoid, 1 for a tanh."""
    s = np.full((gates, hidden), 0.5, dtype)
    s[tanh] = 1
    return s.reshape(-1)


def _wide(row, n):
    """Repeat a row n times, because NumPy adds arrays of one shape twice as fast."""
    return np.tile(row, (n, 1))


# ------------------------------------------------------------ forward: outputs, final states, values saved for backward
def _lstm(x, states, steps, w_ih, w_hh, b_ih, b_hh, w_hr):
    size = w_hh.shape[0] // 4
    scale = _halves(4, size, x.dtype, 2)
    gates = _projected(x, w_ih, b_ih, b_hh)
    gates *= scale
    w = np.multiply(w_hh.T, scale, order="C")
    out, cells = np.empty((len(x), w_hh.shape[1]), x.dtype), np.empty((len(x), size), x.dtype)
    room, slopes, lows, product = (
        np.empty((steps.most, 4 * size), x.dtype),
        _wide(scale, steps.most),
        _wide(1 - scale, steps.most),
        np.empty_like(cells[: steps.most]),
    )
    between = _States(states, steps.slices[0].stop - steps.slices[0].start)
    h, c = between.now
    a = None
    for g, c_new, h_new in steps.of(gates, cells, out):
        n = len(g)
        if n != len(h):
            h, c = between.resized((h, c), n)
        if a is None or n != len(a):
            a, slope, low, t = room[:n], slopes[:n], lows[:n], product[:n]
        g += dot(h, w, a)
        np.tanh(g, out=g)
        g *= slope
        g += low
        np.multiply(g[:, size : 2 * size], c, out=c_new)
        c_new += np.multiply(g[:, :size], g[:, 2 * size : 3 * size], out=t)
        np.tanh(c_new, out=t)
        if w_hr is None:
            np.multiply(g[:, 3 * size :], t, out=h_new)
        else:
            t *= g[:, 3 * size :]
            dot(t, w_hr.T, h_new)
        h, c = h_new, c_new
    return out, between.last((h, c)), (gates, cells)


def _gru(x, states, steps, w_ih, w_hh, b_ih, b_hh, w_hr):
    size = w_hh.shape[1]
    gates = _projected(x, w_ih, b_ih)
    if b_hh is not None:
        gates[:, : 2 * size] += b_hh[: 2 * size]
    gates[:, : 2 * size] *= x.dtype.type(0.5)
    w = np.multiply(w_hh.T, _halves(3, size, x.dtype, 2), order="C")
    bias = 0 if b_hh is None else b_hh[2 * size :]
    out, hidden = np.empty((len(x), size), x.dtype), np.empty((len(x), size), x.dtype)
    room, half = np.empty((steps.most, 3 * size), x.dtype), x.dtype.type(0.5)
    between = _States(states, steps.slices[0].stop - steps.slices[0].start)
    (h,) = between.now
    for g, m, h_new in steps.of(gates, hidden, out):
        n = len(g)
        if n != len(h):
            (h,) = between.resized((h,), n)
        a = dot(h, w, room[:n])
        rz, new = g[:, : 2 * size], g[:, 2 * size :]
        rz += a[:, : 2 * size]
        np.tanh(rz, out=rz)
        rz *= half
        rz += half
        np.add(a[:, 2 * size :], bias, out=m)
        new += np.multiply(rz[:, :size], m, out=h_new)
        np.tanh(new, out=new)
        np.subtract(h, new, out=h_new)
        h_new *= rz[:, size:]
        h_new += new
        h = h_new
    return out, between.last((h,)), (gates, hidden)


def _rnn(activation):
    def forward(x, states, steps, w_ih, w_hh, b_ih, b_hh, w_hr):
        out, w, room = (
            _projected(x, w_ih, b_ih, b_hh),
            np.ascontiguousarray(w_hh.T),
            np.empty((steps.most, len(w_hh)), x.dtype),
        )
        between = _States(states, steps.slices[0].stop - steps.slices[0].start)
        (h,) = between.now
        for (h_new,) in steps.of(out):
            if len(h_new) != len(h):
                (h,) = between.resized((h,), len(h_new))
            h_new += dot(h, w, room[: len(h)])
            h = activation(h_new, out=h_new)
        return out, between.last((h,)), ()

    return forward


# ------------------------------------------------ gradients of the gates with respect to the input and to the state
def _lstm_back(g_out, g_states, steps, out, gates, cells, states, w_hh, w_hr):
    size = cells.shape[1]
    i, f, g, o = (gates[:, k * size : (k + 1) * size] for k in range(4))
    tanh, before = np.tanh(cells), steps.before(cells, states[1])
    slopes = np.empty((len(cells), 4, size), cells.dtype)
    slopes[:, 0], slopes[:, 1], slopes[:, 2], slopes[:, 3] = (
        i * (1 - i) * g,
        f * (1 - f) * before,
        (1 - g * g) * i,
        o * (1 - o) * tanh,
    )
    through, d = o * (1 - tanh * tanh), np.empty_like(slopes)
    raw = None if w_hr is None else np.empty_like(out)
    between = _States(g_states, steps.slices[-1].stop - steps.slices[-1].start)
    dh, dc = between.now
    for d_t, slope, c_slope, f_t, g_t, raw_t in steps.back(d, slopes, through, f, g_out, out if raw is None else raw):
        n = len(d_t)
        if n != len(dh):
            dh, dc = between.resized((dh, dc), n)
        dh = dh + g_t
        if w_hr is not None:
            raw_t[...] = dh
            dh = dot(dh, w_hr)
        dc = dc + dh * c_slope
        np.multiply(slope[:, :3], dc[:, None], out=d_t[:, :3])
        np.multiply(slope[:, 3], dh, out=d_t[:, 3])
        dc *= f_t
        dh = dot(d_t.reshape(n, 4 * size), w_hh)
    d = d.reshape(len(d), 4 * size)
    return d, d, between.last((dh, dc)), None if w_hr is None else dot(raw.T, o * tanh)


def _gru_back(g_out, g_states, steps, out, gates, hidden, states, w_hh, w_hr):
    size = hidden.shape[1]
    r, z, n = (gates[:, k * size : (k + 1) * size] for k in range(3))
    before, slopes = steps.before(out, states[0]), np.empty((len(out), 3, size), out.dtype)
    new = (1 - z) * (1 - n * n)
    slopes[:, 2] = new * r
    slopes[:, 0], slopes[:, 1] = slopes[:, 2] * (1 - r) * hidden, z * (1 - z) * (before - n)
    d, total = np.empty_like(slopes), np.empty_like(out)
    between = _States(g_states, steps.slices[-1].stop - steps.slices[-1].start)
    (dh,) = between.now
    for d_t, slope, z_t, g_t, total_t in steps.back(d, slopes, z, g_out, total):
        if len(d_t) != len(dh):
            (dh,) = between.resized((dh,), len(d_t))
        np.add(dh, g_t, out=total_t)
        np.multiply(slope, total_t[:, None], out=d_t)
        dh = dot(d_t.reshape(len(d_t), 3 * size), w_hh)
        dh += total_t * z_t
    by_input = d.copy()
    by_input[:, 2] = total * new
    return by_input.reshape(len(d), 3 * size), d.reshape(len(d), 3 * size), between.last((dh,)), None


def _rnn_back(slope):
    def back(g_out, g_states, steps, out, _, __, states, w_hh, w_hr):
        slopes, d = slope(out), np.empty_like(out)
        between = _States(g_states, steps.slices[-1].stop - steps.slices[-1].start)
        (dh,) = between.now
        for d_t, slope_t, g_t in steps.back(d, slopes, g_out):
            if len(d_t) != len(dh):
                (dh,) = between.resized((dh,), len(d_t))
            np.add(dh, g_t, out=d_t)
            d_t *= slope_t
            dh = dot(d_t, w_hh)
        return d, d, between.last((dh,)), None

    return back


# ------------------------------------------------------------------------------------------------ the operators
def _rows(a):
    return np.ascontiguousarray(a).reshape(int(np.prod(a.shape[:-1])), a.shape[-1])


def _layer(forward):
    def layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse, train):
        lead, none = input.shape[:-1], np.empty(0, input.dtype)
        x = _rows(input)
        out, states, kept = forward(
            x, [hx] if cx is None else [hx, cx], _Steps(lead, sizes, reverse), w_ih, w_hh, b_ih, b_hh, w_hr
        )
        kept = [k.reshape(*lead, k.shape[1]) for k in kept] if train else []
        return (*[out.reshape(*lead, out.shape[1]), *states, none][:3], *[*kept, none, none][:2])

    return layer


def _layer_backward(back):
    def layer_backward(
        input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, g_out, g_h, g_c, out, kept, more, sizes, reverse, needs
    ):
        steps, states = _Steps(input.shape, sizes, reverse), [hx] if cx is None else [hx, cx]
        x, out, kept, more = (_rows(a) for a in (input, out, kept, more))
        g_out = np.zeros_like(out) if g_out is None else g_out.reshape(out.shape)
        g_states = [np.zeros_like(s) if g is None else g for s, g in zip(states, (g_h, g_c))]
        by_input, by_state, first, g_hr = back(g_out, g_states, steps, out, kept, more, states, w_hh, w_hr)
        none, total = np.empty(0, x.dtype), ones(x.dtype, len(x))
        return (
            dot(by_input, w_ih).reshape(input.shape) if needs[0] else none,
            first[0] if needs[1] else none,
            first[1] if needs[2] else none,
            dot(by_input.T, x) if needs[3] else none,
            dot(by_state.T, steps.before(out, hx)) if needs[4] else none,
            dot(total, by_input) if needs[5] else none,
            dot(total, by_state) if needs[6] else none,
            g_hr if needs[7] else none,
        )

    return layer_backward


_MODES = {
    "lstm": (_lstm, _lstm_back),
    "gru": (_gru, _gru_back),
    "rnn_tanh": (_rnn(np.tanh), _rnn_back(lambda out: 1 - out * out)),
    "rnn_relu": (
        _rnn(lambda a, out: np.maximum(a, 0, out=out)),
        _rnn_back(lambda out: (~(out <= 0)).astype(out.dtype)),
    ),
}
_WHY = (
    "a dozen calls a step: composed of primitives 13 to 20 times slower at 64k elements (16 steps of 32 sequences by "
    "128)"
)
for _name, (_forward, _back) in _MODES.items():
    numpy(f"_{_name}_layer", _WHY, _layer(_forward), dtypes="f32 f64")
    numpy(f"_{_name}_layer_backward", _WHY, _layer_backward(_back), dtypes="f32 f64")
