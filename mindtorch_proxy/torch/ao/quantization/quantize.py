"""Quantization of models: prepare them, run them on data, and convert them."""

import copy
import warnings

import torch
from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import quantized as nnq

from .qconfig import activation_is_memoryless, default_dynamic_qconfig, float16_dynamic_qconfig
from .quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    DEFAULT_QAT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
    absent_from,
)
from .stubs import DeQuantStub, QuantWrapper

__all__ = [
    "add_quant_dequant", "convert", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_dynamic",
    "quantize_qat", "swap_module",
]  # fmt: skip


def _has_qconfig(module):
    return getattr(module, "qconfig", None) is not None


def _on_device(qconfig, module):
    """Return a qconfig whose observers are created on the device of the module's tensors."""
    devices = {t.device for t in (*module.parameters(), *module.buffers())}
    if qconfig is None or not devices:
        return qconfig

    def placed(made):
        try:
            made.with_args(factory_kwargs=None)()
        except (AttributeError, TypeError):  # it does not accept factory_kwargs
            return made
        return made.with_callable_args(factory_kwargs=lambda: {"device": next(iter(devices))})

    return qconfig._replace(activation=placed(qconfig.activation), weight=placed(qconfig.weight))


def propagate_qconfig_(module, qconfig_dict=None, prepare_custom_config_dict=None):
    """Set the qconfig of a module and of all modules inside it.

    A module keeps its own qconfig. Otherwise it gets that of its name or type in the dict, or else that of its parent.
    """

    def give(m, parent, prefix):
        config = (qconfig_dict or {}).get(type(m), parent)
        config = (qconfig_dict or {}).get(prefix, config)
        m.qconfig = _on_device(getattr(m, "qconfig", config), m)
        for name, child in m.named_children():
            give(child, m.qconfig, f"{prefix}.{name}" if prefix else name)

    give(module, None, "")


def _observed(module, input, output):
    return module.activation_post_process(output)


def _observed_before(module, input):
    return module.activation_post_process(input[0])


def _watch(module):
    """Attach the observer of a module's qconfig to its output, or to its input if the observer is memoryless."""
    if not _has_qconfig(module) or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", module.qconfig.activation())
    if activation_is_memoryless(module.qconfig):
        module.register_forward_pre_hook(_observed_before, prepend=True)
    else:
        module.register_forward_hook(_observed, prepend=True)


def _add_observers(module, others):
    for child in module.children():
        if type(child) is nn.Dropout:
            continue
        if isinstance(child, (nnq.FloatFunctional, nnq.QFunctional)):
            if _has_qconfig(child):
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, nni._FusedModule) or type(child) in others:
            _watch(child)
        else:
            _add_observers(child, others)
    known = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
    if next(module.children(), None) is None and (type(module) in known or type(module) in absent_from(known)):
        _watch(module)


