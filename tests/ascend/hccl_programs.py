"""Programs of several ranks with NPUs: ranks.py COUNT hccl_programs.py NAME ARGUMENTS... (test_hccl.py runs them)."""

import copy
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

RANK, SIZE = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
REDUCIBLE = ["float32", "float16", "bfloat16", "int64", "int32", "int8", "bool"]
MOVABLE = [*REDUCIBLE, "float64", "uint8", "complex64", "complex128"]
REDUCTIONS = ["SUM", "PRODUCT", "MIN", "MAX", "AVG"]


def begin(backend="cpu:gloo,npu:hccl", **more):
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(backend, **more)


# ---------------------------------------------------------------- collectives beside those of gloo
def values(dtype, *shape, salt=0):
    """Numbers that every reduction of a few ranks keeps exact, which differ between ranks."""
    made = torch.randint(0, 3, shape, generator=torch.Generator().manual_seed(7 * RANK + salt))
    dtype = getattr(torch, dtype)
    return (made + 1j * (made + RANK) if dtype.is_complex else made).to(dtype)


def reductions(device, dtype, op, asynchronous):
    x, y, z = (values(dtype, 2, 3, salt=s).to(device) for s in range(3))
    strided, more = (values(dtype, 3, 4, salt=s).to(device) for s in (3, 4))
    one, part = torch.zeros_like(x), torch.zeros_like(x[:1])
    pieces = [values(dtype, 2, 3, salt=10 + r).to(device) for r in range(SIZE)]
    whole = values(dtype, SIZE, 3, salt=20).to(device)
    yield dist.all_reduce(x, op, async_op=asynchronous), [x]
    yield dist.all_reduce(strided[:, 1:3], op, async_op=asynchronous), [strided]
    yield dist.reduce(y, SIZE - 1, op, async_op=asynchronous), [y] if RANK == SIZE - 1 else []
    yield dist.reduce_scatter(one, pieces, op, async_op=asynchronous), [one]
    yield dist.reduce_scatter_tensor(part, whole, op, async_op=asynchronous), [part]
    yield dist.all_reduce_coalesced([z, more.t()], op, async_op=asynchronous), [z, more]


def copies(device, dtype, asynchronous):
    x, wide = values(dtype, 2, 3).to(device), values(dtype, 3, 4, salt=1).to(device)
    sparse = wide.clone()
    gathered = [torch.zeros_like(x) for _ in range(SIZE)]
    whole, stacked = x.new_zeros(2 * SIZE, 3), x.new_zeros(SIZE, 2, 3)
    pairs = [[torch.zeros_like(x), torch.zeros_like(wide)] for _ in range(SIZE)]
    on_root = [torch.zeros_like(x) for _ in range(SIZE)] if RANK == 0 else None
    given = [values(dtype, 2, 3, salt=10 + r).to(device) for r in range(SIZE)] if RANK == SIZE - 1 else None
    one, swapped, outs = torch.zeros_like(x), x.new_zeros(SIZE, 3), [torch.zeros_like(x) for _ in range(SIZE)]
    rows = values(dtype, SIZE * RANK + sum(range(SIZE)), 2, salt=2).to(device)  # r + RANK rows for rank r
    uneven = x.new_zeros(SIZE * RANK + sum(range(SIZE)), 2)
    splits = [r + RANK for r in range(SIZE)]
    a = asynchronous
    yield dist.broadcast(sparse[:, ::2], SIZE - 1, async_op=a), [sparse]
    yield dist.all_gather(gathered, x, async_op=a), gathered
    yield dist.all_gather_into_tensor(whole, x, async_op=a), [whole]
    yield dist.all_gather_into_tensor(stacked, x, async_op=a), [stacked]
    yield dist.all_gather_coalesced(pairs, [x, wide], async_op=a), sum(pairs, [])
    if not x.is_complex():  # gloo's gather refuses these
        yield dist.gather(x, on_root, 0, async_op=a), on_root or []
    yield dist.scatter(one, given, SIZE - 1, async_op=a), [one]
    yield (dist.all_to_all_single(swapped, values(dtype, SIZE, 3, salt=4).to(device), async_op=a), [swapped])
    yield dist.all_to_all_single(uneven, rows, splits, splits, async_op=a), [uneven]
    yield dist.all_to_all(outs, [values(dtype, 2, 3, salt=30 + r).to(device) for r in range(SIZE)], async_op=a), outs


