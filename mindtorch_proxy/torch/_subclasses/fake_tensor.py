"""Fake tensors: tensors with a shape, strides, a dtype and a device, but no values.

Operators on them run on meta tensors.
"""

import contextlib
import functools
import re
import weakref

import torch
from mindtorch_proxy.runtime import aten as _aten
from mindtorch_proxy.runtime.classes import DisableTorchDispatch
from mindtorch_proxy.runtime.device import META
from mindtorch_proxy.runtime.symbolic import LAYOUT
from mindtorch_proxy.runtime.tensor import alias, meta_tensor
from torch._dynamo.source import ConstantSource
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.weak import WeakIdKeyDictionary

from ._data_dependent import data_dependent

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "get_plain_tensors",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


class UnsupportedFakeTensorException(RuntimeError):
    """The error for a tensor of which no fake tensor can be made, with a ``reason``."""

    def __init__(self, reason=""):
        super().__init__(reason)
        self.reason = reason


class _OfOperator(RuntimeError):
    """The base class of errors of one operator, ``func``."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(_OfOperator):
    """The error for an operator whose result has a shape that depends on values."""


class DataDependentOutputException(_OfOperator):
    """The error for an operator whose result is a value of a tensor, such as item()."""


class UnsupportedOperatorException(_OfOperator):
    """The error for an operator that cannot run on meta tensors."""


class MetadataMismatchError(RuntimeError):
    """The error for a fake result with other metadata than the real one."""


_GEOMETRY = ("_shape", "_stride", "_offset")
aten = torch.ops.aten


class FakeTensor(torch.Tensor):
    """A tensor without values, on a device that does not need to exist."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, fake_mode, elem, device, constant=None, real_tensor=None, pytype=None, dispatch_keys=None):
        """Create a fake tensor from elem, a meta tensor with the same geometry."""
        if elem.device.type != "meta":
            raise AssertionError(elem.device)
        device = torch.device(device)
        if device.type not in ("cpu", "meta") and device.index is None:
            device = torch.device(device.type, 0)
        self = torch.Tensor._make_subclass(
            cls, elem, elem.requires_grad, dispatch_device=True, device_for_backend_keys=device
        )
        self._vc = elem._vc
        self.fake_mode, self.constant, self.real_tensor, self.pytype = fake_mode, constant, real_tensor, pytype
        return self

    def __init__(self, *args, **kwargs):
        super().__init__()

    @property
    def fake_device(self):
        return self.device

    @staticmethod
    def from_tensor(t, fake_mode):
        return fake_mode.from_tensor(t)

    @property
    def names(self):
        raise UnsupportedFakeTensorException("torch.compile doesn't support named tensors")

    def _elem(self):
        """Return the meta tensor with the same storage."""
        t = alias(self)
        t._device = META
        return t

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        modes = {t.fake_mode for t in _flat((args, kwargs or {})) if isinstance(t, FakeTensor)}
        if len(modes) > 1:
            raise AssertionError("Mixing fake modes NYI")
        if not modes or any(
            not issubclass(t, FakeTensor) and t not in (torch.Tensor, torch.nn.Parameter) for t in types
        ):
            return NotImplemented
        return modes.pop().dispatch(func, types, args, kwargs)

    def stride(self, dim=None):
        """The strides of the dimensions in elements, or the stride of one dimension."""
        env = self.fake_mode.shape_env
        with contextlib.nullcontext() if env is None else env.in_framework(LAYOUT):
            return super().stride(dim)

    def tolist(self):
        if self.dim() == 0:
            return self.item()
        return [element.tolist() for element in self]

    def numpy(self, *, force=False):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __repr__(self, *, tensor_contents=None):
        parts = ["...", f"size={tuple(self.shape)}"]
        if self.device.type != "cpu":
            parts.insert(1, f"device='{self.device}'")
        if self.dtype not in (torch.get_default_dtype(), torch.int64, torch.bool, torch.complex64) or self.dtype in (
            torch.int64,
            torch.bool,
        ):
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{self.grad_fn.name().rpartition('::')[2]}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        return f"FakeTensor({', '.join(parts)})"

    def __format__(self, spec):
        return repr(self) if not spec else super().__format__(spec)

    def __reduce_ex__(self, proto):
        raise NotImplementedError("FakeTensor has no values to pickle")


def _flat(tree):
    return tree_flatten(tree)[0]


