"""Programs that test_programs.py exports here and with the real torch; each side runs the other's files.

Run as a script: ``programs.py write FOLDER`` exports all, ``programs.py read FOLDER`` prints the results of all files.
"""

import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Of(nn.Module):
    """A module that calls a function with itself and its arguments, with fixed parameters."""

    def __init__(self, fn, **parts):
        super().__init__()
        self.fn = fn
        for name, part in parts.items():
            if isinstance(part, torch.Tensor):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)
        for i, p in enumerate(self.parameters()):
            p.data = torch.linspace(-0.5 + 0.01 * i, 0.5, p.numel()).reshape(p.shape)
        self.eval()

    def forward(self, *args):
        return self.fn(self, *args)


def ramp(*shape):
    n = 1
    for s in shape:
        n *= s
    return torch.linspace(-1, 1, n).reshape(shape)


def numbers(*shape):
    n = 1
    for s in shape:
        n *= s
    return torch.arange(n).reshape(shape) % 7


def _attention(m, x):
    b, n, d = x.shape
    q, k, v = m.qkv(x).view(b, n, 3, 2, d // 2).permute(2, 0, 3, 1, 4).unbind(0)
    return m.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d))


def _count(m, x):
    m.seen.add_(x.shape[0])
    return x + m.seen


def _masked(m, x, mask):
    return x.masked_fill(mask, -1.0).sum(-1), torch.where(mask, x, torch.zeros_like(x))


def _moe(m, x):
    weight, index = m.gate(x).softmax(-1).topk(2)
    return (
        torch.stack([m.a(x), m.b(x), m.c(x)], 1)
        .gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[1]))
        .mul(weight.unsqueeze(-1))
        .sum(1)
    )


def _written(m, x):
    y = torch.zeros(x.shape[0] + 1, x.shape[1])
    y[1:] = x
    y[0, :2] = 1
    return y


def _rotary(m, x):
    n, d = x.shape[1], x.shape[2]
    angle = torch.arange(n)[:, None] * (10000 ** (-torch.arange(0, d, 2) / d))
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)


def _picked(m, x):
    return x[x > 0] * 2, torch.nonzero(x > 0.5).sum(0)


