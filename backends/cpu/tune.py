"""Measure NumPy's kernels against those of MINDTORCH_KERNELS=balanced: python -m mindtorch_proxy tune [file].

Each is measured at four sizes. The result is written to the file, by default to measured.own(), where
MINDTORCH_KERNELS=fastest reads it. This takes three minutes on one core.
"""

import json
import time
from pathlib import Path

import numpy as np

from ... import progress
from ...runtime import dtypes as dt
from ...runtime import ops, pyboost  # noqa: F401  (the operators)
from ...runtime.autograd import no_grad
from ...runtime.registry import operators
from ...runtime.tensor import from_array
from ..host import DTYPES
from . import measured, table
from .backend import BACKEND

ROUNDS, SECONDS = 5, 0.01
MARGIN = 0.9  # NumPy's kernel is chosen if it takes less than this fraction of the other kernel's time
_RANDOM = np.random.RandomState(0)


def _draw(dtype, *shape):
    """Return random numbers in the domain of every function."""
    a = _RANDOM.uniform(0.1, 0.9, shape)
    return from_array(
        (a < 0.5 if dtype is dt.bool_ else a * 100 + 1 if dtype.category == dt.INT else a).astype(dtype.np), dtype
    )


def _square(n):
    """Return the side of a square of about n elements."""
    return max(round(n**0.5), 1)


def _indices(high, n):
    return from_array(_RANDOM.randint(0, high, n))


