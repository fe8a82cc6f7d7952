"""Pipelines of several processes, for both torches. Results are plain Python."""

import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
)
from torch.distributed.pipelining.microbatch import TensorChunkSpec, merge_chunks, split_args_kwargs_into_chunks
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class
from torch.nn.parallel import DistributedDataParallel

WIDTH = 6
LOOPED = [ScheduleLoopedBFS, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble]
V = [ScheduleZBVZeroBubble, ScheduleDualPipeV]


class Layer(nn.Module):
    def __init__(self, seed):
        super().__init__()
        made = torch.Generator().manual_seed(seed)
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)
        self.norm = nn.LayerNorm(WIDTH)
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(torch.randn(p.shape, generator=made) / 2)

    def forward(self, x):
        return x + self.second(torch.tanh(self.first(self.norm(x))))


class Tied(Layer):
    """The same weight in two products, one of which the other's gradient passes."""

    def forward(self, x):
        return torch.tanh(self.second(torch.tanh(self.second(x)))) + self.first(x)


def batch(rows=8, seed=0):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(rows, WIDTH, generator=made), torch.randn(rows, WIDTH, generator=made)


def mean(output, target):
    return ((output - target) ** 2).mean()


def numbers(x):
    return None if x is None else [round(v, 7) for v in x.detach().double().flatten().tolist()]


def stages_of(schedule, rank, size, local):
    """The stages of a rank."""
    if schedule in V:
        return [rank, 2 * size - 1 - rank]
    return [rank + size * i for i in range(local)]


def made(schedule, rank, size, local, microbatches, layer=Layer, wrap=lambda m: m, group=None, **more):
    """The schedule of a rank, and its modules by their stage."""
    numbered = stages_of(schedule, rank, size, local)
    modules = {s: wrap(layer(s)) for s in numbered}
    cpu = torch.device("cpu")
    stages = [PipelineStage(m, s, size * len(numbered), cpu, group=group) for s, m in modules.items()]
    single = schedule in (ScheduleGPipe, Schedule1F1B)
    return schedule(stages[0] if single else stages, microbatches, loss_fn=mean, **more), modules


def trained(schedule, modules, steps=2, rows=8, salt=0):
    """Losses, the last output and gradients, the parameters at the end."""
    first, last = 0 in modules, any(s.is_last for s in getattr(schedule, "_stages", None) or [schedule._stage])
    optimizer = torch.optim.SGD([p for m in modules.values() for p in m.parameters()], lr=0.1)
    losses, found = [], []
    for step in range(steps):
        optimizer.zero_grad()
        inputs, target = batch(rows, step + salt)
        held: list = []
        output = schedule.step(*([inputs] if first else []), target=target if last else None, losses=held)
        losses.append([round(v.item(), 6) for v in held])
        found.append((numbers(output), output is not None and output.requires_grad))
        optimizer.step()
    gradients = {f"{s}.{n}": numbers(p.grad) for s, m in modules.items() for n, p in m.named_parameters()}
    after = {f"{s}.{n}": numbers(p) for s, m in modules.items() for n, p in m.named_parameters()}
    return {"losses": losses, "outputs": found, "gradients": gradients, "after": after}


def orders(rank, size):
    """What each rank computes, in each schedule."""
    found = {}
    for local in (1, 2, 3):
        for schedule in (ScheduleGPipe, *LOOPED, *V):  # the real torch's 1F1B shows other numbers than it computes
            for microbatches in (1, size - 1, size, 2 * size, 2 * size + 1, 3 * size):
                if schedule is ScheduleGPipe and local > 1 or schedule in V and local != 2:
                    continue
                try:
                    order = made(schedule, rank, size, local, microbatches)[0].pipeline_order
                    found[schedule.__name__, local, microbatches] = {
                        r: ["" if a is None else str(a) for a in row if "REDUCE" not in str(a)]
                        for r, row in order.items()
                    }
                except ValueError as e:
                    found[schedule.__name__, local, microbatches] = str(e)[:40]
    return {str(k): v for k, v in found.items()}


def schedules(rank, size):
    """Two steps by each schedule: 4 and 5 microbatches a rank."""
    found = {}
    for schedule in (ScheduleGPipe, Schedule1F1B):
        for microbatches in (size, 2 * size):
            found[schedule.__name__, microbatches] = trained(*made(schedule, rank, size, 1, microbatches))
    for schedule in LOOPED:
        for local in (1, 2):
            found[schedule.__name__, local] = trained(*made(schedule, rank, size, local, 2 * size))
    for schedule in V:
        found[schedule.__name__] = trained(*made(schedule, rank, size, 2, 2 * size))
    return {str(k): v for k, v in found.items()}


def variants(rank, size):
    """Sums instead of means, uneven microbatches, tied weights, rows that are no multiple."""
    found = {"sum": trained(*made(Schedule1F1B, rank, size, 1, 4, scale_grads=False))}
    found["uneven"] = trained(*made(ScheduleGPipe, rank, size, 1, 3), rows=6)
    found["tied"] = trained(*made(ScheduleInterleavedZeroBubble, rank, size, 2, 4, layer=Tied))
    return found


class Between(nn.Module):
    """Two tensors and whole numbers between stages, an argument of each stage's own."""

    def __init__(self, stage, last):
        super().__init__()
        self.layer, self.stage, self.last = Layer(stage), stage, last

    def forward(self, x, y=None, n=None, *, factor=1.0):
        y = x * 2 if y is None else y
        n = torch.arange(len(x)) if n is None else n + 1
        x = self.layer(x) * factor + 0.01 * n[:, None]
        return (x + y, n) if self.last else (x, y, n)


