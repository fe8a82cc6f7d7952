"""Random training programs, here and beside the real torch: losses, gradients, parameters, states, random numbers.

    .venv/bin/python tools/fuzz_training.py --oracle PYTHON [--programs 200] [--seed 0]

A program is a description: a network of the layers that people use (with hooks, activations in place, shared weights,
checkpointing), an optimizer, a scheduler, and what a training loop does (autocast, accumulation, clipping, evaluation,
freezing, a copy or a saved and loaded state in the middle). Both torches build and run it from the same numbers.
A difference is shrunk by hypothesis and printed as the description, which --program runs again; those that
tests/ledger.toml knows ("training: PATTERN") are only counted. Ends with 1 where programs differ. Needs hypothesis.
"""

import argparse
import copy
import functools
import io
import json
import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fuzz  # noqa: E402

ACTIVATIONS = (
    "ReLU GELU SiLU ELU Tanh Sigmoid Softplus LeakyReLU Hardswish Hardtanh Mish SELU ReLU6 PReLU Softsign".split()
)
IN_PLACE = {"ReLU", "SiLU", "ELU", "LeakyReLU", "Hardswish", "Hardtanh", "Mish", "SELU", "ReLU6"}
OF_VECTORS = "linear norm layer_norm dropout residual tied branch".split()
OF_IMAGES = (
    "conv strided depthwise dilated transposed norm group_norm instance_norm max_pool avg_pool upsample shuffle "
    "dropout2d residual pad".split()
)
OF_TOKENS = "lstm gru rnn bidirectional encoder attention conv1d layer_norm dropout residual".split()
# with a large eps: a bias before a norm has a gradient of rounding errors, which a small one makes large steps of
OPTIMIZERS = {
    "SGD": ({}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, {"maximize": True}),
    "Adam": ({"eps": 1e-3}, {"amsgrad": True, "eps": 1e-3}, {"weight_decay": 0.1, "eps": 1e-3}),
    "AdamW": ({"eps": 1e-3}, {"betas": (0.8, 0.9), "eps": 1e-3}),
    "RMSprop": ({"eps": 1e-3}, {"momentum": 0.5, "centered": True, "eps": 1e-2}),
    "Adagrad": ({"eps": 1e-3}, {"lr_decay": 0.1, "eps": 1e-3}),
    "Adadelta": ({"eps": 1e-3},),
    "Adamax": ({"eps": 1e-3},),
    "NAdam": ({"eps": 1e-3}, {"decoupled_weight_decay": True, "weight_decay": 0.1, "eps": 1e-3}),
    "RAdam": ({"eps": 1e-3},),
    "Rprop": ({},),
    "ASGD": ({},),
}
NORMS = {"norm", "layer_norm", "group_norm", "instance_norm", "residual", "encoder", "attention"}
SCHEDULERS = {
    "StepLR": {"step_size": 2, "gamma": 0.5},
    "CosineAnnealingLR": {"T_max": 4},
    "OneCycleLR": {"max_lr": 0.02, "total_steps": 20},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingWarmRestarts": {"T_0": 2},
    "LinearLR": {"total_iters": 3},
    "PolynomialLR": {"total_iters": 5},
    "MultiStepLR": {"milestones": [1, 3]},
    "CyclicLR": {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 2, "cycle_momentum": False},
}
LOSSES = "mse cross_entropy smooth_l1 bce huber nll smoothed".split()
EPS = 0.1  # of norms: what hardly varies in a batch of four would be divided by next to nothing
HOOKS = "forward pre backward tensor parameter post".split()
LIMITS = {"float32": 1e-3, "bfloat16": 0.3}  # a rounding early in the run grows with the steps