class _Memo(weakref.WeakValueDictionary):
    """{id of an object: its fake counterpart}; an entry exists as long as both objects do."""

    def note(self, owner, value):
        key, memo = id(owner), weakref.ref(self)

        def forget(_):
            found = memo()
            if found is not None:
                found.pop(key, None)
                found._watched.pop(key, None)

        self.__dict__.setdefault("_watched", {})[key] = weakref.ref(owner, forget)
        self[key] = value


class MetaConverter:
    """Maps storages of real tensors to meta storages, so that fakes of tensors that share memory share it too."""

    def __init__(self):
        self.storage_memo, self.tensor_memo = _Memo(), _Memo()

    def storage(self, t):
        real = t.untyped_storage()
        found = self.storage_memo.get(id(real))
        if found is None:
            found = torch.UntypedStorage(real.nbytes(), device="meta")
            self.storage_memo.note(real, found)
        return found


class FakeTensorConverter:
    """Converts real tensors to fake ones; each gets one fake tensor, and a view becomes a view of the fake base."""

    def __init__(self, *, copy_data=False, export=False):
        self.meta_converter, self.export = MetaConverter(), export
        self.constants = WeakIdKeyDictionary()

    @property
    def tensor_memo(self):
        return self.meta_converter.tensor_memo

    def from_real_tensor(
        self, fake_mode, t, make_constant=False, shape_env=None, *, source=None, symbolic_context=None, **_
    ):
        """Return the fake tensor for a real one. shape_env: makes symbols of its sizes, as the context says."""
        found = self.tensor_memo.get(id(t))
        if found is not None and not make_constant:
            return found
        if t.layout is not torch.strided:
            raise UnsupportedFakeTensorException(f"{t.layout} layout")
        if type(t) is not FakeTensor and torch.utils._python_dispatch.is_traceable_wrapper_subclass(t):
            with fake_mode:
                fake = torch.utils._python_dispatch.transform_subclass(
                    t, lambda name, inner: self.from_real_tensor(fake_mode, inner)
                )
            return fake.requires_grad_(t.requires_grad) if t.is_leaf else fake
        if shape_env is not None and not make_constant and t.layout is torch.strided:
            fake = self._symbolic(fake_mode, t, shape_env, source, symbolic_context)
            if fake is not None:
                self.tensor_memo.note(t, fake)
                return fake
        fake = self._of_memory(fake_mode, t, t if make_constant else None)
        if make_constant:
            self.constants[fake] = True
            return fake.requires_grad_(t.requires_grad)
        if t._is_view() and t._base.dtype is t.dtype and t._base.layout is torch.strided:
            fake = self._view(fake_mode, t)
        elif t.requires_grad:
            fake.requires_grad_()
            if not t.is_leaf:
                with fake_mode, torch.enable_grad():
                    fake = fake.clone()
                self.meta_converter.storage_memo.note(t.untyped_storage(), fake.untyped_storage())
        if isinstance(t, torch.nn.Parameter):
            fake._is_param = True
        if t.is_leaf and t.grad is not None:
            fake.grad = self.from_real_tensor(fake_mode, t.grad)
        self.tensor_memo.note(t, fake)
        return fake

    def _symbolic(self, fake_mode, t, shape_env, source, symbolic_context):
        """Return the fake tensor with symbols for sizes; None if all sizes stay numbers."""
        source = source or ConstantSource(f"__meta_utils_unknown_tensor{len(self.tensor_memo)}")
        sizes, strides, offset = shape_env.create_symbolic_sizes_strides_storage_offset(
            t, source, symbolic_context=symbolic_context
        )
        if not any(isinstance(n, torch.SymInt) for n in sizes):
            return None
        with torch.no_grad(), DisableTorchDispatch():
            elem = meta_tensor(sizes, t.dtype)
            if t._stride is not None:
                elem._get_storage()
                elem._stride, elem._offset = strides, offset
        fake = FakeTensor(fake_mode, elem, t.device)
        if t.requires_grad:
            fake.requires_grad_()
        if isinstance(t, torch.nn.Parameter):
            fake._is_param = True
        return fake

    def _of_memory(self, fake_mode, t, constant):
        with torch.no_grad(), DisableTorchDispatch():
            elem = torch.empty(0, dtype=t.dtype, device="meta")
            elem.set_(self.meta_converter.storage(t), t.storage_offset(), t.shape, t.stride())
        return FakeTensor(fake_mode, elem, t.device, constant=constant)

    def _view(self, fake_mode, t):
        """Return the fake of a view as a view of the fake base, with the same autograd relation."""
        base = self.from_real_tensor(fake_mode, t._base)
        with fake_mode, torch.set_grad_enabled(not t.is_leaf):
            fake = base.as_strided(t.shape, t.stride(), t.storage_offset())
        return fake.requires_grad_(t.requires_grad) if t.is_leaf else fake

    def from_meta_and_device(self, fake_mode, t, device, **_):
        found = self.tensor_memo.get(id(t))
        if found is None:
            found = FakeTensor(fake_mode, t, device)
            self.tensor_memo.note(t, found)
        return found

    def invalidate_constant_aliases(self, constant):
        """Mark the values of a storage as unknown."""
        storage = constant.untyped_storage()
        for fake in list(self.constants.keys()):
            if fake.constant is not None and fake.constant.untyped_storage() is storage:
                fake.constant = None


