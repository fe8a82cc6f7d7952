"""torch.backends.mkldnn; the flags keep their values. Tensors in oneDNN's own layouts are not supported."""

from ._flags import Precision, flag_module

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
conv, rnn, matmul = Precision(), Precision(), Precision()
set_flags, _flags = flag_module(__name__, enabled=True, deterministic=False, allow_tf32=None, fp32_precision="none")


def is_available():
    """Return False, because no operator takes oneDNN tensors."""
    return False


is_acl_available = is_available


def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Context manager that sets flags."""
    return _flags(enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32, fp32_precision=fp32_precision)
