"""How the backend gloo runs collectives: one after another, each in shared memory, with a number.

And what it says when one fails.
"""

import json
import os
import queue
import sys
import threading
import time
import zlib

import torch
from torch.autograd.profiler import recorders
from torch.futures import _thread

from ._engine import Engine, EngineError, EngineTimeout, library, memcpy
from ._errors import DistBackendError, DistError
from ._process_group import Backend
from ._store import PrefixStore
from ._types import DebugLevel, Work, get_debug_level


def describe(tensors):
    """Shapes and dtype of tensors, in words."""
    if not tensors:
        return ""
    shapes = [list(t.shape) for t in tensors]
    shown = (
        f"{len(shapes)} x {shapes[0]}"
        if len(shapes) > 1 and shapes.count(shapes[0]) == len(shapes)
        else ", ".join(map(str, shapes[:8]))
    )
    return f"{shown} {str(tensors[0].dtype).removeprefix('torch.')}"


def nbytes(tensor):
    return tensor.numel() * tensor.element_size()


# collective: what it is for a profile, if that is not its name: what PyTorch's gloo does for it
PROFILED = {
    "all_reduce_coalesced": "all_reduce",
    "reduce_scatter": "all_reduce",
    "reduce_scatter_tensor": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "all_gather_coalesced": "all_gather",
    "all_to_all_single": "all_to_all",
}


class CallWork(Work):
    def __init__(self, call):
        super().__init__()
        self._call = call


class Call:
    """One collective: what it is called, what it does once the engine is free."""

    __slots__ = ("name", "detail", "key", "body", "outputs", "timeout", "sequence", "step", "work", "record", "event")

    def __init__(self, name, body, outputs, timeout, detail="", key=""):
        self.name, self.body, self.outputs, self.timeout, self.detail, self.key = (
            name,
            body,
            outputs,
            timeout,
            detail,
            key,
        )
        self.sequence, self.step, self.event = 0, 0, None

    def tag(self):
        """gloo's tag: collectives that differ in kind, dtype, size or number never meet, so none takes another's
        data.
        """
        self.step += 1
        return (
            (self.sequence & 0x3FFF) << 18
            | (self.step & 3) << 16
            | zlib.crc32(f"{self.name} {self.key}".encode()) & 0xFFFF
        )

    def __str__(self):
        return f"{self.name} #{self.sequence} ({self.detail})" if self.detail else f"{self.name} #{self.sequence}"