class FakeTensorMode(TorchDispatchMode):
    """A mode in which operators return fake tensors; from_tensor converts a real tensor."""

    _mode_key = torch._C._TorchDispatchModeKey.FAKE

    def __init__(
        self,
        *,
        allow_fallback_kernels=True,
        allow_non_fake_inputs=False,
        shape_env=None,
        static_shapes=None,
        export=False,
        allow_meta=False,
    ):
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export, self.allow_meta = (
            shape_env,
            shape_env is None if static_shapes is None else static_shapes,
            export,
            allow_meta,
        )
        self.fake_tensor_converter = FakeTensorConverter(export=export)

    def is_our_fake(self, t):
        return isinstance(t, FakeTensor) and t.fake_mode is self

    @classmethod
    def is_infra_mode(cls):
        return True

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """Return the fake tensor for a real one; each call returns the same object."""
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        static = self.static_shapes if static_shapes is None else static_shapes
        return self.fake_tensor_converter.from_real_tensor(
            self, tensor, shape_env=None if static else self.shape_env, source=source, symbolic_context=symbolic_context
        )

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.dispatch(func, types, args, kwargs)

    def dispatch(self, func, types, args=(), kwargs=None):
        """Run an operator on fake tensors."""
        kwargs = dict(kwargs or {})
        tensors = [t for t in _flat((args, kwargs)) if isinstance(t, torch.Tensor)]
        if any(type(t) not in (torch.Tensor, torch.nn.Parameter, FakeTensor) for t in tensors):
            return NotImplemented
        if func in _LIFTS:
            if isinstance(args[0], FakeTensor):
                return args[0]
            return self.fake_tensor_converter.from_real_tensor(
                self, args[0], make_constant=func is not aten.lift_fresh_copy.default
            )
        args, kwargs = tree_map(functools.partial(self._fake, func, args, kwargs), (args, kwargs))
        known = self._of_constants(func, args, kwargs)
        if known is not _UNKNOWN:
            return known
        schema = func._schema
        if self.shape_env is not None:
            found = data_dependent(self, func, args, kwargs)
            if found is not NotImplemented:
                return found
        if "data_dependent_output" in schema.tags or func.name() in _VALUES:
            raise DataDependentOutputException(func)
        if "dynamic_output_shape" in schema.tags and not _has_known_shape(func, args):
            masks = func is torch.ops.aten.index.Tensor  # PyTorch converts masks to indices with nonzero
            raise DynamicOutputShapeException(torch.ops.aten.nonzero.default if masks else func)
        operator = func._fn if hasattr(func._fn, "by_class") else None  # an operator that a program defined in Python
        if operator is not None:
            return self._run_python(operator, func, args, kwargs)
        return self._run_meta(func, args, kwargs)

    def _fake(self, func, args, kwargs, t):
        if isinstance(t, FakeTensor) and t.fake_mode is not self:
            raise AssertionError(f"Mixing fake modes NYI x.fake_mode={t.fake_mode} vs self={self}")
        if not isinstance(t, torch.Tensor) or isinstance(t, FakeTensor):
            return t
        if self.allow_non_fake_inputs or t.device.type == "meta" and self.allow_meta:
            return self.from_tensor(t)
        raise AssertionError(
            "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
            "'allow_non_fake_inputs'. Found in "
            f"{func}({', '.join([*map(_spoken, args), *(f'{k}={_spoken(v)}' for k, v in kwargs.items())])})"
        )

    def _of_constants(self, func, args, kwargs):
        """Return the real result of an operator on tensors with known values and at most one element, or _UNKNOWN."""
        tensors = [t for t in _flat((args, kwargs)) if isinstance(t, FakeTensor)]
        tags = func._schema.tags
        if (
            not tensors
            or any(t.constant is None for t in tensors)
            or "nondeterministic_seeded" in tags
            or max(t.numel() for t in tensors) > 1
        ):
            self._forget(func, args, kwargs)
            return _UNKNOWN
        with DisableTorchDispatch(), torch.no_grad():
            out = func(*tree_map(_constant, args), **tree_map(_constant, kwargs))
        if func._schema.is_mutable:
            self._run_meta(func, args, kwargs)
            for t in tensors:
                if t.constant.numel() > 1:
                    self.fake_tensor_converter.invalidate_constant_aliases(t.constant)
            return (
                next(t for t, c in zip(tensors, tree_map(_constant, tensors)) if c is out or c is None)
                if isinstance(out, torch.Tensor)
                else out
            )
        if isinstance(out, torch.Tensor) and out.numel() == 1:
            return self.fake_tensor_converter.from_real_tensor(self, out, make_constant=True)
        for t in _flat(out):  # later writes to this result would also change an argument of which it is a view
            if isinstance(t, torch.Tensor):
                self.fake_tensor_converter.invalidate_constant_aliases(t)
        return out if not any(isinstance(t, torch.Tensor) for t in _flat(out)) else _UNKNOWN

    def _forget(self, func, args, kwargs):
        """Mark the values of mutated arguments, and of tensors that share their memory, as unknown."""
        if not func._schema.is_mutable:
            return
        values = func._schema.bound(args, kwargs)
        for a in func._schema.arguments:
            for t in _flat(values.get(a.name)) if a.is_write else ():
                if isinstance(t, FakeTensor) and t.constant is not None:
                    self.fake_tensor_converter.invalidate_constant_aliases(t.constant)

    def _run_python(self, operator, func, args, kwargs):
        run = (
            operator.fake
            or operator.kernels.get("Meta")
            or operator.kernels.get("CompositeExplicitAutograd" if not operator.no_alias else "")
        )
        if run is None:
            raise UnsupportedOperatorException(func)
        with self:
            return run(*args, **kwargs)

    def _run_meta(self, func, args, kwargs):
        fakes = [t for t in _flat((args, kwargs)) if isinstance(t, FakeTensor)]
        device = kwargs.get("device")
        if device is None:
            device = _common_device(func, fakes)
        place = next((i for i, a in enumerate(func._schema.positional) if a.name == "device"), None)
        if place is not None:  # an operator of ours that PyTorch does not have
            device, args = args[place], (*args[:place], META, *args[place + 1 :])
        elif "device" in func._schema.by_name and (not fakes or kwargs.get("device") is not None):
            kwargs["device"] = META
        metas = {}

        def lower(t):
            if isinstance(t, FakeTensor):
                return metas.setdefault(id(t), (t, t._elem()))[1]
            return t

        args, kwargs = tree_map(lower, (args, kwargs))
        symbols = contextlib.nullcontext() if self.shape_env is None else self.shape_env.in_framework(LAYOUT)
        with DisableTorchDispatch(), torch.no_grad(), symbols:
            try:
                out = func(*args, **kwargs)
            except NotImplementedError as error:
                raise UnsupportedOperatorException(func) from error
        originals = {id(meta): fake for fake, meta in metas.values()}
        for fake, meta in metas.values():  # operators that change the geometry in place
            if any(getattr(fake, f) is not getattr(meta, f) for f in _GEOMETRY):
                for f in _GEOMETRY:
                    setattr(fake, f, getattr(meta, f))
        return tree_map(lambda t: self._raised(t, device, originals), out)

    def _raised(self, t, device, originals):
        if not isinstance(t, torch.Tensor):
            return t
        if id(t) in originals:
            return originals[id(t)]
        if t.device is META:
            return FakeTensor(self, t, device)
        return self.fake_tensor_converter.from_real_tensor(
            self, t, make_constant=t.numel() == 1
        )  # a tensor created from numbers only


