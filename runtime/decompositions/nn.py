"""Activations, losses, norms, convolution and pooling."""

import math
from functools import partial

from .. import dtypes as dt
from ..ops.common import changed
from ..ops.conv import gradients_by_parts, weight_by_convolution
from ..ops.creation import tensor
from ..ops.loss import POINTWISE, composed, reduced
from ..ops.nn import EDGES, edge_sources
from ..ops.norm import formula
from ..ops.pooling import MAX_POOL, average_windows, pooled, put_back2d, spread, spread_averages
from ..ops.resample import _sample, grid_gradients
from ..registry import DECOMPOSITIONS, T, decomposition, implicit

decomposition("_C.convolution_weight")(weight_by_convolution)
decomposition("_C.convolution_backward")(gradients_by_parts)
decomposition("_C._nn.max_pool2d_with_indices_backward")(put_back2d)
decomposition("_C._nn.adaptive_averages")(average_windows)
decomposition("_C._nn.adaptive_averages_backward")(spread_averages)
decomposition("_C.norm_backward")(formula)
decomposition("_C.grid_sampler_2d", "_C.grid_sampler_3d")(_sample)
decomposition("_C.grid_sampler_2d_backward", "_C.grid_sampler_3d_backward")(grid_gradients)
decomposition(*(f"_C._nn.avg_pool{d}d_backward" for d in (1, 2, 3)))(spread)


@decomposition("_softmax_backward_data")
def softmax_backward(g, out, dim, dtype):
    gy = g * out
    return gy - out * gy.sum(dim, keepdim=True)


@decomposition("_C._nn.max_pool1d_with_indices")
def max_pool1d(x, kernel, stride, padding, dilation, ceil):
    two = [(a, *v) for a, v in zip((1, 1, 0, 1), (kernel, stride, padding, dilation))]
    return tuple(t.squeeze(-2) for t in MAX_POOL[2].call(x.unsqueeze(-2), *two, ceil))


decomposition("leaky_relu_backward")(lambda g, x, slope: T.where(x > 0, g, g * slope))
decomposition("hardtanh_backward")(lambda g, x, low, high: T.where((x <= low) | (x >= high), 0, g))
decomposition("elu_backward")(lambda g, x, alpha: T.where(x <= 0, g * T.exp(x) * alpha, g))
decomposition("softplus_backward")(
    lambda g, x, beta, threshold: T.where(x * beta > threshold, g, g * T.sigmoid(x * beta))
)


def _reduced(between, fn):
    """Return a loss with reduction; the reduction is the argument after target and weights."""
    at = 2 + between.count("Tensor?")
    return lambda *a: reduced(fn(*a[:at], *a[at + 1 :]), a[at])


for _name, (_between, _, _, _fn, _grad, _) in POINTWISE.items():
    decomposition("_C._nn." + _name)(_reduced(_between, _fn))
    decomposition(f"_C._nn.{_name}_backward")(partial(composed, _grad, 1, 2 + _between.count("Tensor?")))
# PyTorch has no such operator
implicit("_C._nn.binary_cross_entropy_with_logits_backward")(
    DECOMPOSITIONS["_C._nn.binary_cross_entropy_with_logits_backward"]
)


# ---------------------------------------------------------------- padding by values at the edges
def _edges(mode, dims):
    def places(shape, device, padding):
        for i in range(dims):
            yield (
                len(shape) - 1 - i,
                tensor(edge_sources(mode, shape[-1 - i], *padding[2 * i : 2 * i + 2]), dtype=dt.int64, device=device),
            )

    def forward(x, padding):
        for d, at in places(x._shape, x.device, padding):
            x = x.index_select(d, at)
        return x

    def backward(g, x, padding):
        for d, at in places(x._shape, x.device, padding):
            g = g.new_zeros(changed(g._shape, d, x._shape[d])).index_add(d, at, g)
        return g

    decomposition(EDGES[mode, dims].full)(forward)
    decomposition(EDGES[mode, dims].full + "_backward")(backward)


for _key in EDGES:
    _edges(*_key)


# ---------------------------------------------------------------- pooling by gathered windows
def _largest(x, places):
    """Return (the largest value, its flat position) of each window over the last dimensions.

    places: for each of these dimensions, the positions of each window.
    """
    dims, index = len(places), 0
    for d, (rows, size) in enumerate(zip(places, x._shape[-dims:])):
        at = tensor(rows, device=x.device).reshape(
            [len(rows) if i == d else len(rows[0]) if i == dims + d else 1 for i in range(2 * dims)]
        )
        index = index * size + at
    index = index.reshape((*index._shape[:dims], -1))
    shape = (*x._shape[:-dims], *index._shape)
    values = x.reshape((*x._shape[:-dims], -1)).index_select(-1, index.reshape(-1)).reshape(shape)
    last = T.where(values != values, T.arange(1, shape[-1] + 1, device=x.device), 0).amax(
        -1, keepdim=True
    )  # the last of several NaN
    at = T.where(last > 0, last - 1, values.argmax(-1, keepdim=True))
    return tuple(t.gather(-1, at).squeeze(-1) for t in (values, index.expand(shape).contiguous()))