def several(rank, size):
    """Tuples between stages, keyword arguments, a loss with arguments."""
    module = Between(rank, rank == size - 1)
    stage = PipelineStage(module, rank, size, torch.device("cpu"))
    loss = lambda output, target, scale: mean(output[0], target) * scale
    schedule = ScheduleGPipe(stage, 4, loss_fn=loss, kwargs_chunk_spec={"factor": TensorChunkSpec(0)})
    inputs, target = batch()
    factor = torch.linspace(0.5, 1.5, 8)[:, None].requires_grad_(rank == 1)
    losses: list = []
    more = {"target": target, "losses": losses} if rank == size - 1 else {}
    output = schedule.step(*([inputs] if rank == 0 else []), loss_kwargs={"scale": 3.0}, factor=factor, **more)
    found = {"output": output and [numbers(v) for v in output], "losses": [numbers(v) for v in losses]}
    found["gradients"] = {n: numbers(p.grad) for n, p in module.named_parameters()}
    with torch.no_grad():
        again = schedule.eval(
            *([inputs] if rank == 0 else []), factor=factor.detach(), loss_kwargs={"scale": 1}, **more
        )
    found["eval"] = again and [numbers(v) for v in again]
    try:
        with torch.no_grad():
            schedule.step(*([inputs] if rank == 0 else []), target=target, factor=factor)
    except RuntimeError as e:
        found["refused"] = str(e)[:60]
    return found


def evaluated(rank, size):
    """Without a loss; then the same schedule's forwards alone."""
    found = {}
    for schedule in (ScheduleGPipe, ScheduleInterleaved1F1B):  # the real torch fails for stages in a V
        run, modules = made(schedule, rank, size, 2 if schedule is not ScheduleGPipe else 1, 4)
        with torch.no_grad():
            given = [batch()[0]] if 0 in modules else []
            found[schedule.__name__] = numbers(run.eval(*given, target=batch()[1]))
        found[schedule.__name__ + " trained"] = trained(run, modules)
        run, modules = made(schedule, rank, size, 2 if schedule is not ScheduleGPipe else 1, 4)
        trained(run, modules, 1)
        with torch.no_grad():
            run.eval(*given, target=batch()[1])
        found[schedule.__name__ + " trained before and after"] = trained(run, modules, 1)
    return found


def replicated(rank, size):
    """Two stages of two replicas each, by DDP and by fully_shard."""
    mesh = dist.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "pp"))
    across, along = mesh["dp"].get_group(), mesh["pp"].get_group()
    place, count, salt = dist.get_rank(along), dist.get_world_size(along), 10 * dist.get_rank(across)
    ddp = lambda m: DistributedDataParallel(m, process_group=across)
    run, modules = made(Schedule1F1B, place, count, 1, 4, wrap=ddp, group=along)
    found = {"ddp": trained(run, modules, salt=salt)}  # the real torch fails with more stages on a rank
    for schedule, local in ((Schedule1F1B, 1), (ScheduleInterleaved1F1B, 2)):
        shard = lambda m: fully_shard(m, mesh=mesh["dp"])
        run, modules = made(schedule, place, count, local, 4, wrap=shard, group=along)
        optimizer = torch.optim.SGD([p for m in modules.values() for p in m.parameters()], lr=0.1)
        last = any(s.is_last for s in getattr(run, "_stages", None) or [run._stage])
        for step in range(2):
            optimizer.zero_grad()
            inputs, target = batch(8, step + salt)
            run.step(*([inputs] if 0 in modules else []), target=target if last else None)
            optimizer.step()
        parameters = ((f"{s}.{n}", p) for s, m in modules.items() for n, p in m.named_parameters())
        found[schedule.__name__] = {name: numbers(p.full_tensor()) for name, p in parameters}
    return found


def files(rank, size):
    """An order that is written and read; names of schedules."""
    run, modules = made(ScheduleInterleaved1F1B, rank, size, 2, 4)
    with tempfile.NamedTemporaryFile("w+", suffix=".csv") as file:
        PipelineScheduleMulti._dump_csv(run, file.name)
        stages = [PipelineStage(m, s, 2 * size, torch.device("cpu")) for s, m in modules.items()]
        again = type(run).__mro__[1](stages, 4, loss_fn=mean)
        again._load_csv(file.name)
        found = [trained(again, modules), open(file.name).read()]
    for name in ("1f1b", "zbvzerobubble", "nothing"):
        try:
            found.append(get_schedule_class(name).__name__)
        except ValueError as e:
            found.append(str(e))
    return found


def chunks(rank, size):
    """Splitting and merging."""
    args, kwargs = (torch.arange(12.0).reshape(6, 2), 3), {"a": torch.arange(5), "b": None}
    found = [str(split_args_kwargs_into_chunks(args, kwargs, 3)), str(split_args_kwargs_into_chunks(args, {}, 4))]
    specs = TensorChunkSpec.from_tuple((1,)), TensorChunkSpec.from_dict({"a": 0})
    found.append(str(split_args_kwargs_into_chunks(args[:1], {"a": kwargs["a"]}, 2, *specs)))
    found.append([str(s) for s in specs] + [repr(TensorChunkSpec(1))])
    found.append(str(merge_chunks([(torch.ones(1, 2), 4), (torch.zeros(2, 2), 4)], (TensorChunkSpec(0), None))))
    for call in (
        lambda: split_args_kwargs_into_chunks((torch.ones(2),), None, 2, (TensorChunkSpec(0), TensorChunkSpec(0))),
        lambda: merge_chunks([(1, 2), (3,)], None),
        lambda: PipelineStage(nn.Linear(1, 1), 3, 3, torch.device("cpu")),
        lambda: PipelineStage(nn.Linear(1, 1), 0, 1, torch.device("cpu")),
    ):
        try:
            found.append(str(call()))
        except Exception as e:
            found.append((type(e).__name__, str(e)[:40]))
    return found
