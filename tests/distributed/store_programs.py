"""Programs of key-value stores, for both torches. Results are plain Python."""

import os
import tempfile
import threading
import time
from datetime import timedelta

import torch.distributed as dist
from mesh_programs import attempt

SHORT = timedelta(milliseconds=300)


class Incomplete(dist.Store):
    """A store of a program's own with nothing in it."""


class Own(dist.Store):
    """A store of a program's own, over a dictionary."""

    def __init__(self):
        super().__init__()
        self.kept = {}

    def set(self, key, value):
        self.kept[key] = bytes(value)

    def get(self, key):
        return self.kept[key]

    def check(self, keys):
        return all(key in self.kept for key in keys)

    def compare_set(self, key, expected, desired):
        held = self.kept.get(key, b"")
        if held == bytes(expected):
            held = self.kept[key] = bytes(desired)
        return held


def kind(f):
    """A result, or the error's class: texts name files of PyTorch's."""
    try:
        return f()
    except Exception as error:
        return type(error).__name__, "pure virtual" in str(error), "Not implemented." in str(error)


def everything(store):
    """What the operations of a store give, one after the other."""
    steps = [
        lambda: store.set("a", "1"),
        lambda: store.get("a"),
        lambda: store.set("bytes", b"\x00\xff"),
        lambda: store.get("bytes"),
        lambda: store.add("n", 3),
        lambda: store.add("n", -5),
        lambda: store.get("n"),
        lambda: store.check(["a", "n"]),
        lambda: store.check(["a", "no"]),
        lambda: store.compare_set("c", "", "first"),
        lambda: store.compare_set("c", "other", "second"),
        lambda: store.compare_set("c", "first", "third"),
        lambda: store.wait(["a", "c"]),
        lambda: store.wait(["no"], SHORT),
        lambda: store.append("a", "2"),
        lambda: store.append("new", "x"),
        lambda: (store.get("a"), store.get("new")),
        lambda: store.multi_set(["m", "o"], ["1", "2"]),
        lambda: store.multi_get(["m", "o"]),
        lambda: store.multi_set(["m"], ["1", "2"]),
        lambda: store.has_extended_api(),
        lambda: store.delete_key("m"),
        lambda: store.delete_key("m"),
        lambda: store.check(["m"]),
        lambda: store.queue_push("q", "one"),
        lambda: store.queue_len("q"),
        lambda: store.queue_pop("q"),
        lambda: store.queue_pop("q", False),
        lambda: store.set(1, "x"),
        lambda: store.set_timeout(SHORT),
        lambda: store.timeout,
        lambda: store.get("no"),
    ]
    return [kind(step) for step in steps]


def stores(rank, size):
    with tempfile.TemporaryDirectory() as folder:
        made = {
            "hash": dist.HashStore(),
            "file": dist.FileStore(os.path.join(folder, "file"), 1),
            "tcp": dist.TCPStore("127.0.0.1", 0, 1, True, timeout=timedelta(seconds=20)),
        }
        found = {name: everything(store) for name, store in made.items()}
        found |= {f"behind a prefix: {name}": everything(dist.PrefixStore("p", store)) for name, store in made.items()}
        found["keys"] = [made[name].num_keys() for name in ("hash", "tcp")]
        own = Own()
        found["own"] = everything(dist.PrefixStore("p", own))[:5], everything(own)[14:19], sorted(own.kept)
        for store in (Incomplete(), dist.PrefixStore("p", Incomplete())):
            found[type(store).__name__] = everything(store)
    return found


def between_threads(rank, size):
    """One thread waits for what another sets."""
    store, got = dist.HashStore(), []
    waiter = threading.Thread(target=lambda: got.append(store.get("late")))
    waiter.start()
    time.sleep(0.1)
    store.set("late", "x")
    waiter.join(10)
    return got


def servers(rank, size):
    """USE_LIBUV, and the URL's option, choose between PyTorch's two servers."""
    chosen = []
    for url, variable in (("env://", "0"), ("env://", "1"), ("env://?use_libuv=0", "1")):
        os.environ |= {
            "USE_LIBUV": variable,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "0",
            "RANK": "0",
            "WORLD_SIZE": "1",
        }
        store, *_ = next(dist.rendezvous(url))
        while isinstance(store, dist.PrefixStore):
            store = store.underlying_store
        chosen.append(store.libuvBackend)
    return chosen


def barriers(rank, size):
    """One of two processes does not come."""
    found = []
    for store in (dist.HashStore(), dist.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False)):
        try:
            dist.distributed_c10d._store_based_barrier(0, store, "_", 2, SHORT, SHORT / 2)
        except dist.DistStoreError as error:
            found.append(str(error).partition(" error=")[0])
    return found


def reductions(rank, size):
    """A ReduceOp equals its kind; the kind equals no ReduceOp."""
    made = dist.ReduceOp(dist.ReduceOp.SUM)
    kinds = [
        made == dist.ReduceOp.SUM,
        dist.ReduceOp.SUM == made,
        dist.ReduceOp.SUM != made,
        dist.ReduceOp.SUM == dist.ReduceOp.SUM,
    ]
    return kinds + [dist.ReduceOp.SUM == 0, dist.ReduceOp.SUM in {dist.ReduceOp.SUM: 1}]


def over_tcp(rank, size):
    """A server in rank 0, found by its port through the group's own store."""
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, size, True, timeout=timedelta(seconds=30), wait_for_workers=False)
    port = [store.port if rank == 0 else None]
    dist.broadcast_object_list(port)
    if rank:
        store = dist.TCPStore("127.0.0.1", port[0], size, False, timeout=timedelta(seconds=30))
    store.set(f"from {rank}", str(rank))
    values = [store.get(f"from {r}") for r in range(size)]
    total = store.add("sum", rank + 1) <= 3
    dist.barrier()
    found = values, total, store.add("sum", 0), attempt(lambda: store.host)
    dist.barrier()  # the server ends with rank 0
    return found
