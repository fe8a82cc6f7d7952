"""Functions to call functions on other workers."""

import contextlib
import functools
import logging
import threading

import torch

from . import _workers
from ._rref import CALLS, RRef
from ._workers import WorkerInfo, current  # noqa: F401
from .constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT

__all__ = ["shutdown", "get_worker_info", "remote", "rpc_sync", "rpc_async", "RRef"]
_thread, _log = threading.local(), logging.getLogger(__name__)


def _require_initialized(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not _workers.is_set():
            raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
        return function(*args, **kwargs)

    return wrapper


@contextlib.contextmanager
def _wait_all():
    """Wait, at the end of the block, for all ``rpc_async`` calls made in it."""
    _thread.futures = []
    try:
        yield
    finally:
        torch.futures.wait_all(_thread.__dict__.pop("futures"))


@_require_initialized
def rpc_async(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """Start ``func(*args, **kwargs)`` on a worker (name, number or WorkerInfo) and return a Future of the result.

    The function is looked up there by its module and name. Arguments and results are pickled. Tensors must be on the
    CPU (otherwise RuntimeError) and are copied without their autograd graph. The Future raises what the function
    raised, with the remote traceback in its text, or RuntimeError if the worker is gone or no answer arrives in
    `timeout` seconds (0: no limit; by default that of the options).
    """
    agent = current()
    future = agent.call(agent.worker(to), func, args, kwargs, timeout)
    if hasattr(_thread, "futures"):
        _thread.futures.append(future)
    return future


@_require_initialized
def rpc_sync(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """Run ``func(*args, **kwargs)`` on a worker and return its result; see ``rpc_async``."""
    agent = current()
    return agent.call(agent.worker(to), func, args, kwargs, timeout).wait()


@_require_initialized
def remote(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """Start ``func(*args, **kwargs)`` on a worker and immediately return an RRef; the result stays there."""
    agent = current()
    owner, reference, fork = agent.worker(to), agent.references.new(), agent.references.new()
    made = agent.call(owner, func, args, kwargs, timeout, reference=reference, fork=fork)
    if owner != agent.info:
        return RRef._of(agent, owner, reference, fork=fork, made=made)
    rref = RRef._of(agent, owner, reference, owned=agent.references.value(reference), made=made)
    agent.references.end(reference, fork)
    return rref


CALLS.update(rpc_async=rpc_async, rpc_sync=rpc_sync, remote=remote)


@_require_initialized
def get_worker_info(worker_name=None):
    """Return the WorkerInfo of a worker, by default of this one.

    Raise RuntimeError if there is no worker of that name.
    """
    agent = current()
    return agent.info if worker_name is None else agent.worker(worker_name)


@_require_initialized
def shutdown(graceful=True, timeout=DEFAULT_SHUTDOWN_TIMEOUT):
    """Stop RPC on this process.

    With ``graceful``, first wait until all workers have called this and no call is running on any of them; raise
    RuntimeError if a worker is gone.
    """
    agent = current()
    try:
        if graceful:
            agent.join(timeout)
    finally:
        _workers.set_current(None)
        agent.close()


class _Gathering:
    """The objects of one ``_all_gather``, collected on the first worker."""

    def __init__(self):
        self.objects, self.complete = {}, threading.Event()


_gatherings, _rounds, _gathering = {}, {}, threading.Lock()


def _found(number):
    with _gathering:
        return _gatherings.setdefault(number, _Gathering())


def _bring(number, name, obj, names):
    """Store the object of one worker. Runs on the first worker."""
    found = _found(number)
    with _gathering:
        if name not in names or name in found.objects:
            raise AssertionError(f"{name} is not expected, or has come already")
        found.objects[name] = obj
        if found.objects.keys() == names:
            found.complete.set()


def _hand_out(number, objects):
    """Store the objects of all workers. Runs on the other workers."""
    found = _found(number)
    found.objects.update(objects)
    found.complete.set()


@_require_initialized
def _all_gather(obj, worker_names=None, timeout=UNSET_RPC_TIMEOUT):
    """Return {worker name: its object} for the given workers, by default all.

    Each of them must call this, and waits for the others.

    Raises:
        RuntimeError: a worker is gone or does not answer in `timeout` seconds.
    """
    agent = current()
    names = set(worker_names or (info.name for info in agent.workers))
    first, mine = min(names), agent.info.name
    with _gathering:
        key = tuple(sorted(names))
        number = key, _rounds.get(key, 0)
        _rounds[key] = number[1] + 1
    if mine == first:
        _bring(number, mine, obj, names)
    else:
        rpc_sync(first, _bring, (number, mine, obj, names), timeout=timeout)
    found = _found(number)
    if not found.complete.wait(None if timeout in (UNSET_RPC_TIMEOUT, DEFAULT_SHUTDOWN_TIMEOUT) else timeout):
        raise RuntimeError(f"not all of {sorted(names)} came within {timeout} seconds")
    if mine == first:
        torch.futures.wait_all(
            [rpc_async(name, _hand_out, (number, found.objects), timeout=timeout) for name in names - {mine}]
        )
    with _gathering:
        del _gatherings[number]
    return found.objects


@_require_initialized
def _barrier(worker_names):
    """Wait until all the given workers, which include this one, have called this.

    If a worker does not arrive, log an error.
    """
    try:
        _all_gather(None, set(worker_names))
    except RuntimeError:
        _log.exception("Failed to complete barrier")


def get_rpc_timeout():
    """Return the default timeout of calls in seconds."""
    return current().timeout


def _set_rpc_timeout(timeout):
    current().timeout = float(timeout)
