"""torch._tensor_str: the text form of tensors."""

from mindtorch_proxy.runtime.printing import (  # noqa: F401
    PRINT_OPTS,
    _numbers,
    _values,
    get_printoptions,
    printoptions,
    set_printoptions,
    tensor_str as _str,
)


def _tensor_str(self, indent):
    return _numbers(_values(self), indent)
