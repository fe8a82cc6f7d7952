"""torch.device, Size, layout, memory_format and the default device."""

import re
import threading

from . import backend
from .dtypes import check_int64
from .symbolic import SymInt

TYPES = (
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia npu privateuseone"
).split()
ACCELERATOR, PRIVATE = "npu", "privateuseone"
_private = [PRIVATE]  # the current name of that type
_usable: dict = {}  # device -> the device on which tensors for it are made


class device:
    """A device type and, for accelerators, an index."""

    __slots__ = ("type", "index")
    __module__ = "torch"
    _cache = {}

    def __new__(cls, *args, **kwargs):
        if len(args) == 1 and not kwargs:  # the most common form
            type, index = args[0], None
            if type is None:
                _given(args, kwargs)
        else:
            type, index = _given(args, kwargs)
            if index is not None and index.__class__ is not int:
                raise TypeError(f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}")
        key = (type, index, type.__class__)
        try:
            return cls._cache[key]
        except KeyError:
            pass
        if isinstance(type, cls):
            if index is not None:
                raise RuntimeError(f"'type' must not include an index because index was passed explicitly: {type}")
            return type
        name, index = _type_and_index(type, index)
        canonical = (name, index, str)
        self = cls._cache.get(canonical)
        if self is None:
            self = object.__new__(cls)
            object.__setattr__(self, "type", name)
            object.__setattr__(self, "index", index)
            cls._cache[canonical] = self
        cls._cache[key] = self
        return self

    def __setattr__(self, name, value=None):
        if name in device.__slots__:
            raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")
        raise AttributeError(f"'torch.device' object has no attribute '{name}'")

    __delattr__ = __setattr__

    def __repr__(self):
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self):
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __enter__(self):
        default.stack.append(default.device)
        default.device = self
        return self

    def __exit__(self, *exc):
        default.device = default.stack.pop()


def _given(args, kwargs):
    """Return (type, index) from the arguments of device()."""
    names = dict(zip(("type", "index"), args)) | kwargs
    type = names.get("type", names.get("device"))
    if type is None or len(args) > 2:
        got = ", ".join(a.__class__.__name__ for a in args)
        raise TypeError(
            f"device() received an invalid combination of arguments - got ({got}), but expected one of:\n{_FORMS}"
        )
    return type, names.get("index")


_FORMS = " * (torch.device device)\n * (str type, int index = -1)\n"
_STRING = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?")


def _type_and_index(type, index):
    """Return the checked (type, index) of device("npu:0"), device("npu", 0) or device(0)."""
    name = type
    if type.__class__ is int:
        if index is not None:
            raise TypeError("device(): argument 'type' (position 1) must be str, not int")
        if not backend.of_type(ACCELERATOR).device_count():
            raise RuntimeError("Cannot access accelerator device when none is available.")
        name, index = ACCELERATOR, type
    elif not isinstance(type, str):
        raise TypeError(
            f"device() received an invalid combination of arguments - got ({type.__class__.__name__}), "
            f"but expected one of:\n{_FORMS}"
        )
    elif not type:
        raise RuntimeError("Device string must not be empty")
    elif (parts := _STRING.fullmatch(type)) is None:
        raise RuntimeError(f"Invalid device string: '{type}'")
    elif parts[2] is not None:
        if index is not None:
            raise RuntimeError(f"'type' must not include an index because index was passed explicitly: {type}")
        name, index = parts[1], int(parts[2])
    if name == PRIVATE:
        name = _private[0]
    if name not in TYPES:
        raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {name}")
    if index is not None and index < 0:
        raise RuntimeError(f"Device index must not be negative, got {index}")
    return name, index


HOST = device("cpu")  # the memory that Python and NumPy see, and the initial default device
META = device("meta")


class _Default(threading.local):
    """The default device of a thread, and the devices that the open `with device:` blocks will restore."""

    def __init__(self):
        self.device, self.stack = HOST, []


default = _Default()


def get_default_device():
    """Return the default device with its index. Without one, raise PyTorch's error where it cannot be used."""
    d = default.device
    return d if d is HOST or d.index is not None else usable(d, moving=True)


def new_tensor_device(moving=False):
    """Return the device of new tensors. Raise PyTorch's error where it cannot be used."""
    d = default.device
    return d if d is HOST else usable(d, moving)


def set_default_device(d):
    """Set the device of new tensors; None is the CPU."""
    d = HOST if d is None else device(d)
    default.device, default.stack[:] = d, [d] * len(default.stack)  # also holds after the open blocks


