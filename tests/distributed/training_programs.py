"""Programs that train replicas, for both torches.

Results are plain Python; no random numbers, so that both start alike.
"""

import contextlib
import io
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

warnings.simplefilter("ignore")


def numbers(*shape, seed=1):
    """Numbers between -1 and 1 that look random."""
    count = torch.Size(shape).numel()
    return ((torch.arange(count, dtype=torch.float64) * 0.37 + seed * 1.7).sin() * 43.7).frac().float().reshape(shape)


def fill(module, seed=1):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(numbers(*p.shape, seed=seed + i) * 0.5)
    return module


class Net(nn.Module):
    """Layers of several shapes and kinds, with buffers."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 4, 3, padding=1), nn.BatchNorm1d(4)
        self.inner, self.last = nn.Linear(20, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.last(torch.relu(self.inner(self.norm(self.conv(x)).flatten(1))))


class Branches(nn.Module):
    """Two halves, of which a call may use one, and a parameter that none uses; two outputs."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.unused = (
            nn.Linear(4, 3),
            nn.Linear(4, 3),
            nn.Linear(4, 3),
            nn.Parameter(torch.ones(2)),
        )

    def forward(self, x, which):
        return (self.a if which else self.b)(x), {"second": self.c(x)}


def gradients(module):
    return [None if p.grad is None else p.grad.to_dense().flatten().tolist() for p in module.parameters()]


def values(module):
    return [t.double().flatten().tolist() for t in module.state_dict().values()]


def train(model, rank, steps=4, inner=None, momentum=0.9, size=3):
    """Some steps; the gradients of each and the final state."""
    found = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum)
    for step in range(steps):
        optimizer.zero_grad()
        x = numbers(size, 3, 5, seed=10 * step + rank)
        model(x).square().mean().backward()
        found.append(gradients(model))
        optimizer.step()
    return found, values(model)


def variants(rank, size):
    """The same training however it is organized."""
    options = {
        "plain": {},
        "small buckets": {"bucket_cap_mb": 0.0001},
        "views": {"gradient_as_bucket_view": True},
        "views in small buckets": {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0001},
        "static": {"static_graph": True},
        "static views": {"static_graph": True, "gradient_as_bucket_view": True, "bucket_cap_mb": 0.0001},
        "looking for unused": {"find_unused_parameters": True},
        "buffers apart": {"forward_sync_buffers": False},
        "buckets by list": {"bucket_cap_mb_list": [0.0001, 0.0005]},
        "batched copy": {"batched_grad_copy": True},
    }
    return {
        name: train(DistributedDataParallel(fill(Net(), seed=1 + rank), **kw), rank) for name, kw in options.items()
    }


def no_sync(rank, size):
    found = {}
    for name, kw in {
        "plain": {},
        "views": {"gradient_as_bucket_view": True},
        "unused": {"find_unused_parameters": True},
    }.items():
        model, seen = DistributedDataParallel(fill(Net()), **kw), []
        for step in range(3):
            model.zero_grad()
            for part in range(3):
                with contextlib.nullcontext() if part == 2 else model.no_sync():
                    model(numbers(3, 3, 5, seed=10 * step + 3 * part + rank)).square().mean().backward()
                seen.append(gradients(model))
        found[name] = seen
    return found


def unused(rank, size):
    """Ranks use other branches, outputs stay out of the loss, and one parameter is used nowhere."""
    found = {}
    for name, kw in {"plain": {}, "views": {"gradient_as_bucket_view": True}}.items():
        model, seen = DistributedDataParallel(fill(Branches()), find_unused_parameters=True, **kw), []
        for step in range(4):
            model.zero_grad()
            first, second = model(numbers(3, 4, seed=step + rank), (rank + step) % 3 == 0)
            loss = (
                first.sum()
                if step == 1
                else second["second"].sum()
                if step == 2
                else first.sum() + second["second"].square().sum()
            )
            loss.backward()
            seen.append(gradients(model))
        found[name] = seen
    static, seen = DistributedDataParallel(fill(Branches()), static_graph=True), []
    for step in range(3):
        static.zero_grad()
        first, second = static(numbers(3, 4, seed=step + rank), True)
        (first.sum() + second["second"].sum()).backward()
        seen.append(gradients(static))
    return {**found, "static": seen}


def sparse(rank, size):
    model = DistributedDataParallel(nn.Sequential(nn.Embedding(7, 3, sparse=True), nn.Linear(3, 2)))
    fill(model.module)
    seen = []
    for step in range(3):
        model.zero_grad()
        model(torch.tensor([[step, rank + 1, 2], [3, 4 + rank, 2]])).square().sum().backward()
        seen.append((model.module[0].weight.grad.is_sparse, gradients(model)))
    return seen


