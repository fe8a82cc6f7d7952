"""Higher-order operators, whose arguments may be functions, with one implementation for each dispatch layer."""

import abc
import contextlib
import threading

import torch
from mindtorch_proxy.runtime.context import CONTEXT
from mindtorch_proxy.runtime.call.dispatch import tensors_of

from ._dispatch_keys import DispatchKey
from ._ops import OperatorBase


class _Below(threading.local):
    autograd = 0


_below = _Below()


class AutoDispatchBelowAutograd:
    """Disable autograd while this object exists, or until the end of its ``with`` block.

    Nothing is recorded, and higher-order operators skip their rules for Autograd.
    """

    __module__, __qualname__ = "torch._C", "_AutoDispatchBelowAutograd"

    def __init__(self):
        _below.autograd += 1
        self._recording, CONTEXT.grad = CONTEXT.grad, False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self._recording is not None:
            _below.autograd -= 1
            CONTEXT.grad, self._recording = self._recording, None

    __del__ = __exit__


class _VmapInterpreter:
    """The first argument of a rule for vmap: gives the current level and can leave it."""

    def level(self):
        """Return the number of the current vmap level."""
        return torch._C._functorch.current_level()

    def lower(self):
        """Return a context manager within which the current vmap level is off."""
        return torch._functorch.vmap._left()


class HigherOrderOperator(OperatorBase, abc.ABC):
    """An operator whose arguments may be functions.

    py_impl(key) registers a rule for a DispatchKey, a class of dispatch modes (the rule gets the mode), a tensor class,
    or torch._C._functorch.TransformType.Vmap (the rule gets an interpreter).

    A call tries, in this order: __torch_function__, the innermost vmap, Autograd, the topmost dispatch mode, the tensor
    classes, the device.
    """

    _higher_order_ops: dict = {}

    def __init__(self, name, *, cacheable=False):
        self._name = self.__name__ = name
        self._ns = self.namespace = "higher_order"
        self._cacheable, self._rules, self._passed = cacheable, {}, set()
        HigherOrderOperator._higher_order_ops[name] = self
        setattr(torch.ops.higher_order, name, self)

    def __str__(self):
        return self._name

    def name(self):
        return self._name

    def cacheable(self):
        return self._cacheable

    def has_kernel_for_dispatch_key(self, key):
        """Whether a rule is registered for a key."""
        return key in self._rules

    def fallthrough(self, dispatch_key):
        """Make calls skip the rule for a key."""
        self._passed.add(dispatch_key)

    def py_impl(self, k):
        """Return a decorator that registers the rule for a key, a mode class or a tensor class."""

        def register(fn):
            if k in self._rules:
                raise RuntimeError(f"Trying to override a python impl for {k} on operator {self._name}")
            self._rules[k] = fn
            return fn

        return register

    @abc.abstractmethod
    def __call__(self, /, *args, **kwargs):
        flat = torch.utils._pytree.tree_leaves((args, kwargs))
        if (
            torch.overrides.has_torch_function(
                plain := tuple(x for x in flat if not torch._C._functorch.is_batchedtensor(x))
            )
            and not _in_vmap()
        ):
            return torch.overrides.handle_torch_function(self, plain, *args, **kwargs)
        tensors = list(tensors_of(flat))
        for ask in (self._vmap, self._autograd, self._mode, self._classes):
            result = ask(tensors, args, kwargs)
            if result is not NotImplemented:
                return result
        device = {"cpu": "CPU", "meta": "Meta"}.get(tensors[0].device.type if tensors else "cpu", "PrivateUse1")
        rule = self._rules.get(DispatchKey[device]) or self._rules.get(DispatchKey.CompositeExplicitAutograd)
        if rule is None:
            raise NotImplementedError(
                f"could not find kernel for HigherOrderOperator {self._name} at dispatch key DispatchKey.{device} "
                f"(resolved from none)"
            )
        return rule(*args, **kwargs)

    def _vmap(self, tensors, args, kwargs):
        if not _in_vmap():
            return NotImplemented
        rule = self._rules.get(torch._C._functorch.TransformType.Vmap)
        if rule is None:
            raise NotImplementedError(
                f"There was no rule registered for HigherOrderOperator {self._name} and transform vmap"
            )
        return rule(_VmapInterpreter(), *args, **kwargs)

    def _autograd(self, tensors, args, kwargs):
        device = {"cpu": "AutogradCPU", "meta": "AutogradMeta"}.get(
            tensors[0].device.type if tensors else "cpu", "AutogradPrivateUse1"
        )
        keys = [k for k in (DispatchKey[device], DispatchKey.Autograd) if k in self._rules and k not in self._passed]
        return self._rules[keys[0]](*args, **kwargs) if keys and tensors and not _below.autograd else NotImplemented

    def _mode(self, tensors, args, kwargs):
        mode = torch.utils._python_dispatch._get_current_dispatch_mode()
        if mode is None:
            return NotImplemented
        rule = next((self._rules[c] for c in type(mode).__mro__ if c in self._rules), None)
        with torch.utils._python_dispatch._pop_mode_temporarily():
            if rule is not None:
                result = rule(mode, *args, **kwargs)
            elif mode.supports_higher_order_operators:
                result = mode.__torch_dispatch__(self, tuple({type(t) for t in tensors}), args, kwargs)
            else:
                raise NotImplementedError(
                    f"There was no rule registered for HigherOrderOperator {self._name} and mode {mode}."
                    f"Hint: set {mode}'s supports_higher_order_operators to True. This causes all higher order "
                    "operators to pass through the mode's __torch_dispatch__, so handle them accordingly by adding "
                    f"support for HigerOrderOperators (in this case, {self._name}) in {mode}.__torch_dispatch__ or "
                    "returning NotImplemented when not supported."
                )
            return self(*args, **kwargs) if result is NotImplemented else result

    def _classes(self, tensors, args, kwargs):
        found = torch._ops.dispatching_classes(tensors) if not CONTEXT.dispatch_off else []
        for cls in found:
            rule = self._rules.get(cls)
            result = rule(*args, **kwargs) if rule else cls.__torch_dispatch__(self, tuple(found), args, kwargs)
            if result is not NotImplemented:
                return result
        if found:
            raise TypeError(
                f"Multiple dispatch failed for {self._name}. There was no registered that did not return "
                f"NotImplemented."
            )
        return NotImplemented


def _in_vmap():
    return torch._C._are_functorch_transforms_active()


class ExcludeDispatchKeyGuard:
    """Skip the layers of a set of keys while this object exists: autograd, and __torch_dispatch__ of modes and classes.

    Other keys have no effect.
    """

    __module__, __qualname__ = "torch._C", "_ExcludeDispatchKeyGuard"

    def __init__(self, keys):
        self._guards = contextlib.ExitStack()
        if any(keys.has(k) for k in (DispatchKey.Python, DispatchKey.PythonTLSSnapshot)):
            self._guards.enter_context(torch._C._DisableTorchDispatch())
        if keys.has(DispatchKey.AutogradCPU) or keys.has(DispatchKey.AutogradFunctionality):
            self._guards.enter_context(AutoDispatchBelowAutograd())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._guards.close()

    def __del__(self):
        self._guards.close()
