"""Calls of functions on other workers."""

import contextlib
import functools
import threading

import torch

from . import _workers
from ._rref import RRef
from ._workers import WorkerInfo, current  # noqa: F401
from .constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT

__all__ = ["shutdown", "get_worker_info", "remote", "rpc_sync", "rpc_async", "RRef"]
_thread = threading.local()


def _require_initialized(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not _workers.is_set():
            raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
        return function(*args, **kwargs)

    return wrapper


@contextlib.contextmanager
def _wait_all():
    """At the block's end, wait for all that ``rpc_async`` has begun in it."""
    _thread.futures = []
    try:
        yield
    finally:
        torch.futures.wait_all(_thread.__dict__.pop("futures"))


@_require_initialized
def rpc_async(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """Begin ``func(*args, **kwargs)`` on a worker (name, number or WorkerInfo): a Future of the result.

    The function is looked up there by its module and name. Arguments and result are pickled; tensors, of the CPU (RuntimeError otherwise), are copied,
    without what they were computed from. The Future raises what the function raised, with the other worker's traceback in its text, or RuntimeError
    when no answer comes in `timeout` seconds (0: no limit; by default that of the options) or the worker is gone.
    """
    agent = current()
    future = agent.call(agent.worker(to), func, args, kwargs, timeout)
    if hasattr(_thread, "futures"):
        _thread.futures.append(future)
    return future


@_require_initialized
def rpc_sync(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """The result of ``func(*args, **kwargs)`` on a worker; see ``rpc_async``."""
    agent = current()
    return agent.call(agent.worker(to), func, args, kwargs, timeout).wait()


@_require_initialized
def remote(to, func, args=None, kwargs=None, timeout=UNSET_RPC_TIMEOUT):
    """Begin ``func(*args, **kwargs)`` on a worker, where the result stays: an RRef, at once."""
    agent = current()
    owner, reference, fork = agent.worker(to), agent.references.new(), agent.references.new()
    made = agent.call(owner, func, args, kwargs, timeout, reference=reference, fork=fork)
    if owner != agent.info:
        return RRef._of(agent, owner, reference, fork=fork, made=made)
    rref = RRef._of(agent, owner, reference, owned=agent.references.value(reference), made=made)
    agent.references.end(reference, fork)
    return rref


@_require_initialized
def get_worker_info(worker_name=None):
    """The WorkerInfo of a worker, of this one by default; RuntimeError where no worker has the name."""
    agent = current()
    return agent.info if worker_name is None else agent.worker(worker_name)


@_require_initialized
def shutdown(graceful=True, timeout=DEFAULT_SHUTDOWN_TIMEOUT):
    """End this process's part. Gracefully: when all workers have come here and nothing that any of them has begun goes on (RuntimeError when one is gone)."""
    agent = current()
    try:
        if graceful:
            agent.join(timeout)
    finally:
        _workers.set_current(None)
        agent.close()


def get_rpc_timeout():
    """The time-out of calls that say none, in seconds."""
    return current().timeout


def _set_rpc_timeout(timeout):
    current().timeout = float(timeout)
