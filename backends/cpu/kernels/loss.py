"""Losses in NumPy, and decompositions for the remaining dtypes."""

import numpy as np

from ....runtime.ops.loss import POINTWISE
from ... import thresholds
from ...host import DTYPES, FLOATS, in_pieces
from ..table import decomposed, numpy, without


# ------------------------------------------------------------------------------------------------ elementwise
def _in_pieces(fn, operands, numbers):
    """Call fn on operands and numbers, in pieces that fit in the cache.

    It is called once where the operands are small, or differ in shape.
    """
    x = operands[0]
    if x.size <= thresholds.PIECE or not all(
        a is None or a.shape == x.shape and a.flags.c_contiguous for a in operands
    ):
        return fn(*operands, *numbers)
    out = np.empty(x.shape, x.dtype)

    def write(out, *pieces):
        out[...] = fn(*pieces, *numbers)

    in_pieces(write, out, *operands)
    return out


def _losses(name, tensors, why, loss, derivative):
    """Register the kernels of a loss and of its gradient.

    loss and derivative compute the values for each element, from the tensors and the numbers that follow the reduction
    in the arguments.
    """

    def forward(*args):
        reduction = args[tensors]
        out = _in_pieces(loss, args[:tensors], args[tensors + 1 :])
        return (
            out if reduction == 0 else np.add.reduce(out, axis=None) / out.dtype.type(out.size if reduction == 1 else 1)
        )

    def backward(g, *args):
        out = _in_pieces(derivative, args[:tensors], args[tensors + 1 :])
        out *= g / out.dtype.type(out.size) if args[tensors] == 1 and out.size else g
        return out

    for n, kernel in ((name, forward), (name + "_backward", backward)):
        decomposed(n, why, OTHERS)
        numpy(n, why, kernel, dtypes=FLOATS)


# dtypes for which the loss is decomposed into other operators
OTHERS = " ".join(name for name in DTYPES if name not in FLOATS.split())
for _name, (_between, _prim, *_) in POINTWISE.items():
    if _prim:
        without("_C._nn." + _name, f"{_prim} has no CPU kernel for every reduction and argument")
decomposed(
    "_C._nn.soft_margin_loss _C._nn.soft_margin_loss_backward",
    "SoftMarginLoss has no CPU kernel for every reduction and argument",
)


def _smooth_l1(x, t, beta):
    d = np.abs(x - t)
    return d if beta == 0 else np.where(d < beta, d * d * d.dtype.type(0.5 / beta), d - d.dtype.type(0.5 * beta))


def _smooth_l1_derivative(x, t, beta):
    d = x - t
    return np.sign(d) if beta == 0 else np.minimum(np.maximum(d / d.dtype.type(beta), -1), 1)


def _huber(x, t, delta):
    d = np.abs(x - t)
    delta = d.dtype.type(delta)
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


def _huber_derivative(x, t, delta):
    d = x - t
    delta = d.dtype.type(delta)
    return np.minimum(np.maximum(d, -delta), delta)


def _times(x, weight):
    return x if weight is None else x * weight


def _bce(x, t, weight):
    for a, what in ((x, "input"), (t, "target")):
        if not (((a >= 0) & (a <= 1)).all()):  # this refuses NaN too
            raise RuntimeError(f"all elements of {what} should be between 0 and 1")
    low = x.dtype.type(-100)
    return _times((t - 1) * np.maximum(np.log1p(-x), low) - t * np.maximum(np.log(x), low), weight)


def _bce_derivative(x, t, weight):
    return _times((x - t) / np.maximum((1 - x) * x, x.dtype.type(1e-12)), weight)


def _bce_logits(x, t, weight, pos_weight):
    # (1 - t) x + (1 + (p - 1) t) (log(1 + exp(-|x|)) + max(-x, 0))
    soft = np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0)
    return _times((1 - t) * x + (soft if pos_weight is None else (1 + (pos_weight - 1) * t) * soft), weight)


def _bce_logits_derivative(x, t, weight, pos_weight):
    s = 1 / (1 + np.exp(-x))
    return _times(s - t if pos_weight is None else (pos_weight * t + 1 - t) * s - pos_weight * t, weight)


_SLOWER = "no primitive has a CPU kernel; composed of those for the steps {} and {} times slower at 64k elements"
_losses("_C._nn.mse_loss", 2, _SLOWER.format(3, 8), lambda x, t: np.square(x - t), lambda x, t: 2 * (x - t))
_losses("_C._nn.smooth_l1_loss", 2, _SLOWER.format(13, 6), _smooth_l1, _smooth_l1_derivative)
_losses("_C._nn.huber_loss", 2, _SLOWER.format(15, 14), _huber, _huber_derivative)
_WRONG = "{} is off by {}; composed of primitives 8 to 24 times slower at 64k elements"
_losses(
    "_C._nn.binary_cross_entropy",
    3,
    _WRONG.format("BinaryCrossEntropy", "4e-4 for small probabilities"),
    _bce,
    _bce_derivative,
)
_losses(
    "_C._nn.binary_cross_entropy_with_logits",
    4,
    _WRONG.format("BCEWithLogitsLoss", "5e-2 for small losses"),
    _bce_logits,
    _bce_logits_derivative,
)


# ------------------------------------------------------------------------------------------------ classes
def _classes(t, ignore, n):
    bad = (t < 0) | (t >= n)
    if bad.any():
        bad &= t != ignore
        if bad.any():
            raise IndexError(f"Target {t[bad][0]} is out of bounds.")
    return t


