"""Futures: results that arrive later."""

import sys
import threading
import time
from typing import Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]
_thread = threading.local()
T = TypeVar("T")


def _wait(event, timeout=None):
    """Wait for an event; return whether it was set before the timeout.

    A thread with `_thread.work_one` processes its queue of work meanwhile, since that work may set the event.
    """
    work_one = getattr(_thread, "work_one", None)
    if work_one is None:
        return event.wait(timeout)
    deadline = None if timeout is None else time.monotonic() + timeout
    while not event.is_set() and (deadline is None or time.monotonic() < deadline):
        work_one(0.05)
    return event.is_set()


def _check_callable(method, callback):
    if not callable(callback):
        raise TypeError(
            f"{method}(): incompatible function arguments. The following argument types are supported: 1. (self: "
            f"Future, arg0: Callable)"
        )


def _callback_failed(error):
    return f"Got the following error when running the callback: {type(error).__name__}: {error}"


def _check_not_none(*futures):
    if None in futures:
        raise RuntimeError("Future can't be None")


class _BareFuture:
    """torch.Future, the base class: a result that another thread may set."""

    def __init__(self, devices=None):
        self._event, self._value, self._error, self._callbacks, self._lock = (
            threading.Event(),
            None,
            None,
            [],
            threading.Lock(),
        )

    def done(self):
        """Whether there is a result or an error."""
        return self._event.is_set()

    def wait(self):
        """Wait for the result and return it, or raise the error."""
        _wait(self._event)
        if self._error is not None:
            raise self._error
        return self._value

    def value(self):
        """Return the result or raise the error; RuntimeError if the future is not done."""
        if not self.done():
            raise RuntimeError("Tried to retrieve value from an incomplete future")
        return self.wait()

    def _finish(self, value, error):
        with self._lock:
            if self.done():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error = value, error
            self._event.set()
        self._call_back()

    def _call_back(self):
        for callback in self._callbacks:
            self._run(callback)

    def _run(self, callback):
        """Run a callback; print its error instead of raising it, so that other callbacks still run."""
        try:
            callback(self)
        except Exception as e:
            print(_callback_failed(e), file=sys.stderr)

    def __reduce_ex__(self, protocol):
        raise RuntimeError("Can not pickle torch.futures.Future")

    def set_result(self, result):
        """Set the result and run the callbacks."""
        self._finish(result, None)

    def add_done_callback(self, callback):
        """Call ``callback(self)`` when the future is done, or now if it already is.

        An error of the callback is printed and otherwise ignored; use ``then`` to keep it.
        """
        _check_callable("add_done_callback", callback)
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        self._run(callback)

    def then(self, callback):
        """Return a Future for the result of ``callback(self)``, which is called when this one is done."""
        _check_callable("then", callback)
        after = type(self)()

        def run(_):
            try:
                after.set_result(callback(self))
            except Exception as e:
                error = RuntimeError(_callback_failed(e))
                error.__cause__ = e
                after._finish(None, error)

        self.add_done_callback(run)
        return after


_BareFuture.__name__ = _BareFuture.__qualname__ = "Future"
_BareFuture.__module__ = "torch"


class Future(_BareFuture, Generic[T]):
    """A result that another thread may set."""

    def __init__(self, *, devices=None):
        super().__init__(devices)

    def set_exception(self, result):
        """Set the error and run the callbacks."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)


def collect_all(futures):
    """Return a Future that is done when all futures are, with their list as result, or with the first error in it."""
    futures, after = list(futures), Future()
    _check_not_none(*futures)
    left, lock = len(futures), threading.Lock()

    def one(_):
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            error = next((f._error for f in futures if f._error is not None), None)
            after._finish(futures, error)

    if not futures:
        after.set_result(futures)
    for f in futures:
        f.add_done_callback(one)
    return after


def wait_all(futures):
    """Wait for all futures and return their results in order."""
    return [f.wait() for f in collect_all(futures).wait()]
