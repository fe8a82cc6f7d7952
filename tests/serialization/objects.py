"""Objects that both libraries save and load, and what must come out. Runs under either torch."""

import collections
import io
import pickle
import sys

import torch

shared = torch.arange(12.0)
OBJECTS = {
    "numbers": lambda: {
        "i": 1,
        "big": 2**100,
        "neg": -3,
        "f": 1.5,
        "s": "ü",
        "none": None,
        "t": (1, [2, {"x": True}]),
        "c": 1 + 2j,
        "b": b"ab\xff",
        "set": {1, 2},
        "bytearray": bytearray(b"xyz"),
        "counter": collections.Counter("aab"),
    },
    "torch_things": lambda: [
        torch.float32,
        torch.bfloat16,
        torch.strided,
        torch.Size([1, 2]),
        torch.device("cpu"),
        torch.device("cuda:1"),
    ],
    "views": lambda: {
        "base": shared,
        "row": shared.view(3, 4)[1],
        "t": shared.view(3, 4).t(),
        "step": shared[1::3],
        "expand": shared[:1].expand(4),
    },
    "tied": lambda: collections.OrderedDict((k, shared) for k in "ab"),
    "empty": lambda: [torch.empty(0), torch.empty(2, 0, 3), torch.tensor(5), torch.empty(0, dtype=torch.int16)],
    "grad": lambda: torch.ones(3, requires_grad=True),
    "meta": lambda: [torch.empty(2, 3, device="meta"), torch.empty(4, 5, device="meta", dtype=torch.int8).t()],
    "attribute": lambda: with_attribute(torch.ones(2)),
    "storage": lambda: torch.arange(5, dtype=torch.uint8).untyped_storage(),
    "typed": lambda: torch.arange(5, dtype=torch.int32)._typed_storage(),
    "large": lambda: torch.arange(100_000),
    "parameter": lambda: torch.nn.Parameter(torch.arange(4.0)),
    "parameter_state": lambda: with_attribute(torch.nn.Parameter(torch.arange(4.0), requires_grad=False)),
    "state_dict": lambda: torch.nn.Linear(3, 2).state_dict(),
    "sparse": lambda: [
        torch.eye(3).to_sparse(),
        torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,)),
        torch.ones(2, 2, 2).to_sparse(1),
    ],
    "jagged": lambda: torch.nested.nested_tensor(
        [torch.arange(4.0).view(2, 2), torch.arange(6.0).view(3, 2)], layout=torch.jagged
    ),
    "compressed": lambda: [
        torch.eye(4).to_sparse_csr(),
        torch.eye(4).to_sparse_csc(),
        torch.eye(4).to_sparse_bsr((2, 2)),
        torch.eye(4).to_sparse_bsc((1, 2)),
    ],
    **{
        d: lambda d=d: torch.arange(6).to(getattr(torch, d)).view(2, 3)[:, 1:]
        for d in "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 "
        "complex128".split()
    },
    **{
        d: lambda d=d: torch.tensor([0.5, 1.0, -2.0]).to(getattr(torch, d))
        for d in "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split()
    },
}


def with_attribute(t):
    t.note = {"x": 1}
    return t


def describe(obj, seen=None):
    """Plain data that is equal where two objects are, sharing and memory layout included."""
    seen = {} if seen is None else seen
    if isinstance(obj, torch.Tensor) and obj.layout is torch.jagged:
        return (
            "jagged",
            type(obj).__name__,
            obj.values().tolist(),
            obj.offsets().tolist(),
            obj._max_seqlen,
            obj.requires_grad,
        )
    if isinstance(obj, torch.Tensor) and obj.layout is not torch.strided:
        return ("sparse", str(obj.layout), str(obj.dtype), repr(obj), obj.is_sparse and obj.is_coalesced())
    if isinstance(obj, torch.Tensor):
        raw, group = None, None
        if obj.device.type != "meta":
            s = obj.untyped_storage()
            raw = bytes(s.tolist()) if s.nbytes() < 1000 else obj.tolist()
            group = seen.setdefault(s.data_ptr(), len(seen)) if s.nbytes() else None
        return (
            "tensor",
            type(obj).__name__,
            str(obj.dtype),
            tuple(obj.shape),
            obj.stride(),
            obj.storage_offset(),
            obj.requires_grad,
            str(obj.device),
            raw,
            group,
            obj.__dict__,
        )
    if isinstance(obj, torch.storage.TypedStorage):
        return ("typed", str(obj.dtype), bytes(obj.untyped().tolist()))
    if isinstance(obj, torch.UntypedStorage):
        return ("typed", "torch.uint8", bytes(obj.tolist()))
    if isinstance(obj, dict):
        return (type(obj).__name__, [(k, describe(v, seen)) for k, v in obj.items()])
    if isinstance(obj, (list, tuple)):
        return (type(obj).__name__, [describe(v, seen) for v in obj])
    return (type(obj).__name__, str(obj) if type(obj).__module__.startswith("torch") else obj)


def write(folder):
    """Every object in both formats and as a plain pickle; returns the descriptions."""
    out, shared_formats = {}, (("zip", {}), ("old", {"_use_new_zipfile_serialization": False}))
    for name, make in OBJECTS.items():
        obj = make()
        out[name] = describe(obj)
        for fmt, options in shared_formats:
            torch.save(obj, f"{folder}/{name}.{fmt}.pt", **options)
        with open(f"{folder}/{name}.pkl", "wb") as f:
            pickle.dump(obj, f)
    return out


def read(folder):
    """Descriptions of every object in every format: weights_only, free, mapped, mapped by computed offsets, from
    memory, pickled.
    """
    out = {}
    from torch.utils.serialization import config

    for name in OBJECTS:
        old, new = f"{folder}/{name}.old.pt", f"{folder}/{name}.zip.pt"

        def computed_offsets():
            config.load.calculate_storage_offsets = True
            try:
                return torch.load(new, mmap=True)
            finally:
                config.load.calculate_storage_offsets = False

        def memory(path, **kw):
            with open(path, "rb") as f:
                return torch.load(io.BytesIO(f.read()), **kw)

        def pickled():
            with open(f"{folder}/{name}.pkl", "rb") as f:
                return pickle.load(f)

        ways = {
            "zip": lambda: torch.load(new),
            "zip free": lambda: torch.load(new, weights_only=False),
            "mmap": lambda: torch.load(new, mmap=True),
            "offsets": computed_offsets,
            "zip memory": lambda: memory(new),
            "old": lambda: torch.load(old),
            "pickle": pickled,
            "old free": lambda: torch.load(old, weights_only=False),
            "old memory": lambda: memory(old),
        }
        for way, f in ways.items():
            try:
                out[name, way] = describe(f())
            except Exception as e:  # told to the other side, which compares it
                out[name, way] = f"{type(e).__name__}: {e}"
    return out


if __name__ == "__main__":
    pickle.dump(globals()[sys.argv[1]](sys.argv[2]), sys.stdout.buffer)
