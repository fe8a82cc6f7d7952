"""The Tensor class: memory, metadata and the methods that are not operators.

Operators are looked up in the registry on first use.
"""

import math
import types
import warnings

import numpy as np

from . import dtypes as dt
from . import registry
from .backend import backend
from .classes import DisableTorchFunctionSubclass, dispatching, lazy, look_at_classes, register_direct, subclass_kept
from .context import CONTEXT, PROCESS
from .cpython import read_only
from .device import HOST, META, Size, channels_last, channels_last_3d, contiguous_format, new_tensor_device, strided
from .device import device as Device
from .device import memory_format as MemoryFormat
from .storage import UntypedStorage
from .symbolic import layout_only
from .versions import INFERENCE, new_version


@layout_only
def contiguous_strides(shape):
    rank = len(shape)
    if rank < 3:
        return () if not rank else (1,) if rank == 1 else (shape[1] if shape[1] > 1 else 1, 1)
    out, n = [], 1
    for s in reversed(shape):
        out.append(n)
        n *= s if s > 1 else 1
    return tuple(reversed(out))


numel = math.prod  # numel(shape): the number of elements


def extent(shape, stride=None):
    """Return how many elements of memory a tensor of this shape spans. stride None means contiguous."""
    if 0 in shape or stride is None:
        return numel(shape)
    return 1 + sum((n - 1) * s for n, s in zip(shape, stride))


def check_numel(shape):
    """Raise PyTorch's error for a shape whose number of elements does not fit into 64 bits."""
    if numel(shape) >= 1 << 63:
        raise RuntimeError("numel: integer multiplication overflow")


def too_large(shape):
    """Return PyTorch's error for a shape whose size in bytes, or whose strides, do not fit into 64 bits."""
    return RuntimeError(
        "Stride calculation overflowed"
        if 0 in shape
        else f"Storage size calculation overflowed with sizes={list(shape)}"
    )


def check_bytes(shape, dtype):
    """Return (shape, dtype). Raise PyTorch's error where the size in bytes does not fit into 64 bits."""
    if (numel(shape) or numel(n or 1 for n in shape[1:])) * dtype.itemsize >= 1 << 63:
        raise too_large(shape)
    return shape, dtype


@layout_only
def canonical(shape, stride):
    """Return the strides, or None where they are those of a new contiguous tensor."""
    return None if stride == contiguous_strides(shape) else stride


def _checked_dim(function, dim, n):
    """Return `dim` as an int. Raise PyTorch's error where it is not one of n dimensions."""
    if dim.__class__ is not int:
        if isinstance(dim, bool) or not hasattr(dim, "__index__"):
            raise TypeError(f"{function}(): argument 'dim' (position 1) must be int, not {type_name(dim)}")
        dim = dim.__index__()
    if -n <= dim < n:
        return dim
    if n == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")


@layout_only
def is_contiguous(shape, stride):
    """Whether strides are contiguous for a shape, as they always are for a shape without elements."""
    return 0 in shape or _in_order(shape, stride)


@layout_only
def _in_order(shape, stride):
    expected = 1
    for s, st in zip(reversed(shape), reversed(stride)):
        if s != 1:
            if st != expected:
                return False
            expected *= s
    return True


@layout_only
def is_dense(shape, stride):
    """Whether the elements fill one block of memory without overlap, in any order."""
    expected = 1
    for st, s in sorted((st, s) for s, st in zip(shape, stride) if s != 1):
        if st != expected:
            return s == 0 or 0 in shape
        expected *= s
    return True


def refuse_in_transforms(name, perhaps=""):
    """Raise PyTorch's error for a method that is not supported in a function transformed by torch.func."""
    if CONTEXT.transforms:
        raise RuntimeError(
            f"You are attempting to call Tensor.{name}() {perhaps}inside of a function being transformed by a "
            "functorch transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
            f"vjp, jacrev, jacfwd, hessian) or call {name}() outside of a function being transformed instead."
        )


