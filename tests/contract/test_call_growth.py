"""No kernel, formula or composite loops in Python over matrices, rows, elements or outputs, unless a table here says
why.

What Python does while an operator runs is counted, not timed: how often it comes to each line. Calls of functions would
not show a loop that calls none. The samples of tests/oracle are enlarged, recorded ones, so that the counts are the
same wherever the tests run. A line of a loop over the data is come to more often at two, three and four times the size,
by as much each time; an algorithm that starts at some size, or steps that halve the data, do nothing of that kind.
"""

import gc
import sys
import warnings
from collections import Counter

import enlarging
import pytest
import recording
import samples
import torch
from names import NAMES

from mindtorch_proxy.backends.cpu import stacks

FROM = 16, 8, 4  # the least of the sizes: the first of these that leaves room for four times as much
ROOM = 1 << 13  # elements of all arguments together, and half of those of the results: less than a piece of an array
FEW = 2  # samples of an operator; the slow test takes all
STEP = 0.4  # a line of a loop is come to so many times more for each row, or whatever became more

# reason -> operators
LOOPS = {
    "an output is a tensor, which PyTorch makes one by one too": "split tensor_split unbind unbind_copy unsafe_split",
    "row exchanges happen one after the other; each is made in the whole stack at once": (
        "det linalg.det linalg.lu_solve lu_solve lu_unpack"
    ),
    "reflectors are applied one after the other, each by some operators; PyTorch's backward does that too, "
    "its forward calls LAPACK. Not cured": "linalg.householder_product orgqr ormqr",
    "SciPy's LAPACK takes one matrix, and is called for each. Not cured": "linalg.ldl_factor linalg.ldl_factor_ex",
    "blocks of D are applied one after the other, for want of sytrs in SciPy. Not cured": "linalg.ldl_solve",
    "SciPy's expm loops over matrices larger than those that are computed together. Not cured": (
        "linalg.matrix_exp matrix_exp"
    ),
}
REASONS = {name: reason for reason, names in LOOPS.items() for name in names.split()}
# results as large as a power of the size: bins of each dimension, strides of each dimension
NOT_ENLARGED = {"histogramdd", "conv_transpose3d"}


