"""How workers are bound to the processors near their GPU: the options. There is no CUDA device whose processors could
be found.
"""

import enum
from dataclasses import dataclass

__all__ = ["AffinityMode", "NumaOptions"]


class AffinityMode(str, enum.Enum):
    """To which processors a worker is bound: those of its GPU's node or socket, or a part of the node's of its own: an
    equal share, or those of one cache.
    """

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """The processors to bind to, and whether a worker that cannot be bound runs all the same."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False


def _maybe_wrap_with_numa_binding(func, *, gpu_index, numa_options):
    """A function as it is, where there are no options; NotImplementedError with some."""
    if numa_options is not None:
        raise NotImplementedError(
            "torch.numa.binding: workers cannot be bound to the processors near a GPU: there is no CUDA device"
        )
    return func
