"""Programs of sharded training, for both torches. Results are plain Python."""

import contextlib
import gc
import weakref

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FSDPModule,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.distributed.fsdp.wrap import CustomPolicy, ModuleWrapPolicy, size_based_auto_wrap_policy
from torch.distributed.tensor import DTensor
from torch.utils.checkpoint import checkpoint


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = (
            torch.nn.LayerNorm(width),
            torch.nn.Linear(width, 3 * width),
            torch.nn.Linear(3 * width, width),
        )

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(torch.nn.Module):
    """Odd sizes: pieces of parameters differ in length."""

    def __init__(self, width=7):
        super().__init__()
        self.words, self.blocks = torch.nn.Embedding(11, width), torch.nn.ModuleList([Block(width) for _ in range(2)])
        self.head = torch.nn.Linear(width, 11)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def batch(step, rank, size, rows=2):
    """A rank's share of a step's tokens."""
    tokens = (torch.arange(size * rows * 5) * (step + 3) % 11).view(size * rows, 5)
    return tokens[rank * rows : (rank + 1) * rows]


def rounded(x):
    if isinstance(x, DTensor):
        x = x.full_tensor()
    return [round(v, 4) + 0.0 for v in x.detach().double().flatten().tolist()] if isinstance(x, torch.Tensor) else x


def train(model, rank, size, steps=4, optimizer=None, clip=None, accumulate=1, around=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)
    losses = []
    for step in range(steps):
        for part in range(accumulate):
            with around(model, part == accumulate - 1) if around else contextlib.nullcontext():
                tokens = batch(step * accumulate + part, rank, size)
                loss = F.cross_entropy(model(tokens).flatten(0, 1).float(), tokens.flatten())
                loss.backward()
        if clip is not None:
            own = getattr(model, "clip_grad_norm_", None)
            norm = own(clip) if own else torch.nn.utils.clip_grad_norm_(model.parameters(), clip, foreach=False)
            losses.append(rounded(norm))
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(round(total.item() / size, 4))
    return losses