def check_writable(t):
    """Raise PyTorch's error for in-place operations on inference tensors outside of inference mode."""
    if t._vc is INFERENCE and new_version() is not INFERENCE:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
            "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def _not_deleted(message):
    def refuse(self):
        raise RuntimeError(message)

    return refuse


class TensorMeta(type):
    """Metaclass that makes operators as methods of Tensor on first use, and that registers subclasses."""

    def __init__(cls, name, bases, namespace, **kw):
        super().__init__(name, bases, namespace)
        if bases:
            cls._enter_subclass(**kw)

    def __getattr__(cls, name):
        m = registry.method(name)
        if m is None:
            raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
        setattr(Tensor, name, m)
        return getattr(cls, name)

    def __dir__(cls):
        return sorted({*type.__dir__(cls), *registry.names("Tensor")})


class NoMemory(UntypedStorage):
    """The storage of a wrapper subclass: it has a size, but no bytes."""

    __slots__ = ()
    __module__ = "torch.storage"
    _resizable = False

    def __new__(cls, nbytes, device):
        self = object.__new__(cls)
        self._bytes, self._nbytes, self.device = None, nbytes, device
        return self

    def _array(self):
        raise RuntimeError(
            "this tensor is a wrapper without memory of its own: its class has not answered an operator for it"
        )

    _ms = property(_array)


# The slots of a tensor, and their values in a new one; `...` where the function that makes it sets the value. Those
# functions assign the slots one by one, because a loop takes longer than a small kernel. tests/contract/test_slots.py
# compares them with this list.
STARTS = {
    "_ms": None,
    "_np": None,
    "_storage": None,
    "_shape": ...,
    "_stride": None,
    "_offset": 0,
    "_dtype": ...,  # the attributes dtype and device read it
    "_device": ...,
    "_requires_grad": False,
    "_grad": None,
    "_grad_fn": None,
    "_output_nr": 0,
    "_vc": ...,
    "_view": None,
    "_acc": None,
    "_hooks": None,
    "_retains": None,
}


class _Named(property):
    """A property whose getter has the attribute's name, by which interceptors know it."""

    def __set_name__(self, cls, name):
        self.fget.__name__ = name


def constant(value, doc=None):
    """Return a property that is the same for all tensors of a class, and that programs cannot set."""
    return _Named(lambda self: value, doc=doc)


