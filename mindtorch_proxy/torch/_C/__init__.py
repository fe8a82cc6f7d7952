"""torch._C: names of PyTorch's C++ module that Python code uses."""

import ctypes as _ctypes
import enum as _enum
import faulthandler as _faulthandler
from importlib import import_module as _import_module
from sys import modules as _modules
from types import ModuleType as _ModuleType
from weakref import ref as _weakref

from mindtorch_proxy.runtime.device import privateuse1_name as _privateuse1_name
from mindtorch_proxy.runtime.device import Size, device, layout, memory_format, qscheme  # noqa: F401
from mindtorch_proxy.runtime.dtypes import dtype  # noqa: F401
from mindtorch_proxy.runtime.generator import Generator, default_generator  # noqa: F401
from mindtorch_proxy.runtime.call.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _disabled_torch_dispatch_impl,  # noqa: F401
    _disabled_torch_function_impl,  # noqa: F401
    has_torch_function as _has_torch_function,
)
from mindtorch_proxy.runtime import aten as _aten
from mindtorch_proxy.runtime.schema import Argument, FunctionSchema  # noqa: F401
from mindtorch_proxy.runtime.schema import parse as _parse
from mindtorch_proxy.runtime.classes import DisableTorchDispatch as _DisableTorchDispatch, dispatching as _dispatching  # noqa: F401
from mindtorch_proxy.runtime.ops.linalg import _LinAlgError  # noqa: F401
from mindtorch_proxy.runtime.ops.matmul import SDP_ENABLED as _SDP_ENABLED
from mindtorch_proxy.runtime.ops.sparse import INVARIANTS as _INVARIANTS
from mindtorch_proxy.runtime.registry import function
from mindtorch_proxy.runtime.storage import StorageBase  # noqa: F401
from mindtorch_proxy.runtime.tensor import Tensor as TensorBase, TensorMeta as _TensorMeta  # noqa: F401

from torch._dispatch_keys import (
    DispatchKey,  # noqa: F401
    DispatchKeySet,  # noqa: F401
    _dispatch_find_schema_or_throw,  # noqa: F401
    _dispatch_has_kernel,  # noqa: F401
    _dispatch_has_kernel_for_dispatch_key,  # noqa: F401
    _dispatch_key_for_device,  # noqa: F401
    _dispatch_key_name,  # noqa: F401
    _dispatch_key_parse,  # noqa: F401
    _dispatch_key_set,  # noqa: F401
    _dispatch_keys,  # noqa: F401
)

_TensorBase = TensorBase


_ELSEWHERE = {
    "FileCheck": ("torch._C._file_check", "FileCheck"),
    "Future": ("torch.futures", "_BareFuture"),
    "ScriptFunction": ("torch.jit._script", "ScriptFunction"),
    "ScriptMethod": ("torch.jit._script", "ScriptMethod"),
    "ScriptModule": ("torch.jit._script", "ScriptModule"),
    "_AutoDispatchBelowAutograd": ("torch._higher_order", "AutoDispatchBelowAutograd"),
    "_ExcludeDispatchKeyGuard": ("torch._higher_order", "ExcludeDispatchKeyGuard"),
}
_ELSEWHERE |= {
    name: ("torch.utils._python_dispatch", theirs)
    for name, theirs in {
        "_push_on_torch_dispatch_stack": "_push_mode",
        "_pop_torch_dispatch_stack": "_pop_mode",
        "_get_dispatch_mode": "_get_dispatch_mode",
        "_set_dispatch_mode": "_push_mode",
    }.items()
}


def __getattr__(name):
    if name in _ELSEWHERE:
        module, theirs = _ELSEWHERE[name]
        return getattr(_import_module(module), theirs)
    if name in _OF_TORCH:
        return getattr(_modules["torch"], name)
    if name in _FILES:
        return _import_module(f"torch._C.{name}")
    if name in _OF_GRAPHS:
        return getattr(_import_module("torch.jit._ir"), name)
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")


