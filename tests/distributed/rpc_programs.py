"""Remote procedure calls: programs that run on both torches, on each of several processes. Rank 0 tells what it saw."""

import contextlib
import functools
import gc
import multiprocessing
import os
import pickle
import socket
import sys
import threading
import time

import torch
import torch.distributed.rpc as rpc


@contextlib.contextmanager
def job(key, rank, size, graceful=True, folder=None, **options):
    """This process is a worker; all of a job name the same key."""
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{folder or sys.argv[1]}/{key}", **options)
    rpc.init_rpc(f"w{rank}", rank=rank, world_size=size, rpc_backend_options=options)
    yield
    rpc.shutdown(graceful)


def told(function, *args, **kwargs):
    """A result, or the kind of error and the first words of its text."""
    try:
        return function(*args, **kwargs)
    except Exception as e:
        text = str(e).removeprefix(f"{type(e).__name__}: ").splitlines()[0]
        return type(e).__name__, text.partition("Original exception")[0][:150]


def workers(body):
    """Rank 0 runs the body among workers w0, w1, ..."""

    @functools.wraps(body)
    def program(rank, size):
        with job(body.__name__, rank, size):
            return body() if rank == 0 else None

    return program


def look(t):
    return (
        type(t).__name__,
        t.requires_grad,
        t.is_leaf,
        t.stride(),
        t.storage_offset(),
        t.untyped_storage().nbytes(),
        t.tolist(),
    )


def one_memory(a, b):
    a += 1
    return a.tolist(), b.tolist()


def same(x):
    return x


def fails():
    raise ValueError("a bad thing")


class Odd(Exception):
    """An error that its text alone does not make."""

    def __init__(self, a, b):
        super().__init__(a)


def fails_oddly():
    raise Odd(1, 2)


def unpicklable():
    return lambda: 1


def sleeps(seconds):
    time.sleep(seconds)
    return seconds


def name():
    return rpc.get_worker_info().name


class Counter:
    """An object that stays where it was made."""

    alive = 0

    def __init__(self, value):
        self.value = value
        Counter.alive += 1

    def __del__(self):
        Counter.alive -= 1

    def add(self, by):
        self.value += by
        return self.value

    @rpc.functions.async_execution
    def add_elsewhere(self, to, by):
        return rpc.rpc_async(to, torch.add, args=(torch.tensor(self.value), by))


def alive():
    gc.collect()
    return Counter.alive


@rpc.functions.async_execution
def tenfold(to, x):
    return rpc.rpc_async(to, torch.add, args=(x, 1)).then(lambda f: f.wait() * 10)


@rpc.functions.async_execution
def no_future():
    return 3


def handed_on(to, x):
    return rpc.rpc_sync(to, torch.add, args=(x, 1)) * 2


def inspect(ref):
    return ref.to_here(), ref.is_owner(), ref.owner_name(), ref.local_value() if ref.is_owner() else None


def reference(value):
    return rpc.RRef(value)


@workers
def calls():
    x = torch.arange(6.0).reshape(2, 3)
    info = rpc.get_worker_info("w1")
    found = [repr(info), info.id, rpc.get_worker_info().name, info == rpc.get_worker_info(1), rpc.get_rpc_timeout()]
    found += [rpc.rpc_sync(to, torch.add, args=(x, 1), kwargs={"alpha": 2}).tolist() for to in (info, "w1", 1, "w0")]
    leaf = x.clone().requires_grad_()
    for t in (
        x,
        x.T,
        x[:, 1:],
        x[1],
        leaf,
        torch.nn.Parameter(x.clone()),
        leaf * 2,
        torch.zeros(100)[:2],
        torch.ones(2, dtype=torch.bfloat16),
        x[:0],
        torch.tensor(3),
    ):
        found += [rpc.rpc_sync("w1", look, args=(t,)), look(rpc.rpc_sync("w1", same, args=(t.detach(),)))]
    y = x.clone()
    found += [rpc.rpc_sync(to, one_memory, args=(y, y[0])) for to in ("w0", "w1")] + [
        y.tolist(),
        rpc.rpc_sync("w0", same, args=(y,)) is y,
    ]
    found += [
        rpc.rpc_sync("w1", torch.nn.Linear(3, 1, bias=False).requires_grad_(False), args=(x,)).shape,
        rpc.rpc_sync("w1", Counter(3).add, args=(4,)),
    ]
    found += [
        rpc.rpc_async("w1", torch.add, (x, 1)).then(lambda f: f.wait().sum()).wait().item(),
        rpc.rpc_sync("w1", handed_on, args=("w2", 3)),
        rpc.rpc_sync("w1", torch.div, args=(3, 2)),
        rpc.rpc_sync("w0", torch.mul, args=(2.0, 3)),
        rpc.remote("w2", torch.sub, args=(3, 1)).to_here(),
    ]
    with rpc.api._wait_all():
        future = rpc.rpc_async("w1", sleeps, args=(0.2,))
    found += [
        future.done(),
        [f.wait() for f in [rpc.rpc_async(f"w{i % 3}", torch.mul, args=(i, i)) for i in range(60)]],
    ]
    found += [rpc.rpc_sync("w1", tenfold, args=(to, torch.ones(2))).tolist() for to in ("w0", "w1", "w2")]
    big = torch.arange(1 << 20)
    return [*found, torch.equal(rpc.rpc_sync("w1", torch.add, args=(big, 1)), big + 1)]


