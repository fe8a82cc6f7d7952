"""The identity of this process among the workers of a job."""

import os

__all__ = ["WorkerInfo", "current", "set_current"]
_current = None


class WorkerInfo:
    """A worker's name and number."""

    def __init__(self, name, id):
        self.name, self.id = name, id

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, name={self.name})"

    def __eq__(self, other):
        return isinstance(other, WorkerInfo) and (self.id, self.name) == (other.id, other.name)

    def __hash__(self):
        return self.id


def is_set():
    """Whether this process is a worker."""
    return _current is not None


def current():
    """Return this process's agent; raise RuntimeError before init_rpc and after shutdown."""
    if _current is None:
        raise RuntimeError(
            "Current RPC agent is not set! Did you initialize the RPC framework (e.g. by calling `rpc.init_rpc`)?"
        )
    return _current


def set_current(agent):
    """Set this process's agent, or None to clear it."""
    global _current
    _current = agent


os.register_at_fork(after_in_child=lambda: set_current(None))  # the threads and connections belong to the parent
