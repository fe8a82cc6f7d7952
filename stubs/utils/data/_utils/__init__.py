"""The parts of the DataLoader that also run in its workers."""

import sys
import traceback

HAS_NUMPY = True
MP_STATUS_CHECK_INTERVAL = 5.0
python_exit_status = False


class _KeyErrorMessage(str):
    """Text that KeyError prints as it is, not as a quoted key."""

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """The current exception in a form that another process can raise."""

    def __init__(self, exc_info=None, where="in background"):
        exc_info = exc_info or sys.exc_info()
        self.exc_type, self.where = exc_info[0], where
        self.exc_msg = "".join(traceback.format_exception(*exc_info))

    def reraise(self):
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = _KeyErrorMessage(message)
        try:
            error = self.exc_type(message)
        except Exception:  # a type that is not made from one text
            error = RuntimeError(message)
        raise error from None


from . import collate, fetch, pin_memory, signal_handling, worker  # noqa: E402
