"""Wrapping policies, which select the modules of a model that become their own units."""

import contextlib
import copy
from abc import ABC, abstractmethod

from torch import nn

__all__ = [
    "always_wrap_policy",
    "lambda_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "enable_wrap",
    "wrap",
    "CustomPolicy",
    "ModuleWrapPolicy",
]


def always_wrap_policy(*args, **kwargs):
    """Select every module."""
    return True


class _Policy(ABC):
    """Base class of policies that return {module: options} for the modules to wrap."""

    @abstractmethod
    def _run_policy(self, root_module, ignored_modules, root_kwargs): ...


class ModuleWrapPolicy(_Policy):
    """Selects modules of some classes."""

    def __init__(self, module_classes):
        self._module_classes = set(module_classes)

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        classes = tuple(self._module_classes)
        return {
            m: copy.copy(root_kwargs)
            for m in root_module.modules()
            if m not in ignored_modules and isinstance(m, classes)
        }

    def __call__(self, module, recurse, *args, **kwargs):
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self):
        return super().__repr__() + f"({self._module_classes})"


class CustomPolicy(_Policy):
    """Selects modules with a function, which returns a bool or a dict of options that override the root's."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        chosen = {}
        for module in root_module.modules():
            if module in ignored_modules:
                continue
            answer = self._lambda_fn(module)
            if not isinstance(answer, (dict, bool)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                    f"but it returned {answer}"
                )
            if answer:
                chosen[module] = {**root_kwargs, **(answer if isinstance(answer, dict) else {})}
        return chosen


def _module_wrap_policy(module, recurse, nonwrapped_numel, module_classes):
    return True if recurse else isinstance(module, tuple(module_classes))


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn):
    """Select modules for which a function is true."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls):
    """Select modules of some classes."""
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def _or_policy(module, recurse, nonwrapped_numel, policies):
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(
    module, recurse, nonwrapped_numel, min_num_params=int(1e8), force_leaf_modules=None, exclude_wrap_modules=None
):
    """Select modules with at least ``min_num_params`` elements outside of nested units."""
    own = size_based_auto_wrap_policy
    leaves = own.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = own.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else excluded))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {nn.ModuleList, nn.ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {nn.MultiheadAttention}


class _ConfigAutoWrap:
    """The configuration of wrap(), set by enable_wrap()."""

    in_autowrap_context, wrapper_cls, kwargs = False, None, {}


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """Context manager in which wrap() uses this class and these options."""
    if _ConfigAutoWrap.in_autowrap_context:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested autowrap."
        )
    _ConfigAutoWrap.in_autowrap_context, _ConfigAutoWrap.wrapper_cls, _ConfigAutoWrap.kwargs = (
        True,
        wrapper_cls,
        wrapper_kwargs,
    )
    try:
        yield
    finally:
        _ConfigAutoWrap.in_autowrap_context, _ConfigAutoWrap.wrapper_cls, _ConfigAutoWrap.kwargs = False, None, {}


def wrap(module, **wrap_overrides):
    """Wrap a module if inside enable_wrap(); otherwise return it unchanged."""
    if not _ConfigAutoWrap.in_autowrap_context:
        return module
    return _wrap(module, _ConfigAutoWrap.wrapper_cls, **{**_ConfigAutoWrap.kwargs, **wrap_overrides})


def _wrap(module, wrapper_cls, **kwargs):
    return wrapper_cls(module, **{**kwargs, **getattr(module, "_wrap_overrides", {})})


def _recursive_wrap(
    module, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, only_wrap_children=False, **kwargs
):
    """Wrap the modules that a policy selects, innermost first.

    Return (the module, the number of elements in wrapped parameters).
    """
    numel = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=numel):
        return module, 0
    wrapped = 0
    for name, child in module.named_children():
        if child not in ignored_modules:
            made, count = _recursive_wrap(
                child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
            )
            setattr(module, name, made)
            wrapped += count
    if not only_wrap_children and auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=numel - wrapped):
        return _wrap(module, wrapper_cls, **kwargs), numel
    return module, wrapped