class Tensor(metaclass=TensorMeta):
    """A multi-dimensional array of one dtype on one device, which may share its memory with other tensors."""

    __slots__ = (*STARTS, "__weakref__", "__dict__")
    __module__ = "torch"
    _layout, _is_sparse = strided, False  # what our own code reads: programs' classes may override the properties
    layout = _Named(lambda self: self._layout, doc="The layout of the memory.")
    is_sparse = _Named(lambda self: self._is_sparse, doc="Whether the layout is torch.sparse_coo.")
    is_sparse_csr = constant(False, "Whether the layout is torch.sparse_csr.")
    is_quantized = constant(False, "Whether the elements are quantized.")
    is_nested = constant(False, "Whether this is a nested tensor.")
    is_mkldnn = constant(False, "Whether the layout is oneDNN's.")
    is_cuda, is_xpu, is_mps, is_ipu, is_hpu, is_mtia, is_maia, is_vulkan, is_xla, is_ort = (
        constant(False, f"Whether the device is of the type {_type}, which does not exist here.")
        for _type in "cuda xpu mps ipu hpu mtia maia vulkan xla ort".split()
    )
    __array_priority__ = 1000

    def __init__(self, *args, **kw):
        pass

    # ------------------------------------------------------------ memory
    def _array(self):
        """Return a writable NumPy array over this tensor's memory, where that is the host's."""
        a = self._np
        if a is None:
            a = self._np = backend(self.device).array(self)
        return a

    def _mstensor(self):
        """Return the MindSpore tensor over this tensor's memory.

        Where the device's kernels do not support strides, it is a contiguous copy.
        """
        m = self._ms
        return backend(self.device).mstensor(self) if m is None else m

    def _get_storage(self):
        st = self._storage
        if st is None:
            st = self._storage = backend(self.device).storage(self)
        return st

    def _replace(self, other):
        """Replace memory and metadata by those of another tensor (`.data =`, set_, resize_)."""
        self._ms, self._np, self._storage = other._ms, other._np, other._storage
        self._shape, self._stride, self._offset = other._shape, other._stride, other._offset
        self._dtype, self._device = other.dtype, other.device

    def _bump(self):
        vc = self._vc
        if vc is None:
            self._vc = [1]
        elif vc is INFERENCE:
            check_writable(self)
        else:
            vc[0] += 1

    @property
    def _version(self):
        if self._vc is INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._vc is None else self._vc[0]

    # ------------------------------------------------------------ metadata
    @property
    def shape(self):
        """The sizes of the dimensions, a torch.Size."""
        s = self._shape
        if s.__class__ is not Size:
            s = self._shape = Size(s)
        return s

    def size(self, dim=None):
        """The shape, or the size of one dimension."""
        if dim is None:
            return self.shape
        return self._shape[_checked_dim("size", dim, len(self._shape))]

    def stride(self, dim=None):
        """The strides of the dimensions in elements, or the stride of one dimension."""
        st = self._stride
        if st is None:
            st = contiguous_strides(self._shape)
        return st if dim is None else st[_checked_dim("stride", dim, len(st))]

    def storage_offset(self):
        """The offset of the first element in the storage, in elements."""
        return self._offset

    def dim(self):
        """The number of dimensions."""
        return len(self._shape)

    ndimension = dim
    ndim = property(dim)

    def numel(self):
        """The number of elements."""
        return numel(self._shape)

    nelement = numel

    def element_size(self):
        """The size of one element in bytes."""
        return self.dtype.itemsize

    itemsize = property(element_size)

    @property
    def nbytes(self):
        """The size of all elements in bytes; a view does not count the memory that it leaves out."""
        return numel(self._shape) * self.dtype.itemsize

    def is_contiguous(self, memory_format=contiguous_format):
        """Whether the elements are contiguous in memory, in the order of a memory format."""
        if memory_format.__class__ is not MemoryFormat:
            raise TypeError(
                f"is_contiguous(): argument 'memory_format' must be torch.memory_format, not {type_name(memory_format)}"
            )
        if memory_format in (channels_last, channels_last_3d):
            n = 4 if memory_format is channels_last else 5
            if len(self._shape) != n:
                return False
            order = (0, *range(2, n), 1)
            st = self.stride()
            return _in_order([self._shape[i] for i in order], [st[i] for i in order])
        return self._stride is None or is_contiguous(self._shape, self._stride)

    def dim_order(self, *, ambiguity_check=False):
        """The dimensions from the outermost in memory to the innermost.

        With ambiguity_check, raises RuntimeError where there is more than one such order.
        """
        if self._layout is not strided:
            raise AttributeError(
                f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() to convert to a dense "
                f"tensor first."
            )
        formats = ambiguity_check if isinstance(ambiguity_check, list) else []
        if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, MemoryFormat) for f in formats):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        st = self.stride()
        unique = not any(s == 1 for s in self._shape) and 0 not in st and len(set(st)) == len(st)
        if ambiguity_check and not unique and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            ambiguous = any(0 == a for s, a in zip(self._shape, st) if s > 1)
            raise RuntimeError(
                f"The tensor does not have unique dim "
                f"order{'.' if ambiguous else ', or cannot map to exact one of the given memory formats.'}"
            )
        return tuple(sorted(range(len(st)), key=lambda i: -st[i]))

    def is_floating_point(self):
        """Whether the dtype is a floating-point one."""
        return self.dtype.is_floating_point

    def is_complex(self):
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def is_signed(self):
        """Whether the dtype has a sign."""
        return self.dtype.is_signed

    def is_conj(self):
        """Whether the tensor is a lazy conjugate: its memory holds the conjugates of its values."""
        return False

    def is_inference(self):
        """Whether the tensor was made in inference mode."""
        return self._vc is INFERENCE

    def is_neg(self):
        """Whether the tensor is a lazy negative: its memory holds the negatives of its values."""
        return False

    def has_names(self):
        """Whether the dimensions have names: always False."""
        return False

    def is_shared(self):
        """Whether the tensor is in shared memory."""
        return self._storage is not None and self._storage.is_shared()

    is_meta = property(
        lambda self: self.device is META, doc="Whether the tensor has a shape and a dtype alone, no memory."
    )
    is_cpu = property(lambda self: self.device is HOST, doc="Whether the tensor is in the CPU's memory.")
    is_npu = property(lambda self: self.device.type == "npu", doc="Whether the tensor is in an NPU's memory.")

    def is_distributed(self):
        """Whether the tensor is distributed: always False."""
        return False

    def get_device(self):
        """The index of the tensor's device; -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    def untyped_storage(self):
        """The storage of the tensor."""
        return self._get_storage()

    def data_ptr(self):
        """The address of the first element."""
        if self.device is META or 0 in self._shape:
            return 0
        return self._get_storage().data_ptr() + self._offset * self.dtype.itemsize

    @property
    def _cdata(self):
        return id(self)

    # ------------------------------------------------------------ autograd metadata
    @property
    def requires_grad(self):
        """Whether operators on the tensor are recorded for backward().

        It can be set for leaves of floating-point or complex dtype.
        """
        v = self._view
        return self._requires_grad or v is not None and v.base._requires_grad and self.dtype.category >= dt.FLOAT

    @requires_grad.setter
    def requires_grad(self, value):
        if value.__class__ is not bool:
            raise RuntimeError("requires_grad must be a bool")
        if value and self._get_grad_fn() is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self._requiring_grad(value, "only Tensors of floating point and complex dtype")

    def requires_grad_(self, requires_grad=True):
        """Set whether operators on the tensor are recorded for backward()."""
        value = requires_grad
        if value.__class__ is not bool:
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type_name(value)}"
            )
        refuse_in_transforms("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) ")
        return self._requiring_grad(value)

    def _requiring_grad(self, value=True, *words):
        """Implement requires_grad_() without the check for transforms. words: the beginning of the dtype error."""
        if value and self.dtype.category < dt.FLOAT:
            raise RuntimeError(f"{words[0] if words else 'only Tensors of floating point dtype'} can require gradients")
        if not value and self._get_grad_fn() is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        if value and self._vc is INFERENCE and new_version() is None:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._requires_grad = value
        return self

    @property
    def is_leaf(self):
        """Whether the tensor is not the result of a recorded operator.

        Tensors that do not require gradients are leaves too.
        """
        return self._get_grad_fn() is None

    def _get_grad_fn(self):
        v = self._view
        if v is not None and self._requires_grad:
            v.refresh(self)
        return self._grad_fn

    @property
    def output_nr(self):
        """The position of the tensor among the outputs of its node."""
        return self._output_nr

    @property
    def grad(self):
        """The gradient that backward() has accumulated, or None.

        An assigned gradient must have this tensor's dtype (see grad_dtype), device and shape.
        """
        if self._grad is None and self._grad_fn is not None and not self._retains:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                "Its .grad attribute won't be populated during autograd.backward(). If you indeed want the .grad "
                "field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, g):
        if g is not None:
            if not isinstance(g, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(g).__name__}"
                )
            if g is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if g._shape != self._shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(g._shape)}' to a tensor of size "
                    f"'{list(self._shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
            if g.device is not self.device:
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{g.device.type}' to a tensor with device type "
                    f"'{self.device.type}'. Please ensure that the gradient and the tensor are on the same device"
                )
            if g.dtype is not self.dtype or "_grad_dtype" in self.__dict__:
                self._check_grad_dtype(g)
        self._grad = g

    @grad.deleter
    def grad(self):
        self._grad = None

    def _check_grad_dtype(self, g):
        allowed = self.__dict__.get("_grad_dtype", self.dtype)
        if g.dtype is not allowed is not None:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{dt.c_name(g.dtype)}' to a tensor with grad_dtype "
                f"'{dt.scalar_name(allowed)}'. The gradient must match the tensor's grad_dtype (defaults to the "
                "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, "
                "or None to allow any dtype."
            )

    @property
    def grad_dtype(self):
        """The dtype of the gradient of this leaf: its own dtype unless another was set.

        With None gradients keep the dtype in which they arrive.
        """
        if self._grad_fn is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.__dict__.get("_grad_dtype", self.dtype)

    @grad_dtype.setter
    def grad_dtype(self, dtype):
        if dtype is not None and not isinstance(dtype, dt.dtype):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
        if self._grad_fn is not None:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if self._grad is not None and self._grad.dtype is not dtype is not None:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{dt.scalar_name(dtype)}' because there is already a gradient with dtype "
                f"'{dt.c_name(self._grad.dtype)}'. Please clear the gradient (.grad = None) before changing "
                "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
            )
        self._grad_dtype = dtype

    @property
    def retains_grad(self):
        """Whether backward() keeps the gradient of this non-leaf tensor."""
        return bool(self._retains)

    @property
    def _base(self):
        return None if self._view is None else self._view.base

    def _is_view(self):
        return self._view is not None

    @property
    def data(self):
        """A tensor over the same memory, without history and with a separate version counter.

        Assigning to it replaces memory, dtype and shape by those of another tensor.
        """
        if self.__class__ in dispatching or CONTEXT.interceptors:
            return unversioned(self.detach())
        t = unversioned(alias(self))
        return t.as_subclass(type(self)) if subclass_kept(type(self)) else t

    @data.setter
    def data(self, new):
        if not isinstance(new, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        if new._layout is not self._layout:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                "type."
            )
        if self._requires_grad and new.dtype.category < dt.FLOAT:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._replace(new)
        if self._vc is INFERENCE or new._vc is INFERENCE:
            self._vc = INFERENCE if new._vc is INFERENCE else None

    @property
    def _backward_hooks(self):
        return self._hooks

    @_backward_hooks.setter
    def _backward_hooks(self, hooks):
        fn = self._get_grad_fn()
        if fn is not None:
            kept = tuple(h for h in fn._tensor_hooks if h[1] is not self._hooks)
            fn._tensor_hooks = kept if hooks is None else (*kept, (self._output_nr, hooks))
        self._hooks = hooks

    data = data.deleter(_not_deleted("Deleting tensor data is not allowed. Delete tensor instead!"))
    requires_grad = requires_grad.deleter(_not_deleted("requires_grad must be a bool"))
    _backward_hooks = _backward_hooks.deleter(_not_deleted("Deletion of _backwards_hooks not allowed!"))

    # ------------------------------------------------------------ host values
    def _as_numpy(self):
        """Return a NumPy array over the same memory, also where the tensor requires gradients."""
        if self.__class__ in lazy:
            kind, cure = ("conjugate", "conj") if self.is_conj() else ("negative", "neg")
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {kind} bit set. Use tensor.resolve_{cure}().numpy() instead."
            )
        if self.__class__ in dispatching:
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
        if not backend(self.device).host:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                f"host memory first."
            )
        if self.dtype in (dt.bfloat16, dt.complex32) or self.dtype.np is None or self.dtype.name.startswith("float8"):
            raise TypeError(f"Got unsupported ScalarType {dt.scalar_name(self.dtype)}")
        self._get_storage()._resizable = False  # the array sees this memory
        a = self._array()
        return a.view() if a.flags.writeable else a

    def __array__(self, dtype=None):
        a = self.numpy()
        return a if dtype is None else a.astype(dtype, copy=False)

    def tolist(self):
        """Return the elements as Python numbers in nested lists."""
        if self.__class__ in lazy:
            return self._resolved_values().tolist()
        if self.__class__ in dispatching:
            raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}.")
        if self.device is META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        a = self._host()._array()
        if self.dtype is dt.complex32:
            a = dt.complex_array(a)
        return a.astype(np.float64).tolist() if a.dtype.kind == "V" or a.dtype.char == "E" else a.tolist()

    def _host(self):
        """Return this tensor if it is in the host's memory, else a copy there."""
        b = backend(self.device)
        return self if b.host else b.to_host(self)

    def __bool__(self):
        n = numel(self._shape)
        if n == 1:
            return bool(self.item())
        raise RuntimeError(
            "Boolean value of Tensor with no values is ambiguous"
            if n == 0
            else "Boolean value of Tensor with more than one value is ambiguous"
        )

    def is_nonzero(self):
        """Whether the single element is not zero."""
        return self.__bool__()

    def _number(self):
        """Return the value for int(), float() and complex()."""
        if numel(self._shape) != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __int__(self):
        v = self._number()
        if v.__class__ is complex and v.imag:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        return int(v.real)

    def __float__(self):
        v = self._number()
        if v.__class__ is complex and v.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return float(v.real)

    def __complex__(self):
        return complex(self._number())

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")

    def __index__(self):
        if numel(self._shape) != 1 or self.dtype.category > dt.INT:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self):
        if not self._shape:
            raise TypeError("len() of a 0-d tensor")
        return self._shape[0]

    def __iter__(self):
        if not self._shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, complex, bool)):
            return bool((element == self).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self):
        return id(self)

    def __format__(self, spec):
        if not self._shape and self.device is not META and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __dir__(self):
        return sorted({*dir(type(self)), *self.__dict__} - {"__cuda_array_interface__"})

    def __getattr__(self, name):
        # The metaclass's __getattr__ serves the class; this one serves instances, for methods that are not made yet.
        if name[:2] == "__":
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        m = registry.method(name)
        if m is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if not hasattr(type(self), "__mro__") or name not in Tensor.__dict__:
            setattr(Tensor, name, m)
        return getattr(self, name)

    # ------------------------------------------------------------ subclasses and protocols
    @staticmethod
    def _make_subclass(
        cls,
        data,
        require_grad=False,
        *,
        dispatch_sizes_strides_policy=None,
        dispatch_device=False,
        device_for_backend_keys=None,
    ):
        """Return an instance of a subclass over the same memory, without history.

        device_for_backend_keys: the device that it reports.
        """
        if not isinstance(data, Tensor):
            raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(
                "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                "Make sure your class inherits from Tensor."
            )
        if require_grad.__class__ is not bool and type(require_grad).__module__ != "numpy":
            raise TypeError(
                "_make_subclass(): argument 'require_grad' (position 3) must be bool, "
                f"not {type(require_grad).__name__}"
            )
        t = unversioned(data._instance_of(cls))
        if device_for_backend_keys is not None:
            t._device = device_for_backend_keys
        t._requires_grad = False
        if CONTEXT.tracer is not None:  # a graph has the detaching of the data, so that a parameter may be made there
            note, _, detach = CONTEXT.tracer
            note(detach, (data,), {}, t)
        if require_grad:
            with DisableTorchFunctionSubclass():  # the subclass has not initialised it yet
                t._requiring_grad(True, "Only Tensors of floating point and complex dtype")
        return t

    def _instance_of(self, cls):
        """Return an instance of cls over the same memory.

        A tensor whose class has a __torch_dispatch__ is detached instead, and the result has to be an instance of cls.
        """
        if self.__class__ not in dispatching or self.__class__ in lazy or CONTEXT.dispatch_off:
            return alias(self, cls)
        t = self.detach()
        if not isinstance(t, cls):
            raise RuntimeError(
                f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already associated to a "
                f"python object of type {type(t).__name__} which is not a subclass of the requested type"
            )
        return t

    @staticmethod
    def _make_wrapper_subclass(
        cls,
        size,
        strides=None,
        storage_offset=None,
        memory_format=None,
        dtype=None,
        layout=strided,
        device=None,
        pin_memory=False,
        requires_grad=False,
        dispatch_sizes_strides_policy=None,
        dispatch_device=False,
        dispatch_layout=False,
        _extra_dispatch_keys=None,
        storage_size=None,
    ):
        """Return a wrapper subclass instance: it has shape, dtype and device, but no memory.

        Every operator on it goes to the __torch_dispatch__ of its class.
        """
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(
                "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                "Make sure your class inherits from Tensor."
            )
        if cls not in dispatching:
            raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
        t = _new(cls)
        look_at_classes()
        size = tuple(int(s) for s in size)
        t._shape, t._stride = size, None if strides is None else canonical(size, tuple(strides))
        dtype, device = dtype or dt.get_default_dtype(), new_tensor_device() if device is None else Device(device)
        t._dtype, t._device = dtype, device
        t._offset, t._output_nr, t._requires_grad = storage_offset or 0, 0, False
        t._storage = NoMemory(
            (t._offset + extent(size, t._stride)) * dtype.itemsize if storage_size is None else storage_size, device
        )
        t._ms = t._np = t._grad = t._grad_fn = t._view = t._acc = t._hooks = t._retains = t._vc = None
        if requires_grad:
            t._requiring_grad()
        return t

    def __cuda_array_interface__(self):
        raise AttributeError("Can't get __cuda_array_interface__ on non-CUDA tensor type")

    __cuda_array_interface__ = property(__cuda_array_interface__)


