"""torch.mps.profiler without MPS; tracing raises."""

from contextlib import contextmanager as _contextmanager

from .. import _absent_device as _absent
from ._errors import lacking as _lacking

__all__ = ["start", "stop", "profile", "metal_capture", "is_metal_capture_enabled", "is_capturing_metal"]  # noqa: F822  (made by functions)
_absent.functions(
    globals(),
    (_lacking("profilerStartTrace"), "start(mode='interval', wait_until_completed=False)"),
    (_lacking("profilerStopTrace"), "stop()"),
    (_absent.without("_mps_isCapturing"), "is_capturing_metal()"),
    (_absent.without("_mps_isCaptureEnabled"), "is_metal_capture_enabled()"),
    (_absent.on_entry(_absent.without("_mps_startCapture")), "metal_capture(fname)"),
)


@_contextmanager
def profile(mode="interval", wait_until_completed=False):
    """Context manager that records a trace."""
    try:
        start(mode, wait_until_completed)  # noqa: F821  (made by functions)
        yield
    finally:
        stop()  # noqa: F821
