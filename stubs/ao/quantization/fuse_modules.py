"""Modules that are one operation of integers, in one."""

import copy

from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]
_RELU = {nn.Linear: nni.LinearReLU, nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}
_NORM = {nn.Linear: nn.BatchNorm1d, nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d}


def _fused(modules, is_qat):
    kinds = tuple(type(m) for m in modules)
    first, *rest = kinds
    normed = bool(rest) and rest[0] is _NORM.get(first)
    if first not in _RELU or rest not in ([nn.ReLU], [_NORM[first]], [_NORM[first], nn.ReLU]) or (first is nn.Linear and len(rest) == 2):
        raise AssertionError(f"did not find fuser method for: {kinds} ")
    if len({m.training for m in modules}) > 1:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")
    module = modules[0]
    if normed and is_qat:
        raise NotImplementedError("torch.ao.quantization.fuse_modules_qat: batch normalization in training (torch.float32, any device) is not folded")
    if normed:
        module = (fuse_linear_bn_eval if first is nn.Linear else fuse_conv_bn_eval)(module, modules[1])
    return _RELU[first](module, modules[-1]) if rest[-1] is nn.ReLU else module


def fuse_known_modules(mod_list, is_qat, additional_fuser_method_mapping=None):
    """The modules of a chain (a convolution or Linear, then BatchNorm, ReLU or both) as one, and Identity for each other.

    AssertionError for another chain. Hooks before the first and behind the last stay.
    """
    kinds = tuple(type(m) for m in mod_list)
    own = (additional_fuser_method_mapping or {}).get(kinds)
    fused = own(is_qat, *mod_list) if own else _fused(mod_list, is_qat)
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
        for name, module in zip(names, fuser_func(old, is_qat, (config or {}).get("additional_fuser_method_mapping")), strict=True):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, module)
    return model


def fuse_modules(model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None):
    """A copy of a model (or the model itself) with the named chains of modules in one: see ``fuse_known_modules``."""
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None):
    """The same for training that rounds; batch normalization raises NotImplementedError."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