@decomposition("_C._nn.max_pool2d_with_indices", "_C._nn.max_pool3d_with_indices")
def max_pool(x, kernel, stride, padding, dilation, ceil):
    """Replace positions outside by the first or last one inside, which changes no maximum."""
    places, sizes = [], x._shape[-len(kernel) :]
    for n, k, s, p, d, o in zip(
        sizes, kernel, stride, padding, dilation, pooled(sizes, kernel, stride, padding, dilation, ceil)
    ):
        starts = [i * s - p for i in range(o)]
        inside = [[a for a in range(f, f + k * d, d) if 0 <= a < n] for f in starts]
        places.append(
            [[min(max(a, row[0]), row[-1]) for a in range(f, f + k * d, d)] for f, row in zip(starts, inside)]
        )
    return _largest(x, places)


@decomposition(*(f"_C._nn.adaptive_max_pool{d}d" for d in (1, 2, 3)))
def adaptive_max_pool(x, size):
    """Pad windows of different lengths with their first position."""
    places = []
    for n, o in zip(x._shape[-len(size) :], size):
        rows = [list(range(i * n // o, -(-(i + 1) * n // o))) for i in range(o)]
        longest = max(map(len, rows))
        places.append([row + row[:1] * (longest - len(row)) for row in rows])
    return _largest(x, places)


# ---------------------------------------------------------------- connectionist temporal classification
def _labels(log_probs, targets, blank):
    """Return (labels with blanks between, their log-probabilities by step, skip).

    skip: which labels can be reached by skipping a blank.
    """
    n, s = targets._shape
    ext = T.full((n, 2 * s + 1), blank, dtype=dt.int64, device=log_probs.device)
    ext[:, 1::2] = targets
    skip = T.constant_pad_nd(ext[:, 2:] != ext[:, :-2], [2, 0]) if s else T.zeros_like(ext, dtype=dt.bool_)
    return ext, log_probs.gather(2, ext.expand((log_probs._shape[0], *ext._shape)).contiguous()), skip


def _alphas(p, skip):
    """Return the log-probability of every prefix that ends in each label, by step."""
    if not p._shape[0]:
        return p.clone()
    a = T.where(T.arange(p._shape[2], device=p.device) < 2, p[0], -math.inf)
    found = [a]
    for row in p[1:]:
        one, two = (T.constant_pad_nd(a, [k, 0], -math.inf).narrow(1, 0, a._shape[1]) for k in (1, 2))
        a = T.logaddexp(T.logaddexp(a, one), T.where(skip, two, -math.inf)) + row
        found.append(a)
    return T.stack(found)


@decomposition("_C.ctc_loss")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    _, p, skip = _labels(log_probs, targets, blank)
    alpha, losses = _alphas(p, skip), []
    for i, (t, s) in enumerate(zip(input_lengths, target_lengths)):
        if t:
            ends = alpha[t - 1, i]
            losses.append(-(T.logaddexp(ends[2 * s], ends[2 * s - 1]) if s else ends[0]))
        else:
            losses.append(T.full((), math.inf if s else 0.0, dtype=log_probs.dtype, device=log_probs.device))
    loss = T.stack(losses) if losses else log_probs.new_empty(0)
    return loss, alpha.transpose(0, 1).contiguous()


@decomposition("_C._ctc_loss_backward")
def ctc_loss_backward(g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, loss, log_alpha):
    """Return PyTorch's gradient, which is that of the logits before log_softmax.

    The derivative of log_softmax leaves it unchanged.
    """
    ext, p, _ = _labels(log_probs, targets, blank)
    grad = T.zeros_like(log_probs)
    for i, (steps, s) in enumerate(zip(input_lengths, target_lengths)):
        if not steps or zero_infinity and loss[i].item() == math.inf:
            continue
        n = 2 * s + 1
        label, q = ext[i, :n], p[:steps, i, :n]
        back = label.flip(0)
        skip = T.constant_pad_nd(back[2:] != back[:-2], [2, 0]) if s else T.zeros_like(back, dtype=dt.bool_)
        # the suffixes are the prefixes of everything reversed
        beta = _alphas(q.flip(0, 1).unsqueeze(1), skip.unsqueeze(0)).squeeze(1).flip(0, 1)
        both = T.exp(log_alpha[i, :steps, :n] + beta - q + loss[i])
        if s and label[-2].item() == blank:
            both[-1, -1] = 0  # at the last step PyTorch's kernel sets each class once
        total = T.zeros((steps, log_probs._shape[2]), dtype=log_probs.dtype, device=g.device).index_add(1, label, both)
        grad[:steps, i] = (T.exp(log_probs[:steps, i]) - total) * g[i]
    return grad