def finished(steps):
    """The results of collectives: all launched first, where they are asynchronous, then waited for."""
    flying = [(work, [*tensors]) for work, tensors in steps]
    for work, _ in flying:
        if work is not None:
            work.wait()
    return [t.cpu() for _, tensors in flying for t in tensors]


def compare(what, make):
    try:
        expected = finished(make("cpu"))
    except (RuntimeError, ValueError, TypeError) as e:
        expected = type(e)
    try:
        found = finished(make("npu"))
    except (RuntimeError, ValueError, TypeError) as e:
        found = type(e)
    if isinstance(expected, type) or isinstance(found, type):
        assert expected is found, (what, expected, found)
        return
    assert len(expected) == len(found)
    for e, f in zip(expected, found, strict=True):
        assert e.dtype is f.dtype and torch.equal(e, f), (what, e, f)


def collectives():
    begin()
    number = 0
    for asynchronous in (False, True):
        for dtype in REDUCIBLE:
            for op in REDUCTIONS:
                compare((dtype, op), lambda d, t=dtype, o=op, a=asynchronous: reductions(d, t, getattr(ReduceOp, o), a))
                number += 1
        for dtype in MOVABLE:
            compare(dtype, lambda device, t=dtype, a=asynchronous: copies(device, t, a))
            number += 1
    special()
    dist.barrier()
    dist.destroy_process_group()
    print("compared", number)


def refused(call, text):
    try:
        call()
    except RuntimeError as e:
        assert text in str(e), str(e)
    else:
        raise AssertionError(f"no error: {text}")


