"""Forward mode on samples of an operator, taken from PyTorch's own OpInfos: the tangents of what it gives, in place
too.

tangents(name, folder)  in the real torch: the samples as plain data, each with what the real torch gives for it
run(torch, sample, plain)  the same for either torch
"""

import random
import warnings
from itertools import islice

from samples import alone, as_data, attempt, decode, infos, resolve
from samples import tensors as tensors_of

DTYPES = {"float64": 5, "complex128": 2}  # samples of each


def direction(torch, t):
    """A tangent for t, the same in either torch."""
    d = torch.linspace(0.5, 1.5, max(t.numel(), 1), dtype=torch.float64)[: t.numel()].reshape(t.shape)
    return torch.complex(d, d.flip(tuple(range(d.dim()))) * -0.75).to(t.dtype) if t.is_complex() else d.to(t.dtype)


def run(torch, sample, plain):
    """What a sample's operator gives for dual tensors: the results' tangents, and those of the operator in place."""
    import torch.autograd.forward_ad as forward

    def dual(x):
        if isinstance(x, torch.Tensor):
            return forward.make_dual(x.detach(), direction(torch, x)) if x.requires_grad else x
        if isinstance(x, dict):
            return {k: dual(v) for k, v in x.items()}
        return type(x)([dual(v) for v in x]) if type(x) in (list, tuple) else x

    def parts(results):
        unpacked = [forward.unpack_dual(t) for t in tensors_of(torch, results)]
        return [[plain(torch, u.primal), None if u.tangent is None else plain(torch, u.tangent)] for u in unpacked]

    def function():
        args, kwargs = dual(decode(torch, sample["args"])), dual(decode(torch, sample["kwargs"]))
        return parts(resolve(torch, sample["name"])(*args, **kwargs))

    def in_place():
        args, kwargs = dual(decode(torch, sample["args"])), dual(decode(torch, sample["kwargs"]))
        getattr(args[0], sample["name"].split(".")[-1] + "_")(*args[1:], **kwargs)
        return parts(args[0])

    results = {}
    for kind, f in (("function", function), ("in place", in_place)):
        if kind == "function" or sample["inplace"]:
            torch.manual_seed(0)
            with forward.dual_level(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results[kind] = attempt(f)
    return results


def tangents(name, folder):
    import torch
    from run_cases import plain

    found = []
    for info in infos(name):
        for dtype, count in ((getattr(torch, d), n) for d, n in DTYPES.items()):
            if not info.supports_autograd or dtype not in info.supported_backward_dtypes("cpu"):
                continue
            torch.manual_seed(0)
            inputs, pick = (
                list(islice(info.sample_inputs("cpu", dtype, requires_grad=True), 40)),
                random.Random(f"{name} {dtype}"),
            )
            inputs = inputs[: count - 2] + pick.sample(inputs[count - 2 :], min(2, len(inputs[count - 2 :])))
            for s in inputs + [s.noncontiguous() for s in inputs[:1]]:
                if (sample := as_data(torch, name, s)) is None:
                    continue
                args = (s.input, *s.args)
                sample["inplace"] = (
                    info.inplace_variant is not None
                    and not s.broadcasts_input
                    and isinstance(s.input, torch.Tensor)
                    and alone(s.input)
                )
                sample["label"] = (
                    f"{info.variant_test_name} {dtype} "
                    f"{[tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in args]} {s.kwargs}"[:300]
                )
                if not isinstance(attempt(lambda: (resolve(torch, name)(*args, **s.kwargs), 0)[1]), tuple):
                    found.append((sample, run(torch, sample, plain)))
    return found
