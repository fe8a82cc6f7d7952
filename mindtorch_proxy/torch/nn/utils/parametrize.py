"""Parametrizations: tensors of a module that are computed from other tensors whenever they are read."""

import copyreg
from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy
from types import SimpleNamespace

import torch
from torch import Tensor
from torch import __future__ as _future

from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = [
    "cached",
    "ParametrizationList",
    "register_parametrization",
    "is_parametrized",
    "remove_parametrizations",
    "type_before_parametrizations",
    "transfer_parametrizations_and_params",
]

_cache_enabled = 0
_cache = {}


@contextmanager
def cached():
    """Context manager in which each parametrized tensor is computed only once."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module, name, X):
    (module.register_parameter if isinstance(X, Parameter) else module.register_buffer)(name, X)


def _maybe_set(dest, src):
    if _future.get_swap_module_params_on_conversion():
        if isinstance(dest, Parameter) and not isinstance(src, Parameter):
            src = Parameter(src, requires_grad=dest.requires_grad)
        torch.utils.swap_tensors(dest, src)
    else:
        dest.set_(src)


def _inverse(module, value):
    """Return module.right_inverse(value), or `value` if the module does not implement it."""
    try:
        return module.right_inverse(value) if hasattr(module, "right_inverse") else value
    except NotImplementedError:
        return value


_REGISTERING = (
    "Registering a parametrization may not change the {name} of the tensor, unless the `unsafe` flag is enabled.\n"
)
_INVERTING = (
    "The tensor returned by parametrization.right_inverse must have the same {name} as {what}, "
    "unless the `unsafe` flag is enabled.\n"
)


def _check_same(new, old, by, refusal, before, after, what="", got="Got"):
    """Raise unless `new`, the result of `by`, is a tensor with the dtype and shape of `old`."""
    if not isinstance(new, Tensor):
        raise ValueError(f"{by} must return a tensor. {got} {type(new).__name__}{'.' * (got == 'Got')}")
    for name in ("dtype", "shape"):
        if getattr(new, name) != getattr(old, name):
            told = (refusal + before + ": {old}\n" + after + ": {new}").format(
                name=name, what=what, old=getattr(old, name), new=getattr(new, name)
            )
            raise ValueError(told)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order.

    It also holds the tensor (`original`) or tensors (`original0`, `original1`, ...) that they start from.
    """

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = SimpleNamespace(dtype=original.dtype, shape=original.shape)
        new = original
        with torch.no_grad():
            for module in reversed(list(self)):
                new = _inverse(module, new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for name in ("dtype", "device"):
                if getattr(original, name) != getattr(new, name):
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {name}.\noriginal.{name}: "
                        f"{getattr(original, name)}\nright_inverse(original).{name}: {getattr(new, name)}"
                    )
            with torch.no_grad():
                _maybe_set(original, new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, tensor in enumerate(new):
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(tensor).__name__}."
                    )
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor, original.requires_grad)
                tensor.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", tensor)
        if not unsafe:
            refusal = _REGISTERING.replace("the `unsafe`", "`unsafe`")
            _check_same(self(), before, "A parametrization", refusal, "unparametrized {name}", "parametrized {name}")

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    @torch.no_grad()
    def right_inverse(self, value):
        """Set the original tensors so that the parametrized tensor takes this value."""
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            value = [value]
        elif not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                f"Got a sequence of length {len(value)}."
            )
        for i, (tensor, original) in enumerate(zip(value, self._originals())):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors. Got element {i} of type "
                    f"{type(tensor).__name__}"
                )
            if tensor.dtype != original.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while the original has dtype "
                    f"{original.dtype}"
                )
            _maybe_set(original, tensor)

    def forward(self):
        first, *others = self
        x = first(*self._originals())
        for module in others:
            x = module(x)
        return x


def _deepcopy(self, memo):
    """Copy a parametrized module.

    Its class exists only for this module, so the pickle protocol of the original class would lose it.
    """
    if id(self) not in memo:
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__ = deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(type(self)):
            if hasattr(self, slot):
                setattr(replica, slot, deepcopy(getattr(self, slot), memo))
    return memo[id(self)]


def _getstate(self):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(): see PyTorch's tutorial on "
        "saving and loading models."
    )


def _inject_new_class(module):
    """Give the module a class of its own, so that properties can be set on it."""
    cls = type(module)
    body = {"__getstate__": _getstate} | ({} if hasattr(cls, "__deepcopy__") else {"__deepcopy__": _deepcopy})
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module, tensor_name):
    if hasattr(module, tensor_name):
        raise AssertionError(f"Module already has an attribute named '{tensor_name}'")

    def get(self):
        parametrization = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrization()
        key = id(self), tensor_name
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def set_original(self, value):
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, set_original))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Replace module.<tensor_name> by parametrization(original), computed whenever it is read.

    Unless `unsafe` is set, the parametrization must keep dtype and shape.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            Y = getattr(module, tensor_name)
            X = parametrization(Y)
            what = f"module.{tensor_name}"
            _check_same(
                X, Y, "A parametrization", _REGISTERING, "{what}.{name}", "parametrization({what}).{name}", what
            )
            _check_same(
                _inverse(parametrization, X),
                Y,
                "parametrization.right_inverse",
                _INVERTING,
                "{what}.{name}",
                "returned {name}",
                what,
                "Got:",
            )
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def is_parametrized(module, tensor_name=None):
    """Whether the tensor is parametrized; without a name, whether any tensor of the module is."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Turn a parametrized tensor into an ordinary one, with the parametrized or the original value.

    A tensor that is not parametrized raises ValueError.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with torch.no_grad():
                _maybe_set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        t = getattr(module, tensor_name)
        original = Parameter(t) if t.requires_grad else t
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """Return the class that the module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Copy the parametrizations of from_module and their original tensors to to_module."""
    if is_parametrized(from_module):
        for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
            source = from_module.parametrizations[name]
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            for parametrization in source:
                register_parametrization(to_module, name, parametrization)
            target = to_module.parametrizations[name]
            for key in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
                setattr(target, key, getattr(source, key))
    return to_module
