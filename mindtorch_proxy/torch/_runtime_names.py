"""Functions of torch that are neither operators nor in a module of their own: predicates, settings, autocast state."""

import importlib
import math
import warnings

from mindtorch_proxy.runtime import dtypes as _dt
from mindtorch_proxy.runtime.call import autocast as _ac
from mindtorch_proxy.runtime.call.overrides import (
    handle_torch_function,
    has_torch_function,
    overridable as _overridable,
    overridden_by_programs,
)
from mindtorch_proxy.runtime.context import CONTEXT
from mindtorch_proxy.runtime.call.geometry import broadcast_shapes as _broadcast
from mindtorch_proxy.runtime.call.promotion import result_dtype
from mindtorch_proxy.runtime.backend import AcceleratorError, OutOfMemoryError  # noqa: F401
from mindtorch_proxy.runtime.determinism import DETERMINISM as _DETERMINISM
from mindtorch_proxy.runtime.storage import UntypedStorage
from mindtorch_proxy.runtime.symbolic import SYMBOLIC, SymBool, SymFloat, SymInt  # noqa: F401
from mindtorch_proxy.runtime.typed_storage import TypedStorage
from mindtorch_proxy.runtime.warn import WARNINGS as _WARNINGS, warn_once as _warn_once
from mindtorch_proxy.runtime.tensor import Tensor
from mindtorch_proxy.runtime.device import Size, set_default_device as _set_default_device


def is_tensor(obj):
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether an object is a storage."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


def typename(obj):
    """Return the name of an object's type; for tensors, in the legacy spelling such as ``torch.FloatTensor``."""
    if isinstance(obj, Tensor):
        return obj.type()
    cls = obj if isinstance(obj, type) else type(obj)
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or cls.__name__
    return name if module in ("", "builtins", "__builtin__") else f"{module}.{name}"


def _tensor_query(name):
    def query(input):
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if overridden_by_programs((input,)):
            return handle_torch_function(query, (input,), input)
        return getattr(input, name)()

    query.__name__ = query.__qualname__ = name
    query.__module__, query.__doc__ = "torch", getattr(Tensor, name).__doc__
    return query


(
    is_floating_point,
    is_complex,
    is_signed,
    is_conj,
    is_neg,
    is_inference,
    is_nonzero,
    numel,
    get_device,
    detach,
    detach_,
) = map(
    _tensor_query,
    "is_floating_point is_complex is_signed is_conj is_neg is_inference is_nonzero numel get_device "
    "detach detach_".split(),
)


def _tensor_argument(name, parameter, position, value):
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument '{parameter}' (position {position}) must be Tensor, not {type(value).__name__}"
        )


def _cast_to(name, to):
    def cast(input, non_blocking=False):
        _tensor_argument(name, "input", 1, input)
        if overridden_by_programs((input,)):
            return handle_torch_function(cast, (input,), input, non_blocking)
        return input.to(to, non_blocking)

    cast.__name__ = cast.__qualname__ = name
    cast.__module__, cast.__doc__ = "torch", f"The tensor as {to}: itself where it is that."
    return cast


for _to, _name in _dt.LEGACY.items():
    if _name in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
        globals()[f"_cast_{_name}"] = _cast_to(f"_cast_{_name}", _to)
del _name, _to


def _has_compatible_shallow_copy_type(input, from_):
    """Whether ``input.data = from_`` is possible: both tensors are dense, both COO, both compressed, or alike."""
    _tensor_argument("_has_compatible_shallow_copy_type", "input", 1, input)
    _tensor_argument("_has_compatible_shallow_copy_type", "from", 2, from_)
    return _implementation(input) == _implementation(from_)


def _implementation(t):
    layout = str(t.layout).removeprefix("torch.")
    compressed = layout in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
    named = (
        (t.device.type, t.is_quantized, t.is_nested) if t.device.type == "meta" or t.is_quantized or t.is_nested else ()
    )
    return "compressed" if compressed else layout, named


