"""How the gloo backend runs collectives, and the errors it reports when one fails.

Collectives run one after another through shared memory; each has a sequence number.
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
    """Return a text with the shapes and the dtype of tensors."""
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


# collective: its name in a profile, if different: the collective that PyTorch's gloo runs for it
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
    """One collective: its description, and the function that runs it."""

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
        """Return gloo's tag for the next step of this collective.

        Collectives that differ in kind, dtype, size or number get different tags, so that none receives another's data.
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
    """A backend whose collectives run in the order in which they are called, on all ranks."""

    def __init__(self, store, rank, size, timeout, host, interface):
        super().__init__(rank, size)
        library()  # raises at once if gloo is not installed
        self._timeout, self._store = timeout, store
        self._engine = Engine(PrefixStore("gloo", store), rank, size, timeout.total_seconds(), host, interface)
        self._order, self._queue, self._thread, self._pending = threading.Lock(), queue.SimpleQueue(), None, 0
        self._broken, self._closed, self._pid = None, False, os.getpid()

    def _submit(self, call, options, tensors=(), wait=False):
        """Run a collective after those submitted before it.

        It runs in this thread if the call is synchronous and no other collective is pending, otherwise in the group's
        thread.
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
        """Run a collective and return its error, or None."""
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
        except BaseException:  # after an interrupt, the state of gloo is unknown
            self._break(f"{call} was interrupted")
            self._settle(call, DistBackendError(f"{call} was interrupted"))
            raise
        return None

    def _settle(self, call, error):
        """Finish a collective's work with its result or error.

        The engine's lock is already released: callbacks run here and may submit a collective while another thread
        submits one.
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
        """Have gloo run a command. While it waits, check for mismatched collectives on other ranks."""
        self._engine.command(name, *arguments, timeout=call.timeout, waiting=lambda: self._look_around(call))

    def _record(self, call):
        return json.dumps([self._rank, f"{call}", f"{call.name} {call.key}"])

    def _look_around(self, call):
        """Compare this collective with the one that other ranks are waiting in.

        The first rank that waits a long time writes its collective to the store. Another rank that waits in a different
        collective with the same number raises an error.
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
        """Return the text of an error, with what the other ranks report.

        Waits up to one second for their reports.
        """
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
        """With TORCH_DISTRIBUTED_DEBUG=DETAIL, check that all ranks are about to run the same collective."""
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
        """Copy tensors to shared memory, run gloo on it, and copy the results back to tensors.

        With ``inplace``, sources and targets use the same memory.
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
        """End the gloo process."""
        self._closed = True
        if self._pid != os.getpid():
            return
        if self._thread is not None:
            self._queue.put(None)
        self._engine.end()

    abort = shutdown

    def __del__(self, ending=sys.is_finalizing):
        if not getattr(self, "_closed", True) and not ending():  # at interpreter exit the gloo process ends by itself
            self.shutdown()


def _work_off(calls):
    """Run collectives in order, in the group's thread.

    The thread keeps the group alive only while it runs one of its collectives.
    """
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

    # a future's callback runs in this thread and may wait for a later collective
    _thread.work_one = work_one
    while not ended:
        work_one()


def fill(tensor, address):
    """Fill a tensor from the memory at an address."""
    if not tensor.numel():
        return
    if tensor.is_contiguous():
        memcpy(tensor.data_ptr(), address, nbytes(tensor))
    else:
        dense = torch.empty(tensor.shape, dtype=tensor.dtype)
        memcpy(dense.data_ptr(), address, nbytes(tensor))
        tensor.copy_(dense)