def special():
    """What gloo has no answer for."""
    x = torch.ones(2, device="npu")
    for dtype in (torch.float64, torch.uint8):
        refused(lambda d=dtype: dist.all_reduce(x.to(d)), "Input tensor data type is not supported for HCCL")
    refused(lambda: dist.all_reduce(x.int(), ReduceOp.BAND), "Cannot use ReduceOp.BAND with HCCL")
    refused(lambda: dist.all_reduce(x.bool(), ReduceOp.AVG), "Cannot use ReduceOp.AVG with")
    refused(lambda: dist.recv(x), "does not support recvAnysource")
    outs = [torch.zeros(r + 1, device="npu") for r in range(SIZE)]
    dist.all_gather(outs, torch.full((RANK + 1,), RANK + 1.0, device="npu"))
    assert [t.tolist() for t in outs] == [[r + 1.0] * (r + 1) for r in range(SIZE)]
    total, out = SIZE * (SIZE + 1) / 2, torch.zeros(RANK + 1, device="npu")
    dist.reduce_scatter(out, [torch.full((r + 1,), RANK + 1.0, device="npu") for r in range(SIZE)])
    assert out.tolist() == [total] * (RANK + 1)
    import torch_npu

    rows, mine = list(range(1, SIZE + 1)), torch.full((RANK + 1, 2), RANK + 1.0, device="npu")
    every = torch.zeros(sum(rows), 2, device="npu")
    torch_npu.distributed.all_gather_into_tensor_uneven(every, mine, rows)
    assert every[:, 0].tolist() == [n for n in rows for _ in range(n)]
    torch_npu.distributed.reduce_scatter_tensor_uneven(mine, every, rows)
    assert mine[:, 1].tolist() == [(RANK + 1.0) * SIZE] * (RANK + 1)
    short = torch.full((3,), RANK, dtype=torch.int16, device="npu")  # which gloo does not take
    dist.broadcast(short, SIZE - 1)
    assert short.tolist() == [SIZE - 1] * 3
    empty = torch.empty(0, device="npu")
    dist.all_reduce(empty)
    dist.all_gather([empty.clone() for _ in range(SIZE)], empty)
    with dist._coalescing_manager(device=torch.device("npu")):
        a, b = torch.full((3,), RANK + 1.0).npu(), torch.full((2, 2), RANK + 1.0).npu()
        dist.all_reduce(a)
        dist.all_reduce(b)
    assert a.tolist() == [total] * 3 and b.sum().item() == 4 * total
    big, parts = [x.new_zeros(SIZE * n) for n in (1, 2)], [torch.full((n,), RANK + 1.0).npu() for n in (1, 2)]
    with dist._coalescing_manager(device=torch.device("npu")):
        for o, p in zip(big, parts, strict=True):
            dist.all_gather_into_tensor(o, p)
    assert big[1].tolist() == [r + 1.0 for r in range(SIZE) for _ in range(2)]
    dist.all_reduce(averaged := torch.full((2,), float(RANK)).npu(), ReduceOp.AVG, async_op=True)  # its work is dropped
    assert averaged.tolist() == [(SIZE - 1) / 2] * 2
    doubled = dist.all_reduce(torch.ones(2).npu(), async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert doubled.wait().tolist() == [2.0 * SIZE] * 2


# ---------------------------------------------------------------- groups, messages and objects
def groups():
    assert dist.get_default_backend_for_device("npu") == "hccl" and dist.is_hccl_available()
    assert dist.Backend.HCCL == "hccl" and dist.is_backend_available("hccl")
    for turn in range(2):  # destroyed and begun again, through the same store
        begin("hccl")
        assert dist.get_backend() == "hccl" and dist.distributed_c10d._get_pg_default_device() == torch.device("npu")
        right, left = (RANK + 1) % SIZE, (RANK - 1) % SIZE
        got, given = torch.zeros(2, device="npu"), torch.full((2,), RANK + 1.0, device="npu")
        ring = [dist.P2POp(dist.isend, given, right), dist.P2POp(dist.irecv, got, left)]
        for work in dist.batch_isend_irecv(ring):
            work.wait()
        assert got.tolist() == [left + 1.0] * 2
        if RANK == 0:
            dist.send(given, 1)
        elif RANK == 1:
            assert dist.recv(got, 0) == 0 and got.tolist() == [1.0] * 2
        found = [None] * SIZE
        dist.all_gather_object(found, {"rank": RANK})
        assert found == [{"rank": r} for r in range(SIZE)]
        sent = [["a"], 5] if RANK == 0 else [None, None]
        dist.broadcast_object_list(sent, 0)
        assert sent == [["a"], 5]
        mine = [None]
        dist.scatter_object_list(mine, list(range(SIZE)) if RANK == 0 else None, 0)
        assert mine == [RANK]
        lists = [None] * SIZE if RANK == 0 else None
        dist.gather_object(RANK, lists, 0)
        assert RANK or lists == list(range(SIZE))
        pairs = [dist.new_group([r, r + 1]) for r in range(0, SIZE - 1, 2)]
        mine = pairs[RANK // 2]
        x = torch.full((2,), RANK + 1.0, device="npu")
        dist.all_reduce(x, group=mine)
        assert x.tolist() == [2.0 * (RANK - RANK % 2) + 3] * 2
        alone = [dist.new_group([r]) for r in range(SIZE)][RANK]
        dist.all_reduce(x, group=alone)
        mesh = dist.init_device_mesh("npu", (SIZE,), mesh_dim_names=("all",))
        dist.all_reduce(x, group=mesh.get_group("all"))
        dist.destroy_process_group(mine)
        mismatch()
        dist.barrier()
        dist.destroy_process_group()
        assert (torch.ones(2, device="npu") + turn).tolist() == [1.0 + turn] * 2
    print("right")


def starts(method, path):
    """Begin by tcp:// or file://."""
    url = f"file://{path}" if method == "file" else f"tcp://127.0.0.1:{os.environ['MASTER_PORT']}"
    begin("hccl", init_method=url, rank=RANK, world_size=SIZE)
    x = torch.ones(2, device="npu")
    dist.all_reduce(x)
    dist.barrier()
    dist.destroy_process_group()
    print("sum", x.tolist())


def unnamed():
    """Begin without a backend: gloo for the CPU, hccl for the NPU that device_id selects."""
    dist.init_process_group(device_id=torch.device("npu", RANK))
    assert torch.npu.current_device() == RANK
    cpu = torch.ones(2)
    dist.all_reduce(cpu)
    assert cpu.tolist() == [float(SIZE)] * 2
    part = dist.split_group(split_ranks=[[r] for r in range(SIZE)])
    assert part.size() == 1


# ---------------------------------------------------------------- training
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)
    ).npu()