_new = object.__new__


def type_name(v):
    """Return the name of a value's class as in PyTorch's error messages."""
    c = type(v)
    return (
        f"{c.__module__}.{c.__name__}"
        if c.__module__ in ("torch", "numpy") and c.__name__ not in ("Tensor", "Parameter")
        else c.__name__
    )


def spoken_type(t):
    """Return a tensor's type as PyTorch's errors write it: Python's class, or where there is none the type of C++."""
    name = dt.LEGACY.get(t.dtype, t.dtype.name)
    if t.dtype is dt.bfloat16 or t.dtype.is_complex:
        return f"{t.device.type.upper()}{name}Type"
    return f"torch.{'sparse.' if t._is_sparse else '' if t.device is HOST else t.device.type + '.'}{name}Tensor"


def tensor_method(fn):
    """Decorator that makes a function a method of Tensor, for modules that import this one."""
    function = getattr(fn, "__func__", fn)
    function.__qualname__, function.__module__ = "Tensor." + function.__name__, "torch"
    setattr(Tensor, function.__name__, staticmethod(fn) if function.__name__ == "__new__" else fn)
    return fn


register_direct(Tensor)
for _method in vars(Tensor).values():
    if isinstance(_method, types.FunctionType):
        _method.__module__ = "torch"  # seen by programs that override functions


