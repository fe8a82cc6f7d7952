"""The functions that pickles of tensors and storages call, under PyTorch's names; and how a tensor is copied."""

import copy
import copyreg
import io
import warnings
from collections import OrderedDict

from .. import dtypes as dt
from ..autograd import no_grad
from ..call.overrides import handle_torch_function, has_torch_function
from ..classes import lazy
from ..device import HOST, LAYOUTS, META, QSCHEMES, Size
from ..device import device as _device
from ..device import layout as _layout
from ..ops.conjugate import lazily
from ..ops.quantized import STORED, PerChannel, PerTensor, QuantizedTensor, quantized
from ..ops.sparse import INVARIANTS, SparseTensor, parts, sparse_compressed_tensor, sparse_coo_tensor
from ..storage import UntypedStorage
from ..tensor import NoMemory, Tensor, alias, canonical, extent, from_array, meta_tensor, tensor_method, wrap
from ..typed_storage import TypedStorage
from . import unpickler as safe
from .config import _serialization_tls
from .load import load
from .save import save
from .sparse import loaded_sparse
from .storages import STORAGE_OF


def _named(module):
    def mark(function):
        function.__module__ = module
        safe.allow(function)
        return function

    return mark


@_named("torch.serialization")
def _get_layout(name):
    return LAYOUTS[name.removeprefix("torch.")]


copyreg.pickle(_layout, lambda value: (_get_layout, (str(value),)))


