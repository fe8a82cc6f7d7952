"""The computing side of the emulated CANN: python server.py SOCKET (under the oracle's Python, which has PyTorch).

Each client hands over its device memory, then sends calls: a name and its arguments (stub/objects.c writes them). The
answer is a status and a text.
"""

import array
import json
import mmap
import os
import socket
import struct
import sys
import threading
import time
import traceback

import chips
import refusals
import rules
import torch

INVALID, INTERNAL = 161002, 561000
PLAIN = {
    -1,
    0,
    1,
    2,
    16,
    27,
    30,
    47,
}  # formats whose memory is as shape and strides say: none, NCHW, NHWC, ND, HWCN, NDHWC, NCDHW, NCL
DTYPES = {
    0: torch.float32,
    1: torch.float16,
    2: torch.int8,
    3: torch.int32,
    4: torch.uint8,
    6: torch.int16,
    7: torch.uint16,
    8: torch.uint32,
    9: torch.int64,
}
DTYPES |= {
    10: torch.uint64,
    11: torch.float64,
    12: torch.bool,
    16: torch.complex64,
    17: torch.complex128,
    27: torch.bfloat16,
    33: torch.complex32,
}


class Call:
    """The bytes of a request, read from front to back."""

    def __init__(self, data, bases):
        self.data, self.bases, self.at = data, bases, bytes(data[:200]).index(0) + 1
        self.name = str(data[: self.at - 1], "ascii")

    def numbers(self, n, code="q"):
        at, self.at = self.at, self.at + 8 * n
        return struct.unpack_from(f"<{n}{code}", self.data, at)

    def arguments(self):
        found = []
        while self.at < len(self.data):
            found.append(self.argument())
        return found

    def argument(self):
        kind = chr(self.data[self.at])
        self.at += 1
        return getattr(self, f"read_{kind}")()

    def read_N(self):
        return None

    def read_T(self):
        dtype, layout, address, offset, n = self.numbers(5)
        shape, strides = self.numbers(n), self.numbers(n)
        if layout not in PLAIN:
            raise rules.Refused(f"{self.name}: a tensor in the private format {layout}")
        if address < 0:
            return torch.empty(shape, dtype=DTYPES[dtype])
        return self.bases[dtype].as_strided(shape, strides, address // DTYPES[dtype].itemsize + offset)

    def read_S(self):
        (dtype,) = self.numbers(1)
        raw = bytearray(self.data[self.at : self.at + 16])
        self.at += 16
        return torch.frombuffer(raw, dtype=DTYPES[dtype])[0].item()

    def read_i(self):
        return self.numbers(1)[0]

    def read_b(self):
        return bool(self.numbers(1)[0])

    def read_d(self):
        return self.numbers(1, "d")[0]

    def read_x(self):  # what may be the floating-point arguments of a function whose signature is unknown
        return self.numbers(8, "d")

    def read_s(self):
        (n,) = self.numbers(1)
        self.at += n
        return str(self.data[self.at - n : self.at], "utf8")

    def read_L(self):
        return [self.argument() for _ in range(self.numbers(1)[0])]

    read_l = read_L

    def read_I(self):
        return list(self.numbers(self.numbers(1)[0]))

    def read_B(self):
        return list(map(bool, self.read_I()))

    def read_F(self):
        return list(self.numbers(self.numbers(1)[0], "d"))


def describe(a):
    if isinstance(a, torch.Tensor):
        return f"{str(a.dtype)[6:]}{list(a.shape)}"
    return "[" + ", ".join(map(describe, a)) + "]" if isinstance(a, list) else repr(a)


def tensors_of(args):
    return [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, torch.Tensor)]


def store(name, out, value, sizes):
    """Write a rule's value into the call's result."""
    if out is None or value is None:
        return
    if isinstance(out, list):
        for o, v in zip(out, value, strict=True):
            store(name, o, v, sizes)
        return
    value = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    if sizes is not None:
        sizes.append((out, tuple(value.shape)))
        out.reshape(-1)[: value.numel()] = value.reshape(-1)
        return
    if out.shape != value.shape and not out.numel() == value.numel() == 1:
        raise rules.Refused(f"aclnn{name}: the result has shape {list(value.shape)}, the output {list(out.shape)}")
    out.copy_(value)


