"""The worker specification of an elastic agent, and the result of a run."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

__all__ = ["WorkerSpec", "WorkerState", "RunResult", "ElasticAgent"]


@dataclass
class WorkerSpec:
    """What to run, the number of workers on this machine, and how many restarts are allowed after failures."""

    role: str
    local_world_size: int
    rdzv_handler: Any
    entrypoint: Any = None
    args: tuple = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1
    master_addr: str | None = None
    master_port: int | None = None
    local_addr: str | None = None

    def __post_init__(self):
        if self.local_world_size < 1 or self.monitor_interval <= 0:
            raise AssertionError("there must be at least one worker, and an interval above zero")


class WorkerState(str, Enum):
    """The state of all workers of a machine."""

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @staticmethod
    def is_running(state):
        """Whether the workers are running."""
        return state in (WorkerState.HEALTHY, WorkerState.UNHEALTHY)


@dataclass
class RunResult:
    """The result of a run: return values or failures of the workers, by global rank."""

    state: WorkerState
    return_values: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)

    def is_failed(self):
        """Whether the run failed."""
        return self.state == WorkerState.FAILED


class ElasticAgent(ABC):
    """Base class of elastic agents."""

    @abstractmethod
    def run(self, role="default"):
        """Start the workers, monitor and restart them, and return a RunResult at the end."""
