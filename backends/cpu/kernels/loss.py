"""Losses: NLLLoss, and composites of elementwise operators and reductions."""

import numpy as np

from ....runtime.ops.loss import POINTWISE
from ..table import decomposed, numpy, without

for _name, (_, _prim, *_) in POINTWISE.items():
    without("_C._nn." + _name, f"{_prim} has no CPU kernel for every reduction and argument")
    decomposed("_C._nn." + _name, f"{_prim} has no CPU kernel for every reduction and argument")


def _classes(t, ignore, n):
    bad = (t < 0) | (t >= n)
    if bad.any():
        bad &= t != ignore
        if bad.any():
            raise IndexError(f"Target {t[bad][0]} is out of bounds.")
    return t


WHY_NLL = "NLLLoss and NLLLossGrad leave values of ignored targets uninitialised, read beyond the classes, and are 4 and 16 times slower at 64k elements"
without("_C._nn.nll_loss _C._nn.nll_loss_backward", WHY_NLL)


def _targets(x, t, weight, ignore):
    """(where each row's class stands, its weight, 0 for those ignored)."""
    kept = _classes(t, ignore, x.shape[1]) != ignore
    at = np.arange(len(t)), np.where(kept, t, 0)
    return at, np.where(kept, weight[at[1]], 0)


@numpy("_C._nn.nll_loss", WHY_NLL, dtypes="fd")
def np_nll(x, t, weight, reduction, ignore):
    at, w = _targets(x, t, weight, ignore)
    out = np.where(w, -x[at] * w, 0)
    return (out, x.dtype.type(0)) if reduction == 0 else (out.sum() / (w.sum() if reduction == 1 else 1), w.sum())


@numpy("_C._nn.nll_loss_backward", WHY_NLL, dtypes="fd")
def np_nll_backward(g, x, t, weight, reduction, ignore, total):
    at, w = _targets(x, t, weight, ignore)
    grad = np.zeros_like(x)
    grad[at] = np.where(w, -w * (g / total if reduction == 1 else g), 0)
    return grad


# ------------------------------------------------------------------------------------------------ connectionist temporal classification
CTC_WHY = "the legacy CTCLossV2 refuses inputs shorter than their targets, whose loss is infinite"


def _labels(log_probs, targets, blank):
    """(labels with blanks between, their log-probabilities by step, which labels may be reached by skipping a blank)."""
    n, s = targets.shape
    ext = np.full((n, 2 * s + 1), blank, np.int64)
    ext[:, 1::2] = targets
    skip = np.zeros(ext.shape, bool)
    skip[:, 2:] = (ext[:, 2:] != blank) & (ext[:, 2:] != ext[:, :-2])
    return ext, np.take_along_axis(log_probs, np.broadcast_to(ext, (len(log_probs), *ext.shape)), 2), skip


def _shifted(a, by):
    out = np.full_like(a, -np.inf)
    out[:, by:] = a[:, : a.shape[1] - by]
    return out


def _alphas(p, skip):
    """Log-probability of every prefix ending in every label, by step."""
    alpha = np.full_like(p, -np.inf)
    if len(p):
        alpha[0, :, :2] = p[0, :, :2]
    for t in range(1, len(p)):
        a = alpha[t - 1]
        alpha[t] = np.logaddexp(np.logaddexp(a, _shifted(a, 1)), np.where(skip, _shifted(a, 2), -np.inf)) + p[t]
    return alpha


@numpy("_C.ctc_loss", CTC_WHY)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank):
    _, p, skip = _labels(log_probs, targets, blank)
    alpha = _alphas(p, skip)
    loss = np.empty(p.shape[1], log_probs.dtype)
    for i, (t, s) in enumerate(zip(input_lengths, target_lengths)):
        end = alpha[t - 1, i] if t else np.where(np.arange(p.shape[2]) == 0, 0, -np.inf)
        loss[i] = -np.logaddexp(end[2 * s], end[2 * s - 1] if s else -np.inf)
    return loss, np.ascontiguousarray(alpha.swapaxes(0, 1))


@numpy("_C._ctc_loss_backward", CTC_WHY)
def ctc_loss_backward(g, log_probs, targets, input_lengths, target_lengths, blank, loss, log_alpha):
    """PyTorch's gradient: that of the logits before log_softmax, whose own derivative leaves it as it is."""
    ext, p, _ = _labels(log_probs, targets, blank)
    grad = np.zeros_like(log_probs)
    for i, (steps, s) in enumerate(zip(input_lengths, target_lengths)):
        if not steps or loss[i] == np.inf and not g[i]:
            continue
        n = 2 * s + 1
        label, q = ext[i, :n], p[:steps, i, :n]
        skip = np.zeros((1, n), bool)
        skip[:, 2:] = (label[::-1][2:] != blank) & (label[::-1][2:] != label[::-1][:-2])
        # the suffixes are the prefixes of everything reversed
        beta = _alphas(q[::-1, None, ::-1], skip)[::-1, 0, ::-1]
        both = np.exp(log_alpha[i, :steps, :n] + beta - q + loss[i])
        total = np.zeros((steps, log_probs.shape[2]), log_probs.dtype)
        np.add.at(total, (slice(None), label), both)
        grad[:steps, i] = (np.exp(log_probs[:steps, i]) - total) * g[i]
    return grad