_OF_TORCH = frozenset(
    """AcceleratorError Event OutOfMemoryError Stream autocast_decrement_nesting autocast_increment_nesting
    clear_autocast_cache finfo get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_default_dtype
    get_num_interop_threads get_num_threads has_mkl has_openmp iinfo is_autocast_cache_enabled is_autocast_cpu_enabled
    is_autocast_enabled is_grad_enabled is_inference_mode_enabled set_anomaly_enabled set_autocast_cache_enabled
    set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
    set_num_interop_threads set_num_threads""".split()
)
_FILES = frozenset({"_distributed_c10d", "_profiler"})  # submodules in this folder, imported at their first use
_OF_GRAPHS = frozenset(
    """Graph Node Value Block Use JitType TensorType ListType OptionalType TupleType DictType ClassType IntType
    FloatType BoolType StringType NoneType ComplexType NumberType AnyType DeviceObjType InferredType
    _jit_try_infer_type""".split()
)


def _get_tracing_state():
    """Return the tracer that records a graph in this thread (it has push_scope for scopes), or None."""
    tracer = _modules.get("torch.jit._tracer")
    return tracer and tracer.current()


def _is_tracing():
    """Whether this thread is tracing."""
    return _get_tracing_state() is not None


def _is_torch_function_enabled():
    from mindtorch_proxy.runtime.context import CONTEXT

    return not CONTEXT.subclass_off


def _is_fwd_grad_enabled():
    from mindtorch_proxy.runtime.context import CONTEXT

    return CONTEXT.forward


def _set_fwd_grad_enabled(mode):
    from mindtorch_proxy.runtime.autograd.tangents import set_fwd_grad_enabled

    set_fwd_grad_enabled(bool(mode))


def _sdp_switch(kind, setter, getter):
    """Return the setter and the getter of a setting of scaled_dot_product_attention."""

    def change(enabled):
        if not isinstance(enabled, bool):
            raise RuntimeError(f"set_sdp_use_{kind} expects a bool, but got {type(enabled).__name__}")
        _SDP_ENABLED[kind] = enabled

    def current():
        return _SDP_ENABLED[kind]

    change.__name__, current.__name__ = setter, getter
    return change, current


for _kind in ("flash", "mem_efficient", "math", "cudnn", "overrideable"):
    _names = f"_set_sdp_use_{_kind}", f"_get_{_kind}_sdp_enabled"
    globals().update(zip(_names, _sdp_switch(_kind, *_names)))
_names = "_set_math_sdp_allow_fp16_bf16_reduction", "_get_math_sdp_allow_fp16_bf16_reduction"
globals().update(zip(_names, _sdp_switch("reduction", *_names)))
del _kind, _names


def _get_default_device():
    from mindtorch_proxy.runtime.device import get_default_device

    return str(get_default_device())


_has_xpu = _has_cuda = _has_mps = False
has_spectral = has_lapack = True


def _get_accelerator(check_available=None):
    """Return the device of the current accelerator, or of the CPU."""
    from torch.accelerator import current_accelerator

    return current_accelerator(check_available=True) or device("cpu")


def _storage_id(t):
    """Return a number that identifies the storage of a tensor."""
    return t.untyped_storage()._cdata


def _has_storage(t):
    """Whether a tensor has a storage; tensors with a sparse layout have none."""
    return str(t.layout) == "torch.strided"


