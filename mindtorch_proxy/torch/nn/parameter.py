"""Parameters and buffers: tensors that a Module registers when they are assigned to it."""

from collections import OrderedDict

import torch
from torch._C import DisableTorchFunctionSubclass, _disabled_torch_function_impl

__all__ = [
    "Parameter",
    "UninitializedParameter",
    "is_lazy",
    "Buffer",
    "UninitializedBuffer",
    "UninitializedTensorMixin",
]


def _marked_by(mark):
    """Return a metaclass whose isinstance check also accepts tensors that have the attribute `mark` set.

    This covers tensors of a user's class, which keep that class.
    """

    class Marked(type(torch.Tensor)):
        def __instancecheck__(self, instance):
            if super().__instancecheck__(instance):
                return True
            return (
                self.__dict__.get("_mark") == mark
                and isinstance(instance, torch.Tensor)
                and getattr(instance, mark, False)
            )

    return Marked


_ParameterMeta, _BufferMeta = _marked_by("_is_param"), _marked_by("_is_buffer")


class Parameter(torch.Tensor, metaclass=_ParameterMeta):
    """A tensor that a Module registers as a parameter; it requires a gradient by default.

    A tensor of a user's class keeps that class and is only marked as a parameter; it raises RuntimeError if its
    detach() returns another class.
    """

    _mark = "_is_param"

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = torch.empty(0)
        if type(data) in (torch.Tensor, Parameter):
            return torch.Tensor._make_subclass(cls, data, requires_grad)
        # Keep the class of a tensor subclass, and mark the tensor instead.
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns "
                f"an instance of the same type, but return type {type(t).__name__} was found instead."
            )
        t._is_param = True
        return t

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(memory_format=torch.preserve_format), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto):
        state, args = torch._utils._get_obj_state(self), (self.data, self.requires_grad, OrderedDict())
        if state:
            return torch._utils._rebuild_parameter_with_state, (*args, state)
        return torch._utils._rebuild_parameter, args

    __torch_function__ = _disabled_torch_function_impl


class UninitializedTensorMixin:
    """A parameter or buffer of unknown shape, as used by lazy modules."""

    _allowed_methods = [
        getattr(torch.Tensor, name)
        for name in (
            "__hash__",
            "size",
            "copy_",
            "is_complex",
            "is_floating_point",
            "half",
            "float",
            "double",
            "char",
            "short",
            "int",
            "long",
            "cuda",
            "cpu",
            "to",
            "get_device",
            "_has_compatible_shallow_copy_type",
        )
        if hasattr(torch.Tensor, name)
    ]

    def materialize(self, shape, device=None, dtype=None):
        """Turn into a tensor of this shape, with uninitialized values."""
        data = self.data
        self.data = torch.empty(shape, device=device or data.device, dtype=dtype or data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        """Raise RuntimeError: the shape is unknown before ``materialize``."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self):
        """Raise RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto):
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in cls._allowed_methods or type(func).__name__ == "method-wrapper":
            if issubclass(cls, Parameter):
                with DisableTorchFunctionSubclass():
                    return func(*args, **(kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. "
            "When using LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
            "torch functions"
        )


def is_lazy(param):
    """Whether the parameter or buffer is still uninitialized."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape a lazy module infers at its first call."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class Buffer(torch.Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer when assigned."""

    _mark = "_is_buffer"

    def __new__(cls, data=None, *, persistent=True):
        data = torch.empty(0) if data is None else data
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t

    __torch_function__ = _disabled_torch_function_impl


class UninitializedBuffer(UninitializedTensorMixin, torch.Tensor):
    """A buffer whose shape a lazy module infers at its first call."""

    cls_to_become = torch.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        t = torch.Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t
