"""Random programs of 5 to 15 calls, here and beside the real torch: values, dtypes, shapes, strides, which inputs share
memory, nodes of the graph, versions of the inputs, errors, gradients and their strides.

    .venv/bin/python tools/fuzz.py --oracle PYTHON [--programs 1000] [--seed 0]
A difference is shrunk by hypothesis and printed as the lines of a program; those that tests/ledger.toml knows ("fuzz:
PATTERN") are only counted.
Programs run in two processes that serve them line by line; one that crashes
or needs longer than --limit seconds is a difference too. Needs hypothesis; ends with 1 where programs differ.
"""

import argparse
import collections
import json
import math
import re
import select
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from runner.ledger import load_ledger  # noqa: E402

# the calls: a template in which x, y are tensors made before, d a dimension, n a small int, s a number, b a bool; the
# kinds of x that it is for
UNARY = (
    "neg abs exp sin tanh sigmoid relu floor sign square erf log1p sqrt rsqrt reciprocal isnan isfinite logical_not "
    "frac trunc expm1 digamma lgamma"
)
BINARY = (
    "add sub mul div maximum minimum fmod remainder floor_divide pow atan2 eq lt ge ne logical_and logical_or "
    "logical_xor hypot copysign xlogy"
)
BY_DIM = (
    "sum mean prod amax amin argmax argmin cumsum cumprod all any logsumexp softmax log_softmax std var median mode "
    "sort argsort flip norm count_nonzero"
)
CALLS = [f"x.{n}()" for n in UNARY.split()]
CALLS += [f"torch.{n}(x, y)" for n in BINARY.split()] + [
    f"torch.{n}(x, s)" for n in "add sub mul div fmod remainder pow eq gt le".split()
]
CALLS += [f"x.{n}(d)" for n in BY_DIM.split()] + [
    f"x.{n}(d, keepdim=b)" for n in "sum mean amax argmin logsumexp var max min median".split()
]
CALLS += [
    f"x.{n}()"
    for n in "sum mean prod max min argmax all any std norm nonzero unique flatten ravel numel tolist cumsum sort "
    "median contiguous".split()
]
CALLS += (
    "x.t() x.mT x.T x.squeeze() x.squeeze(d) x.unsqueeze(d) x.transpose(d,n) x.flatten(d) x.reshape(-1) x.view(-1) "
    "x.permute(1,0) x.view_as(y)"
).split()
CALLS += (
    "x.select(d,n) x.narrow(d,0,n) x.chunk(2,d)[0] x.split(n,d)[-1] x.unbind(d)[0] x.diagonal() x.diag() x.tril(n) "
    "x.triu(n) x.unfold(d,2,1)"
).split()
CALLS += (
    "x[0] x[-1] x[...,0] x[None] x[1:] x[::2] x[:,n] x[x>s] x[[0,0]] x[torch.tensor([0,n])] x[:,None,0] x[n:n] "
    "x.expand_as(y) x.roll(n,d)"
).split()
CALLS += (
    "x.repeat(2,1) x.tile(2) x.expand(2,*x.shape) x.index_select(d,torch.tensor([0])) x.take(torch.tensor([0,n])) "
    "x.gather(d,y.long()) x.rot90()"
).split()
CALLS += (
    "x.masked_fill(y>s,s) x.masked_select(y>0) torch.where(x>y,x,y) torch.where(x>s,x,s) x.clamp(s) x.clamp(max=s) "
    "x.clamp(0,s) x.lerp(y,0.5)"
).split()
CALLS += (
    "torch.cat([x,y]) torch.cat([x,y],d) torch.stack([x,y],d) torch.mm(x,y) x@y x@y.t() torch.outer(x,y) "
    "torch.dot(x,y) torch.bmm(x,y) torch.kron(x,y)"
).split()
CALLS += (
    "torch.addmm(x,y,y) x.addcmul(y,y,value=s) x.addcdiv(y,y) torch.einsum('ij,jk->ik',x,y) torch.tensordot(x,y,1) "
    "F.linear(x,y) F.pad(x,(1,n))"
).split()
CALLS += (
    "F.gelu(x) F.silu(x) F.softplus(x) F.leaky_relu(x) F.elu(x) F.hardtanh(x) F.normalize(x,dim=d) "
    "F.layer_norm(x,x.shape[-1:]) F.mse_loss(x,y)"
).split()
CALLS += "F.l1_loss(x,y) F.smooth_l1_loss(x,y) F.cosine_similarity(x,y,dim=d)".split()
CALLS += "F.one_hot(x.long().abs()) F.glu(x,d) F.cross_entropy(x,y) F.logsigmoid(x)".split()
CALLS += "x.long() x.int() x.double() x.half() x.bool() x.to(torch.bfloat16)".split()
CALLS += "x.float() x.to(y) x.type_as(y) x.clone() x.detach() x.to(torch.complex64)".split()
CALLS += (
    "torch.zeros_like(x) torch.ones_like(x) torch.full_like(x,s) x.new_zeros(n) x.new_tensor([s]) torch.arange(n) "
    "torch.linspace(0,s,n) torch.eye(n)"
).split()
CALLS += (
    "x.topk(1,d) x.kthvalue(1,d) x.cummax(d) x.diff(dim=d) x.aminmax() torch.histc(x,n) torch.bincount(x) "
    "torch.searchsorted(x,y) x.quantile(0.5,d)"
).split()
CALLS += "x.add_(y) x.mul_(y) x.sub_(s) x.div_(s) x.zero_() x.fill_(s)".split()
CALLS += "x.copy_(y) x.clamp_(0) x.relu_() x.t_() x.masked_fill_(y>0,s) x.neg_() x.exp_()".split()
CALLS += "x.unsqueeze_(d) x.squeeze_() x.transpose_(d,n)".split()
CALLS += "x.index_add(d,torch.tensor([0]),y) x.index_fill(d,torch.tensor([0]),s) x.scatter(d,y.long(),s)".split()
CALLS += "x.add(y,alpha=n) torch.true_divide(x,y) torch.div(x,y,rounding_mode='floor')".split()
CALLS += "x.isclose(y) x.equal(y) torch.broadcast_tensors(x,y)[0] x.item()".split()
CALLS += (
    "x.nan_to_num() x.bitwise_and(y) x.bitwise_not() x<<1 ~x -x abs(x) x**2 2**x s-x s/x x//s x%s x&y x|y x==y x!=s "
    "len(x) bool(x) x.size(d) x.stride()"
).split()
LEAVES = [
    "torch.tensor([[1.5, -2.0, 0.5], [0.0, 3.0, -1.0]], requires_grad=True)",
    "torch.tensor([1.0, -0.5, 2.0], requires_grad=True)",
    "torch.tensor(0.75, requires_grad=True)",
    "torch.tensor([[2, -1, 0], [3, 1, 1]])",
    "torch.tensor([0, 2, 1], dtype=torch.int32)",
    "torch.tensor([[True, False, True], [False, False, True]])",
    "torch.tensor([[1.0, 2.0], [-3.0, 0.25], [0.5, -0.125]], dtype=torch.float64, requires_grad=True)",
    "torch.ones(2, 1, 3)",
    "torch.empty(0, 3)",
    "torch.tensor([1.0, 2.5, -3.0], dtype=torch.float16)",
    "torch.tensor(3)",
    "torch.tensor([250, 3, 7], dtype=torch.uint8)",
    "torch.tensor([1 + 2j, -1j, 0.5])",
    "torch.arange(6.0).view(2, 3).t()",
]