WHY_NLL = (
    "NLLLoss and NLLLossGrad leave values of ignored targets uninitialised, read beyond the classes, "
    "and are 4 and 16 times slower at 64k elements"
)
without("_C._nn.nll_loss _C._nn.nll_loss_backward", WHY_NLL)


def _targets(x, t, weight, ignore):
    """Return (the position of each row's class, its weight), with weight 0 for ignored targets."""
    kept = _classes(t, ignore, x.shape[1]) != ignore
    at = np.arange(len(t)), np.where(kept, t, 0)
    return at, np.where(kept, weight[at[1]], 0)


@numpy("_C._nn.nll_loss", WHY_NLL, dtypes="f32 f64")
def np_nll(x, t, weight, reduction, ignore):
    at, w = _targets(x, t, weight, ignore)
    out = np.where(w, -x[at] * w, 0)
    return (out, x.dtype.type(0)) if reduction == 0 else (out.sum() / (w.sum() if reduction == 1 else 1), w.sum())


@numpy("_C._nn.nll_loss_backward", WHY_NLL, dtypes="f32 f64")
def np_nll_backward(g, x, t, weight, reduction, ignore, total):
    at, w = _targets(x, t, weight, ignore)
    grad = np.zeros_like(x)
    grad[at] = np.where(w, -w * (g / total if reduction == 1 else g), 0)
    return grad


# -------------------------------------------------------------------------------- connectionist temporal classification
CTC_WHY = "the legacy CTCLossV2 refuses inputs shorter than their targets, whose loss is infinite"


def _labels(log_probs, targets, blank):
    """Return the labels with blanks between them, their log-probabilities by step, and a mask.

    The mask marks labels that may be reached by skipping a blank.
    """
    n, s = targets.shape
    ext = np.full((n, 2 * s + 1), blank, np.int64)
    ext[:, 1::2] = targets
    skip = np.zeros(ext.shape, bool)
    skip[:, 2:] = ext[:, 2:] != ext[:, :-2]
    return ext, np.take_along_axis(log_probs, np.broadcast_to(ext, (len(log_probs), *ext.shape)), 2), skip


def _alphas(p, skip):
    """Return the log-probability of each prefix at each label and step."""
    steps, n, labels = p.shape
    around = np.full((steps, n, labels + 2), -np.inf, p.dtype)  # two columns before the first label
    alpha = around[:, :, 2:]
    if steps:
        alpha[0, :, :2] = p[0, :, :2]
    for t in range(1, steps):
        before = around[t - 1]
        two = np.where(skip, before[:, :-2], -np.inf)
        a = np.logaddexp(before[:, 2:], before[:, 1:-1])
        np.add(np.logaddexp(a, two, out=a), p[t], out=alpha[t])
    return alpha


@numpy("_C.ctc_loss", CTC_WHY)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    _, p, skip = _labels(log_probs, targets, blank)
    alpha = np.ascontiguousarray(_alphas(p, skip).swapaxes(0, 1))
    steps, last = np.array(input_lengths, np.int64), 2 * np.array(target_lengths, np.int64)
    some, at = np.arange(len(alpha)), np.maximum(steps - 1, 0)
    nothing = np.where(last, -np.inf, 0).astype(p.dtype)  # the log-probability of the labels where there is no step
    if len(p):
        end = np.where(steps, alpha[some, at, last], nothing)
        before = np.where((steps > 0) & (last > 0), alpha[some, at, last - 1], -np.inf)
    else:
        end, before = nothing, -np.inf
    return -np.logaddexp(end, before).astype(log_probs.dtype), alpha


@numpy("_C._ctc_loss_backward", CTC_WHY)
def ctc_loss_backward(g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, loss, log_alpha):
    """Compute PyTorch's gradient.

    It is the gradient with respect to the logits before log_softmax; the backward of log_softmax leaves it unchanged.
    """
    ext, p, _ = _labels(log_probs, targets, blank)
    t, n, labels = p.shape
    if not p.size:
        return np.zeros_like(log_probs)
    steps, count = np.array(input_lengths, np.int64), 2 * np.array(target_lengths, np.int64) + 1
    # suffixes are the prefixes of the reversed sequences, each of which is turned around within its length
    step, label = steps - 1 - np.arange(t)[:, None], count[:, None] - 1 - np.arange(labels)
    there = (step >= 0)[:, :, None] & (label >= 0)
    turn = np.maximum(step, 0)[:, :, None], np.arange(n)[:, None], np.maximum(label, 0)
    turned, skip = np.take_along_axis(ext, turn[2], 1), np.zeros(ext.shape, bool)
    skip[:, 2:] = turned[:, 2:] != turned[:, :-2]
    beta = _alphas(np.where(there, p[turn], -np.inf), skip)[turn]
    both = np.where(there, np.exp(log_alpha.swapaxes(0, 1) + beta - p + loss[:, None]), 0)
    # at the last step PyTorch's kernel sets each class once
    (twice,) = np.nonzero((count > 1) & (ext[np.arange(n), count - 2] == blank))
    both[steps[twice] - 1, twice, count[twice] - 1] = 0
    place = np.arange(t * n).reshape(t, n, 1) * log_probs.shape[2] + ext
    total = np.bincount(place.reshape(-1), both.reshape(-1), log_probs.size).reshape(log_probs.shape)
    used = (step >= 0) & ~(zero_infinity & (loss == np.inf))
    return np.where(used[:, :, None], (np.exp(log_probs) - total) * g[:, None], 0).astype(log_probs.dtype)