# operators that are not elementwise: the arguments of a call with about n elements
SAMPLES = {
    "mm _mm": lambda d, n: (_draw(d, s := _square(n), s), _draw(d, s, s)),
    "_over_rows": lambda d, n: (_draw(d, s := _square(n), s), _draw(d, s, s)),
    "bmm _bmm": lambda d, n: (_draw(d, 4, s := _square(n // 4), s), _draw(d, 4, s, s)),
    "_attention_scores": lambda d, n: (_draw(d, 4, s := _square(n // 4), s), _draw(d, 4, s, s), None, 0.5, False),
    "_linear": lambda d, n: (_draw(d, s := _square(n), s), _draw(d, s, s), _draw(d, s)),
    "addmm": lambda d, n: (_draw(d, s := _square(n)), _draw(d, s, s), _draw(d, s, s), 1, 1),
    "baddbmm": lambda d, n: (_draw(d, 4, s := _square(n // 4), s), _draw(d, 4, s, s), _draw(d, 4, s, s), 1, 1),
    "_where": lambda d, n: (_draw(dt.bool_, n), _draw(d, n), _draw(d, n)),
    "masked_fill": lambda d, n: (_draw(d, n), _draw(dt.bool_, n), 0.0),
    "dot": lambda d, n: (_draw(d, n), _draw(d, n)),
    "mv": lambda d, n: (_draw(d, s := _square(n), s), _draw(d, s)),
    "_softmax _log_softmax": lambda d, n: (_draw(d, s := _square(n), s), 1),
    "_softmax_backward_data _log_softmax_backward_data": lambda d, n: (
        _draw(d, s := _square(n), s),
        _draw(d, s, s),
        1,
        d,
    ),
    "native_layer_norm": lambda d, n: (_draw(d, s := _square(n), s), (s,), _draw(d, s), _draw(d, s), 1e-5),
    "native_group_norm": lambda d, n: (
        _draw(d, 2, 4, s := _square(n // 8), s),
        _draw(d, 4),
        _draw(d, 4),
        2,
        4,
        s * s,
        2,
        1e-5,
    ),
    "_C.native_batch_norm": lambda d, n: (
        _draw(d, 2, 4, s := _square(n // 8), s),
        *(_draw(d, 4) for _ in range(4)),
        True,
        0.1,
        1e-5,
    ),
    "convolution": lambda d, n: (
        _draw(d, 2, 16, s := _square(n // 32), s),
        _draw(d, 16, 16, 3, 3),
        _draw(d, 16),
        (1, 1),
        (1, 1),
        (1, 1),
        False,
        (0, 0),
        1,
    ),
    "_C.convolution_weight": lambda d, n: (
        _draw(d, 2, 16, s := _square(n // 32), s),
        _draw(d, 2, 16, s, s),
        (3, 3),
        (1, 1),
        (1, 1),
        (1, 1),
        1,
    ),
    "sum": lambda d, n: (_draw(d, s := _square(n), s), (0,), False, None),
    "mean": lambda d, n: (_draw(d, s := _square(n), s), (1,), False, None),
    "any all": lambda d, n: (_draw(d, n),),
    "_cat": lambda d, n: ([_draw(d, 2, max(n // 4, 1))] * 2, 1),
    "stack": lambda d, n: ([_draw(d, max(n // 2, 1))] * 2, 0),
    "index_select": lambda d, n: (_draw(d, s := _square(n), s), 0, _indices(s, s)),
    "embedding": lambda d, n: (_draw(d, 512, 64), _indices(512, max(n // 64, 1)), -1, False, False),
    "_C.embedding_dense_backward": lambda d, n: (_draw(d, m := max(n // 64, 1), 64), _indices(512, m), 512, -1, False),
    "_C._nn.nll_loss": lambda d, n: (_draw(d, s := _square(n), s), _indices(s, s), None, 1, -100),
    "_C._nn.nll_loss_backward": lambda d, n: (
        _draw(d),
        _draw(d, s := _square(n), s),
        _indices(s, s),
        _draw(d, s),
        1,
        -100,
        _draw(d),
    ),
    "_pow.Tensor_Scalar": lambda d, n: (_draw(d, n), 3),
    "cumsum": lambda d, n: (_draw(d, s := _square(n), s), 1, None),
    "cummax cummin": lambda d, n: (_draw(d, s := _square(n), s), 1),
    "_sort": lambda d, n: (_draw(d, s := _square(n), s), 1, False, True),
    "topk": lambda d, n: (_draw(d, s := _square(n), s), max(s // 4, 1), 1, True, True),
    "tril triu": lambda d, n: (_draw(d, s := _square(n), s), 0),
    "masked_select": lambda d, n: (_draw(d, n), _draw(dt.bool_, n)),
    "_cdist": lambda d, n: (_draw(d, s := _square(n), 4), _draw(d, s, 4), 2.0),
    "_C._nn.avg_pool2d": lambda d, n: (
        _draw(d, 2, 4, s := max(_square(n // 8), 2), s),
        (2, 2),
        (2, 2),
        (0, 0),
        False,
        True,
        None,
    ),
    "_C._nn.upsample_bilinear2d": lambda d, n: (_draw(d, 2, 4, s := _square(n // 8), s), (2 * s, 2 * s), False, None),
    "_C._nn.mse_loss": lambda d, n: (_draw(d, n), _draw(d, n), 1),
    "_C._nn.binary_cross_entropy": lambda d, n: (_draw(d, n), _draw(d, n), None, 1),
    "_C._nn.binary_cross_entropy_with_logits": lambda d, n: (_draw(d, n), _draw(d, n), None, None, 1),
}
SAMPLES = {name: make for names, make in SAMPLES.items() for name in names.split()}


def _elementwise(op):
    """Return a function that makes the arguments of an elementwise operator: tensors and default values.

    The result is None where a required argument is not a tensor.
    """
    args = op.schema.arguments
    if any(not a.is_tensor and a.required for a in args) or any(a.list for a in args):
        return None
    return lambda d, n: tuple(
        _draw(d, n) if a.is_tensor and (a.required or not a.optional) else a.default for a in args
    )


def _cases():
    """Yield (operator, dtype name, dtype, function for the arguments) where NumPy has an alternative kernel."""
    for op in operators():
        sample = SAMPLES.get(op.full) or (_elementwise(op) if op.promote is not None else None)
        if sample is None or op.fn is not None:
            continue
        for name in ("f32", "f64", "i64", "bool"):
            d = DTYPES[name]
            try:
                steps = table.ladder(op, d, fastest=False)
            except NotImplementedError:
                continue
            kernel = table.numpy_kernel(op, d)
            if kernel is not None and any(k.fn is not kernel.fn for _, k, _ in steps):
                yield op, name, d, sample


def _choose(op, dtype, kernel):
    """Make the operator use this kernel alone, or those of MINDTORCH_KERNELS=balanced if it is None.

    All other operators use the latter.
    """
    BACKEND.ladder = lambda o, d: (
        [(0, kernel, d)] if kernel is not None and o is op and d is dtype else table.ladder(o, d, fastest=False)
    )
    op.plans.clear()
    op.hosted.clear()
    for key in [k for k in BACKEND._plans if k[0] is op]:
        del BACKEND._plans[key]


def _time(call, args):
    """Return the shortest time in seconds of several calls."""
    best, end = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        call(*args)
        best = min(best, time.perf_counter() - start)
    return best


def _fastest(op, dtype, args, size):
    """Return the kind of kernel that is fastest for these arguments."""
    usual, numpy = (
        [k for start, k, _ in table.ladder(op, dtype, fastest=False) if start <= size][-1],
        table.numpy_kernel(op, dtype),
    )
    if usual.fn is numpy.fn:
        return "numpy"
    best, call = [float("inf")] * 2, op.make_call()
    for _ in range(ROUNDS):
        for i, kernel in enumerate((None, numpy)):
            _choose(op, dtype, kernel)
            call(*args)
            best[i] = min(best[i], _time(call, args))
    return "numpy" if best[1] < MARGIN * best[0] else usual.kind


def measure(names=None, report=lambda done, total, what: None):
    """Return {operator: {name of a dtype: [kind for each size]}} for the named operators, or all.

    report is called before each operator and dtype with how many are done, how many there are, and its name.
    """
    found = {}
    cases = [case for case in _cases() if names is None or case[0].full in names]
    before = BACKEND.ladder
    try:
        with no_grad():
            for done, (op, name, d, sample) in enumerate(cases):
                report(done, len(cases), f"{op.full} {d}")
                kinds = [_fastest(op, d, sample(d, n), n) for n in measured.SIZES]
                if "numpy" in kinds:
                    found.setdefault(op.full, {})[name] = kinds
    finally:
        BACKEND.ladder = before
        BACKEND._plans.clear()
        for op in operators():
            op.plans.clear()
            op.hosted.clear()
    return found


def main(path=None):
    path = Path(path) if path else measured.own()
    started = time.monotonic()

    def report(done, total, what):
        progress.show(progress.counted(done, total, what, time.monotonic() - started))

    try:
        kernels = measure(report=report)
    finally:
        progress.show("")
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(of)}" for name, of in sorted(kernels.items()))
    path.write_text(f'{{"mindspore": {json.dumps(pyboost.version())}, "kernels": {{\n{lines}\n}}}}\n')
    print(path)
