"""Groups of processes on one machine, with their output and errors."""

from .api import (
    DefaultLogsSpecs,
    LogsDest,
    LogsSpecs,
    MultiprocessContext,
    PContext,
    RunProcsResult,
    SignalException,
    Std,
    SubprocessContext,
    to_map,
)
from .errors import ChildFailedError, ProcessFailure, record

__all__ = [
    "start_processes",
    "MultiprocessContext",
    "PContext",
    "RunProcsResult",
    "SignalException",
    "Std",
    "LogsDest",
    "LogsSpecs",
    "DefaultLogsSpecs",
    "SubprocessContext",
    "to_map",
]


def start_processes(name, entrypoint, args, envs, logs_specs, log_line_prefixes=None, start_method="spawn"):
    """Start a command or a function once for each local rank.

    ``args`` and ``envs`` are dicts with local ranks as keys.
    """
    cls = SubprocessContext if isinstance(entrypoint, str) else MultiprocessContext
    context = cls(name, entrypoint, args, envs, logs_specs, log_line_prefixes, start_method)
    context.start()
    return context
