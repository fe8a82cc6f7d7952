"""Launches a function or a command on several processes from a program."""

import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.distributed.elastic.agent.server.api import WorkerSpec
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, LogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler
from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """The number of processes and machines, the rendezvous, and the number of restarts.

    Fields are named like torchrun's options.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self):
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        self.rdzv_configs.setdefault("timeout", 900)
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()


class elastic_launch:  # noqa: N801 (PyTorch's name)
    """Launches a function on several processes.

    ``elastic_launch(config, function)(*args)`` returns {global rank: return value}.
    """

    def __init__(self, config, entrypoint):
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args):
        return launch_agent(self._config, self._entrypoint, list(args))


def _get_entrypoint_name(entrypoint, args):
    if callable(entrypoint):
        return entrypoint.__name__
    if entrypoint == sys.executable:
        return next((a for a in args if a[:1] != "-"), "")
    return entrypoint or ""


class _Signals:
    """Context manager in which the given signals raise a SignalException, so that the launcher ends the workers."""

    def __init__(self, names):
        self.numbers = [
            getattr(signal, n.strip()) for n in names.split(",") if n.strip() and hasattr(signal, n.strip())
        ]
        self.before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self.before = {n: signal.signal(n, self.raised) for n in self.numbers}

    def __exit__(self, *exception):
        for number, handler in self.before.items():
            signal.signal(number, handler)

    @staticmethod
    def raised(number, frame):
        raise SignalException(f"Process {os.getpid()} got signal: {number}", sigval=signal.Signals(number))


_UNSUPPORTED = (
    "numa_options",
    "duplicate_stdout_filters",
    "duplicate_stderr_filters",
    "virtual_local_rank",
    "metrics_cfg",
    "event_log_handler",
)


def launch_agent(config, entrypoint, args):
    """Run a function or command as the config requests.

    Raise NotImplementedError for options that are not supported.
    """
    for name in _UNSUPPORTED:
        if getattr(config, name) not in (None, False, [], {}, "null"):
            raise NotImplementedError(f"torch.distributed.launcher: {name} is not supported")
    config.run_id = config.run_id or str(uuid.uuid4().int)
    parameters = RendezvousParameters(
        backend=config.rdzv_backend,
        endpoint=config.rdzv_endpoint,
        run_id=config.run_id,
        min_nodes=config.min_nodes,
        max_nodes=config.max_nodes,
        local_addr=config.local_addr,
        **config.rdzv_configs,
    )
    address, port = (
        parse_rendezvous_endpoint(config.rdzv_endpoint, -1) if config.rdzv_backend == "static" else (None, None)
    )
    handler = get_rendezvous_handler(parameters)
    spec = WorkerSpec(
        role=config.role,
        local_world_size=config.nproc_per_node,
        rdzv_handler=handler,
        entrypoint=entrypoint,
        args=tuple(args),
        max_restarts=config.max_restarts,
        monitor_interval=config.monitor_interval,
        master_addr=address,
        master_port=port,
        local_addr=config.local_addr,
    )
    agent = LocalElasticAgent(
        spec,
        config.logs_specs,
        config.start_method,
        log_line_prefix_template=config.log_line_prefix_template,
        shutdown_timeout=config.shutdown_timeout,
    )
    with _Signals(config.signals_to_handle):
        try:
            result = agent.run()
        except Exception:
            handler.shutdown()
            raise
    if result.is_failed():
        raise ChildFailedError(_get_entrypoint_name(entrypoint, args), result.failures)
    return result.return_values