# ------------------------------------------------------------------------------------------------ a process that runs
# programs
def described(torch, v, made=()):
    """Return a result as JSON holds it; made: the tensors whose memory it may share."""
    if isinstance(v, torch.Tensor):
        values = (
            v.detach()
            .to(torch.complex128 if v.is_complex() else torch.float64 if v.is_floating_point() else v.dtype)
            .reshape(-1)
            .tolist()
        )
        values = [[z.real, z.imag] for z in values] if v.is_complex() else values
        strides = list(v.stride()) if v.numel() else []  # of nothing they mean nothing
        shared = [k for k, t in enumerate(made) if t.numel() and same_memory(v, t)] if v.numel() else []
        graph = [bool(v.requires_grad), v.is_leaf, None if v.grad_fn is None else v.grad_fn.name()]
        return ["tensor", str(v.dtype), list(v.shape), graph, strides, shared, values]
    if isinstance(v, (tuple, list)):
        return [described(torch, e, made) for e in v]
    return ["value", v if isinstance(v, (int, float, bool, str, type(None))) else repr(v)]


def same_memory(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def run(torch, leaves, lines):
    import torch.nn.functional as F

    names = {"torch": torch, "F": F}
    made, found = [], []
    for k, text in enumerate(leaves):
        names[f"t{k}"] = eval(text, names)
        made.append(names[f"t{k}"])
    last = None
    for k, text in enumerate(lines):
        try:
            value = eval(text, names)
            first = (
                value[0]
                if isinstance(value, (tuple, list)) and len(value) and isinstance(value[0], torch.Tensor)
                else value
            )
            names[f"v{k}"] = first if isinstance(first, torch.Tensor) and first.numel() < 5000 else made[0]
            last = names[f"v{k}"] if names[f"v{k}"].requires_grad and names[f"v{k}"].is_floating_point() else last
            found.append(described(torch, value, made))
        except Exception as e:
            names[f"v{k}"] = made[0]
            found.append(["error", type(e).__name__, str(e)[:200]])
    try:
        if last is not None:
            last.sum().backward()
        leaves = [t for t in made if t.requires_grad and t.is_leaf]
        found.append(["gradients", *[None if t.grad is None else described(torch, t.grad)[:3] for t in leaves]])
        found[-1] += [None if t.grad is None else described(torch, t.grad)[4:] for t in leaves]
    except Exception as e:
        found.append(["error", type(e).__name__, str(e)[:200]])
    found.append(["versions", *[t._version for t in made]])
    return found


def serve():
    import warnings

    import torch

    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(run(torch, *json.loads(line))), flush=True)