def steps(m, count, part):
    torch.manual_seed(1)
    inputs, targets = torch.randn(count, 8, 8), torch.randint(0, 4, (count, 8))
    optimizer = torch.optim.AdamW(m.parameters(), lr=1e-2)
    for x, y in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(m(x[part].npu()), y[part].npu()).backward()
        optimizer.step()
    return m


def training(count):
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    from torch.nn.parallel import DistributedDataParallel

    begin("hccl")
    count, share = int(count), 8 // SIZE
    part = slice(RANK * share, (RANK + 1) * share)
    alone = steps(model(), count, slice(0, 8)).state_dict()

    def same(name, found):
        assert found.keys() == alone.keys()
        worst = max((found[k].cpu() - alone[k].cpu()).abs().max().item() for k in alone)
        assert worst < 1e-6, (name, worst)

    same("ddp", steps(DistributedDataParallel(model(), device_ids=[RANK]), count, part).module.state_dict())
    buckets = DistributedDataParallel(model(), bucket_cap_mb=1e-4, find_unused_parameters=True, static_graph=False)
    same("ddp with buckets", steps(buckets, count, part).module.state_dict())
    full = FullyShardedDataParallel(copy.deepcopy(model()), device_id=torch.device("npu", RANK))
    same("fsdp", steps(full, count, part).state_dict())
    sharded = model()
    mesh = dist.init_device_mesh("npu", (SIZE,))
    for layer in sharded:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh)
    steps(fully_shard(sharded, mesh=mesh), count, part)
    same("fully_shard", {k: v.full_tensor() for k, v in sharded.state_dict().items()})
    dist.destroy_process_group()
    print("equal")


