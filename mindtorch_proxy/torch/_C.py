"""torch._C: the names that Python code reaches for below torch."""

from sys import modules as _modules
from types import ModuleType as _ModuleType

from mindtorch_proxy.runtime.device import privateuse1_name as _privateuse1_name
from mindtorch_proxy.runtime.device import Size, device, layout, memory_format, qscheme  # noqa: F401
from mindtorch_proxy.runtime.dtypes import dtype  # noqa: F401
from mindtorch_proxy.runtime.generator import Generator, default_generator  # noqa: F401
from mindtorch_proxy.runtime.call.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _disabled_torch_function_impl,  # noqa: F401
    has_torch_function as _has_torch_function,
)
from mindtorch_proxy.runtime.ops.linalg import _LinAlgError  # noqa: F401
from mindtorch_proxy.runtime.ops.sparse import INVARIANTS as _INVARIANTS
from mindtorch_proxy.runtime.registry import function
from mindtorch_proxy.runtime.tensor import Tensor as TensorBase, TensorMeta as _TensorMeta  # noqa: F401

_TensorBase = TensorBase


def _get_tracing_state():
    """No TorchScript tracing exists here, so none is under way."""
    return None


def _is_torch_function_enabled():
    from mindtorch_proxy.runtime.call.state import LOCAL

    return not LOCAL.subclass_off


def _get_default_device():
    from mindtorch_proxy.runtime.device import get_default_device

    return str(get_default_device())


def _log_api_usage_once(name):
    """PyTorch counts API use for its own fleet; there is no such counter here."""


def _cuda_getDeviceCount():
    return 0


def _current_autograd_node():
    """The node whose backward is running."""
    from mindtorch_proxy.runtime.autograd import TASK

    return TASK.current if TASK.depth else None


def _current_graph_task_id():
    """A number for the backward pass that is running, -1 outside."""
    from mindtorch_proxy.runtime.autograd import TASK

    return TASK.run.id if TASK.depth else -1


def _will_engine_execute_node(node):
    """Whether the backward that is running in this thread runs a node."""
    from mindtorch_proxy.runtime.autograd import TASK, will_execute

    if not TASK.depth:
        raise RuntimeError("_will_engine_execute_node should only be called during the backward pass")
    return will_execute(node)


def is_anomaly_enabled():
    from mindtorch_proxy.runtime.autograd import is_anomaly_enabled as f

    return f()


def is_anomaly_check_nan_enabled():
    from mindtorch_proxy.runtime.autograd import is_anomaly_check_nan_enabled as f

    return f()


def _get_privateuse1_backend_name():
    name = _privateuse1_name()
    return "npu" if name == "privateuseone" else name  # Ascend has that place in PyTorch


def _len_torch_function_stack():
    from mindtorch_proxy.runtime.call.state import LOCAL

    return len(LOCAL.modes)


def set_flush_denormal(mode):
    """False: MindSpore's kernels offer no control of denormals."""
    return False


# module: the prefix of its names, where its operators are
_OPERATORS = {
    "_nn": ("", "nn.functional", "_C._nn"),
    "_fft": ("fft_", "fft"),
    "_linalg": ("linalg_", "linalg"),
    "_special": ("special_", "special"),
    "_VariableFunctions": ("", "torch"),
}


class _Operators(_ModuleType):
    """torch._C._nn and its like: operators under the names that PyTorch's pickles have for them."""

    def __getattr__(self, name):
        prefix, *namespaces = _OPERATORS[self.__name__.rpartition(".")[2]]
        found = [f for ns in namespaces if name.startswith(prefix) and (f := function(ns, name.removeprefix(prefix)))]
        if not found:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        setattr(self, name, found[0])
        return found[0]


for _name in _OPERATORS:
    globals()[_name] = _modules[f"torch._C.{_name}"] = _Operators(f"torch._C.{_name}")
_VariableFunctionsClass = _VariableFunctions  # noqa: F821


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


def _check_sparse_tensor_invariants():
    return _INVARIANTS.checked


def _set_check_sparse_tensor_invariants(enabled):
    _INVARIANTS.checked = bool(enabled)


def _jit_clear_class_registry():
    """Forget compiled classes: there are none, since nothing is compiled."""
