"""Wrapper modules that recompute their activations in backward or offload them to the CPU."""

from abc import ABC, abstractmethod
from enum import Enum, auto
from functools import partial

import torch
from torch.autograd.graph import save_on_cpu
from torch.distributed.utils import _pack_kwargs, _replace_by_prefix, _unpack_kwargs
from torch.utils.checkpoint import checkpoint

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """The two implementations of torch.utils.checkpoint."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(torch.nn.Module, ABC):
    """Base class of wrappers that do not change parameter names or the state_dict."""

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    @abstractmethod
    def forward(self, *args, **kwargs):
        """Call the wrapped module."""
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key):
        return self._checkpoint_wrapped_module.__getitem__(key)

    def named_parameters(self, *args, **kwargs):
        """Yield the wrapped module's parameters under their original names."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), param

    @staticmethod
    def _post_state_dict_hook(module, state_dict, prefix, *args):
        _replace_by_prefix(state_dict, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module, state_dict, prefix, *args):
        _replace_by_prefix(state_dict, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")


class OffloadWrapper(ActivationWrapper):
    """Saves the activations of a module in host memory."""

    def forward(self, *args, **kwargs):
        """Call the wrapped module, with its saved tensors on the CPU."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """Recomputes the activations of a module in backward."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = partial(checkpoint, use_reentrant=checkpoint_impl == CheckpointImpl.REENTRANT)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args, **kwargs):
        """Call the wrapped module with checkpointing."""
        if self.checkpoint_impl != CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)
        flat, names = _pack_kwargs(*args, **kwargs)  # the reentrant implementation takes no keyword arguments

        def call(*inputs):
            unpacked, named = _unpack_kwargs(inputs, names)
            return self._checkpoint_wrapped_module(*unpacked, **named)

        return self.checkpoint_fn(call, *flat)


def offload_wrapper(module):
    """Wrap a module so that its activations are saved in host memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
    """Wrap a module so that its activations are recomputed in backward."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True, auto_wrap_policy=None
):
    """Wrap submodules of a model in place.

    Modules are selected by ``check_fn``, or by an FSDP wrapping policy if one is given.
    """
    if auto_wrap_policy is None:
        _wrap_inside(model, checkpoint_wrapper_fn, check_fn, set())
        return
    from torch.distributed.fsdp.wrap import _recursive_wrap

    _recursive_wrap(
        module=model,
        auto_wrap_policy=auto_wrap_policy,
        wrapper_cls=checkpoint_wrapper_fn,
        ignored_modules=set(),
        ignored_params=set(),
        only_wrap_children=True,
    )


def _wrap_inside(module, wrap, check, seen):
    for name, child in list(module.named_children()):
        if child in seen:
            continue
        seen.add(child)
        _wrap_inside(child, wrap, check, seen)
        if check(child):
            setattr(module, name, wrap(child))
