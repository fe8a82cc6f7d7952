"""torch._C: the names that Python code reaches for below torch."""
from mindtorch_proxy.runtime.device import Size, device, layout, memory_format, qscheme  # noqa: F401
from mindtorch_proxy.runtime.dtypes import dtype  # noqa: F401
from mindtorch_proxy.runtime.generator import Generator, default_generator  # noqa: F401
from mindtorch_proxy.runtime.overrides import (DisableTorchFunction, DisableTorchFunctionSubclass, _disabled_torch_function_impl,  # noqa: F401
                                               has_torch_function as _has_torch_function)
from mindtorch_proxy.runtime.tensor import Tensor as TensorBase  # noqa: F401

_TensorBase = TensorBase


def _get_tracing_state():
    """No TorchScript tracing exists here, so none is under way."""
    return None


def _is_torch_function_enabled():
    from mindtorch_proxy.runtime.overrides import LOCAL
    return not LOCAL.subclass_off


def _get_default_device():
    from mindtorch_proxy.runtime.device import get_default_device
    return str(get_default_device())


def _log_api_usage_once(name):
    """PyTorch counts API use for its own fleet; there is no such counter here."""


def _cuda_getDeviceCount():
    return 0


def is_anomaly_enabled():
    from mindtorch_proxy.runtime.autograd import is_anomaly_enabled as f
    return f()


def _get_privateuse1_backend_name():
    return "npu"


def _len_torch_function_stack():
    from mindtorch_proxy.runtime.overrides import LOCAL
    return len(LOCAL.modes)


def set_flush_denormal(mode):
    """False: MindSpore's kernels offer no control of denormals."""
    return False


class _TorchScriptOnly:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torch._C.{type(self).__name__}: TorchScript's intermediate representation does not exist here")


class Graph(_TorchScriptOnly):
    """A TorchScript graph: a name for annotations, never made."""


class Value(_TorchScriptOnly):
    """A TorchScript value: a name for annotations, never made."""


class Block(_TorchScriptOnly):
    """A TorchScript block: a name for annotations, never made."""


class ScriptModule(_TorchScriptOnly):
    """A compiled module: a name for isinstance, never made."""


class ScriptFunction(_TorchScriptOnly):
    """A compiled function: a name for isinstance, never made."""


def _jit_clear_class_registry():
    """Forget compiled classes: there are none, since nothing is compiled."""