# ------------------------------------------------------------------------------------------------ what a program is
def program(draw, st):
    """Return a description of a training program."""
    kind = draw(st.sampled_from(("vectors", "images", "tokens")))
    layers = {"vectors": OF_VECTORS, "images": OF_IMAGES, "tokens": OF_TOKENS}[kind]
    layer = st.sampled_from(layers)
    activation = st.sampled_from(ACTIVATIONS)
    chosen = [
        [draw(layer), draw(activation) if draw(st.booleans()) else None, draw(st.booleans())]
        for _ in range(draw(st.integers(1, 4)))
    ]
    checkpoint = draw(st.sampled_from((None, None, False, True)))
    if checkpoint is not None:  # PyTorch's gradient is wrong where an LSTM's output is written to in a checkpoint
        chosen = [[name, activation, name != "lstm" and in_place] for name, activation, in_place in chosen]
    autocast = draw(st.sampled_from((False, False, False, True)))
    signs = autocast or NORMS & {name for name, _, _ in chosen}  # of rounding errors, of which Rprop takes the signs
    optimizer = draw(st.sampled_from(sorted(set(OPTIMIZERS) - ({"Rprop"} if signs else set()))))
    return {
        "kind": kind,
        "layers": chosen,
        "head": draw(st.sampled_from(LOSSES)),
        "hooks": draw(st.lists(st.sampled_from(HOOKS), max_size=2, unique=True)),
        "checkpoint": checkpoint,
        "autocast": autocast,
        "optimizer": [optimizer, draw(st.integers(0, len(OPTIMIZERS[optimizer]) - 1))],
        "foreach": draw(st.sampled_from((None, True, False))),
        "groups": draw(st.booleans()),
        "scheduler": draw(st.sampled_from((None, *sorted(SCHEDULERS)))),
        "accumulate": draw(st.sampled_from((1, 1, 2))),
        "clip": draw(st.sampled_from((None, "norm", "value"))),
        "set_to_none": draw(st.booleans()),
        "events": {
            str(draw(st.integers(1, 3))): event
            for event in draw(
                st.lists(
                    st.sampled_from("evaluate freeze unfreeze copy resume average scale zero draw compile".split()),
                    max_size=3,
                )
            )
        },
        "steps": draw(st.integers(2, 4)),
    }


# ------------------------------------------------------------------------------------------------ a process that trains
def activation_of(torch, name, in_place):
    cls = getattr(torch.nn, name)
    return cls(inplace=True) if in_place and name in IN_PLACE else cls()


@functools.cache
def classes(torch):  # noqa: C901  (six small classes)
    """Return the modules that the programs need beside torch's own."""
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return x + self.inner(x)

    class Tied(nn.Module):
        """The same weight twice, once transposed."""

        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(width, width) - 0.5)

        def forward(self, x):
            return torch.tanh(x @ self.weight) @ self.weight.t()

    class Branch(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.left, self.right = nn.Linear(width, width), nn.Linear(width, 2 * width)

        def forward(self, x):
            a, b = self.right(x).chunk(2, -1)
            return self.left(x) * a.sigmoid() + b.clamp(-1, 1)

    class First(nn.Module):
        """The output of a layer that gives several."""

        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return self.layer(x)[0]

    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner = nn.MultiheadAttention(width, 2, batch_first=True)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.inner(x, x, x, attn_mask=mask, need_weights=False)[0]

    class Turned(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x.transpose(1, 2)).transpose(1, 2)

    return Residual, Tied, Branch, First, Attention, Turned


def layer_of(torch, kind, name, width):
    """Return a layer that keeps the shape (but for the sizes of images)."""
    nn = torch.nn
    Residual, Tied, Branch, First, Attention, Turned = classes(torch)
    if kind == "images":
        return {
            "conv": lambda: nn.Conv2d(width, width, 3, padding=1),
            "strided": lambda: nn.Conv2d(width, width, 3, stride=2, padding=1, bias=False),
            "depthwise": lambda: nn.Conv2d(width, width, 3, padding="same", groups=width),
            "dilated": lambda: nn.Conv2d(width, width, 3, padding=2, dilation=2, padding_mode="reflect"),
            "transposed": lambda: nn.ConvTranspose2d(width, width, 3, padding=1),
            "norm": lambda: nn.BatchNorm2d(width, eps=EPS),
            "group_norm": lambda: nn.GroupNorm(2, width, eps=EPS),
            "instance_norm": lambda: nn.InstanceNorm2d(width, eps=EPS, affine=True, track_running_stats=True),
            "max_pool": lambda: nn.MaxPool2d(2, stride=1, padding=1),
            "avg_pool": lambda: nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False),
            "upsample": lambda: nn.Upsample(scale_factor=1.5, mode="bilinear"),
            "shuffle": lambda: nn.Sequential(nn.Conv2d(width, 4 * width, 1), nn.PixelShuffle(2), nn.MaxPool2d(2)),
            "dropout2d": lambda: nn.Dropout2d(0.3),
            "residual": lambda: Residual(
                nn.Sequential(nn.BatchNorm2d(width, eps=EPS), nn.Conv2d(width, width, 3, padding=1))
            ),
            "pad": lambda: nn.Sequential(nn.ZeroPad2d(1), nn.Conv2d(width, width, 3)),
        }[name]()
    if kind == "tokens":
        return {
            "lstm": lambda: First(nn.LSTM(width, width, batch_first=True)),
            "gru": lambda: First(nn.GRU(width, width, 2, batch_first=True, dropout=0.2)),
            "rnn": lambda: First(nn.RNN(width, width, batch_first=True, nonlinearity="relu")),
            "bidirectional": lambda: First(nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)),
            "encoder": lambda: nn.TransformerEncoderLayer(width, 2, 2 * width, 0.1, batch_first=True),
            "attention": lambda: Attention(width),
            "conv1d": lambda: Turned(nn.Conv1d(width, width, 3, padding=1)),
            "layer_norm": lambda: nn.LayerNorm(width, eps=EPS),
            "dropout": lambda: nn.Dropout(0.2),
            "residual": lambda: Residual(nn.Sequential(nn.LayerNorm(width, eps=EPS), nn.Linear(width, width))),
        }[name]()
    return {
        "linear": lambda: nn.Linear(width, width),
        "norm": lambda: nn.BatchNorm1d(width, eps=EPS),
        "layer_norm": lambda: nn.LayerNorm(width, eps=EPS, elementwise_affine=False),
        "dropout": lambda: nn.Dropout(0.2),
        "residual": lambda: Residual(nn.Sequential(nn.LayerNorm(width, eps=EPS), nn.Linear(width, width), nn.GELU())),
        "tied": lambda: Tied(width),
        "branch": lambda: Branch(width),
    }[name]()