def tensor_parallel(count):
    """Rows and columns of the products on different NPUs; the same for both dimensions of a mesh, with fully_shard."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    begin("hccl")
    alone = steps(model(), int(count), slice(0, 8)).state_dict()
    plan = {"0": ColwiseParallel(output_layouts=Replicate()), "3": RowwiseParallel(input_layouts=Replicate())}

    def same(name, found):
        worst = max(
            (v.full_tensor() if hasattr(v, "full_tensor") else v).sub(alone[k]).abs().max().item() for k, v in found
        )
        assert worst < 1e-6, (name, worst)

    split = parallelize_module(model(), dist.init_device_mesh("npu", (SIZE,)), plan)
    same("tensor parallel", steps(split, int(count), slice(0, 8)).state_dict().items())
    if SIZE == 4:
        mesh = dist.init_device_mesh("npu", (2, 2), mesh_dim_names=("dp", "tp"))
        split = parallelize_module(model(), mesh["tp"], plan)
        part = slice(4 * (RANK // 2), 4 * (RANK // 2) + 4)
        found = steps(fully_shard(split, mesh=mesh["dp"]), int(count), part)
        same("tensor parallel and fully_shard", found.state_dict().items())
    dist.destroy_process_group()
    print("equal")


def pipelines(count):
    """Every schedule, beside one process: one, two and three stages a rank."""
    from torch.distributed import pipelining as pp

    begin("hccl")

    def layer(seed):
        torch.manual_seed(seed)
        # with a LayerNorm, 50 steps turn a rounding of 1e-7 into 4e-5, in the real torch too
        return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()).npu()

    def batches():
        torch.manual_seed(1)
        return [(torch.randn(16, 8).npu(), torch.randn(16, 8).npu()) for _ in range(int(count))]

    def whole(stages):
        layers = torch.nn.Sequential(*map(layer, range(stages)))
        optimizer = torch.optim.SGD(layers.parameters(), lr=0.1, momentum=0.9)
        for x, y in batches():
            optimizer.zero_grad()
            (layers(x) - y).square().mean().backward()
            optimizer.step()
        return [[p.detach().cpu() for p in m.parameters()] for m in layers]

    def run(schedule, numbered, alone):
        modules = {s: layer(s) for s in numbered}
        optimizer = torch.optim.SGD([p for m in modules.values() for p in m.parameters()], lr=0.1, momentum=0.9)
        stages = [pp.PipelineStage(m, s, SIZE * len(numbered), torch.device("npu", RANK)) for s, m in modules.items()]
        loss = lambda found, wanted: (found - wanted).square().mean()
        pipe = schedule(stages if len(stages) > 1 else stages[0], 2 * SIZE, loss_fn=loss)
        for x, y in batches():
            optimizer.zero_grad()
            pipe.step(*([x] if 0 in modules else []), target=y if stages[-1].is_last else None)
            optimizer.step()
        worst = max(
            (p.detach().cpu() - w).abs().max().item()
            for s, m in modules.items()
            for p, w in zip(m.parameters(), alone[s])
        )
        assert worst < 1e-6, (schedule.__name__, worst)

    one, two = whole(SIZE), whole(2 * SIZE)
    run(pp.ScheduleGPipe, [RANK], one)
    run(pp.Schedule1F1B, [RANK], one)
    for schedule in (pp.ScheduleLoopedBFS, pp.ScheduleInterleaved1F1B, pp.ScheduleInterleavedZeroBubble):
        run(schedule, [RANK, RANK + SIZE], two)
    for schedule in (pp.ScheduleZBVZeroBubble, pp.ScheduleDualPipeV):
        run(schedule, [RANK, 2 * SIZE - 1 - RANK], two)
    dist.destroy_process_group()
    print("equal")


def context(_):
    """Attention over a sequence that the NPUs share."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "distributed"))
    import context_programs

    begin("hccl")
    found = context_programs.attention(RANK, SIZE, "npu")
    assert len(found) == 12, found
    wrong = {n: d for n, d in found.items() if d > (2**-6 if "bfloat16" in n else 2e-6)}
    assert not wrong, wrong
    dist.destroy_process_group()
    print("equal")


# ---------------------------------------------------------------- what a step sends, for tools/communication.py
WIDTH, BLOCKS, ROWS = 16, 4, 32


class Block(torch.nn.Module):
    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def step(*programs):
    """Third steps of ways to share a model, each between two marks: in the second one DDP makes its buckets anew."""
    begin("hccl")
    mark = torch.zeros(7, dtype=torch.int16, device="npu")
    for run in map(prepared, programs):
        run()
        run()
        for marked in (True, False):
            torch.npu.synchronize()
            dist.broadcast(mark, 0)
            torch.npu.synchronize()
            if marked:
                run()
    dist.destroy_process_group()
    print("done")


