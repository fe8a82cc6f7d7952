"""Whether memory grows: training steps of a small transformer, and calls spread over the commonest operators with
varied numbers and shapes.

    python -m mindtorch_proxy tools/long_run.py [--steps 20000] [--calls 200000]
Prints the memory at each tenth, and its growth after the first one, in per cent and in bytes a step or call.
"""

import argparse
import gc
import random

import torch
import torch.nn.functional as F
from torch import nn


def resident():
    """The process's own memory, whether resident or swapped out: pages of files come and go with what else the machine
    does.
    """
    gc.collect()
    with open("/proc/self/status") as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith(("RssAnon", "VmSwap")))


class Small(nn.Module):
    def __init__(self, vocabulary=50, width=16, heads=2):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(16, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2, self.head = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, vocabulary)
        self.heads, self.drop = heads, nn.Dropout(0.1)

    def forward(self, ids):
        x = self.embed(ids) + self.place(torch.arange(ids.shape[1]))
        b, n, w = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        score = (q @ k.transpose(-1, -2) * (w // self.heads) ** -0.5).masked_fill(
            torch.ones(n, n).tril() == 0, float("-inf")
        )
        x = x + self.drop(self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(b, n, w)))
        return self.head(x + self.drop(self.down(F.gelu(self.up(self.norm2(x))))))


def trainer(batches=4, lengths=(4, 16)):
    """A function that makes one training step, with up to so many texts of such lengths."""
    torch.manual_seed(0)
    model = Small()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda n: 1 / (1 + n / 100))

    def step():
        ids = torch.randint(50, (random.randint(1, batches), random.randint(*lengths)))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        schedule.step()
        opt.zero_grad()
        return loss.item()

    return step


# expressions over: x, y of one shape; m a mask; i indices into the last dimension; w a matrix to multiply with; c a
# number; d a dimension
OPERATORS = """
    x + c; x - c; x * c; x / c; c - x; c / x; x + y; x - y; x * y; x / y; x ** 2; x.abs() ** c; -x; x.abs(); x.exp();
    x.abs().log(); x.abs().sqrt(); torch.rsqrt(x.abs() + c); x.sin(); x.cos(); x.tanh(); x.sigmoid(); F.relu(x);
    F.silu(x); F.gelu(x); F.gelu(x, approximate="tanh"); F.leaky_relu(x, c); F.elu(x, c); F.softplus(x);
    F.hardtanh(x, -c, c); x.clamp(-c, c); x.clamp(min=c); x.floor(); x.round(); x.sign(); x.erf();
    torch.addcmul(x, x, y, value=c); torch.addcdiv(x, x, y.abs() + 1, value=c); x.lerp(y, c); torch.add(x, y, alpha=c);
    x > c; x == y; x.isnan(); torch.where(m, x, y); torch.where(m, x, c); x.masked_fill(m, c); m & m; m | ~m;
    x.to(torch.float64); x.to(torch.bfloat16); x.long(); i.float(); x @ w; x @ w.t().contiguous().t();
    F.linear(x, w.t()); F.linear(x, w.t(), w[0]); torch.einsum("...i,ij->...j", x, w); x.transpose(0, -1).contiguous();
    x.softmax(d); x.log_softmax(d); F.layer_norm(x, x.shape[-1:], eps=c * 1e-5); F.rms_norm(x, x.shape[-1:], eps=1e-5);
    F.dropout(x, min(c, 0.9)); F.group_norm(x[None], 1, eps=c * 1e-5);
    F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1]), eps=c); x.sum(); x.sum(d); x.mean();
    x.mean(d, keepdim=True); x.var(d); x.std(); x.max(); x.max(d); x.amax(d); x.argmax(d); x.norm(); x.prod(d);
    x.logsumexp(d); x.cumsum(d); m.any(); m.all(d); x.topk(1); x.sort(d); x.argsort(d); torch.cat((x, y), d);
    torch.stack((x, y), d); x.split(1, d); x.chunk(2, d); x.repeat(2, *(1,) * (x.dim() - 1));
    x.expand(2, *x.shape).contiguous(); x.unsqueeze(d).squeeze(d); x.flip(d); x.roll(1, d); F.pad(x, (1, 2), value=c);
    x.tril(); x.triu(1); x.flatten(1) + c; x.index_select(-1, i); x[..., i]; x[m];
    x.gather(-1, i.expand(*x.shape[:-1], -1));
    torch.zeros(x.shape).scatter(-1, i.expand(*x.shape[:-1], -1), x[..., :len(i)]);
    torch.zeros(x.shape).index_add(-1, i, x[..., :len(i)]); F.embedding(i, w); F.one_hot(i); x.new_full(x.shape, c);
    torch.full_like(x, c); torch.arange(len(i)) * c; torch.linspace(0, c, 7); F.mse_loss(x, y);
    F.cross_entropy(w, torch.zeros(len(w), dtype=torch.long), label_smoothing=min(c, 1));
    F.smooth_l1_loss(x, y, beta=c); F.binary_cross_entropy_with_logits(x, y.sigmoid());
    F.cosine_similarity(x, y, dim=d); F.normalize(x, dim=d);
    F.conv1d(w[None, :, :], w[:, :1].t()[:, :, None].expand(3, len(w), 1)); F.max_pool1d(x.flatten(0, -2), 1);
    F.avg_pool1d(x.flatten(0, -2), 1); F.interpolate(x.flatten(0, -2)[None], scale_factor=2.0);
    x.clone().add_(c).mul_(c).sub_(y); x.clone().masked_fill_(m, c); x.clone().clamp_(-c, c); x.isfinite().all().item();
    torch.meshgrid(i, i, indexing="ij"); torch.outer(w[0], w[0]) * c""".split(";")
OPERATORS = [compile(e.strip(), e.strip(), "eval") for e in OPERATORS]


def caller():
    """A function that makes one call of some operator; every third one with its gradients."""
    torch.manual_seed(0)
    random.seed(0)
    state = {"n": 0}

    def one():
        n = state["n"]
        if n % 50 == 0:
            shape = [random.randint(2, 12) for _ in range(random.randint(2, 4))]
            state["names"] = {
                "x": torch.randn(shape),
                "y": torch.randn(shape),
                "m": torch.rand(shape) < 0.5,
                "w": torch.randn(shape[-1], shape[-1]),
                "i": torch.randint(shape[-1], (random.randint(1, shape[-1]),)),
                "torch": torch,
                "F": F,
            }
        names = state["names"]
        names["c"], names["d"] = random.uniform(0.1, 3), random.randrange(names["x"].dim())
        x = names["x"].requires_grad_(n % 3 == 0)
        r = eval(OPERATORS[n % len(OPERATORS)], names)
        if n % 3 == 0 and isinstance(r, torch.Tensor) and r.requires_grad:
            r.sum().backward()
            x.grad = None
        state["n"] += 1

    return one


def run(name, one, count):
    """The memory at each tenth of `count` calls of one()."""
    marks = []
    for part in range(10):
        for _ in range(count // 10):
            one()
        marks.append(resident())
        print(f"{name}: {(part + 1) * count // 10:8} {marks[-1] / 1e6:8.1f} MB", flush=True)
    grown = marks[-1] - marks[0]
    print(f"{name}: {100 * grown / marks[0]:+.2f} % after the first tenth, {grown / (count * 0.9):.0f} bytes each")
    return marks


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=20000)
    ap.add_argument("--calls", type=int, default=200000)
    opt = ap.parse_args()
    for name, make, count in (("calls", caller, opt.calls), ("steps", trainer, opt.steps)):
        if count:
            run(name, make(), count)


if __name__ == "__main__":
    main()