@workers
def errors():
    x = torch.ones(2)
    cases = [
        ("zz", name),
        (7, name),
        (3.5, name),
        ("w1", fails),
        ("w0", fails),
        ("w1", fails_oddly),
        ("w1", unpicklable),
        ("w1", lambda: 1),
        ("w1", same, (torch.ones(2, device="meta"),)),
    ]
    found = [told(rpc.rpc_sync, *case) for case in cases]
    found += [
        told(rpc.rpc_sync, "w1", sleeps, args=(1,), timeout=0.2),
        told(rpc.rpc_async("w1", sleeps, args=(1,), timeout=0.2).wait),
    ]
    found += [told(rpc.rpc_sync, "w1", torch.add, args=(x, torch.ones(3)))[0], told(rpc.rpc_sync, "w1", no_future)[0]]
    found += [told(rpc.init_rpc, "w0", backend="x"), told(rpc.init_rpc, "w0", rpc_backend_options=3)]
    options = rpc.TensorPipeRpcBackendOptions()
    found += [
        options.num_worker_threads,
        options.rpc_timeout,
        options.init_method,
        options.device_maps,
        options.devices,
    ]
    found += [
        told(rpc.TensorPipeRpcBackendOptions, devices=["cpu"]),
        list(map(str, rpc.BackendType)),
        repr(rpc.BackendType.TENSORPIPE),
    ]
    mine, other = rpc.RRef(3), rpc.remote("w1", same, args=(3,))
    found += [
        told(pickle.dumps, mine),
        told(other.local_value),
        told(other.rpc_sync().nothing),
        told(rpc.RRef, 3, type_hint=int),
    ]
    found += [
        told(rpc.remote("w1", fails).to_here),
        told(rpc.remote("w0", fails).local_value),
        told(rpc.remote("w1", sleeps, args=(1,)).to_here, timeout=0.2),
    ]
    return [*found, told(mine.backward), told(other.backward)]


@workers
def references():
    r = rpc.remote("w1", Counter, args=(5,))
    found = [r.is_owner(), repr(r.owner()), r.owner_name(), r.to_here().value, r.confirmed_by_owner(), str(r)]
    found += [
        r.rpc_sync().add(1),
        r.rpc_async().add(3).wait(),
        r.remote().add(2).to_here(),
        r.to_here().value,
        r.rpc_sync().add_elsewhere("w2", 1).item(),
    ]
    found += [rpc.rpc_sync("w1", inspect, args=(rpc.RRef(7),)), rpc.rpc_sync("w0", inspect, args=(rpc.RRef(7),))]
    found += [rpc.rpc_sync(to, inspect, args=(rpc.remote("w1", same, args=(8,)),)) for to in ("w0", "w1", "w2")]
    for ref in (
        rpc.rpc_sync("w1", reference, args=(4,)),
        rpc.remote("w2", reference, args=(4,)).to_here(),
        rpc.RRef(4),
        rpc.remote("w0", same, args=(4,)),
    ):
        found += [ref.is_owner(), ref.owner_name(), ref.to_here(), type(ref).__mro__[0].__name__ in ("RRef", "PyRRef")]
    kept = rpc.rpc_sync("w2", same, args=(r,))  # comes back: one more fork
    found += [rpc.rpc_sync("w1", alive)]
    del r
    found += [kept.to_here().value, rpc.rpc_sync("w1", alive)]
    del kept
    for _ in range(100):
        if gone := rpc.rpc_sync("w1", alive) == 0:
            break
        time.sleep(0.05)
    q = torch.ones((), requires_grad=True)
    rpc.RRef(q * 2).backward()
    return [*found, gone, q.grad.item()]


