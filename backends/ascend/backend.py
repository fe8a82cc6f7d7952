"""The Ascend backend: device memory in MindSpore tensors, primitives for Ascend, copies to and from the host."""

from collections import Counter, defaultdict

import numpy as np

from ...runtime import dtypes as dt
from ...runtime import launches, pyboost
from ...runtime.backend import backend
from ...runtime.call.geometry import broadcast_shapes
from ...runtime.device import HOST
from ...runtime.device import device as Device
from ...runtime.dlpack import flat
from ...runtime.storage import UntypedStorage
from ...runtime.tensor import Tensor, extent, from_array, numel, strided_view, wrap
from ..host import astype, ms_dtype_of, number_array
from ..plan import CompositePlan, PrimitivePlan
from . import chips, communication, devices, fused, layouts, random, table
from .bindings import exists
from .kernels import primitive

TARGET = "Ascend"
KEPT = 256  # numbers of each dtype that are cached as tensors on the device


class AscendPlan(PrimitivePlan):
    """A plan that calls a primitive on Ascend, with dtype arguments converted to MindSpore's.

    Errors of CANN are raised again with the operator, dtype and chip.
    """

    # lifts: pass a 0-d tensor as a 1-d tensor with one element, because primitives refuse dim 0 of a 0-d tensor
    __slots__ = ("lifts",)

    def __init__(self, backend, op, dtype, device, kernel, work=None, half=False):
        super().__init__(backend, op, dtype, device, kernel, work, half)
        self.lifts = op.promote is None and has_dim(op)
        fn, named, name = self.fn, any(a.base == "ScalarType" for a in op.schema.arguments), op.full
        chips.warn_lower(kernel.primitive, dtype)

        def run(*args):
            try:
                if named:
                    args = [pyboost.ms_dtype(a) if a.__class__ is dt.dtype else a for a in args]
                strided = layouts.layouts(args)
                if strided:
                    return layouts.call(name, dtype, fn, args, strided, backend._moves)
                return fn(*args)
            except RuntimeError as e:
                where = f"on device {self.device} ({devices.chip()}) for dtype {self.dtype}"
                raise launches.error_of(e, self.op.full, where, chips.quoted(kernel.primitive, self.dtype)) from e

        self.fn = run

    def argument(self, a):
        if a.__class__ is list or a.__class__ is tuple:
            return type(a)(None if t is None else self.backend.handed(t) for t in a)
        m = self.backend.handed(a)
        return m if a._shape or not self.lifts else lifted(m)


def on_host(op, device):
    """Return a function that runs the operator on copies in host memory, for MINDTORCH_NPU_FALLBACK=cpu."""

    def host(a):
        if a.__class__ is list or a.__class__ is tuple:
            return type(a)(map(host, a))
        return a.cpu() if isinstance(a, Tensor) else HOST if a is device else a

    def fn(*args):
        r = op.call(*map(host, args))
        return tuple(t.to(device) for t in r) if r.__class__ is tuple else r.to(device)

    return fn


def has_dim(op):
    return op.full not in table.ANY_RANK and any(a.name == "dim" for a in op.schema.arguments)


def spread_strides(t, shape):
    """Return the strides of a tensor expanded to a shape."""
    lead = len(shape) - len(t._shape)
    return (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(t._shape, t.stride()))


def lifted(m):
    return primitive("Reshape")(m, (1,))


