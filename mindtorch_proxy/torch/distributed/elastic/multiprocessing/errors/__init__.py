"""Errors of worker processes.

Each process writes its error to a file, from which the launcher creates a ChildFailedError.
"""

import json
import os
import signal
import socket
import time
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import Any

from .error_handler import ErrorHandler
from .handlers import get_error_handler

__all__ = ["ProcessFailure", "ChildFailedError", "record", "ErrorHandler", "get_error_handler"]
_NONE, _NOT_AVAILABLE = "<NONE>", "<N/A>"


@dataclass
class ProcessFailure:
    """The failure of a process, with the content of its error file."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self):
        self.error_file_data, self.message, self.timestamp = {"message": _NONE}, "", int(time.time())
        if os.path.isfile(self.error_file) and os.path.getsize(self.error_file):
            with open(self.error_file) as file:
                self.error_file_data = json.load(file)
            self.message = self.error_file_data["message"]
            inside = self.message if isinstance(self.message, dict) else None
            self.timestamp = int(
                inside["extraInfo"]["timestamp"] if inside else self.error_file_data.get("timestamp", 0)
            )
        else:
            self.error_file = _NOT_AVAILABLE
        if not self.message and self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        elif not self.message:
            self.message = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

    def signal_name(self):
        """Return the name of the signal that ended the process."""
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return _NOT_AVAILABLE

    def timestamp_isoformat(self):
        """Return the time of the failure in ISO format."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Raised when processes failed; holds {global rank: ProcessFailure}."""

    def __init__(self, name, failures):
        if not failures:
            raise AssertionError("no failures")
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self):
        """Return (rank, failure) of the process that failed first."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim="=", section_delim="-"):
        """Format all failures, with the first failure at the end."""
        root, _ = self.get_first_failure()
        texts = {rank: self._describe(i, rank, failure) for i, (rank, failure) in enumerate(self.failures.items())}
        first = texts.pop(root)
        title = f"{self.name} FAILED"
        width = min(60, max(len(line) for text in (title, first, *texts.values()) for line in text.split("\n")))
        thick, thin = boarder_delim * width, section_delim * width
        others = "\n".join(texts.values()) or "  <NO_OTHER_FAILURES>"
        return (
            f"\n{thick}\n{title}\n{thin}\nFailures:\n{others}\n{thin}\nRoot Cause (first observed "
            f"failure):\n{first}\n{thick}"
        )

    def _describe(self, index, rank, failure):
        message = failure.message
        if isinstance(message, dict):
            message = (
                message.get("extraInfo", {})
                .get("py_callstack", message.get("message", _NOT_AVAILABLE))
                .replace("\n", "\n  ")
            )
        name = failure.signal_name() if failure.exitcode < 0 else _NOT_AVAILABLE
        by_signal = f" ({name})" if name != _NOT_AVAILABLE else ""
        return (
            f"[{index}]:\n  time      : {failure.timestamp_isoformat()}\n  host      : {socket.gethostname()}\n"
            f"  rank      : {rank} (local_rank: {failure.local_rank})\n  exitcode  : {failure.exitcode} (pid: "
            f"{failure.pid}){by_signal}\n"
            f"  error_file: {failure.error_file}\n  traceback : {message}"
        )


def record(fn, error_handler=None):
    """Decorate a main function to write its exception to the launcher's error file before it is raised."""
    handler = error_handler or get_error_handler()

    @wraps(fn)
    def wrapper(*args, **kwargs):
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code == 0:
                return None
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file != _NOT_AVAILABLE:
                handler.dump_error_file(failure.error_file, failure.exitcode)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return wrapper
