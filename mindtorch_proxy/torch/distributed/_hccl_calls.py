"""How the hccl backend runs collectives: in streams of the NPU, with works and futures that order streams.

A collective is launched and the host goes on. Waiting for its work makes the current stream wait, not the host.
"""

import atexit
import json
import sys
import weakref
from datetime import timedelta

import torch
from torch.futures import Future

from ._errors import DistBackendError, DistError
from ._gloo_calls import describe
from ._hccl_watch import watch
from ._process_group import Backend
from ._types import DebugLevel, Work, get_debug_level

_aside: list = []  # the stream of callbacks
_works: weakref.WeakSet = weakref.WeakSet()


@atexit.register
def _let_go():
    """At the end of the process, let go of MindSpore's handles: they must not outlive its runtime."""
    for work in list(_works):
        work._handle = work._after = None


def aside():
    """Return a context in which work runs in the stream beside those of the program."""
    if not _aside:
        _aside.append(torch.npu.Stream())
    return torch.npu.stream(_aside[0])


def _recorded():
    event = torch.npu.Event()
    event.record()
    return event


class StreamFuture(Future):
    """A future of tensors that a stream still computes.

    It is done at once. Waiting for it makes the current stream wait; callbacks run at once too, in a stream of their
    own that waits first, so that what they launch has the values.
    """

    _order = None  # makes the current stream wait for the result

    def _finish(self, value, error):
        if self._order is None and error is None:
            self._order = _recorded().wait
        super()._finish(value, error)

    def wait(self):
        """Make the current stream wait for the result and return it, or raise the error."""
        value = super().wait()
        self._order()
        return value

    def _run(self, callback):
        with aside():
            super()._run(callback)


class StreamWork(Work):
    """A collective that has been launched.

    Only waiting for it completes its outputs: where they need more than HCCL does, that is launched then.
    """

    def __init__(self, call, outputs, handle, after):
        super().__init__()
        self._call, self._outputs, self._handle, self._after = call, outputs, handle, after
        _works.add(self)

    def is_completed(self):
        """Whether the NPU has finished the collective, or it has failed."""
        return self._call.failure is not None or self._done()

    def is_success(self):
        """Whether the NPU has finished the collective."""
        return self._call.failure is None and self._done()

    def exception(self):
        """Return the error, or None."""
        return self._call.failure

    def wait(self, timeout=timedelta(0)):
        """Make the current stream wait for the collective; with a timeout, let the host wait as well.

        Raise DistBackendError where the collective has failed or does not end in that time.
        """
        self._call.check()
        self._order()
        if timeout > timedelta(0) or self._call.blocks:
            self._call.wait_on_host(timeout if timeout > timedelta(0) else self._call.timeout)
        return True

    def _order(self):
        self._handle.wait()
        if self._after is not None:
            after, self._after = self._after, None
            with torch.no_grad():
                after()
            self._handle = _recorded()  # another stream must wait for that too
            self._call.event = self._handle
        elif self._call.event is None:
            self._call.event = _recorded()

    def _done(self):
        if self._after is not None:
            self._order()
        elif self._call.event is None:
            with aside():  # not the current stream, which is not asked to wait
                self._order()
        return self._call.event.query()

    def __del__(self, ending=sys.is_finalizing):
        if getattr(self, "_after", None) is not None and self._call.failure is None and not ending():
            self._order()

    def synchronize(self):
        """Make the current stream wait for the collective."""
        self.wait()

    block_current_stream = synchronize

    def result(self):
        """Return the tensors that the collective fills."""
        return self._outputs

    def get_future(self):
        """Return a Future of the tensors that the collective fills, which is done already."""
        with self._lock:
            if self._future is None:
                self._future = StreamFuture()
                self._future._order = self.wait
                self._future.set_result(self._outputs)
            return self._future


class _Nothing:
    """The handle and the event of a collective whose tensors have no elements."""

    query = staticmethod(lambda: True)
    wait = staticmethod(lambda: None)


class StreamedCalls(Backend):
    """A backend whose collectives are launched in streams, in the order of the calls."""

    def __init__(self, store, rank, size, timeout, name, ranks):
        super().__init__(rank, size)
        self._timeout, self._store, self._name, self._ranks, self._closed = timeout, store, name, ranks, False
        self._watch = watch()

    def _submit(self, name, tensors, opts, outputs, launch, after=None, detail="", blocks=False, message=False):
        """Launch a collective and return its work.

        launch: a function that launches it and returns a handle, or None where there is nothing to do.
        after: what then completes the outputs, in a stream.
        """
        self._check_usable()
        number = 0 if message else self._sequence + 1
        self._sequence += not message
        text = ", ".join(filter(None, (describe(tensors), detail)))
        shown = (f"{name} #{number}" if number else name) + (f" ({text})" if text else "")
        call = self._watch.call(self, number, shown, self._seconds(opts))
        call.blocks = blocks
        if get_debug_level() is DebugLevel.DETAIL and not message:
            self._compare(call, f"{name} ({text})")
        if launch is None:
            call.event = _Nothing
            return StreamWork(call, outputs, _Nothing, None)
        with torch.no_grad():
            work = StreamWork(call, outputs, launch(), after)
        self._watch.launched(call)
        if not getattr(opts, "asyncOp", True):
            work._order()
        return work

    def _seconds(self, opts):
        given = getattr(opts, "timeout", None)
        return given if given is not None and given >= timedelta(0) else self._timeout

    def _check_usable(self):
        if self._closed:
            raise DistBackendError("the process group has been destroyed")
        self._watch.check(self)

    def _compare(self, call, text):
        """With TORCH_DISTRIBUTED_DEBUG=DETAIL, check that all ranks are about to run the same collective."""
        here = lambda r, n=self._sequence: f"detail/{n}/{r}"
        self._store.set(here(self._rank), json.dumps([self._sequence, text]))
        every = []
        for r in range(self._size):
            try:
                self._store.wait([here(r)], call.timeout)
            except DistError:
                raise DistBackendError(
                    f"[Rank {self._rank}] {call} failed: rank {r} did not come to it within {call.timeout}"
                ) from None
            every.append(json.loads(self._store.get(here(r))))
        if self._sequence > 2:  # all ranks have read those of the last but one
            self._store.delete_key(here(self._rank, self._sequence - 2))
        other = next((r for r in range(self._size) if every[r] != every[self._rank]), None)
        if other is not None:
            shown = [f"{t} at number {n}" for n, t in every]
            raise RuntimeError(
                f"Detected mismatch between collectives on ranks. Rank {self._rank} is running collective: "
                f"{shown[self._rank]}, but Rank {other} is running collective: {shown[other]}. "
                f"All ranks: {'; '.join(f'rank {r}: {s}' for r, s in enumerate(shown[:16]))}"
            )

    def _wait_for_pending_works(self):
        self._watch.drain(self)