def together(rank, size):
    """Workers wait for each other, all or some, and see what each has brought."""
    with job("together", rank, size):
        found = [rpc.api._all_gather(rank * 10), rpc.api._all_gather([rank], {f"w{i}" for i in range(size)})]
        if rank:
            found.append(rpc.api._all_gather(rank, {"w1", "w2"}))
        time.sleep(0.2 * rank)
        before = time.time()
        rpc.api._barrier([f"w{i}" for i in range(size)])
        times = rpc.api._all_gather((before, time.time()))
    return found, max(begin for begin, _ in times.values()) <= min(end for _, end in times.values()), sorted(times)


class Scaled(torch.nn.Module):
    """A module with an option, and a mode that shows."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((2,), factor))

    def forward(self, x, shift=0):
        return x * self.weight.detach() + shift + (100 if self.training else 0)


@workers
def remote_modules():
    from torch.distributed.nn import RemoteModule

    x, found = torch.ones(2), []
    for place in ("w1/cpu", "w2", "rank:1/cpu"):
        module = RemoteModule(place, Scaled, args=(3.0,))
        found += [
            module.on,
            module.device,
            module(x).tolist(),
            module.forward_async(x, shift=1).wait().tolist(),
            module.forward(x, 2).tolist(),
        ]
    found += [module.get_module_rref().owner_name(), [r.to_here().tolist() for r in module.remote_parameters()]]
    module.eval()
    found += [
        module(x).tolist(),
        isinstance(module, torch.nn.Module),
        told(RemoteModule("w1", Scaled, kwargs={"factor": 2.0}).forward, x).tolist(),
    ]
    found += [told(RemoteModule("w1", len, args=([],)).get_module_rref().to_here)[0], told(pickle.dumps, module)]
    return found + [
        told(getattr(module, n))
        for n in ("parameters", "named_parameters", "cpu", "state_dict", "children", "zero_grad")
    ]


def before_and_after(rank, size):
    """Without init_rpc, twice in a row, and after the end."""
    found = [told(rpc.rpc_sync, "w1", name), told(rpc.RRef, 1), told(rpc.shutdown), told(rpc.get_rpc_timeout)]
    for key in ("first", "second"):
        with job(key, rank, size, num_worker_threads=4, rpc_timeout=20):
            found += [rpc.get_rpc_timeout(), rpc.rpc_sync(f"w{(rank + 1) % size}", name)]
    return [*found, told(rpc.rpc_sync, "w1", name), told(rpc.shutdown)]


late = []


def later(to):
    """Returns at once, and has another worker called meanwhile."""
    threading.Thread(
        target=lambda: rpc.rpc_async(to, sleeps, args=(0.3,)).then(lambda f: late.append(f.value()))
    ).start()
    time.sleep(0.1)


def outstanding(rank, size):
    """A graceful end waits for what goes on, on all workers."""
    with job("outstanding", rank, size):
        futures = [rpc.rpc_async(f"w{i}", sleeps, args=(0.5,)) for i in range(size)] if rank == 0 else []
        if rank == 0:
            rpc.rpc_sync("w1", later, args=("w2",))
    return [f.done() for f in futures], late


def _other(folder):
    with job("lost", 1, 2, folder=folder):
        time.sleep(60)


def lost(rank, size):
    """A worker ends in the middle of a call: the caller hears of it at once."""
    other = multiprocessing.get_context("spawn").Process(target=_other, args=(sys.argv[1],))
    other.start()
    with job("lost", 0, 2, graceful=False):
        start = time.monotonic()
        kind, _ = told(rpc.rpc_sync, "w1", os._exit, args=(0,))
        again, _ = told(rpc.rpc_sync, "w1", name)
        soon = time.monotonic() - start < 30
    other.join()
    return kind, again, soon


def strangers(rank, size):
    """Who does not know the key is sent away, and who says nothing keeps nobody waiting.

    Ours alone: PyTorch lets everybody in.
    """
    from torch.distributed.rpc import _workers

    with job("strangers", 0, 1):
        place = _workers.current()._listener.getsockname()
        silent, stranger = socket.create_connection(place), socket.create_connection(place, timeout=20)
        stranger.sendall(b"\x00\x00\x00\x20" + b"x" * 32)
        heard = b""
        while part := stranger.recv(1000):
            heard += part
        return b"#FAILURE#" in heard, rpc.rpc_sync("w0", name), [s.close() for s in (silent, stranger)]
