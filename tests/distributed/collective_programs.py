"""Programs of collectives, for both torches. Results are lists of plain Python."""

import random

import torch
import torch.distributed as dist

OPERATIONS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM".split()
DTYPES = (
    "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128 float8_e4m3fn uint16"
).split()


def plain(x):
    """Tensors as (dtype, shape, numbers)."""
    if isinstance(x, torch.Tensor):
        numbers = torch.view_as_real(x) if x.is_complex() else x
        return (
            str(x.dtype),
            list(x.shape),
            (numbers.float() if x.dtype in (torch.bfloat16, torch.float8_e4m3fn) else numbers).tolist(),
        )
    return [plain(y) for y in x] if isinstance(x, (list, tuple)) else x


def attempt(f):
    """What a function gives, or its error's type."""
    try:
        return plain(f())
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def numbers(rank, dtype, count=6):
    return torch.tensor([(rank + 2) * (i + 1) % 5 for i in range(count)]).to(getattr(torch, dtype))


def reductions(rank, size):
    found = {}
    for dtype in DTYPES:
        for operation in OPERATIONS:

            def f(name, *roots):
                x = numbers(rank, dtype)
                getattr(dist, name)(x, *roots, op=getattr(dist.ReduceOp, operation))
                return x if not roots or rank == roots[0] else None

            found[dtype, operation] = attempt(lambda: f("all_reduce")), attempt(lambda: f("reduce", size - 1))
    return found


def moves(rank, size):
    found = {}
    for dtype in DTYPES:
        x = numbers(rank, dtype, size)
        new = lambda: torch.zeros(size).to(x.dtype)
        lists = lambda: [new() for _ in range(size)]

        def broadcast():
            y = x.clone()
            dist.broadcast(y, size - 1)
            return y

        def all_gather():
            dist.all_gather(out := lists(), x)
            return out

        def into():
            dist.all_gather_into_tensor(out := torch.zeros(size * size).to(x.dtype), x)
            return out

        def gather():
            dist.gather(x, out := lists() if rank == 0 else None, dst=0)
            return out

        def scatter():
            dist.scatter(out := new(), [x] * size if rank == 1 else None, src=1)
            return out

        def all_to_all_single():
            dist.all_to_all_single(out := new(), x)
            return out

        def all_to_all():
            dist.all_to_all(out := lists(), [x[:size].clone() for _ in range(size)])
            return out

        def reduce_scatter():
            dist.reduce_scatter_tensor(out := torch.zeros(1).to(x.dtype), x)
            return out

        def message():
            y = new()
            works = [dist.isend(x, (rank + 1) % size), dist.irecv(y, (rank - 1) % size)]
            for w in works:
                w.wait()
            return y

        for f in (broadcast, all_gather, into, gather, scatter, all_to_all_single, all_to_all, reduce_scatter, message):
            found[dtype, f.__name__] = attempt(f)
    return found


def shapes(rank, size):
    """Tensors that are empty, scalar, strided; pieces that differ in size."""
    found = []

    def reduced(x):
        dist.all_reduce(x)
        return x

    found += [attempt(lambda shape=shape: reduced(torch.ones(shape))) for shape in ((), (0,), (2, 0), (3, 2))]
    found.append(attempt(lambda: reduced((torch.arange(6.0).view(2, 3) + rank).t())))

    def gathered(x):
        dist.all_gather(out := [torch.zeros(x.shape) for _ in range(size)], x)
        return out

    found += [
        attempt(lambda: gathered(torch.zeros(0))),
        attempt(lambda: gathered((torch.arange(6.0).view(2, 3) + rank).t())),
    ]

    def uneven():
        sent = [(rank + r) % 3 for r in range(size)]
        x = torch.arange(float(sum(sent) * 2)).view(-1, 2) + 100 * rank
        y = torch.zeros(sum(sent), 2)
        dist.all_to_all_single(y, x, sent, sent)
        return y

    def uneven_scatter():
        out = torch.zeros(rank + 1)
        dist.reduce_scatter(out, [torch.arange(r + 1.0) * (rank + 1) for r in range(size)])
        return out

    def coalesced():
        xs = [torch.ones(2) * rank, torch.ones(3, 2)]
        dist.all_reduce_coalesced(xs)
        return xs

    def sparse():
        x = torch.sparse_coo_tensor([[rank, 3]], [1.0, 2.0], (5,))
        dist.all_reduce(x)
        return x.to_dense()

    return found + [attempt(f) for f in (uneven, uneven_scatter, coalesced, sparse)]