class OrderedCalls(Backend):
    """A group whose collectives run in the order in which they are called, on all ranks."""

    def __init__(self, store, rank, size, timeout, host, interface):
        super().__init__(rank, size)
        library()  # says at once what is missing
        self._timeout, self._store = timeout, store
        self._engine = Engine(PrefixStore("gloo", store), rank, size, timeout.total_seconds(), host, interface)
        self._order, self._queue, self._thread, self._pending = threading.Lock(), queue.SimpleQueue(), None, 0
        self._broken, self._closed, self._pid = None, False, os.getpid()

    def _submit(self, call, options, tensors=(), wait=False):
        """Run a collective after those before it: in this thread if it may wait and nothing is before it, else in the
        group's own.
        """
        call.timeout = self._seconds(options)
        work = call.work = CallWork(call)
        if recorders:
            call.event = recorders[-1].begin_async(f"gloo:{PROFILED.get(call.name, call.name)}", tensors)
        with self._order:
            self._check_usable()
            self._sequence += 1
            call.sequence = self._sequence
            here = self._pending == 0 and (wait or not getattr(options, "asyncOp", True))
            self._pending += 1
            if here:
                self._engine.lock.acquire()
            else:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=_work_off, args=(self._queue,), name="torch.distributed gloo", daemon=True
                    )
                    self._thread.start()
                self._queue.put((self, call))
        if here:
            try:
                error = self._run(call)
            finally:
                self._engine.lock.release()
            self._settle(call, error)
        return work

    def _seconds(self, options):
        given = getattr(options, "timeout", None)
        seconds = given.total_seconds() if given is not None else -1
        return seconds if seconds >= 0 else self._timeout.total_seconds()

    def _check_usable(self):
        if self._closed or self._pid != os.getpid():
            raise DistBackendError(
                "the process group has been destroyed"
                if self._closed
                else "a process group cannot be used after a fork"
            )
        if self._broken is not None:
            raise DistBackendError(
                f"[Rank {self._rank}] the process group cannot be used any more, since a collective has failed: "
                f"{self._broken}"
            )

    def _run(self, call):
        """Run a collective; its error, or None."""
        try:
            if self._broken is not None:
                self._check_usable()
            with torch.no_grad():
                if self._size > 1:
                    if not self._engine.connected:
                        self._engine.connect(call.timeout)
                    if get_debug_level() is DebugLevel.DETAIL:
                        self._compare(call)
                call.body(call)
        except EngineError as error:
            failure = DistBackendError(self._diagnose(call, error))
            self._break(str(failure))
            return failure
        except Exception as error:
            return error
        except BaseException:  # an interrupt leaves gloo in the midst of it
            self._break(f"{call} was interrupted")
            self._settle(call, DistBackendError(f"{call} was interrupted"))
            raise
        return None

    def _settle(self, call, error):
        """Tell who waits. The engine's lock is free by now: callbacks run here, and may submit a collective while
        another thread submits one.
        """
        with self._order:
            self._pending -= 1
        if call.event is not None:
            call.event.end_now()
        call.work._finish(call.outputs, error)
        call.body = None

    def _break(self, reason):
        self._broken = self._broken or reason
        self._engine.end()

    def _ask(self, call, name, *arguments):
        """Have gloo do something; while it waits, look whether the others wait for something else."""
        self._engine.command(name, *arguments, timeout=call.timeout, waiting=lambda: self._look_around(call))

    def _record(self, call):
        return json.dumps([self._rank, f"{call}", f"{call.name} {call.key}"])

    def _look_around(self, call):
        """The first rank that waits long writes down for what.

        Who waits for another thing with the same number has found a mistake.
        """
        key = f"waiting/{call.sequence}"
        try:
            found = json.loads(self._store.compare_set(key, "", self._record(call)))
            failed = self._store.check(["failed"]) and self._store.get("failed").decode()
        except DistError as error:
            raise EngineError(f"the store does not answer: {error}") from None
        if found[2] != f"{call.name} {call.key}":
            raise EngineError(
                f"Detected mismatch between collectives on ranks. Rank {self._rank} is running {call}, "
                f"but rank {found[0]} is running {found[1]}"
            )
        if failed:
            raise EngineError("another rank has failed")

    def _diagnose(self, call, error):
        """What happened, with what the other ranks tell. They have a second to tell it."""
        waited = " after waiting for the other ranks" if isinstance(error, EngineTimeout) else ""
        text = f"[Rank {self._rank}] {call} failed{waited}: {error}"
        try:
            first = self._store.compare_set("failed", "", text).decode()
            self._store.set(f"failed/{self._rank}", json.dumps(f"{call}"))
            others = [r for r in range(self._size) if r != self._rank]
            deadline = time.monotonic() + 1.0
            while others and time.monotonic() < deadline and not self._store.check([f"failed/{r}" for r in others]):
                time.sleep(0.02)
            heard = {
                r: json.loads(self._store.get(f"failed/{r}")) for r in others if self._store.check([f"failed/{r}"])
            }
        except DistError as lost:
            return f"{text}. The store does not answer either ({lost}): the rank that serves it has probably ended"
        lines = [text, *([f"The first failure: {first}"] if first != text else [])]
        lines += [f"rank {r} was at {what}" for r, what in list(heard.items())[:16]]
        silent = [r for r in others if r not in heard]
        if silent:
            lines.append(
                f"nothing was heard from rank(s) {', '.join(map(str, silent[:64]))}: late, ended, or in other code"
            )
        return "; ".join(lines)

    def _compare(self, call):
        """TORCH_DISTRIBUTED_DEBUG=DETAIL: all ranks tell what they are about to run."""
        size = 1024
        mine = json.dumps([call.sequence, call.name, call.detail])[:size].encode().ljust(size)
        source = torch.frombuffer(bytearray(mine), dtype=torch.uint8)
        target = torch.empty(size * self._size, dtype=torch.uint8)
        check = Call("fingerprint", None, None, call.timeout)
        check.sequence = call.sequence
        self._exchange(check, [source], [target], lambda s, t, tag: self._ask(call, "allgather", s, t, size, tag))
        every = [bytes(target[r * size : (r + 1) * size].numpy()).decode().strip() for r in range(self._size)]
        other = next((r for r in range(self._size) if every[r] != every[self._rank]), None)
        if other is None:
            return
        shown = [f"{name} #{sequence} ({detail})" for sequence, name, detail in map(json.loads, every)]
        difference = "the sequence numbers, collectives, shapes, dtypes or roots differ"
        raise RuntimeError(
            f"Detected mismatch between collectives on ranks. Rank {self._rank} is running collective: "
            f"{shown[self._rank]}, but Rank {other} is running collective: {shown[other]}. {difference}; all ranks: "
            f"{'; '.join(f'rank {r}: {s}' for r, s in enumerate(shown[:16]))}"
        )

    # -- memory

    def _exchange(self, call, sources, targets, ask, inplace=False):
        """Copy tensors to shared memory, have gloo work on it, copy the results to tensors.

        In place, both are the same memory.
        """
        read = sum(map(nbytes, sources))
        written = sum(map(nbytes, targets))
        offset = 0 if inplace else read + -read % 64
        memory = self._engine.staging(max(offset + written, read, 1))
        try:
            at = memory.address
            for t in sources:
                kept = t.contiguous()
                memcpy(at, kept.data_ptr(), nbytes(t))
                at += nbytes(t)
            ask((memory.number, 0), (memory.number, offset), call.tag())
            at = memory.address + offset
            for t in targets:
                fill(t, at)
                at += nbytes(t)
        finally:
            if self._engine.process is not None:
                self._engine.release(memory)

    def _wait_for_pending_works(self):
        while self._pending:
            time.sleep(0.001)

    def shutdown(self):
        """End gloo's process."""
        self._closed = True
        if self._pid != os.getpid():
            return
        if self._thread is not None:
            self._queue.put(None)
        self._engine.end()

    abort = shutdown

    def __del__(self, ending=sys.is_finalizing):
        if (
            not getattr(self, "_closed", True) and not ending()
        ):  # at the interpreter's end the process of gloo ends by itself
            self.shutdown()


def _work_off(calls):
    """A group's thread: collectives in their order. It keeps the group alive only while it runs one."""
    ended = False

    def work_one(timeout=None):
        nonlocal ended
        try:
            entry = calls.get(timeout=timeout)
        except queue.Empty:
            return
        if entry is None:
            ended = True
            return
        group, call = entry
        with group._engine.lock:
            error = group._run(call)
        group._settle(call, error)

    # a callback of a future runs in this thread, and may wait for a later collective
    _thread.work_one = work_one
    while not ended:
        work_one()


def fill(tensor, address):
    """Fill a tensor from memory."""
    if not tensor.numel():
        return
    if tensor.is_contiguous():
        memcpy(tensor.data_ptr(), address, nbytes(tensor))
    else:
        dense = torch.empty(tensor.shape, dtype=tensor.dtype)
        memcpy(dense.data_ptr(), address, nbytes(tensor))
        tensor.copy_(dense)
