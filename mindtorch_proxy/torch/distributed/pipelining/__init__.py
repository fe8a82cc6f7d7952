"""Names of torch.distributed.pipelining, for compatibility. Pipeline parallelism is not supported.

Each name raises NotImplementedError when it is called; only the enum SplitPoint can be used.
"""

import enum

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "SplitPoint", "build_stage",
    "pipe_split", "pipeline",
]  # fmt: skip


class SplitPoint(enum.Enum):
    """Where a model is split: before or after a module."""

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
    """A model split into stages."""


class PipelineStage(_Absent):
    """The pipeline stage of this process."""


class Schedule1F1B(_Absent):
    """A schedule that alternates one forward and one backward microbatch."""


class ScheduleGPipe(_Absent):
    """A schedule that runs forward on all microbatches, then backward on all."""


class ScheduleInterleaved1F1B(_Absent):
    """A 1F1B schedule with several stages on each process."""


class ScheduleLoopedBFS(_Absent):
    """A schedule like GPipe with several stages on each process."""


class ScheduleInterleavedZeroBubble(_Absent):
    """An interleaved 1F1B schedule that computes the weights' gradients in the idle time."""


class ScheduleZBVZeroBubble(_Absent):
    """A zero bubble schedule with the stages arranged in a V."""


class ScheduleDualPipeV(_Absent):
    """A schedule in both directions with the stages arranged in a V."""


def pipeline(module, mb_args, mb_kwargs=None, split_spec=None, split_policy=None):
    """Raise NotImplementedError, because pipelines are not supported."""
    _refuse("pipeline")


def pipe_split():
    """Raise NotImplementedError, because pipelines are not supported."""
    _refuse("pipe_split")


def build_stage(stage_module, stage_index, pipe_info, device, group=None):
    """Raise NotImplementedError, because pipelines are not supported."""
    _refuse("build_stage")