def compute(name, args):
    """Run the rule of a function. Answers the sizes that only the values tell, as the client reads them."""
    rule = rules.RULES.get(name)
    if rule is None:
        raise NotImplementedError(f"aclnn{name} is not emulated; called with ({', '.join(map(describe, args))})")
    code = rule.__code__
    inputs, results = code.co_argcount, code.co_kwonlyargcount
    if len(args) != inputs + results and not code.co_flags & 4:
        raise rules.Refused(
            f"aclnn{name} takes {inputs + results} arguments, not {len(args)}: {', '.join(map(describe, args))}"
        )
    refusals.check(name, args)
    chips.check(name, tensors_of(args))
    given = chips.operands(name, args[:inputs] if not code.co_flags & 4 else args, args[-1] if args else None)
    outs = dict(zip(code.co_varnames[inputs : inputs + results], args[inputs:], strict=False))
    values = rule(*given, **outs)
    values = values if isinstance(values, (tuple, list)) and not isinstance(values, rules.Sized) else (values,)
    sizes = []
    for out, value in zip(outs.values() if results else args, values, strict=bool(results)):
        if isinstance(value, rules.Sized):
            store(name, out, value[0], sizes)
        else:
            store(name, out, chips.result(name, value), None)
    every = tensors_of(args)
    found = [(i, len(shape), *shape) for i, t in enumerate(every) for out, shape in sizes if t is out]
    return struct.pack(f"<{1 + sum(map(len, found))}q", len(found), *(x for f in found for x in f)) if found else b""


def spelled(call, args):
    """A call with its arguments, as text."""
    return f"{call.name}({', '.join(map(describe, args))})"


class Client:
    def __init__(self, connection):
        self.connection, self.calls = connection, {}
        _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_LEN(4))
        fd = array.array("i", ancillary[0][2])[0]
        self.memory = torch.frombuffer(mmap.mmap(fd, os.fstat(fd).st_size), dtype=torch.uint8)
        os.close(fd)
        self.bases = {n: self.memory.view(d) for n, d in DTYPES.items()}

    def serve(self):
        while head := self.receive(4):
            data = self.receive(struct.unpack("<I", head)[0])
            started = time.perf_counter()
            call = Call(data, self.bases)
            code, text = self.run(call)
            row = self.calls.setdefault(
                call.name, {"calls": 0, "seconds": 0.0, "failed": 0, "error": "", "dtypes": set()}
            )
            row["calls"] += 1
            row["seconds"] += time.perf_counter() - started
            if code:
                row["failed"] += 1
                row["error"] = text.decode(errors="replace")[:300]
            text = text[:4000]
            self.connection.sendall(struct.pack("<ii", code, len(text)) + text)
        self.report()

    def run(self, call):
        try:
            args = call.arguments()
            if path := os.environ.get("EMULATED_CANN_ARGS"):
                with open(path, "a") as f:
                    f.write(spelled(call, args) + "\n")
            if call.name.startswith("Hccl"):
                meet = rules.collective if call.name in rules.COLLECTIVES else rules.messages
                meet(call.name, *args, alive=self.alive)
                return 0, b""
            return 0, compute(call.name.removeprefix("aclnn"), args)
        except rules.Refused as e:
            return INVALID, str(e).encode()
        except Exception as e:  # noqa: BLE001  (the client raises it)
            if os.environ.get("EMULATED_CANN_DEBUG"):
                traceback.print_exc()
            return (INTERNAL, f"{type(e).__name__}: {e} [{spelled(call, locals().get('args', []))}]".encode())

    def alive(self):
        """Whether the client still holds its end of the connection."""
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def report(self):
        """A line for each function: name, calls, seconds, how many failed, the last error."""
        if path := os.environ.get("EMULATED_CANN_REPORT"):
            rows = [
                json.dumps({"function": n, **{k: v for k, v in r.items() if k != "dtypes"}})
                for n, r in sorted(self.calls.items())
            ]
            with open(path, "a") as f:
                f.write("".join(f"{row}\n" for row in rows))

    def receive(self, n):
        data = bytearray(n)
        view, got = memoryview(data), 0
        while got < n:
            k = self.connection.recv_into(view[got:])
            if not k:
                return None
            got += k
        return view


def main(path):
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(False)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=lambda c=connection: Client(c).serve(), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
