"""What a launcher starts, and how that ended."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

__all__ = ["WorkerSpec", "WorkerState", "RunResult", "ElasticAgent"]


@dataclass
class WorkerSpec:
    """What to start, how often on this machine, and how many times again after failures."""

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
    """A state of all workers of a machine."""

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @staticmethod
    def is_running(state):
        """Whether they run."""
        return state in (WorkerState.HEALTHY, WorkerState.UNHEALTHY)


@dataclass
class RunResult:
    """How it ended: by global rank, what the workers returned or how they failed."""

    state: WorkerState
    return_values: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)

    def is_failed(self):
        """Whether it failed."""
        return self.state == WorkerState.FAILED


class ElasticAgent(ABC):
    """A launcher."""

    @abstractmethod
    def run(self, role="default"):
        """Start workers, watch them, start them again; a RunResult at the end."""