class _EnablePythonDispatcher:
    """Enables the Python dispatcher in PyTorch; does nothing here, where all operators are written in Python."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def _storage_Use_Count(cdata):
    raise NotImplementedError("torch._C._storage_Use_Count: tensors of a storage are not counted")


def _debug_only_display_vmap_fallback_warnings(enabled):
    """Set whether vmap warns when it has no rule for an operator and calls it for each sample."""
    from torch._functorch.vmap import FALLBACK

    FALLBACK.warns = bool(enabled)


def _debug_only_are_vmap_fallback_warnings_enabled():
    """Whether vmap warns when it has no rule for an operator and calls it for each sample."""
    from torch._functorch.vmap import FALLBACK

    return FALLBACK.warns


def _are_functorch_transforms_active():
    """Whether a transform of torch.func (vmap, grad, ...) is active."""
    from torch._functorch.vmap import _LEVELS

    return bool(_LEVELS)


def _log_api_usage_once(name):
    """Do nothing: API use is not counted here."""


def _cuda_getDeviceCount():
    return 0


def _current_autograd_node():
    """Return the node whose backward is running, or None."""
    from mindtorch_proxy.runtime.context import CONTEXT

    return CONTEXT.node if CONTEXT.depth else None


def _current_graph_task_id():
    """Return the number of the running backward pass, or -1 outside of one."""
    from mindtorch_proxy.runtime.context import CONTEXT

    return CONTEXT.backward.id if CONTEXT.depth else -1


def _will_engine_execute_node(node):
    """Whether the backward pass that is running in this thread will execute a node."""
    from mindtorch_proxy.runtime.context import CONTEXT
    from mindtorch_proxy.runtime.autograd import will_execute
    from mindtorch_proxy.runtime.autograd.graph import Node

    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    if not CONTEXT.depth:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return will_execute(node)


def _dispatch_modes():
    return _import_module("torch.utils._python_dispatch")._get_current_dispatch_mode_stack()


def _len_torch_dispatch_stack():
    return len(_dispatch_modes())


def _get_dispatch_stack_at(index):
    """Return the mode at an index of the thread's stack, counted from the outermost."""
    return _dispatch_modes()[index]


def _unset_dispatch_mode(key):
    """Remove PyTorch's own mode with a key from the stack and return it, or None if there is none."""
    dispatch = _import_module("torch.utils._python_dispatch")
    return dispatch._pop_mode(key) if dispatch._get_dispatch_mode(key) is not None else None


def is_anomaly_enabled():
    """Whether anomaly detection is on."""
    from mindtorch_proxy.runtime.autograd import is_anomaly_enabled as f

    return f()


def is_anomaly_check_nan_enabled():
    """Whether anomaly detection checks for NaN."""
    from mindtorch_proxy.runtime.autograd import is_anomaly_check_nan_enabled as f

    return f()


def _get_privateuse1_backend_name():
    """Return the name of the extension's device type, which torch_npu renames: "npu" where an NPU is usable."""
    from mindtorch_proxy.runtime.backend import of_type

    name = _privateuse1_name()
    return "npu" if name == "privateuseone" and of_type("npu").devices.count() else name


def _len_torch_function_stack():
    from mindtorch_proxy.runtime.context import CONTEXT

    return len(CONTEXT.modes)


def _set_print_stack_traces_on_fatal_signal(print):
    """Set whether a fatal signal prints Python's stack traces before the process ends."""
    (_faulthandler.enable if print else _faulthandler.disable)()


def set_flush_denormal(mode):
    """Return False: MindSpore's kernels have no setting for denormals."""
    return False


_SET_NAME, _GET_NAME = 15, 16  # Linux's numbers for prctl


def _set_thread_name(name):
    """Set the name of the current thread in the operating system; it is cut to 15 bytes."""
    if not isinstance(name, str):
        raise TypeError(f"set_thread_name(): the name must be a string, not {type(name).__name__}")
    _ctypes.CDLL(None).prctl(_SET_NAME, _ctypes.create_string_buffer(name.encode()), 0, 0, 0)


def _get_thread_name():
    """Return the name of the current thread in the operating system."""
    name = _ctypes.create_string_buffer(16)
    _ctypes.CDLL(None).prctl(_GET_NAME, name, 0, 0, 0)
    return name.value.decode(errors="replace")


