"""Pipelines: models whose parts run on different processes, on one part of a batch after the other. Known by name, and
not supported.

Each name raises NotImplementedError when it is called; SplitPoint says where a model would be cut.
"""

import enum

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "SplitPoint", "build_stage",
    "pipe_split", "pipeline",
]  # fmt: skip


class SplitPoint(enum.Enum):
    """Where a model is cut: before a module, or behind it."""

    BEGINNING = 1
    END = 2


def _refuse(name):
    raise NotImplementedError(
        f"torch.distributed.pipelining.{name}: pipelines of several processes are not supported (any dtype, any device)"
    )


class _Absent:
    def __new__(cls, *args, **kwargs):
        _refuse(cls.__name__)


class Pipe(_Absent):
    """A model in parts."""


class PipelineStage(_Absent):
    """The part of this process."""


class Schedule1F1B(_Absent):
    """One part of the batch forward, one backward, in turn."""


class ScheduleGPipe(_Absent):
    """All parts of the batch forward, then all backward."""


class ScheduleInterleaved1F1B(_Absent):
    """One forward, one backward, where each process has several parts of the model."""


class ScheduleLoopedBFS(_Absent):
    """All forward, then all backward, where each process has several parts of the model."""


class ScheduleInterleavedZeroBubble(_Absent):
    """One forward, one backward, with the weights' gradients in the gaps."""


class ScheduleZBVZeroBubble(_Absent):
    """The same, where the parts of the model lie in the order of a V."""


class ScheduleDualPipeV(_Absent):
    """Two directions at once, where the parts of the model lie in the order of a V."""


def pipeline(module, mb_args, mb_kwargs=None, split_spec=None, split_policy=None):
    """Raises: no model is cut in parts."""
    _refuse("pipeline")


def pipe_split():
    """Raises: no model is cut in parts."""
    _refuse("pipe_split")


def build_stage(stage_module, stage_index, pipe_info, device, group=None):
    """Raises: no model is cut in parts."""
    _refuse("build_stage")