def network(torch, spec):
    """Return the module of a description."""
    nn, width = torch.nn, 6
    first = {
        "vectors": lambda: nn.Linear(5, width),
        "images": lambda: nn.Conv2d(2, width, 3, padding=1),
        "tokens": lambda: nn.Embedding(11, width, padding_idx=0),
    }[spec["kind"]]()
    blocks = []
    for name, activation, in_place in spec["layers"]:
        block = [layer_of(torch, spec["kind"], name, width)]
        blocks.append(nn.Sequential(*block, *([activation_of(torch, activation, in_place)] if activation else [])))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.blocks, self.last = first, nn.ModuleList(blocks), nn.Linear(width, 4)

        def forward(self, x):
            x = self.first(x)
            for block in self.blocks:
                if spec["checkpoint"] is not None and self.training:
                    x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=spec["checkpoint"])
                else:
                    x = block(x)
            return self.last(x.mean((2, 3)) if x.dim() == 4 else x.mean(1) if x.dim() == 3 else x)

    return Network()


def batch(torch, spec, step):
    """Return the inputs and targets of a step."""
    g = torch.Generator().manual_seed(step)
    if spec["kind"] == "tokens":
        x = torch.randint(0, 11, (4, 5), generator=g)
    else:
        x = torch.randn((4, 5) if spec["kind"] == "vectors" else (4, 2, 7, 6), generator=g)
    return x, torch.randn(4, 4, generator=g), torch.randint(0, 4, (4,), generator=g)


def loss_of(torch, spec, out, target, labels):
    F = torch.nn.functional
    return {
        "mse": lambda: F.mse_loss(out, target),
        "cross_entropy": lambda: F.cross_entropy(out, labels),
        "smoothed": lambda: F.cross_entropy(
            out, labels, label_smoothing=0.1, weight=torch.tensor([1.0, 2.0, 0.5, 1.0])
        ),
        "smooth_l1": lambda: F.smooth_l1_loss(out, target, beta=0.5),
        "bce": lambda: F.binary_cross_entropy_with_logits(out, target.sigmoid()),
        "huber": lambda: F.huber_loss(out, target, reduction="sum"),
        "nll": lambda: F.nll_loss(out.log_softmax(-1), labels),
    }[spec["head"]]()