# ------------------------------------------------------------------------------------------------ both, compared
class Runner:
    """A process that serves programs; begun again after a crash or where it is too slow."""

    script = __file__

    def __init__(self, command, limit):
        self.command, self.limit, self.process = command, limit, None

    def __call__(self, program):
        if self.process is None:
            self.process = subprocess.Popen(
                [*self.command, self.script, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        self.process.stdin.write(json.dumps(program) + "\n")
        self.process.stdin.flush()
        if select.select([self.process.stdout], [], [], self.limit)[0] and (line := self.process.stdout.readline()):
            return json.loads(line)
        code = self.process.poll()
        self.end()
        return ["hung" if code is None else f"crashed with {code}"]

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


KINDS_OF_ERRORS = True
TOLERANCE = {"torch.float16": 2e-2, "torch.bfloat16": 1e-1, "torch.float64": 1e-6}


def alike(a, b, tolerance=1e-3):
    if isinstance(a, list) and isinstance(b, list):
        if a[:1] == ["error"] and b[:1] == ["error"]:
            return a[1] == b[1] or not KINDS_OF_ERRORS
        if a[:1] == ["tensor"]:
            tolerance = TOLERANCE.get(a[1], 1e-3)
        return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, (float, int)):
        return (
            a == b
            or math.isnan(a)
            and math.isnan(b)
            or math.isfinite(a)
            and math.isfinite(b)
            and abs(a - b) <= tolerance * (1 + abs(a))
        )
    return a == b


def difference(lines, theirs, ours):
    """What differs first: (the line, theirs, ours), or None. After that, all may differ."""
    if len(theirs) != len(ours):
        return "the program", theirs, ours
    for line, a, b in zip([*lines, "gradients", "versions"], theirs, ours):
        if not alike(a, b):
            return line, a, b
    return None


def program(draw, st):
    leaves = draw(st.lists(st.sampled_from(LEAVES), min_size=2, max_size=4))
    lines = []
    for k in range(draw(st.integers(5, 15))):
        tensors = st.sampled_from(
            [f"t{i}" for i in range(len(leaves))]
            + [f"v{i}" for i in range(k)]
            + [f"v{i}" for i in range(max(k - 2, 0), k)]
        )
        lines.append(filled(draw(st.sampled_from(CALLS)), draw, st, tensors))
    return leaves, lines


def filled(call, draw, st, tensors):
    """A call with its letters replaced."""
    values = {
        "d": st.sampled_from([0, 1, -1]),
        "n": st.sampled_from([1, 0, 2, -1]),
        "s": st.sampled_from([2, 0.5, -1, 0]),
        "b": st.booleans(),
    }
    chosen = {"x": draw(tensors), "y": draw(tensors)}
    text = re.sub(r"(?<![\w.'])([xy])(?![\w'=])", lambda m: chosen[m[1]], call)
    return re.sub(r"(?<![\w.'])([dnsb])(?![\w'=(.])", lambda m: str(draw(values[m[1]])), text)


def fuzz(oracle, ours, programs, seed, limit=60):
    """Return the shrunk programs that differ, one for each line that differs first, how many were run, and how often
    differences of the ledger were met.
    """
    real, here = Runner(oracle, limit), Runner(ours, limit)
    try:
        return search(
            program,
            lambda given: difference(given[1], real(given), here(given)),
            kind,
            "fuzz: ",
            lambda given, d: show(*given, d),
            programs,
            seed,
        )
    finally:
        real.end(), here.end()


def search(make, differ, kind, prefix, show, programs, seed):
    """Draw programs by make(draw, strategies) and look for those of which differ(program) is not None.

    Return (shrunk programs with their differences, one of each kind, the number of programs, a count for each pattern
    of the ledger that was met). A difference is (where, theirs, ours). prefix: that of the ledger's entries.
    """
    import hypothesis
    import hypothesis.errors
    from hypothesis import strategies as st

    found, count, known, met, per_round = [], [0], set(), collections.Counter(), 200
    patterns = known_differences(prefix)
    for turn in range(math.ceil(programs / per_round)):

        @hypothesis.seed(seed * 100_003 + turn)
        @hypothesis.settings(
            max_examples=min(per_round, programs),
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(st.composite(lambda draw: make(draw, st))())
        def same(given):
            count[0] += 1
            d = differ(given)
            if d is not None and kind(d) not in known and not expected(d, patterns, met):
                same.last = (given, d)
                raise AssertionError

        try:
            same()
        except AssertionError:
            known.add(kind(same.last[1]))
            found.append(same.last)
            show(*same.last)
        except hypothesis.errors.Flaky:  # differed, and did not when it was run again: a limit on a busy machine
            where, theirs, ours = same.last[1]
            print("---- once, and not again:", where, str(theirs)[:100], str(ours)[:100], flush=True)
    return found, count[0], met


def known_differences(prefix):
    """Return the patterns of the ledger's entries that begin with a prefix: of a line with both results."""
    entries = load_ledger(Path(__file__).resolve().parents[1] / "tests" / "ledger.toml")
    return [re.compile(name.removeprefix(prefix)) for name in entries if name.startswith(prefix)]


def expected(d, patterns, met):
    """Whether a difference is one of the ledger's: a pattern of the line and both results."""
    where, theirs, ours = d
    for pattern in patterns:
        if pattern.search(f"{where} | {theirs} | {ours}"):
            met[pattern.pattern] += 1
            return True
    return False


def kind(d):
    """Differences of one kind are shown once: the call without its tensors, and how it differs."""
    line, a, b = d
    told = [
        x[1] if isinstance(x, list) and x[:1] == ["error"] else x[0] if isinstance(x, list) and x else "?"
        for x in (a, b)
    ]
    return re.sub(r"\b[tv]\d+\b", "x", line), *map(str, told)


def show(leaves, lines, d):
    print("----", d[0], "\n  torch:", str(d[1])[:300], "\n  here: ", str(d[2])[:300])
    for k, text in enumerate(leaves):
        print(f"    t{k} = {text}")
    for k, text in enumerate(lines):
        print(f"    v{k} = {text}")
        if text == d[0]:
            break
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--oracle", help="a Python with the real torch")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one program")
    parser.add_argument("--any-error", action="store_true", help="an error is like any other")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve()
    global KINDS_OF_ERRORS
    KINDS_OF_ERRORS = not args.any_error
    found, count, met = fuzz(
        [args.oracle], [sys.executable, "-m", "mindtorch_proxy"], args.programs, args.seed, args.limit
    )
    return summarise(found, count, met)


def summarise(found, count, met):
    """Print what a search has found, and return whether programs differ."""
    for pattern, n in met.items():
        print(f"{n} times, as the ledger says: {pattern}")
    print(f"{count} programs, {len(found)} kinds of difference")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