def rebuild(storage, d, offset, size, stride):
    """Return a tensor over a storage. All values are checked, since they may come from a hostile file."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if not all(isinstance(i, int) and i >= 0 for i in (offset, *size, *stride)):
        raise RuntimeError(f"Tensor: invalid size {size}, stride {stride} or storage offset {offset}")
    storage = storage._untyped_storage if isinstance(storage, TypedStorage) else storage
    need = 0 if 0 in size else offset + extent(size, stride)
    if need * d.itemsize > storage.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {d.itemsize} requiring a storage size of {need * d.itemsize} are out of bounds for storage "
            f"of size {storage.nbytes()}"
        )
    t = wrap(None, size, d, storage.device)
    t._storage, t._stride, t._offset = storage, canonical(size, stride), offset
    return t


@_named("torch._utils")
def _rebuild_tensor(storage, storage_offset, size, stride):
    return rebuild(storage, storage.dtype, storage_offset, size, stride)


@_named("torch._utils")
def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild_tensor_v3(
        storage, storage_offset, size, stride, requires_grad, backward_hooks, storage.dtype, metadata
    )


@_named("torch._utils")
def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    t = rebuild(storage, dtype, storage_offset, size, stride)
    if metadata:
        set_tensor_metadata(t, metadata)
    t.requires_grad = requires_grad
    return t  # hooks have not been saved since PyTorch 0.4


def get_tensor_metadata(tensor):
    """Return the lazy conjugate and negative bits to save with a tensor."""
    return {name: True for name, on in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if on}


def set_tensor_metadata(tensor, metadata):
    """Apply saved conjugate and negative bits."""
    if metadata.get("conj"):
        lazily("conj", tensor)
    if metadata.get("neg"):
        lazily("neg", tensor)


@_named("torch._utils")
def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return meta_tensor(size, dtype, stride)._requiring_grad(requires_grad)


@_named("torch._utils")
def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    where = _serialization_tls.map_location
    if isinstance(where, dict):
        where = where.get(device, device)
    elif callable(where):
        raise RuntimeError(
            "Callable map_location not supported with _rebuild_wrapper_subclass or _rebuild_device_tensor_from_numpy"
        )
    return data.to(dtype=dtype, device=device if where is None else where)._requiring_grad(requires_grad)


@_named("torch._utils")
def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    return _rebuild_device_tensor_from_cpu_tensor(from_array(data), dtype, device, requires_grad)


def _refuse(name, what):
    def rebuild(*args, **kwargs):
        raise NotImplementedError(f"torch.load: {what} tensors are not supported")

    rebuild.__name__ = rebuild.__qualname__ = name
    return _named("torch._utils")(rebuild)


@_named("torch._utils")
def _rebuild_sparse_tensor(layout, data):
    if layout is LAYOUTS["sparse_coo"]:
        t = sparse_coo_tensor(*data[:3], check_invariants=False, is_coalesced=len(data) > 3 and data[3])
    elif str(layout).startswith("torch.sparse_"):
        t = sparse_compressed_tensor(*data, layout=layout, check_invariants=False)
    else:
        raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")
    if INVARIANTS.checked:
        loaded_sparse.append(t)
    return t


_rebuild_nested_tensor = _refuse("_rebuild_nested_tensor", "nested")


@_named("torch._utils")
def _rebuild_qtensor(storage, storage_offset, size, stride, quantizer_params, requires_grad, backward_hooks):
    values = rebuild(storage, STORED[storage.dtype], storage_offset, size, stride)
    scheme, *params = quantizer_params
    if scheme is PerTensor.scheme:
        return quantized(values, storage.dtype, PerTensor(*params))
    if scheme not in (QSCHEMES["per_channel_affine"], QSCHEMES["per_channel_affine_float_qparams"]):
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}")
    return quantized(values, storage.dtype, PerChannel(*params))


_rebuild_wrapper_subclass = _refuse("_rebuild_wrapper_subclass", "wrapper subclass")


@_named("torch._tensor")
def _rebuild_from_type_v2(func, new_type, args, state):
    r = func(*args)
    if type(r) is not new_type:
        r = r.as_subclass(new_type)
    if new_type.__setstate__ is not Tensor.__setstate__:
        r.__setstate__(state)
        return r
    return _set_obj_state(r, state)


def _slots(cls):
    return [n for n in copyreg._slotnames(cls) if n not in Tensor.__slots__]  # type: ignore[attr-defined]


def _get_obj_state(obj):
    """Return a tensor's Python attributes: its __dict__, or (dict, slots) if a subclass has slots.

    Falsy if there are none.
    """
    own = getattr(type(obj), "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return own(obj)
    slots = {n: getattr(obj, n) for n in _slots(type(obj)) if hasattr(obj, n)}
    state = obj.__dict__ or None
    return (state, slots) if slots else state


def _set_obj_state(obj, state):
    """Restore what _get_obj_state returned."""
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for part in state if isinstance(state, tuple) else (state,):
        for k, v in (part or {}).items():
            setattr(obj, k, v)
    return obj


def _reduce_plain(t):
    if t.device is META:
        if _serialization_tls.skip_data:
            warnings.warn(
                "Serializing tensors on the meta device under skip_data context manager is a no-op", stacklevel=2
            )
        return _rebuild_meta_tensor_no_storage, (t.dtype, tuple(t.shape), t.stride(), t.requires_grad)
    if t.device is not HOST:
        if _serialization_tls.skip_data:
            raise RuntimeError("Cannot serialize tensors on backends with no storage under skip_data context manager")
        return _rebuild_device_tensor_from_cpu_tensor, (t.detach().cpu(), t.dtype, str(t.device), t.requires_grad)
    place: tuple = (t.storage_offset(), tuple(t.shape), t.stride(), t.requires_grad, OrderedDict())
    metadata = get_tensor_metadata(t)
    if t.dtype in STORAGE_OF:
        return _rebuild_tensor_v2, (t._typed_storage(), *place, *([metadata] if metadata else []))
    return _rebuild_tensor_v3, (t.untyped_storage(), *place, t.dtype, *([metadata] if metadata else []))


def warn_if_has_hooks(tensor):
    """Warn where a tensor's hooks will not be pickled."""
    for h in (tensor._backward_hooks or {}).values() if tensor.requires_grad else ():
        if not hasattr(h, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {h!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning"
            )


@tensor_method
def __reduce_ex__(self, proto):
    """Pickle as PyTorch does: as a rebuild function and its arguments, among them the storage."""
    if self._layout is LAYOUTS["jagged"]:
        function, given = self._pickled()
        return _rebuild_from_type_v2, (function, type(self), (given,), {})
    state = _get_obj_state(self)
    if (type(self) is Tensor or type(self) in lazy) and not state:
        warn_if_has_hooks(self)
        return _reduce_plain(self)
    if has_torch_function((self,)):
        return handle_torch_function(Tensor.__reduce_ex__, (self,), self, proto)
    warn_if_has_hooks(self)
    func, args = _reduce_plain(self)
    return _rebuild_from_type_v2, (func, type(self), args, state)


@tensor_method
def __setstate__(self, state):
    """Restore the state of a tensor pickled by PyTorch before 0.4."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        self._replace(_rebuild_tensor(*state))
        return
    if len(state) == 5:
        self.data, state = state[0], (state[3], state[4], state[2])
    self.requires_grad = state[0]


def _copied_storage(self, memo):
    if type(self) in lazy:
        return self.clone()
    if self.device is not HOST:
        return alias(self).clone()
    return rebuild(
        copy.deepcopy(self.untyped_storage(), memo), self.dtype, self.storage_offset(), self.shape, self.stride()
    )


def _as_class(new, self):
    if type(self.new_empty([])) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types "
            "that implement new_empty() and for which that function returns another instance of the same subclass. "
            "You should either properly implement new_empty() for your subclass or override __deepcopy__() if it is "
            "intended behavior for new_empty() to return an instance of a different type."
        )
    return alias(new, type(self))


@tensor_method
def __deepcopy__(self, memo):
    """Return a copy with its own storage; copies of tensors that share a storage share its copy."""
    if has_torch_function((self,)):
        return handle_torch_function(Tensor.__deepcopy__, (self,), self, memo)
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    cls = type(self)
    plain = cls is Tensor or cls in lazy
    with no_grad():
        if plain or not (isinstance(self._storage, NoMemory) or self.device is META or not self.data_ptr()):
            new = _copied_storage(self, memo)
            new = new if plain else _as_class(new, self)
        else:
            new = self.clone()
            if type(new) is not cls:
                raise RuntimeError(
                    "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types "
                    "that implement clone() and for which cloning returns another instance of the same subclass. "
                    "You should either properly implement clone() for your subclass or override __deepcopy__() if it "
                    "is intended behavior for clone() to return an instance of a different type."
                )
    if not plain:
        for name in _slots(cls):
            if hasattr(self, name):
                setattr(new, name, copy.deepcopy(getattr(self, name), memo))
    new._requiring_grad(self.requires_grad)
    if self._grad is not None:
        new.grad = copy.deepcopy(self._grad, memo)
    memo[id(self)] = new
    new.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return new


def _load_from_bytes(b):
    return load(io.BytesIO(b), weights_only=False)


_load_from_bytes.__module__ = "torch.storage"


def reduce_storage(self):
    """Pickle a storage on its own, as the bytes of a file in the old format."""
    b = io.BytesIO()
    save(self, b, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (b.getvalue(),)


safe.allow(Size, _device, Tensor)
safe.ALLOWED.update({str(d): d for d in (*dt.ALL.values(), *QSCHEMES.values())})


def _reduce_sparse(self, proto):
    a, b, more = parts(self)
    indices = [a] if b is None else [a, b]
    return _rebuild_sparse_tensor, (self._layout, (*indices, self._v.detach(), self.shape, *more))


def _reduce_quantized(self, proto):
    t = self.cpu()
    return _rebuild_qtensor, (
        t._typed_storage(),
        t.storage_offset(),
        tuple(t.shape),
        t.stride(),
        t._q.saved(),
        False,
        OrderedDict(),
    )


# set here, because the modules of these classes know nothing of serialization
SparseTensor.__reduce_ex__ = _reduce_sparse
QuantizedTensor.__reduce_ex__ = _reduce_quantized
UntypedStorage.__reduce__ = TypedStorage.__reduce__ = reduce_storage
