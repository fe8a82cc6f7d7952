"""DLPack: capsules over the memory of tensors, and tensors over the memory of capsules."""

import ctypes
import enum

import numpy as np

from . import dtypes as dt
from .backend import backend, registered
from .device import HOST, strided, usable
from .device import device as Device
from .registry import T
from .storage import UntypedStorage
from .tensor import Tensor, extent, tensor_method


class DLDeviceType(enum.IntEnum):
    """Types of devices in DLPack's specification."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


DLDeviceType.__module__ = "torch.utils.dlpack"
_DEVICE = DLDeviceType.kDLCPU
_IS_COPIED = 2  # DLPACK_FLAG_BITMASK_IS_COPIED of versioned capsules
_VERSION = (1, 0)


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_LAYOUTS = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}
_CODES = {
    dt.bool_: 6,
    dt.bfloat16: 4,
    **{d: 0 for d in (dt.int8, dt.int16, dt.int32, dt.int64)},
    **{d: 1 for d in (dt.uint8, dt.uint16, dt.uint32, dt.uint64)},
}
_CODES |= {d: 2 for d in (dt.float16, dt.float32, dt.float64)} | {
    d: 5 for d in (dt.complex32, dt.complex64, dt.complex128)
}
_CODES |= {
    dt.ALL["float8_" + n]: c
    for n, c in (("e4m3fn", 10), ("e4m3fnuz", 11), ("e5m2", 12), ("e5m2fnuz", 13), ("e8m0fnu", 14))
}
_DTYPES = {(code, 8 * d.itemsize): d for d, code in _CODES.items()}


def _of_python(name, result, *args):
    f = getattr(ctypes.pythonapi, name)
    f.restype, f.argtypes = result, args
    return f


_new = _of_python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_name_of = _of_python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer = _of_python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _of_python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
# For capsules that are being destroyed: they are passed as plain pointers, since their references may not be counted.
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_USED = {n: b"used_" + n for n in _LAYOUTS}  # kept here, because capsules hold pointers to their names
_exported: dict = {}  # address of an exported structure -> the objects to keep alive with it


@_Deleter
def _forget(address, exported=_exported):  # a default, since module globals may be gone at interpreter exit
    exported.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule):
    for name in _LAYOUTS:
        if _dying_is_valid(capsule, name):
            _forget(_dying_pointer(capsule, name))


def _device_of(device):
    """Return (type, index) in DLPack's numbering, or None where the backend does not share memory.

    A backend that does has the attribute `dlpack`, its device type, and the method `lent`.
    """
    number = _DEVICE if device is HOST else getattr(backend(device), "dlpack", None)
    return None if number is None else (DLDeviceType(number), device.index or 0)


def _type_of(number):
    """Return the device type that has this number in DLPack.

    Raise NotImplementedError where no backend in use shares memory of that type.
    """
    if number == _DEVICE:
        return HOST.type
    found = [name for name, b in registered() if getattr(b, "dlpack", None) == number]
    if not found:
        raise NotImplementedError(f"from_dlpack: memory of DLPack's device type {number}")
    return found[0]


def _capsule(t, name, copied):
    """Return a capsule over the memory of a tensor."""
    n, storage = max(len(t._shape), 1), t._get_storage()
    shape, strides = (ctypes.c_int64 * n)(*t._shape), (ctypes.c_int64 * n)(*t.stride())
    managed = _LAYOUTS[name]()
    managed.tensor = _Tensor(
        storage.data_ptr() + t._offset * t.dtype.itemsize if 0 not in t._shape else None,
        _Device(*_device_of(t.device)),
        len(t._shape),
        _DataType(_CODES[t.dtype], 8 * t.dtype.itemsize, 1),
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
        0,
    )
    managed.deleter = ctypes.cast(_forget, ctypes.c_void_p)
    if name == b"dltensor_versioned":
        (managed.major, managed.minor), managed.flags = _VERSION, _IS_COPIED * copied
    storage._resizable = False  # the importing library sees this memory
    address = ctypes.addressof(managed)
    _exported[address] = managed, shape, strides, storage._array() if t.device is HOST else storage
    return _new(address, name, ctypes.cast(_destroy, ctypes.c_void_p))


@tensor_method
def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
    """Return a DLPack capsule over the tensor's memory."""
    if self._requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    if self._layout is not strided:
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    here = _device_of(self.device)
    if here is None:
        raise BufferError(f"Cannot pack tensors on {self.device}")
    if stream not in (None, -1) and self.device is HOST:  # kernels of other devices have ended when they return
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and tuple(dl_device) != here:
        raise NotImplementedError(
            f"__dlpack__: a copy on DLPack's device {tuple(dl_device)} of a {self.dtype} tensor on {self.device}"
        )
    if self.dtype not in _CODES:
        raise BufferError(f"{dt.scalar_name(self.dtype)} types are not supported by dlpack")
    versioned = max_version is not None and max_version[0] >= 1
    t = self.resolve_neg()
    return _capsule(t.clone() if copy else t, b"dltensor_versioned" if versioned else b"dltensor", bool(copy))


