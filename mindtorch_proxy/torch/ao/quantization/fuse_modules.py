"""Fusion of chains of modules that become a single quantized operation."""

import copy

from torch import nn

from .fuser_method_mappings import get_fuser_method

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(mod_list, is_qat, additional_fuser_method_mapping=None):
    """Fuse a chain of modules; return the fused module, followed by an Identity for each other module.

    A chain is a convolution or Linear, followed by BatchNorm, ReLU or both; any other chain raises AssertionError.
    Forward pre-hooks of the first module and forward hooks of the last one are kept.
    """
    fused = get_fuser_method(tuple(type(m) for m in mod_list), additional_fuser_method_mapping)(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    return [fused, *(nn.Identity().train(mod_list[0].training) for _ in mod_list[1:])]


def _fuse(model, modules_to_fuse, is_qat, inplace, fuser_func, config):
    if not inplace:
        model = copy.deepcopy(model)
    chains = [modules_to_fuse] if all(isinstance(name, str) for name in modules_to_fuse) else modules_to_fuse
    for names in chains:
        old = [model.get_submodule(name) for name in names]
        for name, module in zip(
            names, fuser_func(old, is_qat, (config or {}).get("additional_fuser_method_mapping")), strict=True
        ):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, module)
    return model


def fuse_modules(model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None):
    """Fuse the named chains of modules in a copy of the model, or in-place; see ``fuse_known_modules``."""
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None
):
    """Fuse modules for quantization aware training; batch normalization raises NotImplementedError."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
