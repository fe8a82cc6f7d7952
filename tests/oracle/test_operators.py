"""Every public operator gives on samples of PyTorch's own OpInfos what the real torch gives: values, dtypes, shapes,
strides, errors.
"""

import numpy as np
import pytest
import samples
import torch
from comparing import by_dtype, same, tidy
from names import NAMES
from recording import has_nothing
from run_cases import plain

UNDEFINED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}  # memory as it was found
TIES = {"kthvalue", "topk", "mode", "median", "nanmedian"}  # of equal values any position
# vectors have a sign or a phase, and gradients go through them; the result at this place has one answer
FREE = {"linalg.eig": 0, "linalg.eigh": 0, "linalg.svd": 1, "svd": 1, "pca_lowrank": 1, "svd_lowrank": 1, "lobpcg": 0}
# what PyTorch itself gets wrong: out= stays unwritten or gets what lay in memory, a derivative raises, constants are
# read as another dtype, the gradient at NaN is another for the last few elements than for those before them
BROKEN = {
    "fft.ihfft2": "out",
    "fft.ihfftn": "out",
    "native_batch_norm": "out",
    "narrow_copy": "gradients",
    "vander": "gradients",
    "matrix_exp": "float16",
    "linalg.matrix_exp": "float16",
    "nn.functional.hardshrink": "gradients",
}
# gradients that PyTorch hands over in another layout than ours, which is contiguous or that of the operand
OTHER_LAYOUT = {
    # the real part of a complex gradient, a view with gaps; the order in which a transform ran
    *"fft fft2 fftn hfft hfft2 hfftn ifft ifft2 ifftn ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftn".split(),
    # products of operands of unlike ranks are folded in another order
    *"__rmatmul__ matmul tensordot bilinear linear linear_cross_entropy multi_head_attention_forward".split(),
    "scaled_dot_product_attention",
    # factorizations and their solvers transpose elsewhere
    *"lu_solve solve_triangular ormqr det householder_product orgqr".split(),
    # one kernel over the gradient and the operand there, a condition first here
    *"softshrink hardshrink hardsigmoid logit logsigmoid xlog1py log_ndtr ndtri atanh arctanh".split(),
    *"amax amin max min".split(),
    # gaps of the base are kept
    *"as_strided as_strided_copy".split(),
    # expanded gradients stay expanded, or do not
    *"repeat tile block_diag to istft adaptive_avg_pool2d adaptive_avg_pool3d".split(),
    # a gradient that stays conjugated
    *"adjoint conj vecdot".split(),
    # zeros for what has no elements
    *"cat concat concatenate put".split(),
    # PyTorch raises here
    *"complex narrow_copy vander".split(),
}
# operators whose backward refuses a change that PyTorch's accepts: PyTorch reads a copy or, wrongly, the changed values
SAVED_MORE = {
    "kron": "wrong gradients in PyTorch, whose reshaped operands share memory but no version",
    "nn.functional.scaled_dot_product_attention": "PyTorch reads scaled copies of query and key",
}


def refused_more(ours, theirs):
    """Whether a backward refuses a change of an operand or result that PyTorch's accepts."""
    if failed(ours) or failed(theirs):
        return ours[:2] != theirs[:2]
    return any(a == "1" and b == "0" for x, y in zip(ours, theirs) for a, b in zip(x, y))


def within(slack):
    """The tolerance for values that differ by rounding: that of the dtype, of the largest element."""

    def tolerance(dtype, expected):
        rtol, atol = by_dtype(dtype, expected)
        if dtype == "float" or not rtol:
            return rtol, atol
        wide = slack * 8 if dtype in ("float16", "bfloat16") else slack  # composites round at every step
        largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
        return wide * rtol, wide * max(atol, atol * largest, rtol / 10 * largest)

    return tolerance


def failed(x):
    return isinstance(x, tuple) and x[:1] == ("raises",)


def tensors(x):
    return (
        [x]
        if isinstance(x, tuple) and x and x[0] == "tensor"
        else [t for v in x for t in tensors(v)]
        if isinstance(x, list)
        else []
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name not in has_nothing("samples")])
def test_operator(name, answers):
    found, problems = answers("samples", name), []
    if not found:
        pytest.skip("PyTorch has no samples of it")
    for sample, theirs in found:
        ours = samples.run(torch, sample, plain, meta=True)
        for kind, expected in theirs.items():
            if name in BROKEN and BROKEN[name] in f"{kind} {sample['label']}":
                continue
            if kind == "saved":
                if refused_more(ours[kind], expected) and name not in SAVED_MORE:
                    problems.append(f"{sample['label']}\n    refuses {ours[kind]}, expected {expected}")
                continue
            other = kind in ("gradients", "layout") and name.split(".")[-1] in OTHER_LAYOUT
            if kind == "layout" and other:
                continue
            how = {"values": name not in UNDEFINED and name not in FREE, "strides": not other}
            try:
                pair = tidy(ours[kind], **how), tidy(expected, **how)
                if name in TIES and all(isinstance(x, list) and len(x) > 1 for x in pair):
                    pair = pair[0][:1], pair[1][:1]
                tolerance = within(10 if kind == "gradients" else 2)
                same(*pair, kind, tolerance=tolerance)
                if name in FREE and kind in ("forward", "out") and isinstance(expected, list):
                    k = FREE[name]
                    same(tidy(ours[kind][k]), tidy(expected[k]), f"{kind}[{k}]", tolerance=tolerance)
            except AssertionError as e:
                problems.append(f"{sample['label']}\n    {' '.join(str(e).split())[:400]}")
        # a value is asked for where there is none: says so
        if (
            failed(ours["forward"])
            or failed(ours["meta"])
            and (ours["meta"][1] == "NotImplementedError" or "meta" in ours["meta"][2])
        ):
            continue
        here = [t[1:4] for t in tensors(tidy(ours["forward"]))]
        if failed(ours["meta"]) or [t[1:4] for t in map(tidy, ours["meta"])] != here:
            problems.append(f"{sample['label']}\n    on meta {ours['meta']}, here {here}")
    assert not problems, f"{len(problems)} of {len(found)} samples\n" + "\n".join(problems[:12])
