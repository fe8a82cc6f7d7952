"""A thread that sees when a collective of the hccl backend cannot end, because a rank has ended, lags or has failed.

HCCL itself tells a waiting rank nothing for half an hour. Every process therefore writes a heartbeat to the store, with
the last collective of each of its groups. A process whose collective does not end reads those of the other ranks.
"""

import atexit
import functools
import json
import os
import sys
import threading
import time
from collections import Counter, deque
from datetime import timedelta

from ._errors import DistBackendError, DistError
from ._store import PrefixStore

LONGEST, SHORTEST = 10.0, 0.1  # seconds between two beats
REAP, KEPT = 1.0, 1024  # seconds between two looks at what has ended; how many collectives of a group are looked at
LEAVING, CLOSING = 5.0, 0.5  # seconds that rank 0 waits at its end for the others, and for their connections
SILENT = 4  # a rank is gone if it is silent for this part of the timeout: a thread may hold Python's lock for long


class Call:
    """One collective: what it is, when it was launched, and how it failed."""

    __slots__ = ("watch", "group", "number", "text", "timeout", "since", "event", "blocks")

    def __init__(self, watch, group, number, text, timeout):
        self.watch, self.group, self.number, self.text, self.timeout = watch, group, number, text, timeout
        self.since, self.event, self.blocks = time.monotonic(), None, False

    def __str__(self):
        return self.text

    @property
    def failure(self):
        """The error of the group, if its collectives have failed."""
        return self.watch.failures.get(self.group)

    def check(self):
        """Raise the error of the group, if there is one."""
        self.watch.check(self.group)

    def wait_on_host(self, timeout):
        """Wait until the NPU has finished it; raise DistBackendError where that does not happen in time."""
        deadline, pause = time.monotonic() + timeout.total_seconds(), 0.0001
        while not self.event.query():
            self.check()
            if time.monotonic() > deadline:
                raise DistBackendError(f"[Rank {self.group.rank()}] {self} did not end within {timeout}")
            time.sleep(pause)
            pause = min(2 * pause, 0.01)