def steps(f):
    """Return to how many lines Python comes in f()."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += 1
        return trace

    _traced(f, trace)
    return count


def executed(f):
    """Return how often Python comes to each line in f(), {(code, line): times}."""
    times = Counter()

    def trace(frame, event, arg):
        if event == "line":
            times[frame.f_code, frame.f_lineno] += 1
        return trace

    _traced(f, trace)
    return times


def _traced(f, trace):
    before, collecting = sys.gettrace(), gc.isenabled()
    gc.disable()  # what is collected may run Python's code
    sys.settrace(trace)
    try:
        f()
    finally:
        sys.settrace(before)
        if collecting:
            gc.enable()


def runs(f, args, kwargs):
    """Return what runs an operator, and its backward where it has one: {"forward": function, "backward": function}.
    Both have run once, so that their kernels are found.
    """

    def forward():
        torch.manual_seed(0)
        return f(*args, **kwargs)

    outputs = [*samples.tensors(torch, forward())]
    if sum(t.numel() for t in outputs) > 2 * ROOM:
        raise OverflowError
    outputs = [t for t in outputs if t.requires_grad]
    inputs = [t for t in samples.tensors(torch, [args, kwargs]) if t.requires_grad]
    weights = [torch.ones_like(t) for t in outputs]

    def backward():
        torch.autograd.grad(outputs, inputs, weights, allow_unused=True, retain_graph=True)

    if not inputs or not outputs:
        return {"forward": forward}
    backward()
    return {"forward": forward, "backward": backward}


def loops(f, args, kwargs, size):
    """Return the loops over what a size counts, {"forward": ["times at four sizes: line"], "backward": ...}, or None
    where the operator takes the sample at no larger size.
    """
    for way in enlarging.WAYS:
        for start in FROM:
            factor = -(-start // size)
            numbers = [factor * size * k for k in (1, 2, 3, 4)]
            largest = enlarging.enlarged(torch, [args, kwargs], size, 4 * factor, way)
            if sum(t.numel() for t in samples.tensors(torch, largest)) > ROOM:
                continue
            try:
                few, many = (runs(f, *enlarging.enlarged(torch, [args, kwargs], size, k * factor, way)) for k in (1, 4))
                kinds = [
                    kind
                    for kind in few.keys() & many.keys()
                    if steps(many[kind]) - steps(few[kind]) >= STEP * (numbers[3] - numbers[0])
                ]
                between = [
                    runs(f, *enlarging.enlarged(torch, [args, kwargs], size, k * factor, way)) if kinds else {}
                    for k in (2, 3)
                ]
                found = {k: growing(numbers, [executed(run[k]) for run in (few, *between, many)]) for k in kinds}
            except OverflowError:
                continue
            except Exception:  # no sample of this operator
                break
            return {kind: lines for kind, lines in found.items() if lines}
    return None


def growing(numbers, counts):
    """Return the lines that Python came to more often in proportion to the numbers, those of most times first."""
    found = []
    for code, line in counts[-1]:
        times = [count[code, line] for count in counts]
        if all(y - x >= STEP * (m - n) for n, m, x, y in zip(numbers, numbers[1:], times, times[1:])):
            found.append((times[-1], f"{times} times: {code.co_filename}:{line} {code.co_name}"))
    return [text for _, text in sorted(found, reverse=True)]


def check(name, few=None, dtype=None):
    """Return how many samples of an operator were enlarged, and {"sample, size, forward or backward": lines} of the
    loops in them; few: so many samples, dtype: of another dtype instead of float32.
    """
    f, enlarged, found = samples.resolve(torch, name), 0, {}
    for sample, _ in recording.read("samples", name) or ():
        if few and enlarged >= few:
            break
        arguments = [samples.decode(torch, sample[part]) for part in ("args", "kwargs")]
        if dtype is not None:
            arguments = enlarging.converted(torch, arguments, dtype)
        results = {n: loops(f, *arguments, n) for n in enlarging.sizes(torch, arguments)}
        enlarged += any(r is not None for r in results.values())
        for n, result in results.items():
            found |= {f"{sample['label']}, size {n}, {kind}": lines for kind, lines in (result or {}).items()}
    return enlarged, found


def told(found):
    return "\n".join(f"{at}\n    " + "\n    ".join(lines[:6]) for at, lines in [*found.items()][:4])


HAVE_SAMPLES = [n for n in NAMES if n not in {*recording.has_nothing("samples"), *NOT_ENLARGED}]
NOT_KNOWN = [n for n in HAVE_SAMPLES if n not in REASONS]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NOT_KNOWN)
def test_no_loop_over_data(name):
    enlarged, found = check(name, FEW)
    if not enlarged:
        pytest.skip("takes its samples at no larger size")
    assert not found, (
        f"{name} comes more often to these lines where there is more data; vectorise them, or enter the operator in "
        f"LOOPS with the reason:\n{told(found)}"
    )


def told_loops(names, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: check(name, *args)[1] for name in names}
    return "\n".join(f"{name}\n{told(lines)}" for name, lines in found.items() if lines)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_no_loop_over_data_in_any_sample():
    found = told_loops(NOT_KNOWN)
    assert not found, found


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("dtype", "float64 float16 bfloat16 int64 bool complex64".split())
def test_no_loop_over_data_of_another_dtype(dtype):
    found = told_loops(NOT_KNOWN, FEW, getattr(torch, dtype))
    assert not found, found


@pytest.mark.nightly
def test_known_loops_are_still_there():
    gone = [name for name in REASONS if not told_loops([name], FEW)]
    assert not gone, f"strike them from LOOPS: {gone}"


def test_most_operators_have_samples():
    assert len(HAVE_SAMPLES) > 600
    assert REASONS.keys() <= {*HAVE_SAMPLES}


def test_a_kernel_that_loops_over_matrices_is_noticed(monkeypatch):
    assert check("linalg.lu_factor", FEW) == (FEW, {})
    monkeypatch.setattr(stacks, "is_stack_of_small", lambda a: False)
    found = check("linalg.lu_factor")[1]
    assert "linalg.py" in told(found) and any("forward" in at for at in found)


@pytest.mark.parametrize(
    "kind, f",
    [
        ("forward", lambda x: torch.stack([row.exp() for row in x])),
        ("backward", lambda x: torch.stack([row.exp() for row in x])),
        ("forward", lambda x: [v for v in x.detach().flatten().tolist()]),
    ],
)
def test_a_loop_is_noticed(kind, f):
    x = torch.ones(3, 2, requires_grad=True)
    assert loops(torch.exp, [x], {}, 3) == {}
    assert loops(f, [x], {}, 3)[kind]


def test_what_starts_at_some_size_and_what_halves_the_data_is_no_loop():
    def halving(x):
        while len(x) > 1:
            x = x[: len(x) // 2]

    def larger(x):
        if len(x) > 40:
            for _ in range(30):
                x.exp()

    x = torch.ones(2)
    assert loops(halving, [x], {}, 2) == loops(larger, [x], {}, 2) == {}
