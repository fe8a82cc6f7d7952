"""The commonest operators at large sizes, here and in the real torch by turns, as ratios; worst first.

    python -m mindtorch_proxy benchmarks/large_sizes.py --oracle PYTHON_WITH_TORCH [--only NAME,NAME] [--core 0] [--tsv
    FILE]
A child process under the oracle's Python answers on a pipe; both sides have one thread on the same core and take turns,
and the least time
of the rounds counts: of the clock, or of the processor where that is less because something else ran there. Tensors
have about a million elements, in the shapes models use.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from statistics import median

AIM, LIMIT = 1.5, 3.0
ROWS = "8,128,1024"  # batch, positions, width
HEADS = "8,12,128,64"  # batch, heads, positions, width of a head
SCORES = "8,8,128,128"
IMAGE = "8,32,64,64"
# name: (inputs, expression over a, b, c, d); R: floats that need gradients, N: floats that do not, P and V: the same,
# positive,
# I(high, shape): indices, M: a mask
CASES = {
    "add": (f"R({ROWS}), R({ROWS})", "a + b"),
    "add bias": (f"R({ROWS}), R(1024)", "a + b"),
    "add mask": (f"R({SCORES}), N(8,1,1,128)", "a + b"),
    "add scalar": (f"R({ROWS})", "a + 1.5"),
    "sub": (f"R({ROWS}), R({ROWS})", "a - b"),
    "rsub": (f"R({ROWS})", "1 - a"),
    "mul": (f"R({ROWS}), R({ROWS})", "a * b"),
    "mul row": (f"R({ROWS}), R(1024)", "a * b"),
    "mul column": (f"R({ROWS}), R(8,128,1)", "a * b"),
    "mul scalar": (f"R({ROWS})", "a * 0.125"),
    "div": (f"R({ROWS}), P({ROWS})", "a / b"),
    "div scalar": (f"R({ROWS})", "a / 8"),
    "neg": (f"R({ROWS})", "-a"),
    "abs": (f"R({ROWS})", "a.abs()"),
    "pow 2": (f"R({ROWS})", "a.pow(2)"),
    "pow 3": (f"R({ROWS})", "torch.pow(a, 3.0)"),
    "sqrt": (f"P({ROWS})", "a.sqrt()"),
    "rsqrt": (f"P({ROWS})", "torch.rsqrt(a)"),
    "exp": (f"R({ROWS})", "a.exp()"),
    "log": (f"P({ROWS})", "a.log()"),
    "sin": (f"R({ROWS})", "a.sin()"),
    "cos": (f"R({ROWS})", "a.cos()"),
    "tanh": (f"R({ROWS})", "torch.tanh(a)"),
    "sigmoid": (f"R({ROWS})", "torch.sigmoid(a)"),
    "silu": (f"R({ROWS})", "F.silu(a)"),
    "relu": (f"R({ROWS})", "F.relu(a)"),
    "leaky_relu": (f"R({ROWS})", "F.leaky_relu(a)"),
    "gelu": (f"R({ROWS})", "F.gelu(a)"),
    "gelu tanh": (f"R({ROWS})", "F.gelu(a, approximate='tanh')"),
    "softplus": (f"R({ROWS})", "F.softplus(a)"),
    "clamp": (f"R({ROWS})", "a.clamp(-1, 1)"),
    "where": (f"M({ROWS}), R({ROWS}), R({ROWS})", "torch.where(a, b, c)"),
    "masked_fill": (f"R({SCORES}), M(8,1,128,128)", "a.masked_fill(b, -1e4)"),
    "gt": (f"N({ROWS})", "a > 0"),
    "eq": (f"N({ROWS}), N({ROWS})", "a == b"),
    "logical_and": (f"M({ROWS}), M({ROWS})", "a & b"),
    "maximum": (f"R({ROWS}), R({ROWS})", "torch.maximum(a, b)"),
    "add int64": (f"I(99, {ROWS}), I(99, {ROWS})", "a + b"),
    "add_": (f"N({ROWS}), N({ROWS})", "a.add_(b, alpha=1e-9)"),
    "mul_ scalar": (f"N({ROWS})", "a.mul_(1.0000001)"),
    "copy_": (f"N({ROWS}), N({ROWS})", "a.copy_(b)"),
    "to bfloat16": (f"R({ROWS})", "a.to(torch.bfloat16)"),
    "to int64": (f"N({ROWS})", "a.long()"),
    "to float32": (f"I(99, {ROWS})", "a.float()"),
    "mm": ("R(512,512), R(512,512)", "a @ b"),
    "bmm": ("R(96,128,64), R(96,64,128)", "torch.bmm(a, b)"),
    "matmul heads": (f"R({HEADS}), R({HEADS})", "a @ b.transpose(-1, -2)"),
    "linear": ("R(8,128,768), R(768,768), R(768)", "F.linear(a, b, c)"),
    "linear wide": ("R(4,128,768), R(3072,768), R(3072)", "F.linear(a, b, c)"),
    "linear row": ("R(1,768), R(3072,768), R(3072)", "F.linear(a, b, c)"),
    "linear bfloat16": ("R(512,512).bfloat16(), R(512,512).bfloat16()", "F.linear(a, b)"),
    "einsum": (f"R({HEADS}), R({HEADS})", "torch.einsum('bhqd,bhkd->bhqk', a, b)"),
    "einsum outer": ("R(1024), R(1024)", "torch.einsum('i,j->ij', a, b)"),
    "sdpa": (f"R({HEADS}), R({HEADS}), R({HEADS})", "F.scaled_dot_product_attention(a, b, c)"),
    "sdpa causal": (f"R({HEADS}), R({HEADS}), R({HEADS})", "F.scaled_dot_product_attention(a, b, c, is_causal=True)"),
    "softmax": (f"R({SCORES})", "F.softmax(a, -1)"),
    "log_softmax": ("R(1024,1000)", "F.log_softmax(a, -1)"),
    "cross_entropy": ("R(1024,1000), I(1000, 1024)", "F.cross_entropy(a, b)"),
    "mse_loss": (f"R({ROWS}), N({ROWS})", "F.mse_loss(a, b)"),
    "bce_with_logits": (f"R({ROWS}), N({ROWS}).sigmoid()", "F.binary_cross_entropy_with_logits(a, b)"),
    "layer_norm": (f"R({ROWS}), R(1024), R(1024)", "F.layer_norm(a, (1024,), b, c)"),
    "rms_norm": (f"R({ROWS}), R(1024)", "F.rms_norm(a, (1024,), b)"),
    "group_norm": (f"R({IMAGE}), R(32), R(32)", "F.group_norm(a, 8, b, c)"),
    "batch_norm": (f"R({IMAGE}), N(32), V(32), R(32), R(32)", "F.batch_norm(a, b, c, d, e, training=True)"),
    "batch_norm eval": (f"R({IMAGE}), N(32), V(32), R(32), R(32)", "F.batch_norm(a, b, c, d, e)"),
    "dropout": (f"R({ROWS})", "F.dropout(a, 0.1)"),
    "embedding": ("R(30522,768), I(30522, 8,128)", "F.embedding(b, a)"),
    "one_hot": ("I(512, 2048)", "F.one_hot(a, 512)"),
    "cat": ("R(8,128,512), R(8,128,512)", "torch.cat((a, b), -1)"),
    "cat rows": ("R(4,128,1024), R(4,128,1024)", "torch.cat((a, b))"),
    "stack": ("R(8,128,512), R(8,128,512)", "torch.stack((a, b), 1)"),
    "stack last": ("R(8,128,512), R(8,128,512)", "torch.stack((a, b), -1)"),
    "chunk": (f"R({ROWS})", "torch.cat([t.contiguous() for t in a.chunk(2, -1)])"),
    "clone": (f"R({ROWS})", "a.clone()"),
    "permute": ("R(8,128,16,64)", "a.permute(0, 2, 1, 3).contiguous()"),
    "transpose": ("R(1000,1000)", "a.t().contiguous()"),
    "expand": ("R(8,8,1,128,128)", "a.expand(8, 8, 2, 128, 128).reshape(8, 16, 128, 128)"),
    "slice": ("R(8,128,2048)", "a[..., ::2].contiguous()"),
    "repeat": ("R(1,128,1024)", "a.repeat(8, 1, 1)"),
    "repeat_interleave": ("R(8,4,128,64)", "a.repeat_interleave(4, 1)"),
    "roll": ("R(8,32,32,128)", "a.roll((-3, -3), (1, 2))"),
    "flip": (f"R({ROWS})", "a.flip(1)"),
    "pad": (f"R({IMAGE})", "F.pad(a, (1, 1, 1, 1))"),
    "rotate half": (f"R({HEADS})", "torch.cat((-a[..., 32:], a[..., :32]), -1)"),
    "tril": ("R(1024,1024)", "a.tril()"),
    "gather": ("R(1024,1000), I(1000, 1024,1000)", "a.gather(1, b)"),
    "index_select": ("R(4096,512), I(4096, 2048)", "a.index_select(0, b)"),
    "index": ("R(4096,512), I(4096, 2048)", "a[b]"),
    "index pairs": ("R(64,512,32), I(64, 32768), I(512, 32768)", "a[b, c]"),
    "index mask": (f"R({ROWS}), M({ROWS})", "a[b]"),
    "index_put": ("N(4096,512), I(4096, 2048), R(2048,512)", "torch.index_put(a, (b,), c)"),
    "scatter": ("R(1024,1000), I(1000, 1024,1000), R(1024,1000)", "a.scatter(1, b, c)"),
    "scatter_add": ("R(1024,1000), I(1000, 1024,1000), R(1024,1000)", "a.scatter_add(1, b, c)"),
    "index_add": ("R(4096,256), I(4096, 4096), R(4096,256)", "a.index_add(0, b, c)"),
    "nonzero": (f"M({ROWS})", "a.nonzero()"),
    "sum": (f"R({ROWS})", "a.sum()"),
    "sum last": (f"R({ROWS})", "a.sum(-1)"),
    "sum first": (f"R({ROWS})", "a.sum((0, 1))"),
    "sum middle": (f"R({ROWS})", "a.sum(1)"),
    "sum int64": (f"I(99, {ROWS})", "a.sum()"),
    "mean": (f"R({ROWS})", "a.mean()"),
    "mean last": (f"R({ROWS})", "a.mean(-1, keepdim=True)"),
    "mean pixels": (f"R({IMAGE})", "a.mean((2, 3))"),
    "max": (f"R({ROWS})", "a.max()"),
    "max dim": (f"R({ROWS})", "a.max(-1)[0]"),
    "amax": (f"R({ROWS})", "a.amax(-1)"),
    "argmax": (f"N({ROWS})", "a.argmax(-1)"),
    "var": (f"R({ROWS})", "a.var(-1)"),
    "norm": (f"R({ROWS})", "a.norm()"),
    "norm last": (f"R({ROWS})", "torch.linalg.vector_norm(a, dim=-1)"),
    "normalize": (f"R({ROWS})", "F.normalize(a, dim=-1)"),
    "cumsum": (f"R({ROWS})", "a.cumsum(-1)"),
    "cumsum int64": ("I(9, 1024,1024)", "a.cumsum(1)"),
    "any": (f"M({ROWS})", "a.any()"),
    "all last": (f"M({ROWS})", "a.all(-1)"),
    "logsumexp": ("R(1024,1000)", "a.logsumexp(-1)"),
    "topk": ("R(128,8192)", "a.topk(50)[0]"),
    "sort": ("R(1024,1000)", "a.sort(-1)[0]"),
    "argsort": ("N(1024,1000)", "a.argsort(-1, descending=True)"),
    "isnan": (f"N({ROWS})", "a.isnan()"),
    "allclose": (f"N({ROWS})", "torch.allclose(a, a)"),
    "conv2d 3x3": ("R(8,64,56,56), R(64,64,3,3), R(64)", "F.conv2d(a, b, c, padding=1)"),
    "conv2d 1x1": ("R(8,64,56,56), R(128,64,1,1)", "F.conv2d(a, b)"),
    "conv2d stem": ("R(2,3,224,224), R(64,3,7,7)", "F.conv2d(a, b, stride=2, padding=3)"),
    "conv2d patch": ("R(4,3,224,224), R(768,3,16,16), R(768)", "F.conv2d(a, b, c, stride=16)"),
    "conv2d depthwise": ("R(8,96,56,56), R(96,1,3,3)", "F.conv2d(a, b, padding=1, groups=96)"),
    "conv1d": ("R(8,80,1500), R(256,80,3), R(256)", "F.conv1d(a, b, c, padding=1)"),
    "conv_transpose2d": ("R(8,64,28,28), R(64,32,4,4)", "F.conv_transpose2d(a, b, stride=2, padding=1)"),
    "max_pool2d": ("R(8,64,56,56)", "F.max_pool2d(a, 3, 2, 1)"),
    "avg_pool2d": ("R(8,64,56,56)", "F.avg_pool2d(a, 2)"),
    "adaptive_avg_pool2d": ("R(8,64,56,56)", "F.adaptive_avg_pool2d(a, 1)"),
    "interpolate nearest": ("R(8,32,32,32)", "F.interpolate(a, scale_factor=2)"),
    "interpolate bilinear": ("R(8,32,32,32)", "F.interpolate(a, scale_factor=2, mode='bilinear', align_corners=False)"),
    "interpolate bicubic": ("R(8,32,32,32)", "F.interpolate(a, scale_factor=2, mode='bicubic', align_corners=False)"),
    "zeros": ("", f"torch.zeros({ROWS})"),
    "full": ("", f"torch.full(({ROWS}), 0.5)"),
    "arange": ("", "torch.arange(1 << 20)"),
    "randn": ("", f"torch.randn({ROWS})"),
    "rand": ("", f"torch.rand({ROWS})"),
    "AdamW": ("optimizer('AdamW', [(1024, 1024)])", "a.step()"),
    "AdamW many": ("optimizer('AdamW', [(256, 256)] * 16)", "a.step()"),
    "SGD": ("optimizer('SGD', [(1024, 1024)])", "a.step()"),
    "clip_grad_norm_": (
        "optimizer('SGD', [(1024, 1024)])",
        "torch.nn.utils.clip_grad_norm_(a.param_groups[0]['params'], 1.0)",
    ),
}


class Bench:
    """One side: makes a case's inputs and times it."""

    def __init__(self):
        import torch
        import torch.nn.functional as F

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.torch, self.name = torch, None

        def optimizer(kind, shapes):
            ps = [torch.nn.Parameter(torch.randn(s)) for s in shapes]
            for p in ps:
                p.grad = torch.randn(p.shape)
            return getattr(torch.optim, kind)(ps, lr=1e-3)

        self.space = {
            "torch": torch,
            "F": F,
            "optimizer": optimizer,
            "R": lambda *s: torch.randn(s),
            "N": lambda *s: torch.randn(s),
            **dict.fromkeys("PV", lambda *s: torch.rand(s) + 0.1),
            "I": lambda high, *s: torch.randint(high, s),
            "M": lambda *s: torch.rand(s) < 0.3,
        }

    def prepare(self, name, backward):
        made, expression = CASES[name]
        self.inputs = eval(f"[{made}]", self.space)
        kinds = re.findall(r"\b([RNPVIM])\(|optimizer\(", made)
        self.leaves = [t.requires_grad_() for t, k in zip(self.inputs, kinds) if backward and k in "RP"]
        self.run = eval(f"lambda {', '.join('abcde'[: len(self.inputs)])}: {expression}", self.space)
        self.name, self.backward = (name, backward), backward
        self.g = self.torch.randn(self.run(*self.inputs).shape).to(self.run(*self.inputs).dtype) if backward else None

    def once(self):
        if not self.backward:
            return self.run(*self.inputs)
        for t in self.leaves:
            t.grad = None
        self.run(*self.inputs).backward(self.g)

    def values(self, name, backward):
        """What the case computes, from inputs that both sides draw alike: its result, or the gradients of its
        inputs.
        """
        self.torch.manual_seed(0)
        self.prepare(name, backward)
        r = self.once()
        found = (
            [t.grad for t in self.leaves]
            if backward
            else [p for g in self.inputs[0].param_groups for p in g["params"]]
            if r is None
            else [r]
        )
        return [self.torch.as_tensor(t).detach().to(self.torch.float64).numpy() for t in found]

    def time(self, name, backward, seconds):
        """The least time of one call within about `seconds`."""
        if self.name != (name, backward):
            self.prepare(name, backward)
        best, end, calls = float("inf"), time.perf_counter() + seconds, 0
        while True:
            start, busy = time.perf_counter(), time.process_time()
            r = self.once()
            best, calls = min(best, time.perf_counter() - start, time.process_time() - busy), calls + 1
            del r
            if time.perf_counter() > end and calls > 3:
                return best