def checkpoints(rank, size):
    """Activations computed again in backward, in the same graph twice."""
    from torch.utils.checkpoint import checkpoint

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x):
            for _ in range(2):
                x = checkpoint(self.inner, x, use_reentrant=False)
            return self.outer(x)

    seen = []
    model = DistributedDataParallel(fill(Twice()), static_graph=True)
    for step in range(3):
        model.zero_grad()
        model(numbers(3, 4, seed=step + rank)).square().sum().backward()
        seen.append(gradients(model))
    return seen


def hooks(rank, size):
    """Communication hooks."""
    from torch.distributed.algorithms.ddp_comm_hooks import (
        DDPCommHookType,
        default_hooks,
        post_localSGD_hook,
        powerSGD_hook,
        register_ddp_comm_hook,
    )

    def model():
        return DistributedDataParallel(fill(Net()), bucket_cap_mb=0.0005)

    def own(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters()]
        if bucket.index() == 0:
            state.append([0, 0])
        state[-1][0] += bucket.buffer().numel()
        state[-1][1] += bucket.is_last()
        future = dist.all_reduce(bucket.buffer().div_(size), async_op=True).get_future()
        return future.then(lambda f: f.value()[0] * 2)

    found, seen = {}, []
    m = model()
    m.register_comm_hook(seen, own)
    found["own"] = train(m, rank), seen
    for name in ("ALLREDUCE", "FP16_COMPRESS", "NOOP"):
        m = model()
        register_ddp_comm_hook(getattr(DDPCommHookType, name), m, None)
        found[name] = train(m, rank)
    m = model()
    m.register_comm_hook(None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))
    found["wrapper"] = train(m, rank)
    m = model()
    m._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    found["built in"] = train(m, rank)
    m = model()
    m.register_comm_hook(
        post_localSGD_hook.PostLocalSGDState(None, dist.group.WORLD, 2), post_localSGD_hook.post_localSGD_hook
    )
    found["post local"] = train(m, rank)
    m = DistributedDataParallel(
        fill(Net())
    )  # of one bucket: PyTorch's callbacks on gloo may meet in another order on each rank
    m.register_comm_hook(
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, matrix_approximation_rank=1),
        powerSGD_hook.powerSGD_hook,
    )
    found["powerSGD"] = train(m, rank, steps=5)
    return found


def uneven(rank, size):
    """Ranks with other numbers of inputs."""
    from torch.distributed.algorithms.join import Join
    from torch.distributed.optim import ZeroRedundancyOptimizer

    found = {}
    for name, kw, join in (
        ("plain", {}, {}),
        ("divided by those that train", {}, {"divide_by_initial_world_size": False}),
        ("unused", {"find_unused_parameters": True}, {}),
    ):
        model = DistributedDataParallel(fill(Net()), **kw)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with model.join(**join):
            for step in range(3 + 2 * rank):
                optimizer.zero_grad()
                model(numbers(3, 3, 5, seed=10 * step + rank)).square().mean().backward()
                optimizer.step()
        found[name] = values(model)
    model = DistributedDataParallel(fill(Net()))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.05)
    with Join([model, optimizer]):
        for step in range(3 + rank):
            optimizer.zero_grad()
            model(numbers(3, 3, 5, seed=10 * step + rank)).square().mean().backward()
            optimizer.step()
    found["with ZeRO"] = values(model)
    model = DistributedDataParallel(fill(Net()))
    try:
        with model.join(throw_on_early_termination=True):
            for step in range(2 + rank):
                model(numbers(3, 3, 5, seed=step)).sum().backward()
        found["thrown"] = None
    except RuntimeError as error:
        found["thrown"] = str(error)
    return found


