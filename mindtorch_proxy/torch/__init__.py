"""The module served as `torch`; its names are resolved, and its submodules imported, at their first use."""

import importlib as _importlib
import math as _math
import os as _os
import warnings as _warnings
from importlib.util import find_spec as _find_spec

from mindtorch_proxy import installation as _installation

_installation.check()  # raise a clear error where a broken installation would cause an obscure one later

from mindtorch_proxy.runtime import dtypes as _dt, device as _device, registry as _registry
from mindtorch_proxy.runtime import (
    ops as _declared,
    printing as _printing,
    report as _report,
    serialization as _serialization,
    storage as _storage,
)
from mindtorch_proxy.runtime.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,  # noqa: F401
    set_grad_enabled,
)
from mindtorch_proxy.runtime.call.dispatch import CLASSES as _CLASSES
from mindtorch_proxy.runtime.cpython import builtin as _builtin
from mindtorch_proxy.runtime.device import Size, device, layout, memory_format, qscheme  # noqa: F401
from mindtorch_proxy.runtime.device import get_default_device, set_default_device  # noqa: F401
from mindtorch_proxy.runtime.dtypes import dtype, finfo, get_default_dtype, iinfo, promote_types, can_cast  # noqa: F401
from mindtorch_proxy.runtime.forks import lock as _new_lock
from mindtorch_proxy.runtime.ops.creation import FUNCTIONS as _creation, legacy_new as _legacy_new
from mindtorch_proxy.runtime.storage import UntypedStorage  # noqa: F401
from mindtorch_proxy.runtime.tensor import Tensor  # noqa: F401
from mindtorch_proxy.runtime.typed_storage import TypedStorage, LEGACY_STORAGES as _legacy_storages  # noqa: F401

from ._runtime_names import detach, detach_  # noqa: F401  # overridable, unlike the runtime's own
from .version import __version__  # noqa: F401

if _os.environ.keys() & {"MINDTORCH_REPORT", "MINDTORCH_TIMES"}:
    from mindtorch_proxy.reports import as_asked as _as_asked

    _as_asked(_report)
globals().update(_dt.ALL)
globals().update(_dt.ALIASES)
globals().update(_device.LAYOUTS)
globals().update(_device.FORMATS)
legacy_contiguous_format = _device.contiguous_format
globals().update(_device.QSCHEMES)
globals().update(_legacy_storages)
# functions that are written by hand here and builtins in PyTorch: of the class of operators, and of the module
_OF_CLASS = frozenset(
    """as_strided_ can_cast promote_types result_type detach detach_ get_device numel is_complex is_conj is_distributed
    is_floating_point is_inference is_neg is_nonzero is_signed is_vulkan_available _cast_Byte _cast_Char
    _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short _convert_weight_to_int4pack
    _convert_weight_to_int4pack_for_cpu _has_compatible_shallow_copy_type _weight_int4pack_mm
    _weight_int4pack_mm_for_cpu _weight_int8pack_mm""".split()
)
_OF_MODULE = frozenset(
    """get_default_dtype get_num_threads set_num_threads get_num_interop_threads set_num_interop_threads
    set_flush_denormal is_grad_enabled is_inference_mode_enabled set_anomaly_enabled is_anomaly_check_nan_enabled
    is_anomaly_enabled autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
    get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled
    is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
    set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
    set_autocast_gpu_dtype _is_functional_tensor""".split()
)


def _as_builtin(name, value):
    """Return the builtin for a function of these names, and any other value unchanged."""
    if name in _OF_CLASS or name in _creation and value.__module__ == "torch":
        return _registry.of_torch(value)
    return _builtin(value, "torch") if name in _OF_MODULE else value


_mine = {n: globals()[n] for n in _OF_CLASS | _OF_MODULE if n in globals()}
globals().update({n: _as_builtin(n, f) for n, f in (_creation | _mine).items()})
torch = __import__("sys").modules[__name__]  # PyTorch's module has itself as an attribute
inf, nan, pi, e, newaxis = _math.inf, _math.nan, _math.pi, _math.e, None

