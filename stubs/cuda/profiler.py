"""torch.cuda.profiler without CUDA; starting it raises."""

from contextlib import contextmanager as _contextmanager

from .. import _absent_device as _absent

__all__ = ["start", "stop", "profile"]  # noqa: F822  (made by functions)
_absent.functions(globals(), (AssertionError("Torch not compiled with CUDA enabled"), "start() stop()"))


@_contextmanager
def profile():
    """Context manager that starts profiling and stops at its end."""
    try:
        start()  # noqa: F821  (made by functions)
        yield
    finally:
        stop()  # noqa: F821