def make(**options):
    torch.manual_seed(0)
    model = Model()
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def alone(rank, size, **options):
    """The same on one process, with all ranks' batches."""
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)
    losses = []
    for step in range(options.get("steps", 4)):
        tokens = batch(step, 0, 1, 2 * size)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        if "clip" in options:
            losses.append(rounded(torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip"], foreach=False)))
        optimizer.step()
        optimizer.zero_grad()
        losses.append(round(loss.item(), 4))
    return losses, [rounded(p) for p in model.parameters()]


def attempt(f):
    try:
        return f()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@contextlib.contextmanager
def no_sync(model, last):
    model.set_requires_gradient_sync(last)
    yield


def per_parameter(rank, size):
    """fully_shard, in all its ways."""
    found = {
        "alone": alone(rank, size),
        "alone clipped": alone(rank, size, clip=0.1),
        "steps": alone(rank, size, steps=50),
    }

    def result(model, **options):
        losses = train(model, rank, size, **options)
        return losses, [rounded(p) for p in model.parameters()]

    found["default"] = attempt(lambda: result(make()))
    found["long"] = attempt(lambda: result(make(), steps=50))
    found["resharded"] = attempt(lambda: result(make(reshard_after_forward=True)))
    found["kept"] = attempt(lambda: result(make(reshard_after_forward=False)))
    found["clipped"] = attempt(lambda: result(make(), clip=0.1))
    found["accumulated"] = attempt(lambda: result(make(), accumulate=2, around=no_sync))
    found["half"] = attempt(
        lambda: train(
            make(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)), rank, size
        )
    )
    model = make()
    found["shapes"] = [
        (n, [str(s) for s in p.placements], list(p.to_local().shape), list(p.shape))
        for n, p in model.named_parameters()
    ]
    found["classes"] = [
        type(model).__name__,
        isinstance(model, FSDPModule),
        type(model.blocks[0]).__name__,
        type(model.state_dict()["head.weight"]).__name__,
    ]
    model.unshard()
    found["unsharded"] = type(model.head.weight).__name__ != "DTensor", list(model.head.weight.shape)
    model.reshard()
    found["sharded"] = type(model.head.weight).__name__
    loss = model(batch(0, rank, size)).sum()
    loss.backward()
    found["grads"] = [
        (type(p.grad).__name__, list(p.grad.to_local().shape), rounded(p.grad)) for p in model.parameters()
    ]
    state = {k: v.clone() for k, v in model.state_dict().items()}
    other = make()
    torch.nn.init.zeros_(other.head.weight)
    other.load_state_dict(state)
    found["loaded"] = rounded(other.head.weight) == rounded(model.head.weight)
    with torch.device("meta"):
        empty = Model()
    for block in empty.blocks:
        fully_shard(block)
    fully_shard(empty)
    empty.to_empty(device="cpu")
    empty.load_state_dict(state)
    found["from meta"] = attempt(lambda: rounded(empty(batch(0, rank, size)).sum()))
    found["plain"] = attempt(lambda: rounded(model(batch(0, rank, size)).sum()))
    found["errors"] = [
        attempt(f)
        for f in (lambda: fully_shard(model), lambda: fully_shard(torch.nn.ModuleList([torch.nn.Linear(2, 2)])))
    ]
    found["many"] = attempt(lambda: train(torch.nn.Sequential(make()), rank, size, steps=2))
    return found


def freed(rank, size):
    """How many whole parameters are alive in a forward: those of the unit that runs and of the root.

    And after it, and in backward.
    """
    alive, seen = weakref.WeakSet(), []
    model = make(reshard_after_forward=True)

    def enter(module, args):
        alive.update(module.parameters())

    def leave(module, args, output):
        gc.collect()
        seen.append(sum(not isinstance(p, DTensor) for p in alive))

    for block in model.blocks:
        block.up.register_forward_pre_hook(enter)
        model.head.register_forward_hook(leave)
    x = model(batch(0, rank, size))
    leave(None, None, None)
    x.sum().backward()
    leave(None, None, None)
    return seen


def replicated_and_sharded(rank, size):
    """On a mesh of two dimensions: replicas of shards; and shards of what is sharded already."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("outer", "inner"))
    found = {"alone": alone(rank, size)}

    def hybrid():
        model = make(mesh=mesh)
        return train(model, rank, size), [rounded(p) for p in model.parameters()]

    def both():
        torch.manual_seed(0)
        model = Model(8)
        for block in model.blocks:
            parallelize_module(block, mesh["inner"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
            fully_shard(block, mesh=mesh["outer"])
        fully_shard(model, mesh=mesh["outer"])
        group = mesh.get_local_rank("outer")
        losses = train(model, group, 2)
        return (
            losses,
            [rounded(p) for p in model.parameters()],
            [tuple(map(str, p.placements)) for p in model.parameters()],
        )

    found["hybrid"] = attempt(hybrid)
    found["both"] = attempt(both)
    return found


def wrapped(policy=None, **options):
    torch.manual_seed(0)
    return FullyShardedDataParallel(
        Model(), auto_wrap_policy=policy or ModuleWrapPolicy({Block}), device_id=torch.device("cpu"), **options
    )


@contextlib.contextmanager
def wrapper_no_sync(model, last):
    with contextlib.nullcontext() if last else model.no_sync():
        yield


def flat(rank, size):
    """FullyShardedDataParallel, in all its ways."""
    found = {
        "alone": alone(rank, size),
        "alone clipped": alone(rank, size, clip=0.1),
        "steps": alone(rank, size, steps=50),
    }

    def result(model, **options):
        losses = train(model, rank, size, **options)
        with FullyShardedDataParallel.summon_full_params(model):
            return losses, [rounded(p) for p in model.parameters()]

    found["default"] = attempt(lambda: result(wrapped()))
    found["long"] = attempt(lambda: result(wrapped(), steps=50))
    for strategy in ("SHARD_GRAD_OP", "NO_SHARD"):
        found[strategy] = attempt(lambda: result(wrapped(sharding_strategy=ShardingStrategy[strategy])))
    found["original"] = attempt(lambda: result(wrapped(use_orig_params=True)))
    found["clipped"] = attempt(lambda: result(wrapped(), clip=0.1))
    found["original clipped"] = attempt(lambda: result(wrapped(use_orig_params=True), clip=0.1))
    found["accumulated"] = attempt(lambda: result(wrapped(), accumulate=2, around=wrapper_no_sync))
    half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16)
    found["half"] = attempt(lambda: train(wrapped(mixed_precision=half), rank, size))
    for name, policy in {
        "custom": CustomPolicy(
            lambda m: {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP} if isinstance(m, Block) else False
        ),
        "by size": lambda module, recurse, nonwrapped_numel: size_based_auto_wrap_policy(
            module, recurse, nonwrapped_numel, min_num_params=100
        ),
    }.items():
        found[name] = attempt(lambda: result(wrapped(policy)))
    for original in (False, True):
        model = wrapped(use_orig_params=original)
        found["names", original] = [(n, original or list(p.shape)) for n, p in model.named_parameters()]
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)
        train(model, rank, size, 2, optimizer)
        full = model.state_dict()
        found["full", original] = [(k, rounded(v)) for k, v in full.items()]
        of_optimizer = FullyShardedDataParallel.optim_state_dict(model, optimizer)
        found["optimizer", original] = [
            (k, sorted(v), rounded(v["exp_avg"])) for k, v in sorted(of_optimizer["state"].items())
        ]
        found["groups", original] = sorted(of_optimizer["param_groups"][0]["params"])
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)
        ):
            found["on one", original] = list(model.state_dict())
        other = wrapped(use_orig_params=original)
        other.load_state_dict(full)
        again = torch.optim.AdamW(other.parameters(), lr=0.01, foreach=False)
        again.load_state_dict(FullyShardedDataParallel.optim_state_dict_to_load(other, again, of_optimizer))
        found["continued", original] = attempt(
            lambda: result(other, steps=2, optimizer=again) == result(model, steps=2, optimizer=optimizer)
        )
        with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            sharded = model.state_dict()
            found["sharded", original] = list(sharded)
            third = wrapped(use_orig_params=original)
        with FullyShardedDataParallel.state_dict_type(third, StateDictType.SHARDED_STATE_DICT):
            third.load_state_dict(sharded)
        found["reloaded", original] = [(k, rounded(v)) for k, v in third.state_dict().items()]
        with FullyShardedDataParallel.summon_full_params(model, with_grads=original):
            found["summoned", original] = [(n, list(p.shape)) for n, p in model.named_parameters()]
            model.module.head.weight.data.fill_(0.5)
        with FullyShardedDataParallel.summon_full_params(model):
            found["written back", original] = rounded(model.module.head.weight)
    found["units"] = [len(FullyShardedDataParallel.fsdp_modules(model, root_only=root)) for root in (False, True)]
    found["attributes"] = isinstance(model.head, torch.nn.Linear), model.module is model._fsdp_wrapped_module
    return found


def first_ranks_parameters(rank, size):
    """What the real torch has on GPUs alone: modules without memory, and the first rank's values for all."""
    with torch.device("meta"):
        empty = Model()
    synced = FullyShardedDataParallel(empty, auto_wrap_policy=ModuleWrapPolicy({Block}), sync_module_states=True)
    torch.manual_seed(rank)
    differing = FullyShardedDataParallel(Model(), sync_module_states=True)
    torch.manual_seed(0)
    with FullyShardedDataParallel.summon_full_params(differing):
        same = [rounded(p) for p in differing.parameters()] == [rounded(p) for p in Model().parameters()]
    return same, len(list(synced.parameters()))


class Part(nn.Module):
    """A layer with a residual, which counts how often it runs."""

    runs = 0

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        Part.runs += 1
        return x + self.b(torch.tanh(self.a(x)))


class Stack(nn.Module):
    """Parts, each checkpointed by the model itself if told so."""

    def __init__(self, reentrant=None):
        super().__init__()
        self.parts, self.head, self.reentrant = nn.ModuleList([Part() for _ in range(3)]), nn.Linear(6, 2), reentrant
        with torch.no_grad():
            for i, p in enumerate(self.parameters()):
                p.copy_(torch.arange(p.numel()).view(p.shape).mul(0.37).add(i).sin() * 0.4)

    def forward(self, x):
        for part in self.parts:
            x = part(x) if self.reentrant is None else checkpoint(part, x, use_reentrant=self.reentrant)
        return self.head(x)


def checkpointed(rank, size):
    """Checkpoints around units, within units and over several, of both kinds of sharding: losses, and how often parts
    ran.
    """

    def run(model, accumulate=False):
        optimizer, losses, Part.runs = (
            torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1),
            [],
            0,
        )
        for step in range(4):
            if accumulate and hasattr(model, "set_requires_gradient_sync"):
                model.set_requires_gradient_sync(step % 2 == 1)
            x = torch.arange(24.0).view(4, 6).mul(0.1 + rank + step).cos().requires_grad_()
            with (
                model.no_sync()
                if accumulate and hasattr(model, "no_sync") and step % 2 == 0
                else contextlib.nullcontext()
            ):
                loss = model(x).square().mean()
                loss.backward()
            losses.append(loss.item())
            if not accumulate or step % 2 == 1:
                optimizer.step()
                optimizer.zero_grad()
        return losses, Part.runs

    def within(model):
        apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, Part))
        return model

    def frozen(model):
        model.parts[1].requires_grad_(False)
        return model

    def each(model, units=None, **kw):
        for part in model.parts if units is None else units:
            fully_shard(part, **kw)
        return fully_shard(model, **kw)

    def pairs(model):
        """A unit of two parts, of which the model checkpoints each."""
        fully_shard([model.parts[0], model.parts[1]])
        return fully_shard(model)

    policy = lambda module, recurse, nonwrapped_numel: recurse or isinstance(module, Part)
    flat = lambda model, **kw: FullyShardedDataParallel(
        model, auto_wrap_policy=policy, device_id=torch.device("cpu"), **kw
    )
    models = {"alone": Stack()}
    for reentrant in (None, False, True):
        models["each", reentrant] = each(Stack(reentrant))
        models["kept", reentrant] = each(Stack(reentrant), reshard_after_forward=False)
        models["freed at the root", reentrant] = each(Stack(reentrant), reshard_after_forward=True)
        models["flat", reentrant] = flat(Stack(reentrant), use_orig_params=True)
        models["flat alone", reentrant] = flat(Stack(reentrant))
    models["within"], models["frozen"], models["frozen within"] = (
        each(within(Stack())),
        each(frozen(Stack(False))),
        each(within(frozen(Stack()))),
    )
    models["flat within"], models["within flat"] = (
        flat(within(Stack()), use_orig_params=True),
        within(flat(Stack(), use_orig_params=True)),
    )
    models["accumulated"], models["accumulated flat"] = each(within(Stack())), flat(within(Stack()))
    models["in pairs"] = pairs(Stack(False))
    return {name: run(model, "accumulated" in name) for name, model in models.items()}
