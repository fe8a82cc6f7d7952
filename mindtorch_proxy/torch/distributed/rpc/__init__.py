"""Remote procedure calls: functions that run on other processes, and references to remote values.

The transport is Python's multiprocessing.connection over TCP. Both ends authenticate with a key from the job's store:
anyone who knows that key or can read the store can run code here. The traffic is not encrypted. Distributed autograd
(torch.distributed.autograd) is not supported.
"""

import itertools
from datetime import timedelta

from . import _workers, api, backend_registry, constants, functions, options  # noqa: F401
from ._rref import RRef
from ._workers import WorkerInfo
from .api import _set_rpc_timeout, get_rpc_timeout, get_worker_info, remote, rpc_async, rpc_sync, shutdown
from .backend_registry import BackendType, backend_registered
from .options import RpcBackendOptions, TensorPipeRpcBackendOptions

__all__ = [
    "BackendType", "RRef", "TensorPipeRpcBackendOptions", "backend_registered", "get_worker_info", "init_rpc",
    "is_available", "remote", "rpc_async", "rpc_sync", "shutdown",
]  # fmt: skip
_jobs = itertools.count()


def is_available():
    """Whether RPC is available, which is always True."""
    return True


def init_rpc(name, backend=None, rank=-1, world_size=None, rpc_backend_options=None):
    """Make this process a worker, which can call other workers and be called by them until ``shutdown``.

    Args:
        name: the worker's unique name, of letters, digits, ``_``, ``:`` and ``-``.
        backend: ``BackendType.TENSORPIPE``, the default.
        rank, world_size: the worker's rank and the number of workers. Workers that join and leave dynamically (no
            world_size) raise NotImplementedError.
        rpc_backend_options: the timeout, the number of threads, and the URL of the rendezvous (default ``env://``).
    """
    from .. import PrefixStore, rendezvous
    from ._agent import Agent

    if backend is not None and not isinstance(backend, BackendType):
        raise TypeError("Argument backend must be a member of BackendType")
    if rpc_backend_options is not None and not isinstance(rpc_backend_options, RpcBackendOptions):
        raise TypeError("Argument rpc_backend_options must be an instance of RpcBackendOptions")
    if not world_size:
        raise NotImplementedError(
            "init_rpc: a group that workers join and leave (without world_size) is not supported (any dtype, "
            "any device)"
        )
    chosen = rpc_backend_options or TensorPipeRpcBackendOptions()
    store, _, _ = next(rendezvous(chosen.init_method, rank=rank, world_size=world_size))
    if _workers.is_set():
        raise RuntimeError("RPC is already initialized")
    store.set_timeout(timedelta(seconds=chosen.rpc_timeout))
    agent = Agent(PrefixStore(f"rpc_prefix_{next(_jobs)}", store), name, rank, world_size, chosen)
    _workers.set_current(agent)
    agent.start()
