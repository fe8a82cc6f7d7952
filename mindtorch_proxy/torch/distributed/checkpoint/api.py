"""Errors of distributed checkpoints."""

import traceback

__all__ = ["CheckpointException"]


def _wrap_exception(exc):
    return exc, traceback.extract_tb(exc.__traceback__)


class CheckpointException(BaseException):
    """The errors of all ranks that failed."""

    def __init__(self, msg, failures):
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self):
        """The failures as {rank: (exception, traceback)}."""
        return self._failures

    def __str__(self):
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, trace) in self._failures.items():
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n")
            lines += traceback.format_list(trace) if trace is not None else []
            lines += traceback.format_exception_only(type(error), error)
        return "".join(lines)