class Training:
    """A run of a description: the objects that its loop changes, and what it has found."""

    def __init__(self, torch, spec):
        self.torch, self.spec, self.found, self.seen = torch, spec, {}, []
        torch.manual_seed(0)
        self.model = network(torch, spec)
        self.optimizer, self.scheduler = self.made(self.model)
        self.hook()

    def made(self, model):
        """Return a new optimizer and a new scheduler for a model."""
        name, index = self.spec["optimizer"]
        options = dict(OPTIMIZERS[name][index], lr=0.01, foreach=self.spec["foreach"])
        parameters = list(model.parameters())
        if self.spec["groups"]:
            half = len(parameters) // 2
            parameters = [{"params": parameters[:half]}, {"params": parameters[half:], "lr": 0.003}]
        optimizer = getattr(self.torch.optim, name)(parameters, **options)
        schedule = self.spec["scheduler"]
        if schedule is None:
            return optimizer, None
        more = {"cycle_momentum": False} if schedule == "OneCycleLR" else {}
        return optimizer, getattr(self.torch.optim.lr_scheduler, schedule)(optimizer, **SCHEDULERS[schedule], **more)

    def hook(self):
        """Register the hooks of the description on the last layer and its weight."""
        last, seen = self.model.last, self.seen
        note = lambda what, t: seen.append([what, t.float().norm().item(), list(t.shape)])  # noqa: E731
        for hook in self.spec["hooks"]:
            if hook == "forward":
                last.register_forward_hook(lambda m, a, out: out * 1.5)
            elif hook == "pre":
                last.register_forward_pre_hook(lambda m, a: (a[0] + 0.1,))
            elif hook == "backward":
                last.register_full_backward_hook(lambda m, gi, go: note("module", go[0]))
            elif hook == "tensor":
                last.register_forward_hook(lambda m, a, out: out.register_hook(lambda g: g * 0.5) and None)
            elif hook == "parameter":
                last.weight.register_hook(lambda g: g.clamp(-0.1, 0.1))
            else:
                last.weight.register_post_accumulate_grad_hook(lambda p: note("accumulated", p.grad))

    def run(self):
        torch, spec = self.torch, self.spec
        for step in range(spec["steps"]):
            event = spec["events"].get(str(step))
            if event is not None:
                getattr(self, "on_" + event)(step)
            losses = []
            for part in range(spec["accumulate"]):
                x, target, labels = batch(torch, spec, 10 * step + part)
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=spec["autocast"]):
                    loss = loss_of(torch, spec, self.model(x), target, labels) / spec["accumulate"]
                if loss.requires_grad:
                    loss.backward()
                losses.append(loss.item())
            self.found[f"losses {step}"] = losses
            self.found[f"clipped {step}"] = self.clip()
            if step == spec["steps"] - 1:
                self.found["gradients"] = {
                    n: None if p.grad is None else [*told(torch, p.grad), list(p.grad.stride())]
                    for n, p in self.model.named_parameters()
                }
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=spec["set_to_none"])
            if self.scheduler is not None:
                self.scheduler.step()
                self.found[f"rates {step}"] = self.scheduler.get_last_lr()
        self.finish()
        return self.found

    def clip(self):
        nn, parameters = self.torch.nn, list(self.model.parameters())
        if self.spec["clip"] == "norm":
            return nn.utils.clip_grad_norm_(parameters, 0.5).item()
        if self.spec["clip"] == "value":
            nn.utils.clip_grad_value_(parameters, 0.05)
        return None

    def finish(self):
        torch = self.torch
        self.found["seen"] = self.seen
        self.found["parameters"] = {
            n: [*told(torch, p), p.requires_grad, p._version, type(p).__name__]
            for n, p in self.model.named_parameters()
        }
        self.found["state"] = {n: told(torch, t) for n, t in self.model.state_dict().items()}
        self.found["optimizer"] = plain(torch, self.optimizer.state_dict())
        self.found["scheduler"] = None if self.scheduler is None else plain(torch, self.scheduler.state_dict())
        words = torch.get_rng_state()[: 24 + 624 * 8]  # without the normal number kept for the next call
        self.found["random"] = [int(words.long().sum()), torch.rand(1).item()]

    # -- what may happen before a step
    def on_evaluate(self, step):
        self.model.eval()
        with self.torch.no_grad():
            self.found["evaluated"] = told(self.torch, self.model(batch(self.torch, self.spec, 99)[0]))
        self.model.train()

    def on_freeze(self, step):
        self.model.first.requires_grad_(False)

    def on_unfreeze(self, step):
        self.model.requires_grad_(True)

    def on_copy(self, step):
        """Go on with a copy, whose optimizer gets the state of the first."""
        model = copy.deepcopy(self.model)
        optimizer, scheduler = self.made(model)
        optimizer.load_state_dict(self.optimizer.state_dict())
        if scheduler is not None:
            scheduler.load_state_dict(self.scheduler.state_dict())
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler

    def on_resume(self, step):
        """Save everything, and go on with new objects that load it."""
        torch, file = self.torch, io.BytesIO()
        scheduler = None if self.scheduler is None else self.scheduler.state_dict()
        states = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "scheduler": scheduler}
        torch.save(states | {"random": torch.get_rng_state()}, file)
        file.seek(0)
        loaded = torch.load(file, weights_only=True)
        self.model = network(torch, self.spec)
        self.found["loaded"] = str(self.model.load_state_dict(loaded["model"]))
        self.optimizer, self.scheduler = self.made(self.model)
        self.optimizer.load_state_dict(loaded["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(loaded["scheduler"])
        torch.set_rng_state(loaded["random"])
        self.hook()

    def on_average(self, step):
        average = self.torch.optim.swa_utils.AveragedModel(self.model)
        average.update_parameters(self.model)
        average.update_parameters(self.model)
        self.found["average"] = {n: told(self.torch, t) for n, t in average.state_dict().items()}

    def on_scale(self, step):
        with self.torch.no_grad():
            for p in self.model.parameters():
                p.mul_(0.9).add_(0.01)

    def on_zero(self, step):
        self.torch.nn.init.zeros_(self.model.last.bias)
        self.torch.nn.init.kaiming_uniform_(self.model.last.weight, a=math.sqrt(5))

    def on_draw(self, step):
        torch = self.torch
        self.found["drawn"] = [torch.randn(3).tolist(), torch.randperm(5).tolist(), torch.rand(2, 2).sum().item()]

    def on_compile(self, step):
        compiled = self.torch.compile(self.model, backend="eager")
        self.found["compiled"] = told(self.torch, compiled(batch(self.torch, self.spec, 98)[0]))


def told(torch, t):
    """Return [dtype, shape, values] of a tensor."""
    values = t.detach().to(torch.float64 if t.is_floating_point() else t.dtype).reshape(-1).tolist()
    return [str(t.dtype), list(t.shape), values]


def plain(torch, value):
    """Return a state as JSON holds it."""
    if isinstance(value, torch.Tensor):
        return told(torch, value)
    if isinstance(value, dict):
        return {str(k): plain(torch, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(torch, v) for v in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else repr(value)


def train(torch, spec):
    training = None
    try:
        training = Training(torch, spec)
        return training.run()
    except Exception as error:
        return (training.found if training else {}) | {"error": [type(error).__name__, str(error)[:300]]}


def serve():
    import warnings

    import torch
    import torch.utils.checkpoint

    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(train(torch, json.loads(line))), flush=True)


# ------------------------------------------------------------------------------------------------ both, compared
def alike(a, b, limit):
    """Whether two results are equal, numbers within a limit."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k], limit) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y, limit) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, (float, int)):
        return a == b or math.isnan(a) and math.isnan(b) or math.isfinite(a) and abs(a - b) <= limit
    return a == b


def largest(value):
    """Return the largest finite number in a result: some parts, such as a bias before a norm, are but its rounding."""
    if isinstance(value, dict):
        return max(map(largest, value.values()), default=0.0)
    if isinstance(value, list):
        return max(map(largest, value), default=0.0)
    return abs(value) if isinstance(value, float) and math.isfinite(value) else 0.0


def difference(spec, theirs, ours):
    """Return (what differs first, theirs, ours), or None."""
    if isinstance(theirs, list) or isinstance(ours, list):  # it crashed or hung
        return None if theirs == ours else ("the program", theirs, ours)
    tolerance = LIMITS["bfloat16" if spec["autocast"] else "float32"]
    for name in theirs | ours:
        a, b = theirs.get(name), ours.get(name)
        limit = tolerance * (1e-3 + largest(a))
        if not alike(a, b, limit):
            if isinstance(a, dict) and isinstance(b, dict):
                inside = next((k for k in a | b if not alike(a.get(k), b.get(k), limit)), "")
                return f"{name}: {inside}", a.get(inside), b.get(inside)
            return name, a, b
    return None


class Trainer(fuzz.Runner):
    """A process that trains the programs that it is given."""

    script = __file__


def search(oracle, ours, programs, seed, limit):
    """Return the shrunk programs that differ, how many were run, and how often the ledger's were met."""
    real, here = Trainer(oracle, limit), Trainer(ours, limit)
    kind = lambda d: (re.sub(r"\d+", "N", d[0]), str(type(d[1])), str(type(d[2])))  # noqa: E731
    try:
        return fuzz.search(
            program,
            lambda spec: difference(spec, real(spec), here(spec)),
            kind,
            "training: ",
            lambda spec, d: print(f"---- {d[0]}\n  torch: {d[1]}\n  here:  {d[2]}\n  {json.dumps(spec)}", flush=True),
            programs,
            seed,
        )
    finally:
        real.end(), here.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--oracle", help="a Python with the real torch")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=120, help="seconds for one program")
    parser.add_argument("--program", help="a description to run once more")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve()
    oracle, ours = [args.oracle], [sys.executable, "-m", "mindtorch_proxy"]
    if args.program:
        spec = json.loads(args.program)
        d = difference(spec, Trainer(oracle, args.limit)(spec), Trainer(ours, args.limit)(spec))
        print("the same" if d is None else f"{d[0]}\n  torch: {d[1]}\n  here:  {d[2]}")
        return d is not None
    return fuzz.summarise(*search(oracle, ours, args.programs, args.seed, args.limit))


if __name__ == "__main__":
    sys.exit(main())