@_overridable
def result_type(tensor1, tensor2):
    """Return the dtype that an arithmetic operation on the two promotes to."""
    return result_dtype((tensor1, tensor2))


def set_default_tensor_type(t):
    """Set the default dtype by a legacy tensor type. Deprecated."""
    if not isinstance(t, str) and not isinstance(getattr(t, "dtype", None), _dt.dtype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    _warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    name = t if isinstance(t, str) else t.__name__
    by_name = {n + "Tensor": d for d, n in _dt.LEGACY.items()}
    d = by_name.get(name.rpartition(".")[2])
    if d is None or "cuda" in name:
        raise TypeError(f"invalid type object: {name}")
    _dt.set_default_dtype(d)


def broadcast_shapes(*shapes):
    """Return the shape that the given shapes (tuples or ints) broadcast to."""
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    common = [1] * max(map(len, shapes), default=0)
    for k, s in enumerate(shapes):
        for d in range(-1, -len(s) - 1, -1):
            if s[d] in (1, common[d]):
                continue
            if common[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {s[d]} at {d}! Mismatching argument at index {k} "
                    f"had {s}; but expected shape should be broadcastable to {common}"
                )
            if s[d] < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({min(s)}): ({list(s)})")
            common[d] = s[d]
    return Size(common)


# ---------------------------------------------------------------- settings
class _Settings:
    threads = None
    precision = "highest"


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Set whether operators must be deterministic; those that are not raise an error, or warn with warn_only."""
    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    if not isinstance(warn_only, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'warn_only' must be bool, not {type(warn_only).__name__}"
        )
    _DETERMINISM.enabled, _DETERMINISM.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled():
    """Whether operators must be deterministic."""
    return _DETERMINISM.enabled


def is_deterministic_algorithms_warn_only_enabled():
    """Whether a missing deterministic algorithm warns instead of raising."""
    return _DETERMINISM.warn_only


def get_deterministic_debug_mode():
    """Return what an operator without a deterministic algorithm does: 0 for nothing, 1 for warn, 2 for raise."""
    return 0 if not _DETERMINISM.enabled else 1 if _DETERMINISM.warn_only else 2


def set_deterministic_debug_mode(debug_mode):
    """Set what an operator without a deterministic algorithm does: 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    mode = {"default": 0, "warn": 1, "error": 2}.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode is None:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def set_warn_always(b):
    """Set whether warnings are shown each time instead of once."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _WARNINGS.always = b


def is_warn_always_enabled():
    """Whether warnings are shown each time instead of once."""
    return _WARNINGS.always


def get_num_threads():
    """Return the number of threads of a CPU kernel: by default OMP_NUM_THREADS, else the cores the process may use."""
    import os

    from mindtorch_proxy.runtime import threads

    return threads.asked() or len(os.sched_getaffinity(0))


def _thread_count(name, n):
    """Raise an error for an invalid number of threads."""
    if n.__class__ is not int:
        raise RuntimeError(f"{name} expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    if n >= 1 << 31:
        raise ValueError("Overflow when unpacking long" + " long" * (n >= 1 << 63))


def set_num_threads(n):
    """Set how many threads a CPU kernel uses.

    On more than four cores, it affects NumPy's matrix products, and MindSpore's kernels if none has run yet.
    """
    _thread_count("set_num_threads", n)
    from mindtorch_proxy.runtime import threads

    threads.want(n)
    _Settings.threads = n


def get_num_interop_threads():
    """Return the number of operators that may run at the same time: 1."""
    return 1


def set_num_interop_threads(n):
    """Set the number of operators that may run at the same time; only 1 is supported."""
    _thread_count("set_num_interop_threads", n)
    if n != 1:
        raise NotImplementedError(f"set_num_interop_threads({n}): operators run one at a time, on any device and dtype")


def set_float32_matmul_precision(precision):
    """Set the precision of float32 matrix products: "highest", "high" or "medium"; other values only warn."""
    if precision not in ("highest", "high", "medium"):
        kinds = "'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call will have no effect."
        warnings.warn(f"{precision} is not one of {kinds}", UserWarning, stacklevel=2)
        return
    _Settings.precision = precision


def get_float32_matmul_precision():
    """Return the precision set for float32 matrix products: "highest", "high" or "medium"."""
    return _Settings.precision


def set_anomaly_enabled(mode, check_nan=True):
    """Switch anomaly detection on or off; when on, backward reports the operator that produced NaN."""
    CONTEXT.anomaly, CONTEXT.anomaly_nan = mode, check_nan


def get_device_module(device=None):
    """Return the module of a device type, such as ``torch.cpu`` or ``torch.npu``."""
    from mindtorch_proxy.runtime.device import ACCELERATOR, device as Device

    name = ACCELERATOR if device is None else Device(device).type
    return importlib.import_module("torch." + name)


def compiled_with_cxx11_abi():
    """Whether the new ABI of the C++ standard library is used; always True."""
    return True


def _check_with(error_type, cond, message):
    """Raise error_type with the text of message() unless cond, a bool, is True."""
    if not isinstance(cond, bool):
        if isinstance(cond, SymBool):
            if not cond.node.expect_true("", 0):
                raise error_type("Expected cond to be True, but got False." if message is None else str(message()))
            return
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all()"
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type("Expected cond to be True, but got False." if message is None else str(message()))


def _checker(error_type):
    return lambda cond, message=None: _check_with(error_type, cond, message)


_check, _check_index, _check_value, _check_type, _check_not_implemented = map(
    _checker, (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)
)


def _check_is_size(i, message=None, *, max=None):
    if isinstance(i, SymInt):
        from torch.fx.experimental.symbolic_shapes import _advise_is_size

        _advise_is_size(i)
        _check(i >= 0, message)
        if max is not None:
            _check(i <= max, message)
        return
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type, cond, message=None):
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _dt.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond, message=None):
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition, message):
    """Raise AssertionError unless the condition holds; for a traced value, record the check instead."""
    if type(condition) is not Tensor and has_torch_function((condition,)):
        return handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None


def _is_functional_tensor(t):
    return False


# ---------------------------------------------------------------- autocast's state
def _device_type(device_type, name):
    if device_type not in ("cpu", "cuda", "npu", "xpu", "mps", "hpu", "mtia", "xla", "ipu", "maia"):
        raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
    return device_type


def is_autocast_available(device_type):
    """Whether a device type supports autocast."""
    return _device_type(device_type, "is_autocast_available") in (
        "cpu",
        "cuda",
        "npu",
        "xpu",
        "mps",
        "hpu",
        "mtia",
        "maia",
        "xla",
    )


def set_autocast_enabled(device_type, enabled=None):
    """Switch autocast on or off for a device type; with one argument, for CUDA."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _ac.set_enabled(_device_type(device_type, "set_autocast_enabled"), enabled)


def is_autocast_enabled(device_type=None):
    """Whether autocast is on for a device type."""
    return _ac.is_enabled(device_type if device_type is None else _device_type(device_type, "is_autocast_enabled"))


def get_autocast_dtype(device_type):
    """Return the dtype that autocast casts to on a device type."""
    return _ac.get_dtype(_device_type(device_type, "get_autocast_dtype"))


def set_autocast_dtype(device_type, dtype):
    """Set the dtype that autocast casts to on a device type."""
    _ac.set_dtype(_device_type(device_type, "set_autocast_dtype"), dtype)


def autocast_increment_nesting():
    """Enter an autocast context; return the nesting depth."""
    return _ac.nest(1)


def autocast_decrement_nesting():
    """Leave an autocast context; return the remaining nesting depth."""
    return _ac.nest(-1)


def set_autocast_cache_enabled(enabled):
    """Set the flag for caching casts of weights under autocast."""
    CONTEXT.autocast_cache = bool(enabled)


def is_autocast_cache_enabled():
    """Whether the flag for caching casts of weights under autocast is set."""
    return CONTEXT.autocast_cache


def clear_autocast_cache():
    """Do nothing: casts are not cached here."""


def get_autocast_gpu_dtype():
    """Return the dtype that autocast casts to on CUDA."""
    return _ac.get_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """Set the dtype that autocast casts to on CUDA."""
    _ac.set_dtype("cuda", dtype)


def get_autocast_cpu_dtype():
    """Return the dtype that autocast casts to on the CPU."""
    return _ac.get_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """Set the dtype that autocast casts to on the CPU."""
    _ac.set_dtype("cpu", dtype)


def is_autocast_cpu_enabled():
    """Whether autocast is on for the CPU."""
    return _ac.is_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """Switch autocast on or off for the CPU."""
    _ac.set_enabled("cpu", enabled)


# ---------------------------------------------------------------- symbolic numbers
def _symbolic(*numbers):
    return any(n.__class__ in SYMBOLIC for n in numbers)


def _nodes():
    from torch.fx.experimental import sym_node

    return sym_node


def sym_int(a):
    """Return a number as an int, rounded toward zero. A symbolic one stays symbolic."""
    if _symbolic(a):
        return a.__sym_int__()
    return math.floor(a) if a >= 0 else math.ceil(a)


@_overridable
def sym_float(a):
    """Return a number as a float. A symbolic one stays symbolic."""
    return a.__sym_float__() if _symbolic(a) else float(a)


@_overridable
def sym_not(a):
    """Return the negation of a bool. A symbolic one stays symbolic."""
    return a.__sym_not__() if _symbolic(a) else not a


@_overridable
def sym_max(a, b):
    """The larger of two numbers, without a guard where one is symbolic."""
    return _nodes().extreme("max", a, b) if _symbolic(a, b) else max(a, b)


@_overridable
def sym_min(a, b):
    """The smaller of two numbers, without a guard where one is symbolic."""
    return _nodes().extreme("min", a, b) if _symbolic(a, b) else min(a, b)


@_overridable
def sym_ite(b, t, f):
    """Return ``t`` if ``b`` is true, else ``f``; a symbolic number where ``b`` is symbolic."""
    return _nodes().choice(b, t, f) if _symbolic(b) else t if b else f


def _sym_function(name):
    compute = getattr(math, name)

    @_overridable
    def function(a):
        return _nodes().function(name)(a) if _symbolic(a) else compute(a)

    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"``math.{name}`` of a number, which may be a symbolic size."
    return function


for _name in "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split():
    globals()[f"_sym_{_name}"] = _sym_function(_name)
sym_sqrt = globals()["_sym_sqrt"]


@_overridable
def sym_sum(args):
    """The sum of numbers."""
    return sum(args)


def compile(
    model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False, name=None
):
    """Call torch.compiler.compile with these arguments."""
    from torch.compiler import compile as f

    return f(model, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)


for _f in list(globals().values()):
    if callable(_f) and getattr(_f, "__module__", None) == __name__:
        _f.__module__ = "torch"


@_overridable
def is_distributed(src):
    """Whether a tensor is distributed; always False, as in PyTorch, where DTensor is recognized by its class."""
    _ = src.shape
    return False


def is_vulkan_available():
    """Whether Vulkan can be used; always False."""
    return False


def as_strided_(input, size, stride, storage_offset=None):
    """Set the sizes, strides and storage offset of the tensor in place, as ``Tensor.as_strided_`` does; return it."""
    return input.as_strided_(size, stride, storage_offset)


def classproperty(func):
    """Return a descriptor for ``func(cls)``, which can be read from the class and from its instances."""

    class _Descriptor:
        def __get__(self, instance, owner=None):
            return func(owner if instance is None else type(instance))

    return _Descriptor()


has_lapack = has_spectral = True  # linear algebra and FFTs are supported
has_mkl = has_openmp = False  # the libraries are not used