def zero(rank, size):
    """ZeroRedundancyOptimizer: values, who holds what, state to and fro."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    found = {}
    for name, kw in {"plain": {}, "views": {"parameters_as_bucket_view": True}}.items():
        model = DistributedDataParallel(fill(Net()))
        groups = [
            {"params": [p for n, p in model.named_parameters() if "last" not in n]},
            {"params": list(model.module.last.parameters()), "lr": 0.02},
        ]
        optimizer = ZeroRedundancyOptimizer(groups, torch.optim.Adam, lr=0.05, eps=1e-3, **kw)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def steps(n, optimizer=optimizer, scheduler=scheduler, model=model):
            for step in range(n):
                optimizer.zero_grad()
                model(numbers(3, 3, 5, seed=10 * step + rank)).square().mean().backward()
                optimizer.step()
                scheduler.step()

        steps(3)
        held = [[i for i, p in enumerate(model.parameters()) if p in optimizer.optim.state] for _ in [0]]
        optimizer.consolidate_state_dict(to=0)
        state = optimizer.state_dict() if rank == 0 else None
        names = None if state is None else {i: sorted(s) for i, s in state["state"].items()}
        box = [state]
        dist.broadcast_object_list(box, 0)
        found[name] = values(model), held, names
        other = ZeroRedundancyOptimizer(groups, torch.optim.Adam, lr=0.05, eps=1e-3, **kw)
        other.load_state_dict(box[0])
        steps(2, optimizer=other)
        found[name + ", loaded"] = values(model), [g["lr"] for g in other.param_groups]
    try:
        optimizer.state_dict()
        found["not consolidated"] = "none" if rank else None
    except RuntimeError as error:
        found["not consolidated"] = str(error)[:40]
    return found


def averaging(rank, size):
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer

    found = {}
    for name, make in {
        "periodic": lambda: PeriodicModelAverager(2, 1),
        "hierarchical": lambda: HierarchicalModelAverager({2: size}, 0),
    }.items():
        model = fill(Net())
        optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.05), make())
        for step in range(4):
            optimizer.zero_grad()
            model(numbers(3, 3, 5, seed=10 * step + rank)).square().mean().backward()
            optimizer.step()
        found[name] = values(model), optimizer.state_dict()["step"]
    return found


def attempt(f):
    try:
        return f() and None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def mistakes(rank, size):
    """Errors: by their type and first words."""
    found = {}

    def forgotten():
        model = nn.Linear(3, 2)
        model.extra = nn.Parameter(torch.ones(2))
        model = DistributedDataParallel(model)
        for _ in range(2):
            model(torch.ones(1, 3)).sum().backward()

    def twice():
        model = nn.Linear(3, 2)
        model.extra = nn.Parameter(torch.ones(2))
        model = DistributedDataParallel(model)
        first, second = model(torch.ones(1, 3)), model(torch.ones(1, 3))
        first.sum().backward()
        second.sum().backward()

    frozen = nn.Linear(2, 2).requires_grad_(False)
    found["frozen"] = attempt(lambda: DistributedDataParallel(frozen))
    found["device ids"] = attempt(lambda: DistributedDataParallel(nn.Linear(2, 2), device_ids=[0]))
    found["two device ids"] = attempt(lambda: DistributedDataParallel(nn.Linear(2, 2), device_ids=[0, 1]))
    found["lazy"] = attempt(lambda: DistributedDataParallel(nn.LazyLinear(2)))
    found["forgotten"], found["twice"] = attempt(forgotten), attempt(twice)
    found["numbers"] = attempt(
        lambda: DistributedDataParallel(nn.Sequential(*[nn.Linear(2, 2) for _ in range(1 + rank)]))
    )
    model = DistributedDataParallel(nn.Linear(2, 2))
    found["hook"] = attempt(lambda: model.register_comm_hook(None, 3))
    wrong: dict = {}
    exec("def hook(state, bucket: int): pass", wrong)
    found["annotation"] = attempt(lambda: model.register_comm_hook(None, wrong["hook"]))
    model.register_comm_hook(None, lambda state, bucket: None)
    found["second hook"] = attempt(lambda: model.register_comm_hook(None, lambda state, bucket: None))
    return found


def kept(rank, size):
    """Names, pickles, what is left of a model when its replica has gone, another replica of the same module."""
    model = DistributedDataParallel(fill(Net()))
    train(model, rank)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    names = list(model.state_dict())
    module = model.module
    again = DistributedDataParallel(module)
    del model
    first = train(again, rank)
    copied = torch.load(io.BytesIO(_pickled(again)), weights_only=False)
    return (
        names,
        first,
        train(copied, rank),
        str(again).splitlines()[:2],
        isinstance(again, nn.parallel.DistributedDataParallel),
    )


def _pickled(model):
    file = io.BytesIO()
    torch.save(model, file)
    return file.getvalue()


def batched_power(rank, size):
    """The whole bucket as one matrix, which PyTorch 2.13's own hook refuses: every rank gets the same, and the loss
    falls.
    """
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    model = DistributedDataParallel(fill(Net()))
    model.register_comm_hook(
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, matrix_approximation_rank=4),
        powerSGD_hook.batched_powerSGD_hook,
    )
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.05), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = model(numbers(3, 3, 5, seed=rank)).square().mean()
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return losses, [p.flatten().tolist() for p in model.parameters()]


def callbacks(rank, size):
    """Callbacks of futures that wait for collectives which are started by callbacks."""
    x, y = torch.ones(3), torch.full((2,), 2.0)
    first = dist.all_reduce(x, async_op=True).get_future()
    second = first.then(lambda f: dist.all_reduce(y, async_op=True).get_future().wait()[0] + f.value()[0][:2])
    third = second.then(lambda f: dist.all_reduce(total := f.value().clone(), async_op=True).wait() and total + 1)
    works = [dist.all_reduce(z := torch.ones(2), async_op=True)]
    late = (
        works[0]
        .get_future()
        .then(lambda f: (time.sleep(0.3), works.append(dist.all_reduce(f.value()[0], async_op=True))))
    )
    works[0].wait()
    dist.all_reduce(w := torch.ones(1))  # while the callback is about to start one, in another thread
    late.wait()
    works[1].wait()
    return second.wait().tolist(), third.wait().tolist(), z.tolist() + w.tolist()


class _FirstOfTwo(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

    def forward(self, x):
        return self.layers[0](x)


def reducer(rank, size):
    """What a Reducer refuses, takes and tells."""
    group, text, told = dist.group.WORLD, [], []

    def attempt(f):
        try:
            text.append(type(f()).__name__)
        except Exception as error:
            text.append(f"{type(error).__name__}: {error}"[:60])

    parameters = [*nn.Linear(2, 3).double().parameters(), *nn.Linear(3, 2).parameters()]
    attempt(lambda: dist.Reducer(parameters, [[0, 1, 2, 3]], [100], group))
    attempt(lambda: dist.Reducer(parameters, [[0, 1], [2, 3]], [100, 100], group))
    attempt(lambda: dist.Reducer(parameters, [[0, 1], [1, 2, 3]], [100, 100], group))
    model = _FirstOfTwo()
    made = dist.Reducer(list(model.parameters()), [[0, 1], [2, 3]], [100, 100], group, find_unused_parameters=True)
    made.prepare_for_forward()
    loss = model(torch.ones(1, 2)).sum()
    made.prepare_for_backward(loss)  # one tensor, not a list
    loss.backward()
    ddp = DistributedDataParallel(_FirstOfTwo())
    attempt(lambda: ddp.register_comm_hook(None, 3))
    told.append(
        [ddp._get_ddp_logging_data().get("has_error"), "must be callable" in ddp._get_ddp_logging_data()["error"]]
    )
    for _ in range(2):
        attempt(lambda: ddp(torch.ones(1, 2)).sum().backward())
    told.append([ddp._get_ddp_logging_data().get("has_error"), ddp._get_ddp_logging_data()["error"][:40]])
    hooked = DistributedDataParallel(nn.Linear(2, 2))
    hooked.register_comm_hook(None, lambda state, bucket: 1)
    try:
        hooked(torch.ones(1, 2)).sum().backward()
    except RuntimeError as error:
        told.append("must return a torch.futures.Future object, but got builtins.int" in str(error))
    whole = DistributedDataParallel(nn.Linear(2, 2))
    whole._set_ddp_runtime_logging_sample_rate(2)
    for step in range(14):
        whole(torch.ones(1, 2)).sum().backward()
        data = whole._get_ddp_logging_data()
        times = [
            data.get(f"{prefix}{name}")
            for prefix in ("", "avg_")
            for name in ("forward_compute_time", "backward_compute_time", "backward_comm_time")
        ]
        told.append((data["iteration"], step == 0 or all(time > 0 for time in times)))
    return text, [p.grad is None for p in model.parameters()], told


def synchronized_norms(rank, size):
    """SyncBatchNorm on parts of a batch, one of them empty at times, and batch normalization on the whole."""
    found = []
    for dims, kw in (
        ((5,), {}),
        ((), {"momentum": None}),
        ((2, 3), {"affine": False}),
        ((5,), {"track_running_stats": False}),
    ):
        plain = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d}[len(dims)]
        whole = fill(nn.Sequential(plain(3, **kw)))
        mine = nn.SyncBatchNorm.convert_sync_batchnorm(fill(nn.Sequential(plain(3, **kw))))
        for step in range(3):
            cuts = [0, 4, 6] if step != 2 else [0, 6, 6]
            x = numbers(6, 3, *dims, seed=step).requires_grad_()
            part = x.detach()[cuts[rank] : cuts[rank + 1]].clone().requires_grad_()
            y, z = whole(x), mine(part)
            wanted = y[cuts[rank] : cuts[rank + 1]]
            weights = numbers(*y.shape, seed=7)
            (y * weights).sum().backward()
            (z * weights[cuts[rank] : cuts[rank + 1]]).sum().backward()
            for p in mine.parameters():
                dist.all_reduce(p.grad)
            pairs = [
                (wanted, z),
                (x.grad[cuts[rank] : cuts[rank + 1]], part.grad),
                *((p.grad, q.grad) for p, q in zip(whole.parameters(), mine.parameters())),
            ]
            pairs += list(zip(whole.buffers(), mine.buffers()))
            found.append([type(mine[0]).__name__, [(a - b).abs().max().item() if a.numel() else 0.0 for a, b in pairs]])
            whole.zero_grad()
            mine.zero_grad()
    mine.eval()
    mine(numbers(2 + rank, 3, 5))  # no collective
    model = DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(fill(Net())), static_graph=True)
    return found, train(model, rank)