@tensor_method
def __dlpack_device__(self):
    """Return (type, index) of the device in DLPack's numbering."""
    found = _device_of(self.device)
    if found is None:
        raise ValueError(f"Unknown device type {self.device.type} for Dlpack")
    return found


class _Memory:
    """Owner of the memory of an imported capsule: calls the capsule's deleter when no tensor uses it any more."""

    def __init__(self, address, deleter):
        self.address, self.deleter = address, deleter

    def __del__(self, function=_Deleter):  # a default, since module globals may be gone at interpreter exit
        if self.deleter:
            function(self.deleter)(self.address)


_USED_UP = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, "
    "so you might have already constructed a tensor from it once."
)


def flat(address, dtype, count, owner, device):
    """Return a capsule over `count` elements at a device address, whose memory `owner` keeps alive."""
    shape, strides, managed = (ctypes.c_int64 * 1)(count), (ctypes.c_int64 * 1)(1), _Managed()
    pointers = (ctypes.cast(a, ctypes.POINTER(ctypes.c_int64)) for a in (shape, strides))
    managed.tensor = _Tensor(
        address, _Device(*_device_of(device)), 1, _DataType(_CODES[dtype], 8 * dtype.itemsize, 1), *pointers, 0
    )
    managed.deleter = ctypes.cast(_forget, ctypes.c_void_p)
    _exported[ctypes.addressof(managed)] = managed, shape, strides, owner
    return _new(ctypes.addressof(managed), b"dltensor", ctypes.cast(_destroy, ctypes.c_void_p))


def is_capsule(x):
    return type(x).__name__ == "PyCapsule"


def _imported(capsule):
    """Return a tensor over a capsule's memory and mark the capsule as consumed."""
    name = _name_of(capsule) if is_capsule(capsule) else None
    if name not in _LAYOUTS:
        raise RuntimeError(_USED_UP)
    address = _pointer(capsule, name)
    managed = _LAYOUTS[name].from_address(address)
    t = managed.tensor
    dtype = _DTYPES.get((t.dtype.code, t.dtype.bits))
    device_type = _type_of(t.device.type)
    if dtype is None or t.dtype.lanes != 1:
        raise BufferError(
            f"from_dlpack: unsupported dtype (code {t.dtype.code}, {t.dtype.bits} bits, {t.dtype.lanes} lanes)"
        )
    shape = tuple(t.shape[: t.ndim])
    stride = tuple(t.strides[: t.ndim]) if t.strides else None
    _rename(capsule, _USED[name])
    memory = _Memory(address, managed.deleter)
    home = HOST if device_type == HOST.type else Device(device_type, t.device.index)
    if 0 in shape:
        return T.empty(shape, dtype=dtype, device=home)
    n = extent(shape, stride)
    if home is not HOST:
        lent = backend(home).lent(t.data + t.byte_offset, dtype, n, memory, usable(home))
        return lent.as_strided(
            shape, () if not shape else T.empty(shape, device="meta").stride() if stride is None else stride
        )
    raw = (ctypes.c_uint8 * (n * dtype.itemsize)).from_address(t.data + t.byte_offset)
    raw._owner = memory
    storage = UntypedStorage._from_array(np.frombuffer(raw, np.uint8), resizable=False)
    return T.empty((0,), dtype=dtype).set_(storage, 0, shape, stride)


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """Return a tensor over the memory of another library's array, or of a capsule.

    copy: True forces a copy, False forbids one.
    """
    home = None if device is None else usable(device)
    if hasattr(ext_tensor, "__dlpack__"):
        _type_of(ext_tensor.__dlpack_device__()[0])
        asked = {"max_version": _VERSION} | ({} if copy is None else {"copy": copy})
        try:
            capsule = ext_tensor.__dlpack__(**asked)
        except TypeError:  # a library from before DLPack had versions
            capsule = ext_tensor.__dlpack__()
    else:
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
        capsule = ext_tensor
    t = _imported(capsule)
    return t if home is None or home == t.device else t.to(home)


from_dlpack.__module__ = "torch"
__all__ = ["DLDeviceType", "Tensor"]
