"""torch.cuda.nvtx without NVTX: every mark raises."""

from contextlib import contextmanager

from .._absent_device import functions

functions(
    globals(), RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?"), "range_push range_pop range_start range_end mark", "", "", ""
)


@contextmanager
def range(msg, *args, **kwargs):
    """Mark a block."""
    range_push(msg.format(*args, **kwargs))  # noqa: F821  (made by functions)
    try:
        yield
    finally:
        range_pop()  # noqa: F821
