"""torch.backends.cudnn without cuDNN; the flags keep their values and have no effect."""

from ._flags import Precision, flag_module

conv, rnn = Precision("tf32"), Precision("tf32")
set_flags, _flags = flag_module(
    __name__,
    enabled=True,
    benchmark=False,
    benchmark_limit=None,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
)


def is_available():
    """Return False, because there is no cuDNN."""
    return False


def version():
    """Return None, because there is no cuDNN."""
    return None


def is_acceptable(tensor):
    """Whether cuDNN takes the tensor, which is never the case."""
    return False


def flags(
    enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"
):
    """Context manager that sets flags."""
    return _flags(
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
        fp32_precision=fp32_precision,
    )