_UNKNOWN = object()
_LIFTS = (aten.lift_fresh.default, aten.lift_fresh_copy.default)
_VALUES = ("aten::equal", "aten::_local_scalar_dense", "aten::allclose", "aten::is_nonzero")


def contains_tensor_types(type):
    """Whether values of a schema type are tensors or contain some."""
    return type.isSubtypeOf(torch._C.TensorType.get()) or any(map(contains_tensor_types, type.containedTypes()))


@functools.cache
def _is_tensor_constructor(func):
    """Whether an operator returns a tensor and has no tensor arguments."""
    schema = func._schema
    return (
        not any(contains_tensor_types(a.type) for a in schema.arguments)
        and len(schema.returns) == 1
        and str(schema.returns[0].type) == "Tensor"
    )


def __getattr__(name):
    """Create tables of overloads at their first use, since most programs do not need them."""
    if name == "_like_tensor_constructors":
        names = [n for n in _aten.names() if re.fullmatch("[a-z]+_like|new_(empty|empty_strided|full|zeros|ones)", n)]
        found = {o: True for n in names for o in _overloads(n)}
    elif name == "_device_not_kwarg_ops":
        found = {o: True for n in _names_with_device() for o in _overloads(n) if _takes_device(o._schema)}
    else:
        raise AttributeError(f"module 'torch._subclasses.fake_tensor' has no attribute '{name}'")
    globals()[name] = found
    return found