class Watch:
    """The collectives in flight of this process, and the thread that watches them."""

    def __init__(self):
        self.lock, self.thread, self.interval = threading.RLock(), None, LONGEST
        self.world, self.store, self.rank, self.size, self.life, self.opened = None, None, 0, 0, "", Counter()
        self._reset()

    def _reset(self):
        self.flying, self.failures, self.told, self.ended = {}, {}, False, threading.Event()
        self.last, self.seen, self.beats, self.next = (
            {},
            {},
            0,
            0.0,
        )  # name of a group: (number, text) of its last collective

    # -- from the threads of the program

    def enter(self, life):
        """Note that the engine is about to start. life: what no other start has that the job's store has served."""
        self.life, self.opened = life, Counter()

    def place(self, name, store):
        """Return the part of a store that belongs to one group alone.

        A store outlives the groups, and a group may have the name of one that was destroyed.
        """
        self.opened[name] += 1
        return PrefixStore(f"{self.life}/{self.opened[name]}", store)

    def begin(self, store, rank, size, timeout):
        """Begin to beat, with the store, rank and size of the world."""
        self._reset()
        self.world, self.store, self.rank, self.size = store, PrefixStore("beat", store.clone()), rank, size
        self.interval = min(max(timeout.total_seconds() / 16, SHORTEST), LONGEST)
        self._beat()
        atexit.unregister(self._leave)
        atexit.register(self._leave)
        self.thread = threading.Thread(target=self._run, args=(self.ended,), name="torch.distributed hccl", daemon=True)
        self.thread.start()

    def end(self):
        """Stop to beat, at the end of the world."""
        self.ended.set()
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(self.interval)
        self._tell("has destroyed its process group")
        self.flying, self.thread = {}, None  # MindSpore's events must not outlive its runtime

    def call(self, group, number, text, timeout):
        """Note a collective that is about to be launched, and return it. number: 0 for a message between ranks."""
        call = Call(self, group, number, text, timeout)
        with self.lock:
            self.last[group._name] = number or self.last.get(group._name, (0, ""))[0], text
        return call

    def launched(self, call):
        """Watch a collective until its event has come, which its work records when it is waited for."""
        with self.lock:
            self.flying.setdefault(call.group, deque(maxlen=KEPT)).append(call)

    def check(self, group):
        """Raise the error of a group whose collectives have failed."""
        if group in self.failures:
            self.told = True
            raise self.failures[group]

    def drain(self, group):
        """Wait until the NPU has finished the collectives of a group."""
        for call in list(self.flying.get(group, ())):
            if call.event is not None:
                call.wait_on_host(call.timeout)

    def forget(self, group):
        """Watch a group's collectives no more, and return whether they have failed."""
        with self.lock:
            self.flying.pop(group, None)
            return self.failures.pop(group, None) is not None

    # -- the thread

    def _run(self, ended):
        while not ended.wait(min(self.interval, REAP)):
            with self.lock:
                for calls in self.flying.values():
                    _reap(calls)
            if time.monotonic() < self.next:
                continue
            self.next = time.monotonic() + self.interval
            lost = self._tell()
            late = self._late()
            if late is not None and (reason := self._reason(late, lost)):
                self._fail(late, reason)
                return

    def _tell(self, state=""):
        """Beat, and return what the store's failure says, if it fails."""
        try:
            self._beat(state)
        except (DistError, OSError) as error:
            return f"the store does not answer ({error}): the rank that serves it has probably ended"
        return ""

    def _beat(self, state=""):
        self.beats += 1
        with self.lock:
            last = dict(list(self.last.items())[-8:])
        self.store.set(f"{self.rank}", json.dumps([self.beats, state, last]))

    def _late(self):
        """Return the collective that has been in flight for longest, if that is two beats or more."""
        now = time.monotonic()
        with self.lock:
            first = [calls[0] for calls in self.flying.values() if calls]
        late = min(first, key=lambda call: call.since, default=None)
        return late if late is not None and now - late.since > 2 * self.interval else None

    def _reason(self, late, lost):
        """Return why a collective cannot end, or nothing while it may. lost: what is wrong with the store."""
        now, patience = time.monotonic(), late.timeout.total_seconds() / SILENT
        members = [r for r in late.group._ranks if r != self.rank]
        try:
            heard = {r: json.loads(self.store.get(f"{r}")) for r in members if not lost and self.store.check([f"{r}"])}
        except (DistError, OSError) as error:
            lost, heard = f"the store does not answer ({error}): the rank that serves it has probably ended", {}
        if lost:
            return lost if now - late.since > patience else ""
        silent, others = [], []
        for r in members:
            beats, state, last = heard.get(r, (0, "", {}))
            number, text = last.get(late.group._name, (0, "no collective of this group"))
            others.append(f"rank {r} was at {text}")
            if state.startswith("has failed") or state and 0 < late.number != number:
                return f"rank {r} {state}; it was at {text}"
            before, when = self.seen.get(r, (None, now))
            self.seen[r] = beats, when if beats == before else now
            if now - self.seen[r][1] > patience:
                silent.append(
                    f"rank {r} has not been heard of for {now - self.seen[r][1]:.1f} s; then it was at {text}"
                )
        if silent:
            return "; ".join(silent)
        if now - late.since <= late.timeout.total_seconds() or late.event is None:  # it may have ended long ago
            return ""
        return f"it did not end within {late.timeout}; all ranks are alive; {'; '.join(others[:16])}"

    def _fail(self, late, reason):
        """Make the groups fail, and end the process where its main thread cannot raise the error."""
        text = f"[Rank {late.group.rank()}] {late} failed: {reason}"
        error = DistBackendError(text)
        with self.lock:
            self.failures.update(dict.fromkeys([*self.flying, late.group], error))
        self._tell(f"has failed ({text})"[:2000])
        print(f"torch.distributed: {text}", file=sys.stderr, flush=True)
        if not self.ended.wait(2 * self.interval) and not self.told:
            print(
                f"torch.distributed: rank {self.rank} waits for the NPU and cannot raise this error, so the process "
                "ends",
                file=sys.stderr,
                flush=True,
            )
            self._exit()

    def _leave(self):
        """At the end of the program: tell the others, and do not wait for an NPU whose collective never ends."""
        if self.thread is not None:
            self._tell("has ended")
        if self.failures and any(c and not (c[0].event and c[0].event.query()) for c in self.flying.values()):
            self._exit()
        self.ended.set()
        if self.thread is not None:
            self.thread.join(2 * REAP)
        if not self.failures:
            self._leave_in_order()
        self.flying, self.store, self.world = {}, None, None  # MindSpore's events must not outlive its runtime

    def _leave_in_order(self):
        """Let rank 0 leave last.

        At the end of a process MindSpore closes its connections, and deadlocks if rank 0 closes them from the other
        side at the same time.
        """
        left = [f"left/{r}" for r in range(1, self.size)]
        try:
            if self.rank:
                self.store.set(left[self.rank - 1], b"1")
            elif left:
                self.store.wait(left, timedelta(seconds=LEAVING))
                time.sleep(CLOSING)
        except (DistError, OSError):  # a rank that ends in another way, or much later, or has ended the store
            pass

    @staticmethod
    def _exit():
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(1)


def _reap(calls):
    """Drop the collectives of a group that the NPU has finished. They end in order, so the last known one is enough."""
    done = next((i for i in range(len(calls) - 1, -1, -1) if calls[i].event is not None and calls[i].event.query()), -1)
    for _ in range(done + 1):
        calls.popleft()
    if done >= 0 and calls:
        calls[0].since = time.monotonic()


@functools.cache
def watch():
    """Return the watch of this process."""
    return Watch()