def unversioned(t):
    """Give a new tensor over another one's memory a separate version counter, and return it."""
    if t._vc is not INFERENCE:
        t._vc = None if t._vc is None or t._vc.__class__ is list else t._vc.renewed()
    return t


def capacity(t):
    """Return how many elements of its dtype a tensor's storage holds."""
    return numel(t._shape) if t._storage is None else t._storage.nbytes() // t.dtype.itemsize


def unviewed(t):
    """Mark a tensor that was made as a view as not one, because nothing else uses its memory."""
    t._view = None
    return t


def wrap(ms, shape, dtype, device=HOST):
    """Return a new contiguous tensor over the MindSpore tensor that a kernel returned."""
    t = _new(Tensor)
    t._ms = ms
    t._shape = shape
    t._dtype = dtype
    t._device = device
    t._offset = t._output_nr = 0
    t._requires_grad = False
    t._np = t._storage = t._stride = t._grad = t._grad_fn = t._view = t._acc = t._hooks = t._retains = None
    t._vc = new_version() if PROCESS.versions else None
    return t


def from_array(a, dtype=None):
    """Return a CPU tensor over a NumPy array's memory; an array that is not contiguous or not writable is copied."""
    if dtype is None:
        dtype = dt.FROM_NP[a.dtype]
    if not a.flags.c_contiguous or not a.flags.writeable:
        a = np.array(a, order="C")
    t = wrap(None, a.shape, dtype)
    t._np = a
    return t


