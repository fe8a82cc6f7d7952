"""torch.NAME that are neither operators nor in a module of their own: predicates, settings, autocast's state."""

import importlib
import math
import warnings

from mindtorch_proxy.runtime import dtypes as _dt
from mindtorch_proxy.runtime.call import autocast as _ac
from mindtorch_proxy.runtime.call.overrides import handle_torch_function, has_torch_function, overridden_by_programs
from mindtorch_proxy.runtime.context import CONTEXT
from mindtorch_proxy.runtime.call.geometry import broadcast_shapes as _broadcast
from mindtorch_proxy.runtime.call.promotion import result_dtype
from mindtorch_proxy.runtime.backend import OutOfMemoryError  # noqa: F401
from mindtorch_proxy.runtime.determinism import DETERMINISM as _DETERMINISM
from mindtorch_proxy.runtime.storage import UntypedStorage
from mindtorch_proxy.runtime.symbolic import SymInt  # noqa: F401
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
    """The name of an object's type, as old PyTorch spells it."""
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
    """Whether a tensor may take another's place behind its own name, as ``input.data = from_`` does: both are dense,
    both COO, both compressed, or alike.
    """
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


def result_type(tensor1, tensor2):
    """The dtype of an arithmetic operation on the two."""
    return result_dtype((tensor1, tensor2))


def set_default_tensor_type(t):
    """Default dtype and device by a legacy tensor type. Deprecated."""
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
    """The common shape of shapes (tuples or ints)."""
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
    """Whether operators must be deterministic: those that are not raise, or warn."""
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
    """0: deterministic algorithms are not asked for, 1: a warning where there is none, 2: an error."""
    return 0 if not _DETERMINISM.enabled else 1 if _DETERMINISM.warn_only else 2


def set_deterministic_debug_mode(debug_mode):
    """0 or "default", 1 or "warn", 2 or "error": what an operator without a deterministic algorithm does."""
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
    """Whether warnings are shown each time instead of once."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _WARNINGS.always = b


def is_warn_always_enabled():
    """Whether warnings are shown each time instead of once."""
    return _WARNINGS.always


def get_num_threads():
    """Threads of MindSpore's CPU kernels: the process's cores unless set."""
    import os

    return _Settings.threads or len(os.sched_getaffinity(0))


def _thread_count(name, n):
    """The error of a number of threads that cannot be."""
    if n.__class__ is not int:
        raise RuntimeError(f"{name} expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    if n >= 1 << 31:
        raise ValueError("Overflow when unpacking long" + " long" * (n >= 1 << 63))


def set_num_threads(n):
    """How many threads share a kernel.

    On more than four cores it has effect on NumPy's products, and on MindSpore's kernels before the first of them.
    """
    _thread_count("set_num_threads", n)
    from mindtorch_proxy.runtime import threads

    threads.want(n)
    _Settings.threads = n


def get_num_interop_threads():
    """The number of threads between operators."""
    return 1


def set_num_interop_threads(n):
    """The number of threads between operators."""
    _thread_count("set_num_interop_threads", n)
    if n != 1:
        raise NotImplementedError(f"set_num_interop_threads({n}): operators run one at a time, on any device and dtype")


def set_float32_matmul_precision(precision):
    """How exact products of float32 matrices are: "highest", "high" or "medium"; others warn and change nothing."""
    if precision not in ("highest", "high", "medium"):
        kinds = "'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call will have no effect."
        warnings.warn(f"{precision} is not one of {kinds}", UserWarning, stacklevel=2)
        return
    _Settings.precision = precision


def get_float32_matmul_precision():
    """How exact products of float32 matrices are: "highest", "high" or "medium"."""
    return _Settings.precision


def set_anomaly_enabled(mode, check_nan=True):
    """Switches anomaly detection: backward then says which operator made NaN."""
    CONTEXT.anomaly, CONTEXT.anomaly_nan = mode, check_nan


def get_device_module(device=None):
    """The module of a type of device: ``torch.cpu``, ``torch.npu``, ..."""
    from mindtorch_proxy.runtime.device import ACCELERATOR, device as Device

    name = ACCELERATOR if device is None else Device(device).type
    return importlib.import_module("torch." + name)


def compiled_with_cxx11_abi():
    """Whether C++ was compiled with the new ABI of the standard library: yes."""
    return True


def _check_with(error_type, cond, message):
    """Raises error_type with what message() gives unless the bool is True."""
    if not isinstance(cond, bool):
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
    """assert, as a function: a traced value is recorded instead of being asked."""
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
    """Whether a type of device has autocast."""
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
    """Switches autocast for a type of device."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _ac.set_enabled(_device_type(device_type, "set_autocast_enabled"), enabled)


