"""torch.cuda.nvtx without NVTX: every mark raises."""

from contextlib import contextmanager as _contextmanager

from .. import _absent_device as _absent

__all__ = ["range_push", "range_pop", "range_start", "range_end", "mark", "range"]  # noqa: F822  (made by functions)
_absent.functions(
    globals(),
    (
        RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?"),
        "range_push(msg) range_pop() mark(msg)",
    ),
    (AttributeError("'_NVTXStub' object has no attribute 'rangeStartA'"), "range_start(msg)"),
    (AttributeError("'_NVTXStub' object has no attribute 'rangeEnd'"), "range_end(range_id)"),
)


@_contextmanager
def range(msg, *args, **kwargs):
    """Context manager that marks a range."""
    range_push(msg.format(*args, **kwargs))  # noqa: F821  (made by functions)
    try:
        yield
    finally:
        range_pop()  # noqa: F821
