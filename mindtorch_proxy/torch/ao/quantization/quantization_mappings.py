"""Which module stands for which where a model comes to compute with integers."""

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
# what PyTorch has forms of integers for as well
_DYNAMIC_ABSENT = _recurrent | {nn.Embedding, nn.EmbeddingBag}
_STATIC_ABSENT = _DYNAMIC_ABSENT | {getattr(nn, name) for name in _names.split()}


def absent_from(mapping):
    """The modules that PyTorch's table has and ours lacks: none for a table that is not ours."""
    return (
        _STATIC_ABSENT
        if mapping is DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
        else _DYNAMIC_ABSENT
        if mapping is DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
        else ()
    )


def get_default_static_quant_module_mappings():
    """Which module of integers stands for which, where results are integers too."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings():
    """The same where results are floating point: the table itself, as in PyTorch."""
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS


def get_default_qat_module_mappings():
    """Which module that rounds stands for which."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def _module_class(kind, known, additional):
    """The class that stands for a class of floating point: NotImplementedError where PyTorch has one and we do not,
    AssertionError where it has none.
    """
    found = {**known, **(additional or {})}.get(kind)
    if found is None and kind in absent_from(known):
        raise NotImplementedError(f"torch.ao.quantization: {kind.__name__} (torch.quint8, cpu) has no form of integers")
    if found is None:
        raise AssertionError(f"Floating point module class {kind} does not have a corresponding quantized module class")
    return found


def get_static_quant_module_class(float_module_class, additional_static_quant_mapping=None, is_reference=False):
    """The module of integers that stands for a class, where results are integers too; NotImplementedError with
    `is_reference`.
    """
    if is_reference:
        raise NotImplementedError("torch.ao.quantization: reference modules (any dtype, any device) are not supported")
    return _module_class(float_module_class, DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, additional_static_quant_mapping)


def get_dynamic_quant_module_class(float_module_class, additional_dynamic_quant_mapping=None):
    """The same where results are floating point."""
    return _module_class(float_module_class, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, additional_dynamic_quant_mapping)