# submodules that `import torch` makes reachable in PyTorch
_SUBMODULES = frozenset(
    """_C _VF _classes _compile _custom_ops _dynamo _functorch _higher_order_ops _inductor _jit_internal _lazy _library
 _logging _lowrank _meta_registrations _namedtensor_internals _numpy _ops _prims _prims_common _refs _sources
 _storage_docs _subclasses _tensor _tensor_str _utils _utils_internal _vmap_internals _weights_only_unpickler
 __config__ _guards accelerator amp ao autograd backends compiler cpu cuda distributed distributions export fft fft
 func functional futures fx hub jit library linalg masked monitor mps mtia multiprocessing nested nn npu onnx optim
 overrides package profiler quantization quasirandom random return_types serialization signal sparse special storage
 testing torch_version types utils version xpu""".split()
)


_lock = _new_lock()


def __getattr__(name):
    if name == "__all__":  # what `from torch import *` gives
        return sorted(n for n in _names() - _SUBMODULES - {"torch"} if n[0] != "_" and hasattr(torch, n))
    if name == "Storage":  # the storage class of the default dtype
        return _legacy_storages[_dt.LEGACY[_dt.get_default_dtype()] + "Storage"]
    if name[:2] != "__" or name == "__config__":
        f = _registry.function("torch", name)
        if f is not None:
            globals()[name] = f
            return f
        if name in _SUBMODULES:
            try:
                # Import in one thread at a time. Packages import their submodules, so two threads could take CPython's
                # module locks in different orders and deadlock.
                with _lock:
                    return _importlib.import_module("torch." + name)
            except ModuleNotFoundError as err:
                if err.name != "torch." + name:
                    raise
        if name.startswith("_foreach_"):
            return getattr(_importlib.import_module("torch._foreach"), name[9:])
        module = _LAZY.get(name)
        if module is not None:
            value = _as_builtin(name, getattr(_importlib.import_module("torch." + module), name))
            globals()[name] = value
            return value
        if name in _LEGACY_TENSORS:
            value = globals()[name] = _legacy_tensor(name)
            return value
    if name == "set_vital":  # in PyTorch too, it only warns
        _warnings.warn("'set_vital' is deprecated, please do not call", stacklevel=2)
        return lambda *args: None
    raise AttributeError(f"module 'torch' has no attribute '{name}'")


def _names():
    return {*globals(), *_registry.names("torch"), *_LAZY, *_LEGACY_TENSORS}


def __dir__():
    """Return the existing names and those that are created or imported at their first use, submodules included.

    So a copy of the module made with these names is complete.
    """
    found = (n for n in _SUBMODULES - {"npu", "onnx"} if n[0] != "_" and _find_spec("torch." + n) is not None)
    of_lists = (f"_foreach_{n}" for n in dir(_importlib.import_module("torch._foreach")))
    return sorted({*_names(), *found, *of_lists})