# name: (module, example, dynamic dimensions of each argument, arguments of other sizes)
PROGRAMS = {
    "linear": lambda: (Of(lambda m, x: m.l(x), l=nn.Linear(4, 3)), (ramp(5, 4),), ({0: 1},), (ramp(7, 4),)),
    "mlp": lambda: (
        Of(lambda m, x: m.b(F.gelu(m.a(x))), a=nn.Linear(4, 8), b=nn.Linear(8, 2)),
        (ramp(3, 5, 4),),
        ({0: 1, 1: 1},),
        (ramp(2, 9, 4),),
    ),
    "conv": lambda: (
        Of(lambda m, x: F.relu(m.c(x)), c=nn.Conv2d(3, 4, 3, padding=1)),
        (ramp(2, 3, 8, 8),),
        ({0: 1},),
        (ramp(5, 3, 8, 8),),
    ),
    "conv_sizes": lambda: (
        Of(lambda m, x: m.c(x), c=nn.Conv1d(3, 4, 3, stride=2)),
        (ramp(2, 3, 11),),
        ({0: 1, 2: 1},),
        (ramp(3, 3, 17),),
    ),
    "pools": lambda: (
        Of(lambda m, x: F.max_pool2d(x, 2).flatten(1) + F.adaptive_avg_pool2d(x, 1).flatten(1).sum()),
        (ramp(2, 3, 8, 8),),
        ({0: 1},),
        (ramp(4, 3, 8, 8),),
    ),
    "batch_norm": lambda: (
        Of(lambda m, x: m.n(m.c(x)), c=nn.Conv2d(2, 3, 1), n=nn.BatchNorm2d(3)),
        (ramp(2, 2, 4, 4),),
        ({0: 1},),
        (ramp(3, 2, 4, 4),),
    ),
    "layer_norm": lambda: (Of(lambda m, x: m.n(x), n=nn.LayerNorm(6)), (ramp(4, 6),), ({0: 1},), (ramp(9, 6),)),
    "group_norm": lambda: (
        Of(lambda m, x: m.n(x), n=nn.GroupNorm(2, 4)),
        (ramp(2, 4, 5),),
        ({0: 1},),
        (ramp(3, 4, 5),),
    ),
    "embedding": lambda: (
        Of(lambda m, i: m.e(i).mean(1), e=nn.Embedding(7, 4)),
        (numbers(2, 5),),
        ({0: 1, 1: 1},),
        (numbers(3, 8),),
    ),
    "attention": lambda: (
        Of(_attention, qkv=nn.Linear(8, 24), out=nn.Linear(8, 8)),
        (ramp(2, 5, 8),),
        ({0: 1, 1: 1},),
        (ramp(3, 7, 8),),
    ),
    "softmax": lambda: (Of(lambda m, x: x.softmax(-1).log()), (ramp(3, 4),), ({0: 1, 1: 1},), (ramp(2, 9),)),
    "matmul": lambda: (
        Of(lambda m, x, y: x @ y),
        (ramp(3, 4), ramp(4, 5)),
        ({0: 1, 1: 1}, {0: 1, 1: 1}),
        (ramp(2, 6), ramp(6, 3)),
    ),
    "cat": lambda: (
        Of(lambda m, x, y: torch.cat([x, y, x], 0)),
        (ramp(3, 4), ramp(5, 4)),
        ({0: 1}, {0: 1}),
        (ramp(2, 4), ramp(7, 4)),
    ),
    "slices": lambda: (
        Of(lambda m, x: (x[:, 1:], x[-2:], x[::2], x[..., 0], x[None])),
        (ramp(6, 4),),
        ({0: 1},),
        (ramp(9, 4),),
    ),
    "reshape": lambda: (
        Of(lambda m, x: x.reshape(x.shape[0], -1).t().contiguous().view(-1)),
        (ramp(3, 4, 5),),
        ({0: 1, 1: 1},),
        (ramp(2, 6, 5),),
    ),
    "arange": lambda: (Of(lambda m, x: x + torch.arange(x.shape[1]) * 0.5), (ramp(2, 4),), ({1: 1},), (ramp(2, 7),)),
    "buffers": lambda: (Of(_count, seen=torch.zeros(1)), (ramp(3, 2),), ({0: 1},), (ramp(5, 2),)),
    "constant": lambda: (Of(lambda m, x: x * torch.tensor([1.0, 2.0, 3.0])), (ramp(4, 3),), ({0: 1},), (ramp(6, 3),)),
    "masks": lambda: (Of(_masked), (ramp(3, 4), ramp(3, 4) > 0), ({0: 1}, {0: 1}), (ramp(5, 4), ramp(5, 4) > 0.2)),
    "choices": lambda: (
        Of(_moe, gate=nn.Linear(4, 3), a=nn.Linear(4, 4), b=nn.Linear(4, 4), c=nn.Linear(4, 4)),
        (ramp(5, 4),),
        ({0: 1},),
        (ramp(8, 4),),
    ),
    "writes": lambda: (Of(_written), (ramp(3, 4),), ({0: 1},), (ramp(6, 4),)),
    "rotary": lambda: (Of(_rotary), (ramp(2, 3, 8),), ({0: 1, 1: 1},), (ramp(1 + 2, 6, 8),)),
    "gather": lambda: (
        Of(lambda m, x, i: x.gather(1, i).cumsum(1)),
        (ramp(3, 7), numbers(3, 2)),
        ({0: 1}, {0: 1}),
        (ramp(5, 7), numbers(5, 2)),
    ),
    "sort": lambda: (
        Of(lambda m, x: (x.sort(-1, descending=True)[0], x.argmax(-1), x.topk(2)[1])),
        (ramp(3, 5),),
        ({0: 1},),
        (ramp(4, 5),),
    ),
    "reductions": lambda: (
        Of(lambda m, x: (x.mean(0), x.var(1), x.amax((0, 1)), x.norm(), x.prod(1))),
        (ramp(3, 4),),
        ({0: 1, 1: 1},),
        (ramp(5, 6),),
    ),
    "pad": lambda: (
        Of(lambda m, x: F.pad(x, (1, 2), value=3.0).roll(1, -1).flip(0)),
        (ramp(3, 4),),
        ({0: 1, 1: 1},),
        (ramp(2, 6),),
    ),
    "interpolate": lambda: (
        Of(lambda m, x: F.interpolate(x, scale_factor=2.0, mode="nearest")),
        (ramp(1, 2, 3, 3),),
        ({},),
        (ramp(1, 2, 3, 3),),
    ),
    "einsum": lambda: (
        Of(lambda m, x, y: torch.einsum("bij,bjk->bik", x, y)),
        (ramp(2, 3, 4), ramp(2, 4, 5)),
        ({0: 1}, {0: 1}),
        (ramp(4, 3, 4), ramp(4, 4, 5)),
    ),
    "values": lambda: (Of(_picked), (ramp(8),), ({0: 1},), (ramp(13),)),
    "triangles": lambda: (
        Of(lambda m, x: x.triu(1) + x.tril(-1) + torch.eye(x.shape[0])),
        (ramp(4, 4),),
        ({},),
        (ramp(4, 4),),
    ),
    "losses": lambda: (
        Of(lambda m, x, y: (F.mse_loss(x, y), F.cross_entropy(x, y.argmax(-1)), F.smooth_l1_loss(x, y))),
        (ramp(3, 4), ramp(3, 4) ** 2),
        ({0: 1}, {0: 1}),
        (ramp(6, 4), ramp(6, 4) ** 2),
    ),
}


def exported(name):
    module, example, dims, _ = PROGRAMS[name]()
    auto = torch.export.Dim.AUTO
    shapes = (tuple({i: auto for i in d} for d in dims),)
    return torch.export.export(module, example, dynamic_shapes=shapes)


def write(folder):
    for name in PROGRAMS:
        torch.export.save(exported(name), os.path.join(folder, f"{name}.pt2"))


def read(folder):
    """Return {name: flat results of the program in a file at other sizes}."""
    found = {}
    for name in PROGRAMS:
        result = torch.export.load(os.path.join(folder, f"{name}.pt2")).module()(*PROGRAMS[name]()[3])
        leaves = torch.utils._pytree.tree_leaves(result)
        found[name] = [[list(t.shape), t.detach().double().flatten().tolist()] for t in leaves]
    return found


def expected():
    """Return {name: flat results of the module itself at other sizes}."""
    found = {}
    for name in PROGRAMS:
        module, _, _, other = PROGRAMS[name]()
        leaves = torch.utils._pytree.tree_leaves(module(*other))
        found[name] = [[list(t.shape), t.detach().double().flatten().tolist()] for t in leaves]
    return found


if __name__ == "__main__":
    _, action, folder = sys.argv
    if action == "write":
        write(folder)
    else:
        print(json.dumps(read(folder)))
