"""The parts of the DataLoader that also run in worker processes."""

from torch._utils import ExceptionWrapper  # noqa: F401

from . import collate, fetch, pin_memory, signal_handling, worker
from ._waiting import MP_STATUS_CHECK_INTERVAL  # noqa: F401

HAS_NUMPY = True
python_exit_status = False