def _get_cudnn_enabled():
    """Return torch.backends.cudnn.enabled."""
    return _import_module("torch.backends.cudnn").enabled


# {module: (the prefix of its names, the namespaces of its operators, ...)}
_OPERATORS = {
    "_nn": ("", "nn.functional", "_C._nn"),
    "_fft": ("fft_", "fft"),
    "_linalg": ("linalg_", "linalg"),
    "_special": ("special_", "special"),
    "_sparse": ("", "_C._sparse"),
    "_VariableFunctions": ("", "torch"),
}


class _Operators(_ModuleType):
    """A module such as torch._C._nn: operators under the names that PyTorch's pickles contain."""

    def __getattr__(self, name):
        prefix, *namespaces = _OPERATORS[self.__name__.rpartition(".")[2]]
        found = [f for ns in namespaces if name.startswith(prefix) and (f := function(ns, name.removeprefix(prefix)))]
        if not found:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        setattr(self, name, found[0])
        return found[0]


for _name in _OPERATORS:
    globals()[_name] = _modules[f"torch._C.{_name}"] = _Operators(f"torch._C.{_name}")


class _OfTorch(type):
    """Metaclass of _VariableFunctionsClass, which finds the operators of torch."""

    def __getattr__(cls, name):
        return getattr(_import_module("torch"), name)


class _VariableFunctionsClass(metaclass=_OfTorch):
    """The class by whose attributes PyTorch's pickles name the functions of torch."""

    __module__ = "torch._C"


class _Elsewhere(_ModuleType):
    """A module of torch._C that forwards to another module of the tree."""

    def __init__(self, name, where):
        super().__init__(name)
        self._where = where

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        try:
            return getattr(_import_module(self._where), name)
        except AttributeError:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'") from None


_functorch = _modules["torch._C._functorch"] = _Elsewhere("torch._C._functorch", "torch._functorch._wrappers")


def _parse_to(*args, **kwargs):
    """Return (device, dtype, non_blocking, memory_format) from the arguments of `to`."""
    return _import_module("torch.nn._arguments")._parse_to(*args, **kwargs)


_nn._parse_to = _parse_to  # noqa: F821


def _enumeration(name, members, doc):
    """Create an enumeration with the numbers of PyTorch's; its str() does not contain the number."""
    made = _enum.Enum(name, members, module="torch._C")
    made.__doc__ = doc
    made.__str__ = lambda self: f"{name}.{self.name}"
    made.__int__ = made.__index__ = lambda self: self.value
    return made


Tag = _enumeration(
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view "
    "maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
    "nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy",
    "What is said of an operator beside its schema.",
)
Tag.__module__ = "torch"
_TorchDispatchModeKey = _enumeration(
    "_TorchDispatchModeKey",
    {"FAKE": 0, "PROXY": 1, "FUNCTIONAL": 2},
    "What PyTorch's own dispatch modes are for; those of programs are asked before them.",
)
_autograd = _modules["torch._C._autograd"] = _ModuleType("torch._C._autograd")
_autograd.DeviceType = _enumeration(
    "DeviceType",
    {
        name: i
        for i, name in enumerate(
            "CPU CUDA MKLDNN OPENGL OPENCL IDEEP HIP FPGA MAIA XLA Vulkan Metal XPU MPS Meta HPU VE Lazy IPU MTIA "
            "PrivateUse1".split()
        )
    },
    "Kinds of devices, by PyTorch's numbers.",
)


def _saved_tensors_hooks_is_enabled():
    """Whether hooks of saved tensors are enabled."""
    from mindtorch_proxy.runtime.context import CONTEXT

    return CONTEXT.saved_hooks_disabled is None


def _top_saved_tensors_default_hooks(ignore_is_tracing):
    """Return the innermost pair of hooks of saved tensors, or None."""
    from mindtorch_proxy.runtime.context import CONTEXT

    return CONTEXT.saved_hooks[-1] if CONTEXT.saved_hooks else None