def _takes_device(schema):
    return any(a.name == "device" and not a.kwarg_only for a in schema.arguments)


def _names_with_device():
    return [n for n in _aten.names() if any(map(_takes_device, _aten.schemas(n)))]


def _overloads(name):
    packet = getattr(aten, name)
    return [getattr(packet, o) for o in packet.overloads()]


def _spoken(v):
    return (
        f"tensor([...], size={tuple(v.shape)})"
        if isinstance(v, torch.Tensor) and not isinstance(v, FakeTensor)
        else str(v)
    )


def _constant(t):
    return t.constant if isinstance(t, FakeTensor) else t


def _has_known_shape(func, args):
    """Whether the shape of the result is known for these arguments, although it depends on values for others."""
    if func is aten.one_hot.default:
        return len(args) > 1 and args[1] != -1
    return func is aten.index.Tensor and not _has_mask(args[1])


def _has_mask(indices):
    return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)


def _common_device(func, fakes):
    """Return the common device of the arguments; 0-dim CPU tensors can be combined with any device."""
    device = number = None
    for t in fakes:
        if t.device == device:
            continue
        if t.dim() == 0 and t.device.type == "cpu":
            number = t.device
        elif device is None:
            device = t.device
        else:
            raise RuntimeError(
                f"Unhandled FakeTensor Device Propagation for {func}, found two different devices {device}, {t.device}"
            )
    return device or number or torch.get_default_device()


class FakeCopyMode(TorchFunctionMode):
    """A mode in which clones and deep copies of real tensors are fake tensors."""

    def __init__(self, fake_mode):
        self.fake_mode = fake_mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch._C.TensorBase.clone:
            return func(self.fake_mode.from_tensor(args[0]), **kwargs)
        if func is torch.Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor)
            return memo[id(tensor)]
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)


def is_fake(x):
    """Whether a tensor is fake, or a wrapper subclass whose inner tensors all are."""
    if isinstance(x, FakeTensor):
        return True
    if torch.utils._python_dispatch.is_traceable_wrapper_subclass(x):
        return all(is_fake(getattr(x, name)) for name in x.__tensor_flatten__()[0])
    return False


def maybe_get_fake_mode(t):
    """Return the mode of a fake tensor, or None for another object."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


def get_plain_tensors(subclass, *, out):
    """Append the inner tensors of a wrapper subclass, recursively, to ``out`` and return it."""
    for name in subclass.__tensor_flatten__()[0]:
        inner = getattr(subclass, name)
        if torch.utils._python_dispatch.is_traceable_wrapper_subclass(inner):
            get_plain_tensors(inner, out=out)
        else:
            out.append(inner)
    return out


@contextlib.contextmanager
def unset_fake_temporarily():
    """Disable the fake mode within the block; yield it, or None."""
    mode = torch._C._unset_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
    try:
        yield mode
    finally:
        if mode is not None:
            torch._C._set_dispatch_mode(mode)