def is_autocast_enabled(device_type=None):
    """Whether autocast is on for a type of device."""
    return _ac.is_enabled(device_type if device_type is None else _device_type(device_type, "is_autocast_enabled"))


def get_autocast_dtype(device_type):
    """The dtype that autocast computes in on a type of device."""
    return _ac.get_dtype(_device_type(device_type, "get_autocast_dtype"))


def set_autocast_dtype(device_type, dtype):
    """The dtype that autocast computes in on a type of device."""
    _ac.set_dtype(_device_type(device_type, "set_autocast_dtype"), dtype)


def autocast_increment_nesting():
    """One autocast context more; how many there are."""
    return _ac.nest(1)


def autocast_decrement_nesting():
    """One autocast context less; how many are left."""
    return _ac.nest(-1)


def set_autocast_cache_enabled(enabled):
    """Whether autocast keeps the casts of weights."""
    CONTEXT.autocast_cache = bool(enabled)


def is_autocast_cache_enabled():
    """Whether autocast keeps the casts of weights."""
    return CONTEXT.autocast_cache


def clear_autocast_cache():
    """Casts are made anew at each call here, so there is nothing to forget."""


def get_autocast_gpu_dtype():
    """The dtype that autocast computes in on CUDA."""
    return _ac.get_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    """The dtype that autocast computes in on CUDA."""
    _ac.set_dtype("cuda", dtype)


def get_autocast_cpu_dtype():
    """The dtype that autocast computes in on the CPU."""
    return _ac.get_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """The dtype that autocast computes in on the CPU."""
    _ac.set_dtype("cpu", dtype)


def is_autocast_cpu_enabled():
    """Whether autocast is on for the CPU."""
    return _ac.is_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """Switches autocast for the CPU."""
    _ac.set_enabled("cpu", enabled)


# ---------------------------------------------------------------- symbolic numbers: shapes are concrete here, but for
# jagged sizes
class SymFloat:
    """A symbolic float. None is ever made: here each is a number."""

    __module__ = "torch"

    def __init__(self, node):
        raise NotImplementedError("symbolic shapes do not exist here: torch.compile runs eagerly")


class SymBool(SymFloat):
    """A symbolic bool. None is ever made: here each is a truth value."""

    __module__ = "torch"


def sym_int(a):
    """A number as an int."""
    return math.floor(a) if a >= 0 else math.ceil(a)


def sym_float(a):
    """A number as a float."""
    return float(a)


def sym_not(a):
    """The opposite of a truth value."""
    return not a


def sym_max(a, b):
    """The larger of two numbers."""
    return max(a, b)


def sym_min(a, b):
    """The smaller of two numbers."""
    return min(a, b)


def sym_ite(b, t, f):
    """``t`` if ``b``, else ``f``."""
    return t if b else f


def _sym_function(name):
    compute = getattr(math, name)

    def function(a):
        return compute(a)

    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"``math.{name}`` of a number, which may be a symbolic size."
    return function


for _name in "sqrt cos cosh sin sinh tan tanh asin acos atan log2".split():
    globals()[f"_sym_{_name}"] = _sym_function(_name)
sym_sqrt = globals()["_sym_sqrt"]


def sym_sum(args):
    """The sum of numbers."""
    return sum(args)


def compile(
    model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False, name=None
):
    """The model itself: no graph is captured yet, so a compiled callable runs eagerly, as under
    TORCHDYNAMO_DISABLE=1.
    """
    from torch.compiler import compile as f

    return f(model, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)


for _f in list(globals().values()):
    if callable(_f) and getattr(_f, "__module__", None) == __name__:
        _f.__module__ = "torch"
__all__ = ["REGISTRY_FN", "_set_default_device"]


class AcceleratorError(RuntimeError):
    """An accelerator's call failed; ``error_code`` is its number."""

    def __init__(self, *args, error_code=None):
        super().__init__(*args)
        self.error_code = error_code


AcceleratorError.__module__ = "torch"


def is_distributed(src):
    """Whether a tensor is spread over devices: never, as in PyTorch, whose DTensors say so by their class."""
    _ = src.shape
    return False


def is_vulkan_available():
    """Whether Vulkan can be used: there is none here."""
    return False


def as_strided_(input, size, stride, storage_offset=None):
    """``Tensor.as_strided_``: the tensor itself, over its storage with these sizes and steps."""
    return input.as_strided_(size, stride, storage_offset)


def classproperty(func):
    """A property of a class: what ``func(cls)`` gives, at the class and at its objects."""

    class _Descriptor:
        def __get__(self, instance, owner=None):
            return func(owner if instance is None else type(instance))

    return _Descriptor()


has_lapack = has_spectral = True  # as far as programs ask: linear algebra and FFTs work
has_mkl = has_openmp = False  # the libraries themselves are not here
