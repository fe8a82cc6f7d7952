"""Modules whose parameters take their shapes from the first input."""

import itertools

import torch

from ..parameter import is_lazy
from .module import _persistent

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Mixin placed before a Module class, for modules that infer the shapes of their parameters.

    The first call runs initialize_parameters(*args, **kwargs) and then changes the class of the module to
    cls_to_become, if that is set.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        # An uninitialized parameter cannot be detached
        for name, value in _persistent(self):
            destination[prefix + name] = value if is_lazy(value) or keep_vars else value.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Allocate uninitialized parameters with the shapes in the state_dict before they are loaded."""
        for name, param in itertools.chain(self._parameters.items(), self._buffers.items()):
            value = state_dict.get(prefix + name)
            if param is not None and value is not None and is_lazy(param) and not is_lazy(value):
                with torch.no_grad():
                    param.materialize(value.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Allocate the parameters for these inputs; every lazy class must define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer is still uninitialized."""
        return any(map(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values())))

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass first."
        )