def fresh(a, dtype):
    """Return a CPU tensor over a contiguous array that a kernel has just made.

    A faster from_array() with its calls inlined, since it runs after every NumPy kernel.
    """
    t = _new(Tensor)
    t._np = a
    t._shape = a.shape
    t._dtype = dtype
    t._device = HOST
    t._offset = t._output_nr = 0
    t._requires_grad = False
    t._ms = t._storage = t._stride = t._grad = t._grad_fn = t._view = t._acc = t._hooks = t._retains = None
    t._vc = new_version() if PROCESS.versions else None
    return t


def meta_tensor(shape, dtype, stride=None):
    check_bytes(shape, dtype)
    t = wrap(None, tuple(shape), dtype, META)
    if stride is not None:
        t._stride = canonical(t._shape, tuple(stride))
    return t


def strided_view(base, shape, stride, offset, dtype=None):
    """Return a tensor over base's storage, without running a kernel and without autograd. stride None: contiguous."""
    t = _new(Tensor)
    st = base._storage
    t._storage = st if st is not None else base._get_storage()
    vc = base._vc
    if vc is None:
        vc = base._vc = [0]
    t._vc = vc
    t._shape = shape
    t._stride = stride
    t._offset = offset
    t._dtype = dtype or base.dtype
    t._device = base.device
    t._output_nr = 0
    t._requires_grad = False
    t._ms = t._np = t._grad = t._grad_fn = t._view = t._acc = t._hooks = t._retains = None
    return t


