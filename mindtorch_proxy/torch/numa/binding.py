"""The options for binding workers to the CPUs near their GPU. Binding is not possible: there is no CUDA device."""

import enum
from dataclasses import dataclass

__all__ = ["AffinityMode", "NumaOptions"]


class AffinityMode(str, enum.Enum):
    """The CPUs that a worker is bound to.

    NODE and SOCKET are those of its GPU's NUMA node or socket. The others give each worker its own part of the node: an
    equal share (EXCLUSIVE), or the CPUs of one cache (CORE_COMPLEX).
    """

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """The CPUs to bind to, and whether a worker runs without binding if binding fails."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False


def _maybe_wrap_with_numa_binding(func, *, gpu_index, numa_options):
    """Return the function unchanged; raise NotImplementedError if there are options."""
    if numa_options is not None:
        raise NotImplementedError(
            "torch.numa.binding: workers cannot be bound to the processors near a GPU: there is no CUDA device"
        )
    return func
