"""Losses: NLLLoss, and composites of elementwise operators and reductions."""
import numpy as np

from ....runtime.ops.loss import NAMES, POINTWISE, reduced
from ..table import composite, pyboost_, without


def _composite_of(between, fn, after):
    at = 2 + between.count("Tensor?")
    return lambda *a: reduced(fn(*a[:at], *a[at + 1:]), a[at])


for _name, (_between, _prim, _, _fn, *_) in POINTWISE.items():
    without("_C._nn." + _name, f"{_prim} has no CPU kernel for every reduction and argument")
    composite("_C._nn." + _name, f"{_prim} has no CPU kernel for every reduction and argument")(_composite_of(_between, _fn, None))


def _classes(target, ignore, n):
    t = target.asnumpy()
    bad = (t < 0) | (t >= n)
    if bad.any():
        bad &= t != ignore
        if bad.any():
            raise IndexError(f"Target {t[bad][0]} is out of bounds.")
    return t


def _nll(prim, x, target, weight, reduction, ignore):
    t = _classes(target, ignore, x.shape[1])
    if not t.size:
        zero = x.asnumpy().dtype.type(0)
        return zero if reduction != 1 else zero * np.nan, zero
    out, total = prim.of(NAMES[reduction], ignore)(x, target, weight)
    if reduction == 0:
        out = out.asnumpy()
        out[t == ignore] = 0
        total = np.zeros((), out.dtype)
    return out, total


def _nll_backward(prim, g, x, target, weight, reduction, ignore, total):
    return prim.of(NAMES[reduction], ignore)(x, g, target, weight, total)


without("_C._nn.nll_loss _C._nn.nll_loss_backward", "leave values of ignored targets uninitialised, and read beyond the classes")
pyboost_("_C._nn.nll_loss", "NLLLoss", "targets are checked, ignored ones cleared", fn=_nll, dtypes="fd")
pyboost_("_C._nn.nll_loss_backward", "NLLLossGrad", "", fn=_nll_backward, dtypes="fd")