Tensor.dtype, Tensor.device = read_only(Tensor, "_dtype", "dtype"), read_only(Tensor, "_device", "device")


def alias(self, cls=Tensor):
    """Return a tensor with the same memory and version counter, without autograd, as detach() does."""
    if cls is not Tensor and issubclass(cls, Tensor):
        t = _new(cls)
        if cls in dispatching:
            look_at_classes()
    else:
        t = _new(Tensor)
    st, vc = self._storage, self._vc
    t._storage = st if st is not None else self._get_storage()  # may also set _np and _ms
    if vc is None:
        vc = self._vc = [0]
    t._vc = vc
    t._ms, t._np, t._shape, t._stride, t._offset = self._ms, self._np, self._shape, self._stride, self._offset
    t._dtype, t._device = self.dtype, self.device
    t._output_nr = 0
    t._requires_grad = False
    t._grad = t._grad_fn = t._view = t._acc = t._hooks = t._retains = None
    return t


def number_in(self):
    """Return the value of a tensor with one element as a Python number."""
    if numel(self._shape) != 1:
        raise RuntimeError(f"a Tensor with {numel(self._shape)} elements cannot be converted to Scalar")
    if self.device is META:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    v = self._host()._array().item()
    if v.__class__ is tuple:
        return complex(*v)
    return float(v) if self.dtype.category == dt.FLOAT and v.__class__ is not float else v


def empty(shape, dtype, device=HOST):
    """Return a contiguous tensor with uninitialised memory."""
    return backend(device).empty(tuple(shape), dtype, device)