def prepared(program):
    """What makes a step of a model that is shared in one way."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.nn.parallel import DistributedDataParallel

    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    if program == "pp":
        return piped()
    blocks = [Block(i).npu() for i in range(BLOCKS)]
    model = torch.nn.Sequential(*blocks, torch.nn.Linear(WIDTH, WIDTH).npu())
    if program == "ddp":
        model = DistributedDataParallel(model)
    elif program == "fsdp":
        for block in [*blocks, model]:
            fully_shard(block)
    else:
        mesh = dist.init_device_mesh("npu", (SIZE,))
        for block in blocks:
            parallelize_module(block, mesh, plan)
    x = torch.ones(ROWS, WIDTH, device="npu")
    return lambda: model(x).square().mean().backward()


def piped():
    """A step of 1F1B with a stage on each rank."""
    from torch.distributed import pipelining as pp

    chain = torch.nn.Sequential(*[Block(i).npu() for i in range(BLOCKS // SIZE or 1)])
    stage = pp.PipelineStage(chain, RANK, SIZE, torch.device("npu", RANK))
    schedule = pp.Schedule1F1B(stage, 2 * SIZE, loss_fn=lambda y, t: (y - t).square().mean())
    x, y = (torch.ones(ROWS, WIDTH, device="npu") for _ in range(2))
    return lambda: schedule.step(*([x] if RANK == 0 else []), target=y if RANK == SIZE - 1 else None)


# ---------------------------------------------------------------- in streams
def streams():
    """Rank 1 comes a second late to each of the collectives 3 to 5 (EMULATED_CANN_RANK); rank 0's host goes on."""
    unnamed()
    x, y = torch.ones(4, device="npu"), torch.ones(4, device="npu")
    dist.all_reduce(x)
    torch.npu.synchronize()
    dist.barrier()
    start = time.monotonic()
    work = dist.all_reduce(x, async_op=True)
    y = y + 1  # in the current stream, which does not wait
    launched = time.monotonic() - start
    event = torch.npu.Event()
    event.record()
    event.synchronize()
    computed = time.monotonic() - start
    work.wait()
    z = x * 2  # waits in its stream
    ordered = time.monotonic() - start
    total = z.tolist()
    done = time.monotonic() - start
    assert y.tolist() == [2.0] * 4 and total == [4.0 * SIZE] * 4, (y, total)
    if RANK == 0:
        assert launched < 0.5 and computed < 0.9 and done > 0.9, (launched, computed, ordered, done)
        assert ordered < 0.9, ordered
    works = [dist.all_reduce(y, async_op=True), dist.all_reduce(x, ReduceOp.AVG, async_op=True)]
    assert RANK or not works[0].is_completed()
    for work in works:
        work.wait()
    assert y.tolist() == [2.0 * SIZE] * 4 and x.tolist() == [2.0 * SIZE] * 4
    dist.destroy_process_group()
    print("in order")


# ---------------------------------------------------------------- failures
CALLS = {
    "all_reduce": lambda x: dist.all_reduce(x),
    "broadcast": lambda x: dist.broadcast(x, 0),
    "reduce": lambda x: dist.reduce(x, 0),
    "all_gather": lambda x: dist.all_gather([torch.empty_like(x) for _ in range(SIZE)], x),
    "all_gather_uneven": lambda x: dist.all_gather([x.new_empty(r + 1) for r in range(SIZE)], x[: RANK + 1].clone()),
    "gather": lambda x: dist.gather(x, [torch.empty_like(x) for _ in range(SIZE)] if RANK == 0 else None, 0),
    "scatter": lambda x: dist.scatter(x, [x.clone() for _ in range(SIZE)] if RANK == 0 else None, 0),
    "reduce_scatter": lambda x: dist.reduce_scatter_tensor(torch.empty_like(x[:4]), x),
    "reduce_scatter_uneven": lambda x: dist.reduce_scatter(
        x.new_empty(RANK + 1), [x.new_ones(r + 1) for r in range(SIZE)]
    ),
    "all_to_all": lambda x: dist.all_to_all_single(torch.empty_like(x), x),
    "all_to_all_uneven": lambda x: dist.all_to_all(
        [x.new_empty(RANK + r + 1) for r in range(SIZE)], [x.new_ones(RANK + r + 1) for r in range(SIZE)]
    ),
    "coalesced": lambda x: dist.all_reduce_coalesced([x, x.new_ones(3)]),
    "objects": lambda x: dist.all_gather_object([None] * SIZE, RANK),
    "barrier": lambda x: dist.barrier(),
    "messages": lambda x: dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, x, 1 - RANK), dist.P2POp(dist.irecv, torch.empty_like(x), 1 - RANK)]
    )[0].wait(),
    "one message": lambda x: dist.send(x, 1) if RANK == 0 else dist.recv(x, 0),
}