def gaps(rank, size):
    """Tensors with gaps in their memory, which the real gloo overwrites: what other ranks' numbers go into."""
    x = torch.arange(12.0) + rank
    dist.all_reduce(x[1::2])
    dist.broadcast(y := torch.arange(6.0) + rank, src=0)
    y += 10 * rank
    dist.broadcast(y[::3], src=1)
    return x.tolist(), y.tolist()


def groups(rank, size):
    found = []
    evens = dist.new_group(list(range(0, size, 2)))
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=evens)
    found += [plain(x), dist.get_rank(evens), dist.get_world_size(evens)]
    mine, every = dist.new_subgroups(2) if size % 2 == 0 else (dist.group.WORLD, [None])
    y = torch.tensor([float(rank)])
    dist.broadcast(y, dist.get_process_group_ranks(mine)[-1], group=mine)
    dist.broadcast(z := torch.tensor([rank]), group_src=0, group=mine)
    found += [
        plain(y),
        plain(z),
        len(every),
        dist.get_process_group_ranks(mine),
        dist.get_global_rank(mine, 1),
        dist.get_group_rank(mine, rank),
    ]
    found += [dist.get_backend(), dist.get_backend_config(), dist.get_pg_count(), dist.is_initialized()]
    if evens != dist.GroupMember.NON_GROUP_MEMBER:
        dist.destroy_process_group(evens)
    return found


def objects(rank, size):
    dist.all_gather_object(everything := [None] * size, {"rank": rank, "text": "x" * rank})
    dist.broadcast_object_list(sent := [rank, "a" * rank], src=size - 1)
    dist.gather_object((rank,), gathered := [None] * size if rank == 0 else None)
    dist.scatter_object_list(scattered := [None], [f"for {r}" for r in range(size)] if rank == 0 else None)
    message = [None, None]
    if rank == 0:
        dist.send_object_list([1, "two"], dst=1)
    if rank == 1:
        dist.recv_object_list(message, src=0)
    return everything, sent, gathered, scattered, message


