"""Mappings from floating point modules to their quantized modules."""

from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.ao.nn import qat as nnqat
from torch.ao.nn import quantized as nnq
from torch.ao.nn.intrinsic import qat as nniqat
from torch.ao.nn.quantized import dynamic as nnqd

from .stubs import DeQuantStub, QuantStub

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_QAT_MODULE_MAPPINGS", "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "get_default_dynamic_quant_module_mappings", "get_default_qat_module_mappings",
    "get_default_static_quant_module_mappings", "get_dynamic_quant_module_class", "get_static_quant_module_class",
]  # fmt: skip
DEFAULT_STATIC_QUANT_MODULE_MAPPINGS = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    nnq.FloatFunctional: nnq.QFunctional,
    nn.BatchNorm2d: nnq.BatchNorm2d,
    nn.BatchNorm3d: nnq.BatchNorm3d,
    nn.Linear: nnq.Linear,
    nni.LinearReLU: nnq.LinearReLU,
    nnqat.Linear: nnq.Linear,
    nniqat.LinearReLU: nnq.LinearReLU,
}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS = {nn.Linear: nnqd.Linear, nni.LinearReLU: nnqd.LinearReLU}
DEFAULT_QAT_MODULE_MAPPINGS = {nn.Linear: nnqat.Linear, nni.LinearReLU: nniqat.LinearReLU}
for _name in ("Conv1d", "Conv2d", "Conv3d"):
    _relu = f"ConvReLU{_name[4:]}"
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS |= {getattr(home, _name): getattr(nnq, _name) for home in (nn, nnqat)}
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS |= {getattr(home, _relu): getattr(nnq, _relu) for home in (nni, nniqat)}
    DEFAULT_QAT_MODULE_MAPPINGS |= {
        getattr(nn, _name): getattr(nnqat, _name),
        getattr(nni, _relu): getattr(nniqat, _relu),
    }
_recurrent = {nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell}
_names = """
    ConvTranspose1d ConvTranspose2d ConvTranspose3d ELU GroupNorm Hardswish InstanceNorm1d InstanceNorm2d InstanceNorm3d
    LayerNorm LeakyReLU MultiheadAttention PReLU ReLU6 Sigmoid Softmax Tanh"""
# modules for which PyTorch has quantized forms and this package has none
_DYNAMIC_ABSENT = _recurrent | {nn.Embedding, nn.EmbeddingBag}
_STATIC_ABSENT = _DYNAMIC_ABSENT | {getattr(nn, name) for name in _names.split()}


def absent_from(mapping):
    """Return the modules that PyTorch's mapping has and this package's lacks.

    The result is empty for a mapping that is not one of the defaults.
    """
    return (
        _STATIC_ABSENT
        if mapping is DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
        else _DYNAMIC_ABSENT
        if mapping is DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
        else ()
    )


def get_default_static_quant_module_mappings():
    """Return a copy of the mapping to modules with quantized outputs."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings():
    """Return the mapping to dynamically quantized modules, itself and not a copy, as in PyTorch."""
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS


def get_default_qat_module_mappings():
    """Return a copy of the mapping to modules for quantization aware training."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def _module_class(kind, known, additional):
    """Return the quantized class of a floating point module class.

    NotImplementedError is raised if only PyTorch has one, and AssertionError if there is none.
    """
    found = {**known, **(additional or {})}.get(kind)
    if found is None and kind in absent_from(known):
        raise NotImplementedError(f"torch.ao.quantization: {kind.__name__} (torch.quint8, cpu) has no form of integers")
    if found is None:
        raise AssertionError(f"Floating point module class {kind} does not have a corresponding quantized module class")
    return found


def get_static_quant_module_class(float_module_class, additional_static_quant_mapping=None, is_reference=False):
    """Return the quantized module class with quantized outputs for a floating point class.

    `is_reference` raises NotImplementedError.
    """
    if is_reference:
        raise NotImplementedError("torch.ao.quantization: reference modules (any dtype, any device) are not supported")
    return _module_class(float_module_class, DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, additional_static_quant_mapping)


def get_dynamic_quant_module_class(float_module_class, additional_dynamic_quant_mapping=None):
    """Return the dynamically quantized module class for a floating point class."""
    return _module_class(float_module_class, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, additional_dynamic_quant_mapping)