class Ascend:
    """The Ascend backend; runtime/backend.py documents the methods."""

    host, target, expand_from = False, TARGET, float("inf")

    def __init__(self):
        self.plans, self._plans, self._moves = [], {}, Counter()
        # dtype: {number: 0-d MindSpore tensor on the device}; the key of a zero is its text, to tell 0.0 from -0.0
        self._numbers = defaultdict(dict)

    # ---------------------------------------------------------------- devices
    devices, communication = devices, communication

    def device_count(self):
        return devices.count()

    def usable(self, device):
        if not devices.count():
            raise RuntimeError(f"Cannot access device {device}: no Ascend NPU is available on this machine")
        return Device(device.type, devices.start(device.index))

    def draws(self, kind):
        return random.draws(kind)

    def moves(self):
        return dict(self._moves)

    # ---------------------------------------------------------------- choosing
    def plan(self, op, dtype, device, args):
        instead = table.unfit(op, args)
        plan = self._plans.get((op, dtype, device, instead))
        if plan is None:
            kernel, work = table.choose(op, dtype, instead)
            if kernel.kind == "fallback":
                kernel.fn = on_host(op, device)
            cls = AscendPlan if kernel.kind == "pyboost" else CompositePlan
            plan = cls(self, op, dtype, device, kernel, work if work is not dtype else None)
            if (
                work is not dtype
                or kernel.kind == "fallback"
                or table.conditional(op)
                or not kernel.broadcasts
                and op.promote is not None
            ):
                plan.direct = False
            self._plans[op, dtype, device, instead] = plan
        return plan

    def inplace(self, op):
        found = table.inplace_kernel(op)
        if found is None:
            return None
        (name, fn), lifts = found, has_dim(op)
        prim = primitive(name)

        def given(a):
            if a.__class__ is list or a.__class__ is tuple:
                return type(a)(given(t) for t in a)
            return (
                a if not isinstance(a, Tensor) else lifted(self.handed(a)) if lifts and not a._shape else self.handed(a)
            )

        def kernel(*args):
            dst, dtype = args[0], args[0].dtype
            chosen, work = table.choose(op, dtype)  # raises for a dtype that no kernel takes
            if chosen.kind != "pyboost" or work is not dtype:
                self.write(dst, self.plan(op, dtype, dst.device, args).run((dst._shape, dtype), args))
            elif 0 not in args[0]._shape and not any(
                isinstance(t, Tensor) and 0 in t._shape
                for a in args[1:]
                for t in (a if a.__class__ in (list, tuple) else (a,))
            ):
                self._moves["in place"] += 1
                fn(prim, *map(given, args))

        return kernel

    def update(self, op, dst, args):
        """Update dst in place by a primitive that writes into its first argument, if no argument is converted."""
        if op.full in fused.UPDATES and not chips.lacks(fused.UPDATES[op.full][0]):
            return self._changed(*fused.UPDATES[op.full], dst, args)
        found = table.INPLACE.get(op.full)
        if len(args) > 2 and args[2].__class__ is not int and not dst.dtype.is_floating_point:
            return False
        if found is None or dst.dtype in table.REFUSED or 0 in dst._shape:
            return False
        name, mapping = found
        if chips.lacks(name):
            return False
        other = args[1]
        if isinstance(other, Tensor):
            if (
                other.dtype is not dst.dtype
                or other.device is not dst.device
                and other._shape
                or broadcast_shapes(dst._shape, other._shape) != dst._shape
            ):
                return False
        elif dst.dtype.is_complex or dst.dtype.category < dt.SCALAR_CATEGORY[other.__class__]:
            return False
        other = self.handed(other) if isinstance(other, Tensor) else self.number(other, dst.dtype)
        mapping(primitive(name), dst._mstensor(), other, *args[2:])
        self._moves["in place"] += 1
        return True

    def _changed(self, name, mapping, dst, args):
        """Update several tensors in place by one primitive, if they have one dtype and shape."""
        tensors = [a for a in args if isinstance(a, Tensor)]
        if (
            dst.dtype not in fused.HALVES
            or 0 in dst._shape
            or any(t.dtype is not dst.dtype or t.device != dst.device or t._shape != dst._shape for t in tensors)
        ):
            return False
        mapping(primitive(name), *[a._mstensor() if isinstance(a, Tensor) else a for a in args])
        self._moves["in place"] += 1
        return True

    def fused(self, name):
        return fused.FUSED.get(name)

    # ---------------------------------------------------------------- arguments and results
    def numbers_of(self, dtype):
        return self._numbers[dtype]

    def number(self, value, dtype):
        """Return a cached 0-d MindSpore tensor of a Python number; it moves to the device at its first use."""
        kept, key = self._numbers[dtype], value or str(value)
        t = kept.get(key)
        if t is None:
            t = pyboost.tensor_from_array(number_array(value, dtype))
            if value == value:
                with pyboost.LOCK:
                    if len(kept) >= KEPT:
                        kept.clear()
                    t = kept.setdefault(key, t)
        return t

    def handed(self, t):
        """Return the MindSpore tensor of an argument.

        A host tensor is copied, because MindSpore moves its arguments to the device permanently.
        """
        if t.device is HOST:
            return pyboost.tensor_from_array(np.array(t._array(), order="C"))
        m = t._ms
        return t._mstensor() if m is None else m

    def operand(self, t, dtype, shape, full):
        if not isinstance(t, Tensor):
            return self.number(t, dtype)
        if t.device is HOST:
            return pyboost.tensor_from_array(np.array(astype(t._array(), dtype), order="C"))
        t = t if t.dtype is dtype else self.cast(t, dtype)
        return (
            t if shape is None or t._shape == shape else strided_view(t, shape, spread_strides(t, shape), t._offset)
        )._mstensor()

    def tensor(self, t, dtype):
        if not isinstance(t, Tensor):
            return wrap(self.number(t, dtype), (), dtype, Device("npu", devices.index()))
        return t if t.dtype is dtype else t.to(dtype)

    def dtype_of(self, r):
        return ms_dtype_of(r)

    def result(self, r, result, device):
        shape, dtype = result[0], result[1]
        if isinstance(r, Tensor):
            r = r if r.dtype is dtype else self.cast(r, dtype)
            wanted = result[2] if len(result) > 2 else None
            return r if wanted is None or r.stride() == tuple(wanted) else self.laid_out(r, tuple(wanted))
        if shape is not None and 0 in shape:
            return self.empty(tuple(shape), dtype, device)
        if r.dtype != pyboost.ms_dtype(dtype):
            r = primitive("Cast")(r, pyboost.ms_dtype(dtype))
        shape = tuple(r.shape) if shape is None else tuple(shape)
        if tuple(r.shape) != shape:
            r = primitive("Reshape")(r, shape)
        t = wrap(r, shape, dtype, device)
        if len(result) > 2 and result[2] is not None and 0 not in shape:
            return self.laid_out(t, tuple(result[2]))
        return t

    def laid_out(self, t, strides):
        """Copy the tensor into new memory with other strides."""
        if 0 in t._shape:
            return t
        v = strided_view(self.empty((extent(t._shape, strides),), t.dtype, t.device), t._shape, strides, 0)
        self.write(v, t)
        return v

    # ---------------------------------------------------------------- memory
    def array(self, t):
        raise NotImplementedError(f"no host memory behind a {t.device} tensor: copy it with .cpu()")

    def mstensor(self, t):
        """Return a MindSpore view of the storage's flat tensor."""
        if 0 in t._shape:
            return pyboost.tensor_from_array(np.empty(t._shape, t.dtype.np))
        base, dtype = self._base(t._storage, t.dtype), pyboost.ms_dtype(t.dtype)
        if base.dtype != dtype:
            base = self._as_dtype(base, t.dtype)
        t._ms = primitive("AsStrided")(base, tuple(t._shape), t.stride(), t._offset)
        strided = layouts.layout(t._shape, t.stride())
        if strided is not None:
            t._ms.layout = strided
        return t._ms

    def _base(self, storage, dtype):
        """Return the MindSpore tensor of the storage's memory.

        Bytes from the host are moved to the device here and get the dtype of the first tensor that uses them.
        """
        if storage._ms is None:
            a = storage._pending[: storage._nbytes // dtype.itemsize * dtype.itemsize].view(dtype.np)
            storage._ms, storage._pending = primitive("Clone")(pyboost.tensor_from_array(a)), None
        return storage._ms

    def _as_dtype(self, base, dtype):
        """Return the memory of a storage as a flat tensor of another dtype."""
        if base.ndim != 1:
            base = primitive("Reshape")(base, (-1,))
        have = ms_dtype_of(base)
        if exists("ViewDtype"):
            return primitive("ViewDtype")(base, pyboost.ms_dtype(dtype))
        if have.is_complex and dtype is have.to_real():
            return primitive("AsStrided")(primitive("RealView")(base), (2 * base.shape[0],), (1,), 0)
        if have.is_complex or dtype.is_complex:
            raise NotImplementedError(
                f"view(dtype): MindSpore {pyboost.version()} has no view of {have} memory as {dtype} on device npu"
            )
        return pyboost.reinterpreted(base, dtype.name, base.shape[0] * have.itemsize // dtype.itemsize)

    dlpack = 12  # kDLExtDev

    def record_stream(self, tensor, stream):
        """Do nothing: MindSpore records each stream in which a kernel uses a tensor, and frees the memory after it."""

    def lent(self, address, dtype, count, owner, device):
        """Return a flat tensor over device memory that belongs to `owner`."""
        if dtype.is_complex:
            raise NotImplementedError(f"from_dlpack: MindSpore takes no {dtype} memory of device {device}")
        return wrap(pyboost.tensor_from_capsule(flat(address, dtype, count, owner, device)), (count,), dtype, device)

    def storage(self, t):
        return DeviceStorage.over(t._ms, numel(t._shape) * t.dtype.itemsize, t.device)

    def new_storage(self, data, device):
        return DeviceStorage.of_bytes(data, device)

    def empty(self, shape, dtype, device):
        table.check(None, dtype)
        if 0 in shape:
            return wrap(pyboost.tensor_from_array(np.empty(shape, dtype.np)), tuple(shape), dtype, device)
        return wrap(primitive("Empty")(tuple(shape), pyboost.ms_dtype(dtype), "Ascend"), tuple(shape), dtype, device)

    def write(self, dst, src):
        if 0 in dst._shape:
            return
        if dst.device is HOST:
            backend(HOST).write(dst, self.to_host(src))
            return
        self._moves["from host" if src.device is HOST else "copy"] += 1
        if src.dtype is not dst.dtype:
            src = backend(src.device).cast(src, dst.dtype)
        primitive("InplaceCopy")(dst._mstensor(), self.handed(src), False)

    def cast(self, tensor, dtype):
        self._moves["cast"] += 1
        if 0 in tensor._shape:
            return self.empty(tensor._shape, dtype, tensor.device)
        table.check(None, dtype)
        return wrap(primitive("Cast")(tensor._mstensor(), pyboost.ms_dtype(dtype)), tensor._shape, dtype, tensor.device)

    def compact(self, tensor):
        if 0 in tensor._shape:
            return self.empty(tensor._shape, tensor.dtype, tensor.device)
        self._moves["copy"] += 1
        ms = primitive("Contiguous" if tensor._stride is not None or tensor._offset else "Clone")(tensor._mstensor())
        return wrap(ms, tensor._shape, tensor.dtype, tensor.device)

    def pinned(self, tensor):
        """Return a copy in pinned (page-locked) host memory."""
        a = np.ascontiguousarray(tensor._array())
        if a.size:
            a = pyboost.array_of(pyboost.tensor_from_array(a).pin_memory(), a.shape, a.dtype)
        t = from_array(a, tensor.dtype)
        t._get_storage()._pinned = True
        return t

    def to_host(self, tensor):
        self._moves["to host"] += 1
        if 0 in tensor._shape:
            return from_array(np.empty(tensor._shape, tensor.dtype.np), tensor.dtype)
        ms = (tensor if tensor._stride is None and tensor._storage is None else self.compact(tensor))._mstensor()
        return from_array(np.array(host_array(ms, tensor._shape, tensor.dtype.np)), tensor.dtype)


@launches.reporting
def host_array(ms, shape, np_dtype):
    """Return the values of a contiguous device tensor as a NumPy array with its own memory."""
    return pyboost.array_of(ms.move_to("CPU"), shape, np_dtype)


class DeviceStorage(UntypedStorage):
    """A storage on an NPU.

    It holds a MindSpore tensor, or host bytes that are moved to the device when the first tensor uses them.
    """

    __slots__ = ("_pending",)
    __module__ = "torch.storage"

    @classmethod
    def over(cls, ms, nbytes, device):
        self = object.__new__(cls)
        self._init(None, nbytes, device)
        self._ms, self._pending = ms, None
        return self

    @classmethod
    def of_bytes(cls, array, device):
        """Return a storage on the device with a copy of the bytes of a uint8 array."""
        self = cls.over(None, array.size, device)
        self._pending = np.array(array)
        return self

    def _array(self):
        """Return the bytes on the host."""
        if self._ms is None:
            return self._pending
        ms, dtype = self._ms, ms_dtype_of(self._ms)
        return host_array(ms, tuple(ms.shape), dtype.np).reshape(-1).view(np.uint8)[: self._nbytes].copy()

    @launches.reporting
    def data_ptr(self):
        return backend(self.device)._base(self, dt.uint8)._data_ptr() if self._nbytes else 0

    @property
    def _cdata(self):
        return self.data_ptr() or id(self)

    def copy_(self, source, non_blocking=None):
        b = backend(self.device)
        if self._ms is None:
            self._pending[:] = source._array()
            return self
        ms = self._ms
        a = source._array().view(ms_dtype_of(ms).np).reshape(tuple(ms.shape))
        primitive("InplaceCopy")(ms, pyboost.tensor_from_array(np.array(a)), False)
        b._moves["from host"] += 1
        return self

    def fill_(self, value):
        return self.copy_(UntypedStorage._from_array(np.full(self._nbytes, int(value) & 255, np.uint8)))

    def clone(self):
        return DeviceStorage.of_bytes(self._array(), self.device)

    def cpu(self):
        return UntypedStorage._from_array(self._array())

    def resize_(self, nbytes):
        a = np.zeros(nbytes, np.uint8)
        n = min(nbytes, self._nbytes)
        a[:n] = self._array()[:n]
        self._ms, self._pending, self._nbytes = None, a, nbytes
        return self


BACKEND = Ascend()