def usable(d, moving=False):
    """Return the device on which tensors for `d` are made. Raise PyTorch's error of a build without that device.

    moving: whether tensors are moved there, for which PyTorch's error differs.
    """
    if d.__class__ is not device:
        d = device(d)
    found = _usable.get(d)
    if found is None:
        if not backend.exists(d.type):
            raise _absent(d.type, moving)
        found = _usable[d] = backend.of_type(d.type).usable(d)
    return found


def _absent(kind, moving):
    if kind in ("cuda", "xpu", "mtia"):
        return AssertionError(f"Torch not compiled with {kind.upper()} enabled{'.' * (kind == 'mtia')}")
    if kind == "hpu":
        return ModuleNotFoundError("No module named 'torch.hpu'")
    if moving and kind != "lazy":
        return RuntimeError(f"PyTorch is not linked with support for {kind} devices")
    name = (
        kind.capitalize() if kind in ("vulkan", "lazy") else "PrivateUse1" if kind in ("npu", PRIVATE) else kind.upper()
    )
    return NotImplementedError(
        f"Could not run 'aten::empty.memory_format' with arguments from the '{name}' backend. "
        "This could be because the operator doesn't exist for this backend, or was omitted during the "
        "selective/custom build process (if using custom build)."
    )


def forget():
    """Forget which devices are usable, so that the backends are asked again."""
    _usable.clear()


def rename_privateuse1_backend(name):
    """Rename the device type "privateuseone", as torch.utils.rename_privateuse1_backend does. Possible only once."""
    if _private[0] == name:
        return
    if _private[0] != PRIVATE:
        raise RuntimeError(f"torch.register_privateuse1_backend() has already been set! Current backend: {_private[0]}")
    if name in TYPES:
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {name}")
    TYPES.append(name)
    _private[0] = name


def privateuse1_name():
    return _private[0]


class Size(tuple):
    """A tensor's shape: a tuple of ints with numel().

    As in PyTorch it takes ints beyond 64 bits, which it refuses to print and to multiply.
    """

    __slots__ = ()
    __module__ = "torch"

    def __new__(cls, *args):
        if args and args[0].__class__ is tuple or not args:
            for i in args[0] if args else ():
                if i.__class__ is not int:
                    break
            else:
                return tuple.__new__(cls, *args)
        out = []
        for n, i in enumerate(args[0]):
            if i.__class__ is SymInt:
                out.append(i)
                continue
            try:
                out.append(i.__index__())
            except (AttributeError, TypeError):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {n} is '{type(i).__name__}')") from None
        return tuple.__new__(cls, out)

    def numel(self):
        """The product of the sizes in 64 bits: the number of elements."""
        self._check()
        n = 1
        for i in self:
            n *= i
        return n if n.__class__ is not int or -(2**63) <= n < 2**63 else (n + 2**63) % 2**64 - 2**63

    def _check(self):
        for i in self:
            if i.__class__ is int:
                check_int64(i)

    def __repr__(self):
        self._check()
        return f"torch.Size([{', '.join(map(repr, self))}])"

    __str__ = __repr__

    def __getitem__(self, i):
        r = tuple.__getitem__(self, i)
        return tuple.__new__(Size, r) if i.__class__ is slice else r

    def __add__(self, other):
        if not isinstance(other, tuple):
            if hasattr(other, "__radd__") and not isinstance(other, (int, float)):
                return NotImplemented
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other):
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(other, self))

    def __mul__(self, n):
        return tuple.__new__(Size, tuple.__mul__(self, n))

    __rmul__ = __mul__

    def __reduce__(self):
        return (Size, (tuple(self),))


class _Named:
    __slots__ = ("name",)
    __module__ = "torch"

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class layout(_Named):
    """How elements lie in memory: ``torch.strided``, ``torch.sparse_coo``, ..."""

    __module__ = "torch"


class memory_format(_Named):
    """The order of dimensions in memory: ``torch.contiguous_format``, ``torch.channels_last``, ..."""

    __module__ = "torch"


class qscheme(_Named):
    """How the integers of a quantized tensor are scaled.

    ``torch.per_tensor_affine``, ``torch.per_channel_affine``, ...
    """

    __module__ = "torch"


LAYOUTS = {
    n: layout(n)
    for n in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "jagged")
}
FORMATS = {n: memory_format(n) for n in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")}
QSCHEMES = {
    n: qscheme(n)
    for n in (
        "per_tensor_affine",
        "per_channel_affine",
        "per_tensor_symmetric",
        "per_channel_symmetric",
        "per_channel_affine_float_qparams",
    )
}
strided = LAYOUTS["strided"]
contiguous_format, preserve_format, channels_last, channels_last_3d = FORMATS.values()