def in_flight(rank, size):
    """Several at once; their works and futures."""
    xs = [torch.full((100,), float(rank + i)) for i in range(20)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    futures = [w.get_future() for w in works]
    after = [f.then(lambda f: f.value()[0][0].item() + 1) for f in futures]
    for w in works:
        w.wait()
    ended = [w.is_completed() for w in works]
    out = [torch.zeros(2) for _ in range(size)]
    w = dist.all_gather(out, torch.ones(2) * rank, async_op=True)
    w.wait()
    operations = [
        dist.P2POp(dist.isend, torch.ones(2) * rank, (rank + 1) % size),
        dist.P2POp(dist.irecv, got := torch.zeros(2), (rank - 1) % size),
    ]
    for w in dist.batch_isend_irecv(operations):
        w.wait()
    tagged = []
    if rank == 0:
        second, first = torch.zeros(1), torch.zeros(1)
        dist.recv(second, 1, tag=2)
        dist.recv(first, 1, tag=1)
        tagged = plain([first, second, longer := torch.zeros(3)])[:2] + [dist.recv(longer), longer.tolist()]
    if rank == 1:
        sent = [
            dist.isend(torch.tensor([1.0]), 0, tag=1),
            dist.isend(torch.tensor([2.0]), 0, tag=2),
            dist.isend(torch.ones(2), 0),
        ]
        for w in sent:
            w.wait()
    dist.barrier()
    dist.monitored_barrier()
    return plain(xs), [a.wait() for a in after], ended, plain(out), plain(got), tagged


def errors(rank, size):
    other = (rank + 1) % size
    two = lambda: torch.ones(2)
    calls = [
        lambda: dist.all_reduce([1]),
        lambda: dist.all_gather(two(), two()),
        lambda: dist.all_gather([two()], two()),
        lambda: dist.all_gather([two().double()] * size, two()),
        lambda: dist.all_gather([torch.ones(3)] * size, torch.ones(4)),
        lambda: dist.all_gather_into_tensor(torch.ones(2 * size + 1), two()),
        lambda: dist.send(two(), rank),
        lambda: dist.broadcast(two(), size + 3),
        lambda: dist.gather(two(), None, dst=rank),
        lambda: dist.gather(two(), [two()] * size, dst=other),
        lambda: dist.scatter(two(), None, src=rank),
        lambda: dist.scatter(two(), [two()] * size, src=other),
        lambda: dist.all_to_all_single(two(), two().double()),
        lambda: dist.all_to_all_single(torch.ones(size), torch.ones(size), [1] * size, [2] * size),
        lambda: dist.init_process_group("gloo", rank=rank, world_size=size),
        lambda: dist.new_group([0, size + 1]),
        lambda: dist.new_group([0, 0]),
        lambda: dist.get_group_rank("nothing", 0),
        lambda: dist.P2POp(dist.send, two(), other),
        lambda: dist.batch_isend_irecv([3]),
        lambda: dist.monitored_barrier(timeout=3),
        lambda: dist.Backend(3),
        lambda: dist.all_reduce(torch.ones(2, dtype=torch.complex64), op=dist.ReduceOp.MAX),
    ]
    return [attempt(f) for f in calls]


def engine_calls(rank, size):
    """The backend's own methods: short forms, several tensors of one rank, and what they refuse."""
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    one, two, double = (
        (lambda: torch.full((1,), 1.0 + rank)),
        (lambda: torch.ones(2) * rank),
        (lambda: torch.zeros(1, dtype=torch.float64)),
    )
    sparse = lambda n=2: torch.sparse_coo_tensor([[rank % 2]], [1], size=(n,))

    def options(kind, **values):
        made = getattr(dist, f"{kind}Options")()
        for name, value in values.items():
            setattr(made, name, value)
        return made

    def wait(name, *args, **kwargs):
        result = getattr(backend, name)(*args, **kwargs).get_future().wait()
        return [t.to_dense() if isinstance(t, torch.Tensor) and t.layout is not torch.strided else t for t in result]

    rows = lambda n, count=1: [[torch.zeros(n) for _ in range(size * count)] for _ in range(count)]
    calls = [
        lambda: wait("broadcast", one(), root=1),
        lambda: wait("broadcast", one(), 1),
        lambda: wait("broadcast", [two(), two() + 5], options("Broadcast", rootRank=1, rootTensor=1)),
        lambda: wait("allreduce", one()),
        lambda: wait("allreduce", one(), dist.ReduceOp.MAX),
        lambda: wait("allreduce", [one()], op=dist.ReduceOp.MAX),
        lambda: wait("allreduce", [two(), two() + 3]),
        lambda: wait("allreduce", [sparse(), sparse()]),
        lambda: wait("allreduce_coalesced", [one(), two()]),
        lambda: wait("allgather", rows(1)[0], one()),
        lambda: wait("allgather", rows(1, 2), [one(), one() + 7]),
        lambda: wait("allgather_coalesced", [[torch.zeros(1), torch.zeros(2)] for _ in range(size)], [one(), two()]),
        lambda: dist.all_reduce_coalesced([one(), two()], async_op=True).wait(),
        lambda: torch.futures.wait_all(
            [dist.all_gather_coalesced([[torch.zeros(2)] for _ in range(size)], [two()], async_op=True)]
        ),
        lambda: wait("broadcast", [one()], options("Broadcast", rootRank=-1)),
        lambda: wait("broadcast", [one()], options("Broadcast", rootTensor=1)),
        lambda: wait("broadcast", [], options("Broadcast")),
        lambda: wait("broadcast", [one(), double()], options("Broadcast")),
        lambda: wait("broadcast", [one(), two()], options("Broadcast")),
        lambda: wait("broadcast", [sparse()], options("Broadcast")),
        lambda: wait("allreduce", []),
        lambda: wait("allreduce", [one(), double()]),
        lambda: wait("allreduce", [one(), two()]),
        lambda: wait("allreduce", [one(), sparse()]),
        lambda: wait("allreduce", [sparse(), sparse(4)]),
        lambda: wait("allreduce", [sparse()], dist.ReduceOp.MAX),
        lambda: wait("allreduce_coalesced", []),
        lambda: wait("allreduce_coalesced", [one(), double()]),
        lambda: wait("allreduce_coalesced", [one(), sparse()]),
        lambda: wait("allreduce_coalesced", [sparse(), sparse()]),
        lambda: wait("reduce", [one()], options("Reduce", rootRank=size)),
        lambda: wait("reduce", [one()], options("Reduce", rootTensor=1)),
        lambda: wait("reduce", [one(), one()], options("Reduce")),
        lambda: wait("gather", [], [one(), one()], options("Gather")),
        lambda: wait("gather", [], [one()], options("Gather", rootRank=rank)),
        lambda: wait("gather", [[one()]], [one()], options("Gather", rootRank=rank)),
        lambda: wait("gather", [[double()] * size], [one()], options("Gather", rootRank=rank)),
        lambda: wait("gather", [[one()] * size], [one()], options("Gather", rootRank=(rank + 1) % size)),
        lambda: wait("scatter", [], [], options("Scatter")),
        lambda: wait("scatter", [one()], [], options("Scatter", rootRank=rank)),
        lambda: wait("scatter", [one()], [[one()]], options("Scatter", rootRank=rank)),
        lambda: wait("scatter", [one()], [[two()] * size], options("Scatter", rootRank=rank)),
        lambda: wait("allgather", [], []),
        lambda: wait("allgather", rows(1), [one(), one()]),
        lambda: wait("allgather", [[one()]], [one()]),
        lambda: wait("allgather", rows(2), [one()]),
        lambda: wait("allgather_coalesced", [], []),
        lambda: wait("allgather_coalesced", [], [one()]),
        lambda: wait("allgather_coalesced", [[one(), one()]] * size, [one()]),
        lambda: wait("reduce_scatter", [], []),
        lambda: wait("reduce_scatter", [one()], [[one()]]),
        lambda: wait("alltoall", [one()], [one()]),
        lambda: backend.send([one(), one()], (rank + 1) % size, 0),
    ]
    timeouts = [1.5, 2, "x"]  # a duration is a timedelta, or a float of seconds

    def timeout(value):
        made = type(backend)._Options()
        made._timeout = value
        return made._timeout.total_seconds(), options("Barrier", timeout=value).timeout.total_seconds()

    kinds = [attempt(lambda value=value: timeout(value)) for value in timeouts]
    return [attempt(f) for f in calls], [k if isinstance(k, list) else k.split(":")[0] for k in kinds]


def profiled(rank, size):
    """The events of a profile."""
    x, new = torch.ones(3, size), lambda: torch.ones(3, size)
    flat = lambda: torch.ones(size * 3)
    with torch.autograd.profiler.profile(record_shapes=True) as found:
        dist.all_reduce(x)
        dist.broadcast(x, 0)
        dist.reduce(x, 0)
        dist.all_gather([new() for _ in range(size)], x)
        dist.all_gather_into_tensor(torch.ones(size * 3, size), x)
        dist.all_gather_coalesced([[new()] for _ in range(size)], [x])
        dist.gather(x, [new() for _ in range(size)] if rank == 0 else None, 0)
        dist.scatter(x, [new() for _ in range(size)] if rank == 0 else None, 0)
        dist.all_to_all_single(flat(), flat())
        dist.all_to_all([new() for _ in range(size)], [new() for _ in range(size)])
        dist.all_reduce_coalesced([new(), torch.ones(2, dtype=torch.complex64)])
        dist.reduce_scatter_tensor(torch.ones(3), flat())
        dist.barrier()
        dist.send(x, 1) if rank == 0 else dist.recv(x) if rank == 1 else None
        dist.all_reduce(x, async_op=True).wait()
    return [
        (e.name, e.is_async, e.input_shapes, e.count, e.cpu_time > 0)
        for e in found.function_events
        if e.name.startswith("gloo:")
    ]


def random_rounds(rank, size, rounds=60):
    """Random collectives, alike on all ranks, with one rank late now and then."""
    chance, results = random.Random(7), []
    for _ in range(rounds):
        count, root, kind = chance.randint(0, 5000), chance.randrange(size), chance.randrange(5)
        late, pause = chance.randrange(size), chance.random() < 0.1
        if late == rank and pause:
            __import__("time").sleep(0.05)
        x = torch.arange(float(count)) * (rank + 1)
        if kind == 0:
            dist.all_reduce(x)
        elif kind == 1:
            dist.broadcast(x, root)
        elif kind == 2:
            dist.reduce(x, root)
            x = x if rank == root else x[:0]
        elif kind == 3:
            dist.all_gather(out := [torch.zeros(count) for _ in range(size)], x)
            x = torch.cat(out)
        else:
            dist.all_to_all_single(y := torch.zeros(size * 7), torch.arange(size * 7.0) + rank * count)
            x = y
        results.append((kind, x.double().sum().item(), x[-1:].tolist()))
    return results