def serve():
    """The child: a line `seconds backward name` in, a time out; with a file's name for seconds, values into that."""
    bench = Bench()
    for line in sys.stdin:
        seconds, backward, name = line.rstrip("\n").split(" ", 2)
        try:
            if seconds.endswith(".npz"):
                import numpy

                answer = numpy.savez(seconds, *bench.values(name, backward == "1"))
            else:
                answer = repr(bench.time(name, backward == "1", float(seconds)))
        except Exception as e:
            answer = f"{type(e).__name__}: {e}".replace("\n", " ")
        print(answer, flush=True)


class Child:
    def __init__(self, command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name, backward, seconds):
        self.p.stdin.write(f"{seconds} {backward:d} {name}\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def values(self, name, backward):
        import numpy

        with tempfile.NamedTemporaryFile(suffix=".npz") as f:
            answer = self.ask(name, backward, f.name)
            if answer != "None":
                raise RuntimeError(answer)
            with numpy.load(f.name) as found:
                return [found[k] for k in found]

    def time(self, name, backward, seconds):
        answer = self.ask(name, backward, seconds)
        try:
            return float(answer)
        except ValueError:
            raise RuntimeError(answer) from None


def compare(ours, theirs, name, backward, rounds, seconds):
    a = b = float("inf")
    for _ in range(rounds):
        a = min(a, ours.time(name, backward, seconds))
        time.sleep(0.16)  # MindSpore's pool spins that long after a kernel, on the core of the other side
        b = min(b, theirs.time(name, backward, seconds))
    return a, b


def differ(ours, theirs, name, backward):
    """The greatest difference from torch in units of float32's tolerance (1e-5 + 1.3e-6 of the value)."""
    import numpy

    worst = 0.0
    for a, b in zip(ours.values(name, backward), theirs.values(name, backward), strict=True):
        if a.shape != b.shape or (numpy.isnan(a) != numpy.isnan(b)).any():
            return float("inf")
        if a.size:
            worst = max(worst, numpy.nanmax(numpy.abs(a - b) / (1e-5 + 1.3e-6 * numpy.abs(b))))
    return worst


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--oracle")
    ap.add_argument("--only", default="")
    ap.add_argument("--core", type=int, default=0)
    ap.add_argument("--rounds", type=int, default=4)
    ap.add_argument("--seconds", type=float, default=0.06)
    ap.add_argument("--tsv")
    ap.add_argument("--check", action="store_true", help="compare values, not times")
    ap.add_argument("--worker", action="store_true")
    opt = ap.parse_args()
    os.sched_setaffinity(0, {opt.core})
    if opt.worker:
        return serve()
    ours, theirs = Bench(), Child([opt.oracle, __file__, "--worker", f"--core={opt.core}"])
    names = [n for n in CASES if not opt.only or any(re.fullmatch(p, n) for p in opt.only.split(","))]
    rows = []
    for name in names:
        for backward in (False, True)[: 1 + bool(re.search(r"\b[RP]\(", CASES[name][0]))]:
            try:
                if opt.check:
                    d = differ(ours, theirs, name, backward)
                    if d > 1:
                        print(f"{d:12.2f}  {name}{' +backward' * backward}", flush=True)
                    continue
                a, b = compare(ours, theirs, name, backward, opt.rounds, opt.seconds)
                rows.append((a / b, name + (" +backward" if backward else ""), a * 1e3, b * 1e3))
            except (RuntimeError, NotImplementedError, ValueError) as e:
                print(f"{name}: {e}")
    if opt.check:
        return None
    rows.sort(reverse=True)
    lines = [f"{ratio:8.2f}  {a:9.3f}  {b:9.3f}  {name}" for ratio, name, a, b in rows]
    print("   ratio    ours ms   torch ms  operator", *lines, sep="\n")
    ratios = [r for r, *_ in rows]
    print(f"median {median(ratios):.2f} (aim {AIM}), {sum(r > LIMIT for r in ratios)} of {len(ratios)} above {LIMIT}")
    if opt.tsv:
        with open(opt.tsv, "w") as f:
            f.writelines(f"{name}\t{ratio:.3f}\t{a:.4f}\t{b:.4f}\n" for ratio, name, a, b in rows)


if __name__ == "__main__":
    main()