def failure(name, seconds, reads):
    begin("hccl", timeout=datetime.timedelta(seconds=float(seconds)))
    x = torch.ones(4 * SIZE, device="npu")
    dist.all_reduce(x)
    torch.npu.synchronize()
    print("begins", time.time(), flush=True)
    CALLS[name](x)
    if reads == "reads":
        print(x.tolist())
    for _ in range(1000):
        dist.all_reduce(x)
        time.sleep(0.05)
    print("nothing happened")


def restarts():
    """A rank ends in the middle; torchrun starts all of them again."""
    turn = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    begin("hccl", timeout=datetime.timedelta(seconds=20))
    x = torch.ones(4, device="npu")
    for i in range(10):
        if turn == 0 and RANK == 1 and i == 5:
            os._exit(3)
        dist.all_reduce(x)
        x /= SIZE
    assert x.tolist() == [1.0] * 4
    dist.destroy_process_group()
    print("right after", turn)


def lagging(seconds):
    """Rank 1 does not come at all: it sleeps, alive."""
    begin("hccl", timeout=datetime.timedelta(seconds=float(seconds)))
    x = torch.ones(4, device="npu")
    dist.all_reduce(x)
    torch.npu.synchronize()
    print("begins", time.time(), flush=True)
    if RANK:
        time.sleep(3 * float(seconds))
    dist.all_reduce(x)
    print(x.tolist())


def mismatch():
    """With TORCH_DISTRIBUTED_DEBUG=DETAIL shapes and dtypes that differ are told before HCCL is asked."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.all_reduce(torch.ones(2, device="npu"))
    time.sleep(0.3 * (RANK == 0))  # the others must not overtake it, whatever the store has kept of earlier groups
    for tensor in (torch.ones(2 + RANK), torch.ones(2, dtype=torch.float16 if RANK % 2 else torch.float32)):
        refused(lambda t=tensor: dist.all_reduce(t.npu()), "Detected mismatch between collectives on ranks")
    x = torch.ones(2, device="npu")
    dist.all_reduce(x)
    assert x.tolist() == [float(SIZE)] * 2, x.tolist()
    dist.set_debug_level(dist.DebugLevel.OFF)


def refused_inside():
    """An error that HCCL finds while the collective runs is raised by all that waits for the NPU."""
    begin("hccl")
    dist.all_reduce(x := torch.ones(4, device="npu"))
    for wait in (torch.npu.synchronize, x.tolist, torch.npu.synchronize):
        refused(wait, "")
    refused(torch.npu.synchronize, "the ranks' dtypes or counts differ: float32[4], float32[3]")
    print("told")


def rounds(count):
    """Many collectives, in which one rank is late now and then."""
    begin("hccl")
    x = torch.zeros(4, device="npu")
    for i in range(int(count)):
        work = dist.all_reduce(y := torch.full((4,), float(RANK), device="npu") + i, async_op=i % 2 > 0)
        if work is not None:
            work.wait()
        x += y
    n = int(count)
    assert x.tolist() == [n * sum(range(SIZE)) + SIZE * n * (n - 1) / 2.0] * 4, x
    dist.destroy_process_group()
    print("right")


if __name__ == "__main__":
    for name in sys.argv[1].split(","):
        globals()[name](*sys.argv[2:])