# {NAME: module}: torch.NAME is torch.module.NAME
_LAZY = {
    n: module
    for module, names in {
        "serialization": "save load PyTorchFileReader PyTorchFileWriter",
        "random": "manual_seed seed initial_seed get_rng_state set_rng_state default_generator thread_safe_generator",
        "_C": """
        AnyType BoolType ClassType ComplexType DeviceObjType DictType FileCheck FloatType IntType JitType ListType
        NoneType NumberType OptionalType StringType TensorType TupleType DisableTorchFunction
        DisableTorchFunctionSubclass Future Generator ScriptFunction ScriptMethod ScriptModule ScriptObject StorageBase
        Tag is_anomaly_check_nan_enabled is_anomaly_enabled set_flush_denormal""",
        "_classes": "classes",
        "_compile": "_disable_dynamo",
        "_tensor_str": "set_printoptions",
        "_ops": "ops",
        "jit": "fork wait",
        "utils.dlpack": "to_dlpack",
        "amp": "autocast GradScaler",
        "_streams": "Stream Event",
        "_higher_order_ops": "cond while_loop",
        "func": "vmap",
        "_packed_weights": """
        _weight_int8pack_mm _convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu _weight_int4pack_mm
        _weight_int4pack_mm_for_cpu""",
        "_runtime_names": """
        _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short
        _has_compatible_shallow_copy_type typename is_tensor is_storage is_floating_point is_complex is_signed is_conj
        is_neg is_nonzero is_inference numel result_type set_default_tensor_type set_default_dtype
        use_deterministic_algorithms are_deterministic_algorithms_enabled get_num_threads set_num_threads
        get_num_interop_threads set_num_interop_threads set_float32_matmul_precision get_float32_matmul_precision
        is_deterministic_algorithms_warn_only_enabled get_deterministic_debug_mode set_deterministic_debug_mode
        is_warn_always_enabled set_warn_always compile set_autocast_enabled is_autocast_enabled get_autocast_dtype
        set_autocast_dtype autocast_increment_nesting autocast_decrement_nesting set_autocast_cache_enabled
        is_autocast_cache_enabled clear_autocast_cache get_autocast_gpu_dtype get_autocast_cpu_dtype
        set_autocast_cpu_dtype set_autocast_gpu_dtype is_autocast_cpu_enabled set_autocast_cpu_enabled
        is_autocast_available sym_int sym_float sym_not sym_max sym_min sym_ite sym_sqrt sym_sum SymInt SymFloat SymBool
        _sym_sqrt _sym_cos _sym_cosh _sym_sin _sym_sinh _sym_tan _sym_tanh _sym_asin _sym_acos _sym_atan _sym_log2
        broadcast_shapes get_device_module get_device AcceleratorError OutOfMemoryError set_anomaly_enabled
        is_distributed is_vulkan_available as_strided_ classproperty has_lapack has_mkl has_openmp has_spectral
        compiled_with_cxx11_abi _assert _is_functional_tensor _check _check_index _check_is_size _check_not_implemented
        _check_tensor_all _check_tensor_all_with _check_type _check_value _check_with""",
    }.items()
    for n in names.split()
}
_LEGACY_TENSORS = {n + "Tensor": d for d, n in _dt.LEGACY.items()}


class _LegacyMeta(type):
    """The metaclass of torch.FloatTensor and the other legacy classes; isinstance tests the dtype and the device."""

    def __new__(meta, name, bases, names):
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return type.__new__(meta, name, bases, names)

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.dtype is cls.dtype and x.device.type == cls.device_type

    def __subclasscheck__(cls, c):
        return c is cls or type.__subclasscheck__(cls, c)


def _legacy_tensor(name, device_type="cpu"):
    """Create a legacy tensor class such as torch.FloatTensor, which constructs tensors of one dtype."""

    def new(cls, *args, device=None):  # noqa: F811
        return _legacy_new(args, cls.dtype, home, device)

    home = _device.HOST if device_type == "cpu" else device(device_type)
    of, module = _LEGACY_TENSORS[name], "torch" if device_type == "cpu" else f"torch.{device_type}"
    doc = (
        f"Makes tensors of {of}, of sizes or of data; isinstance() tests for dense tensors of that dtype on device "
        f"{device_type}."
    )
    names = {
        "__new__": new,
        "dtype": of,
        "device_type": device_type,
        "is_cuda": False,
        "__module__": module,
        "layout": _device.strided,
        "__doc__": doc,
    }
    return _LegacyMeta(name, (), names)


def _ask_classes(name, args, call):
    """Import torch._ops at the first call with a class that has a __torch_dispatch__, and pass the call on.

    torch._ops replaces this handler when it is imported.
    """
    _importlib.import_module("torch._ops")
    return _CLASSES.handler(name, args, call)


_CLASSES.handler = _ask_classes
set_default_dtype = _dt.set_default_dtype
set_default_dtype.__module__ = "torch"