def _get_current_graph_task_keep_graph():
    """Whether the running backward pass keeps the graph; True outside of one."""
    from mindtorch_proxy.runtime.context import CONTEXT

    return not CONTEXT.depth or CONTEXT.backward.keep_graph


def _unsafe_set_version_counter(tensors, versions):
    """Set the version counters of tensors; gradients may silently be wrong afterwards."""
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for t, version in zip(tensors, versions):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        if t._vc is None:
            t._vc = [0]
        t._vc[0] = version


def _autograd_class(name):
    from mindtorch_proxy.runtime.autograd.graph import Saved

    if name != "SavedTensor":
        raise AttributeError(f"module 'torch._C._autograd' has no attribute {name!r}")
    return Saved


_autograd.__getattr__ = _autograd_class
_autograd._saved_tensors_hooks_is_enabled = _saved_tensors_hooks_is_enabled
_autograd._top_saved_tensors_default_hooks = _top_saved_tensors_default_hooks
_autograd._get_current_graph_task_keep_graph = _get_current_graph_task_keep_graph
_autograd._unsafe_set_version_counter = _unsafe_set_version_counter
_functions = _modules["torch._C._functions"] = _ModuleType("torch._C._functions")
_functions.__getattr__ = lambda name: _function_class(name)


def _function_class(name):
    """Return a node class that programs use directly: AccumulateGrad, DelayedError or UndefinedGrad."""
    from mindtorch_proxy.runtime.autograd import function, graph

    where = {"AccumulateGrad": graph, "DelayedError": function, "UndefinedGrad": function}.get(name)
    if where is None:
        raise AttributeError(f"module 'torch._C._functions' has no attribute {name!r}")
    return getattr(where, name)


class _WeakTensorRef:
    """A weak reference to a tensor, which only tells whether the tensor still exists."""

    def __init__(self, tensor):
        self._ref = _weakref(tensor)

    def expired(self):
        return self._ref() is None


class _TorchScriptOnly:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            f"torch._C.{type(self).__name__}: TorchScript's intermediate representation does not exist here"
        )


class ScriptObject(_TorchScriptOnly):
    """An object of a compiled class; only for isinstance, since none can be created."""


def _check_sparse_tensor_invariants():
    return _INVARIANTS.checked


def _set_check_sparse_tensor_invariants(enabled):
    _INVARIANTS.checked, _INVARIANTS.chosen = bool(enabled), True


def _jit_clear_class_registry():
    """Do nothing: there are no compiled classes."""


def _dispatch_isTensorSubclassLike(t):
    """Whether the class of a tensor has a __torch_dispatch__."""
    return type(t) in _dispatching


def _jit_get_all_schemas():
    """Return the schemas of PyTorch's operators."""
    return [schema for name in _aten.names() for schema in _aten.schemas(name)]


def _jit_get_schemas_for_operator(name):
    """Return the schemas of the overloads of an operator, given as "aten::name"."""
    namespace, _, name = name.partition("::")
    packet = getattr(getattr(_import_module("torch").ops, namespace), name, None)
    return [] if packet is None else [getattr(packet, o)._schema for o in packet.overloads()]


def _is_torch_function_mode_enabled():
    """Whether a TorchFunctionMode is active in this thread."""
    return _len_torch_function_stack() > 0


def _is_alias_of(tensor, other):
    """Whether two tensors share a storage."""
    return _has_storage(tensor) and _has_storage(other) and _storage_id(tensor) == _storage_id(other)


def _jit_get_operation(name):
    """Return (function, overload names) of an operator, given as "aten::name"; (None, None) if there is none."""
    namespace, _, short = name.partition("::")
    packet = getattr(getattr(_import_module("torch").ops, namespace), short, None)
    return (None, None) if packet is None else (packet.op, ["" if o == "default" else o for o in packet.overloads()])


def parse_schema(text):
    """Parse the text of a schema."""
    return _parse(text, "")
