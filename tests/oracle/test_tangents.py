"""Forward mode gives on samples of PyTorch's own OpInfos the tangents that the real torch gives, and refuses what the
real torch refuses.

The same samples show that several gradients of one graph in one pass are those of as many passes.
"""

import pytest
import tangents
import torch
from comparing import same, tidy
from names import NAMES
from recording import has_nothing
from run_cases import plain
from samples import decode, resolve, tensors

QUICK = """abs add addcmul addmm amax as_strided atan2 cat clamp cholesky_solve cumprod cumsum div einsum exp fft.fft
    floor gather index_add index_put index_select linalg.inv linalg.qr linalg.svd logsumexp lerp matmul max mul
    nn.functional.batch_norm nn.functional.conv2d nn.functional.cross_entropy nn.functional.gelu
    nn.functional.interpolate nn.functional.layer_norm nn.functional.max_pool2d nn.functional.pad norm ormqr pow prod
    scatter sgn sigmoid softmax sort split std sum take_along_dim transpose unfold var view_as_complex where""".split()
# of these only the first result is compared: vectors have a sign or a phase, and that turns in its own way
FREE = {"linalg.eig", "linalg.eigh"}
# Parts of the names of samples that are not compared. They have no one answer: tangents that are not symmetric of
# symmetric matrices (cholesky), and matrices whose inverse is inexact (cholesky_inverse). Or PyTorch is wrong: it
# multiplies by the whole tangent of a triangular matrix, never transposed, which finite differences contradict
# (triangular_solve); it refuses a mean that normal() expands, tangents are undefined or NaN (prod of scatter_reduce),
# or it adds 1e-13 to what it divides by, which shows where the first elements are far below the largest one
# (logcumsumexp; case_tangents_of_running_logarithms has others).
OTHERWISE = {
    "cholesky_inverse": ("float64 [(5, 5)]", "complex128 [(2, 5, 5)]"),
    "linalg.cholesky": ("upper",),
    "linalg.cholesky_ex": ("upper",),
    "triangular_solve": (
        "float64 [(5, 1), (5, 5)]",
        "float64 [(5, 3), (5, 5)]",
        "float64 [(2, 2, 5, 1), (2, 2, 5, 5)]",
        "complex128 [(5, 1), (5, 5)]",
        "complex128 [(2, 5, 3), (2, 5, 5)]",
    ),
    "normal": ("[(1, 2, 3), (5, 2, 3)]",),
    "scatter_reduce": ("prod",),
    "logcumsumexp": ("(5, 5, 5)",),
}


# The same for second derivatives: operators that suppose a triangular or symmetric matrix, which differences are not,
# and a loss whose target is 1 or -1.
SUPPOSING = {
    "cholesky_inverse": ("",),
    "cholesky_solve": ("",),
    "linalg.cholesky": ("",),
    "linalg.cholesky_ex": ("",),
    "linalg.eigvalsh": ("",),
    "linalg.pinv": ("hermitian",),
    "nn.functional.cosine_embedding_loss": ("",),
}


def check_batches(sample):
    """Gradients of a batch of cotangents, beside a loop over them."""
    torch.manual_seed(0)
    args, kwargs = decode(torch, sample["args"]), decode(torch, sample["kwargs"])
    outputs = [t for t in tensors(torch, resolve(torch, sample["name"])(*args, **kwargs)) if t.requires_grad]
    inputs = [t for t in tensors(torch, [args, kwargs]) if t.requires_grad]
    if outputs and inputs:
        rows = [[factor * tangents.direction(torch, o) for o in outputs] for factor in (1, -0.25, 3)]
        ask = lambda cotangents, **named: torch.autograd.grad(
            outputs, inputs, cotangents, retain_graph=True, allow_unused=True, **named
        )  # noqa: E731
        together = ask([torch.stack(column) for column in zip(*rows)], is_grads_batched=True)
        for got, *each in zip(together, *map(ask, rows)):
            torch.testing.assert_close(got, None if each[0] is None else torch.stack(each), equal_nan=True)


def check_seconds(sample):
    """Second derivatives, beside differences of the gradient along a direction.

    Where the differences of two steps disagree, the gradient has a kink or a jump, and nothing is compared.
    """
    args, kwargs = decode(torch, sample["args"]), decode(torch, sample["kwargs"])
    inputs = [t for t in tensors(torch, [args, kwargs]) if t.requires_grad]
    if not inputs:
        return
    at, along = [t.detach().clone() for t in inputs], [tangents.direction(torch, t) for t in inputs]

    def slope(step, create_graph=False):
        """The gradient at a step along the direction, multiplied by another direction."""
        with torch.no_grad():
            for t, x, d in zip(inputs, at, along):
                t.copy_(x + step * d)
        torch.manual_seed(0)
        results = [
            t for t in tensors(torch, resolve(torch, sample["name"])(*args, **kwargs)) if t.grad_fn and t.numel()
        ]
        weights = [tangents.direction(torch, r) for r in results]
        found = torch.autograd.grad(results, inputs, weights, allow_unused=True, create_graph=create_graph)
        total = torch.zeros((), dtype=torch.float64)
        for g, d in zip(found, along):
            if g is not None:
                total = total + (g.conj() * d * torch.linspace(0.3, 1.7, d.numel()).view(d.shape)).sum().real
        return total

    by_differences = [(slope(h) - slope(-h)) / (2 * h) for h in (2e-6, 1e-6)]
    value = slope(0.0, create_graph=True)
    seconds = torch.autograd.grad(value, inputs, allow_unused=True) if value.requires_grad else [None] * len(inputs)
    found = sum((g.conj() * d).sum().real for g, d in zip(seconds, along) if g is not None)
    scale = 1 + abs(value.detach()) + abs(by_differences[1])
    if abs(by_differences[0] - by_differences[1]) < 1e-3 * scale:
        assert abs(found - by_differences[1]) < 1e-2 * scale, f"{float(found)}, by differences {by_differences}"


def check(name, answers):
    found, problems = answers("tangents", name), []
    if not found:
        pytest.skip("PyTorch has no differentiable samples of it")
    for i, (sample, theirs) in enumerate(found):
        ours = tangents.run(torch, sample, plain)
        if name not in FREE and not isinstance(ours["function"], tuple):  # an error
            check_batches(sample)
            try:
                if i % 2 == 0 and not any(part in sample["label"] for part in SUPPOSING.get(name, ())):
                    check_seconds(sample)
            except AssertionError as e:
                problems.append(f"{sample['label']}\n    second derivatives: {' '.join(repr(e).split())[:300]}")
        for kind, expected in theirs.items():
            if any(part in f"{kind} {sample['label']}" for part in OTHERWISE.get(name, ())):
                continue
            how = {"strides": False, "values": name not in FREE}
            try:
                same(tidy(ours[kind], **how), tidy(expected, **how), kind, strides=False)
                if name in FREE and isinstance(expected, list):
                    same(tidy(ours[kind][0], strides=False), tidy(expected[0], strides=False), kind, strides=False)
            except AssertionError as e:
                problems.append(f"{sample['label']}\n    {' '.join(str(e).split())[:400]}")
    assert not problems, f"{len(problems)} of {len(found)} samples\n" + "\n".join(problems[:12])


@pytest.mark.parametrize("name", QUICK)
def test_tangents(name, answers):
    check(name, answers)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in NAMES if n not in {*QUICK, *has_nothing("tangents")}])
def test_other_tangents(name, answers):
    check(name, answers)