def prepare(model, inplace=False, allow_list=None, observer_non_leaf_module_list=None, prepare_custom_config_dict=None):
    """Attach observers to the modules that have a ``qconfig``, in a copy of the model or in-place.

    A warning is given if no module has a qconfig.
    """
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(_has_qconfig(m) for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through "
            "`qconfig_dict` or by assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    _add_observers(model, frozenset(observer_non_leaf_module_list or ()))
    return model


def add_quant_dequant(module):
    """Wrap each innermost module that has a qconfig in a QuantWrapper, and return the module."""
    if next(module.children(), None) is None and _has_qconfig(module):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def swap_module(mod, mapping, custom_module_class_mapping, use_precomputed_fake_quant=False):
    """Return the module that replaces one with a qconfig, or the module itself if there is none.

    NotImplementedError is raised if only PyTorch has a replacement.
    """
    if not _has_qconfig(mod):
        return mod
    if type(mod) not in mapping:
        if type(mod) in absent_from(mapping):
            raise NotImplementedError(
                f"torch.ao.quantization.convert: {type(mod).__name__} (torch.quint8, cpu) has no form of integers"
            )
        return mod
    new = mapping[type(mod)].from_float(mod)
    for hook in mod._forward_pre_hooks.values():
        if hook is not _observed_before:
            new.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observed:
            new.register_forward_hook(hook)
    return new


def _convert(module, mapping):
    for name, child in list(module.named_children()):
        if not isinstance(child, nni._FusedModule):
            _convert(child, mapping)
        module._modules[name] = swap_module(child, mapping, {})


def _forget(module):
    """Remove the qconfigs and observers of a module and its children."""
    for child in module.children():
        _forget(child)
    for hooks in (module._forward_hooks, module._forward_pre_hooks):
        for key, hook in list(hooks.items()):
            if hook in (_observed, _observed_before):
                del hooks[key]
    if isinstance(module.__dict__.get("_modules", {}).get("activation_post_process"), nn.Module) and not isinstance(
        module, nnq.QFunctional
    ):
        del module.activation_post_process
    if hasattr(module, "qconfig"):
        del module.qconfig


def convert(
    module,
    mapping=None,
    inplace=False,
    remove_qconfig=True,
    is_reference=False,
    convert_custom_config_dict=None,
    use_precomputed_fake_quant=False,
):
    """Replace the modules of a prepared model by quantized ones, in a copy or in-place.

    Linear and convolutions, with or without ReLU, batch normalization, the stubs and FloatFunctional can be converted.
    Other modules that PyTorch converts raise NotImplementedError, and so does `is_reference`. Sums are computed exactly
    and rounded once.
    """
    if is_reference:
        raise NotImplementedError(
            "torch.ao.quantization.convert: reference modules (any dtype, any device) are not supported"
        )
    if not inplace:
        module = copy.deepcopy(module)
    _convert(module, DEFAULT_STATIC_QUANT_MODULE_MAPPINGS if mapping is None else mapping)
    if remove_qconfig:
        _forget(module)
    return module


def quantize(model, run_fn, run_args, mapping=None, inplace=False):
    """Prepare a model, call ``run_fn(model, *run_args)`` for its observers, and convert it."""
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


def _dynamic_default(dtype, error):
    configs = {torch.qint8: default_dynamic_qconfig, torch.float16: float16_dynamic_qconfig}
    if dtype not in configs:
        raise error
    return configs[dtype]


def quantize_dynamic(model, qconfig_spec=None, dtype=torch.qint8, mapping=None, inplace=False):
    """Quantize the weights of a model, in a copy or in-place; outputs stay floating point.

    Args:
        qconfig_spec: types or names of modules, or a dict of their qconfigs. The default is Linear and the recurrent
            layers; only Linear can be converted, and the others raise NotImplementedError.
        dtype: the dtype of the weights, torch.qint8 or torch.float16.
    """
    if qconfig_spec is None:
        config = _dynamic_default(
            dtype,
            ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"),
        )
        qconfig_spec = dict.fromkeys((nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell), config)
    elif isinstance(qconfig_spec, (set, frozenset)):
        qconfig_spec = dict.fromkeys(
            qconfig_spec,
            _dynamic_default(dtype, RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))),
        )
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    return convert(model, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS if mapping is None else mapping, inplace=True)


def prepare_qat(model, mapping=None, inplace=False):
    """Prepare a model for quantization aware training, in a copy or in-place.

    Weights and outputs are fake-quantized, with gradients. A model that is not in training mode raises AssertionError.
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    if not inplace:
        model = copy.deepcopy(model)
    mapping = DEFAULT_QAT_MODULE_MAPPINGS if mapping is None else mapping
    propagate_qconfig_(model)
    convert(model, mapping, inplace=True, remove_qconfig=False)
    return prepare(model, inplace=True, observer_non_leaf_module_list=set(mapping.values()))


def quantize_qat(model, run_fn, run_args, inplace=False):
    """Prepare a model with prepare_qat, call ``run_fn(model, *run_args)`` to train it, and convert it."""
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)
