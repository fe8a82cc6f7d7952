"""Pipelines from a traced model. Not supported; the names exist for compatibility."""

import enum


class SplitPoint(enum.Enum):
    """Where a model is split: before or after a module."""

    BEGINNING = 1
    END = 2


def _refuse(name):
    raise NotImplementedError(
        f"torch.distributed.pipelining.{name}: splitting a traced model into stages is not supported (any dtype, any "
        f"device): make a PipelineStage of each part of the model"
    )


class Pipe:
    """A traced model that is split into stages. Raises NotImplementedError."""

    def __new__(cls, *args, **kwargs):
        _refuse("Pipe")


def pipeline(module, mb_args, mb_kwargs=None, split_spec=None, split_policy=None):
    """Raise NotImplementedError, because traced models are not split."""
    _refuse("pipeline")


def pipe_split():
    """Raise NotImplementedError, because traced models are not split."""
    _refuse("pipe_split")
