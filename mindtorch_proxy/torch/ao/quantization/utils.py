"""What a configuration asks for: dtypes, ranges, and when tensors become integers."""

import functools

import torch

from .quant_type import QuantType

__all__ = [
    "activation_dtype", "activation_is_dynamically_quantized", "activation_is_int32_quantized",
    "activation_is_int8_quantized", "activation_is_statically_quantized", "get_combined_dict", "get_qconfig_dtypes",
    "get_qparam_dict", "get_quant_type", "get_swapped_custom_module_class", "getattr_from_fqn", "is_per_channel",
    "is_per_tensor", "op_is_int8_dynamically_quantized", "to_underlying_dtype", "validate_qmin_qmax", "weight_dtype",
    "weight_is_quantized", "weight_is_statically_quantized",
]  # fmt: skip
_PER_TENSOR = (torch.per_tensor_affine, torch.per_tensor_symmetric)
_PER_CHANNEL = (torch.per_channel_affine, torch.per_channel_affine_float_qparams, torch.per_channel_symmetric)
_FLOAT8 = frozenset((torch.float8_e5m2, torch.float8_e4m3fn))
_BYTES = frozenset((torch.quint8, torch.qint8, torch.uint8, torch.int8))
_STATIC = _BYTES | _FLOAT8 | {torch.qint32, torch.int16, torch.int32}
_UNDERLYING = {
    torch.quint8: torch.uint8,
    torch.qint8: torch.int8,
    torch.qint32: torch.int32,
    torch.quint4x2: torch.uint8,
    torch.quint2x4: torch.uint8,
}
_UNDERLYING |= {kind: kind for kind in (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, *_FLOAT8)}


def get_combined_dict(default_dict, additional_dict):
    """Both dicts in one; where both have a key, the second one's value."""
    return {**default_dict, **additional_dict}


def is_per_tensor(qscheme):
    """Whether a tensor has one scale."""
    return qscheme in _PER_TENSOR


def is_per_channel(qscheme):
    """Whether each channel has a scale of its own."""
    return qscheme in _PER_CHANNEL


def getattr_from_fqn(obj, fqn):
    """The attribute that names with dots between them lead to."""
    return functools.reduce(getattr, fqn.split("."), obj)


def to_underlying_dtype(qdtype):
    """The dtype of a quantized tensor's integers; AssertionError for one that has none."""
    if qdtype not in _UNDERLYING:
        raise AssertionError("Unsupported dtype: " + str(qdtype))
    return _UNDERLYING[qdtype]


def get_qparam_dict(observer_or_fake_quant):
    """The scheme, the dtype, the scale and so on that an observer, or a module that rounds, has found."""
    from .observer import PlaceholderObserver

    watched = observer_or_fake_quant
    scheme, found = getattr(watched, "qscheme", None), {"qscheme": None, "dtype": watched.dtype}
    if not scheme or isinstance(watched, PlaceholderObserver):
        return found
    if not is_per_tensor(scheme) and not is_per_channel(scheme):
        raise RuntimeError(f"Unrecognized qscheme: {scheme}")
    if is_per_channel(scheme):
        found["axis"] = watched.ch_axis
    symmetric = {
        torch.per_tensor_symmetric: torch.per_tensor_affine,
        torch.per_channel_symmetric: torch.per_channel_affine,
    }
    found["qscheme"] = symmetric.get(scheme, scheme)  # no tensor has a symmetric scheme
    found["scale"], found["zero_point"] = watched.calculate_qparams()
    return found | {name: getattr(watched, name) for name in ("quant_min", "quant_max") if hasattr(watched, name)}


def get_swapped_custom_module_class(custom_module, custom_module_class_mapping, qconfig):
    """Which class a mapping ``{QuantType: {class: class}}`` has for a module with a configuration; AssertionError if
    none.
    """
    known = custom_module_class_mapping.get(get_quant_type(qconfig), {})
    if type(custom_module) not in known:
        raise AssertionError(
            f"did not find corresponding observed module class for {type(custom_module)} in mapping: {known}"
        )
    return known[type(custom_module)]


def _given(qconfig, for_what):
    if qconfig is None:
        raise AssertionError(f"qconfig must be provided to {for_what}")
    return qconfig


def activation_dtype(qconfig):
    """The dtype of results."""
    return _given(qconfig, "determine activation dtype").activation().dtype


def weight_dtype(qconfig):
    """The dtype of weights."""
    return _given(qconfig, "determine weight dtype").weight().dtype


def get_qconfig_dtypes(qconfig):
    """(dtype of results, dtype of weights, whether results become integers at each call)"""
    activation, weight = _given(qconfig, "extract dtypes").activation(), qconfig.weight()
    return activation.dtype, weight.dtype, getattr(activation, "is_dynamic", False)


def activation_is_statically_quantized(qconfig):
    """Whether results are integers, or float16 and the like, with a scale that is known beforehand."""
    return activation_dtype(qconfig) in _STATIC | {torch.float16} and not activation_is_dynamically_quantized(qconfig)


def activation_is_dynamically_quantized(qconfig):
    """Whether inputs become integers at each call."""
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_int8_quantized(qconfig):
    """Whether results are integers of 8 bits."""
    return activation_dtype(qconfig) in _BYTES


def activation_is_int32_quantized(qconfig):
    """Whether results are integers of 32 bits."""
    return activation_dtype(qconfig) in (torch.qint32, torch.int32)


def weight_is_quantized(qconfig):
    """Whether weights are of another dtype than those of training."""
    return weight_dtype(qconfig) in _STATIC - {torch.qint32} | {torch.float16, torch.quint4x2}


def weight_is_statically_quantized(qconfig):
    """Whether weights are integers of 8 bits."""
    return weight_dtype(qconfig) in _BYTES


def op_is_int8_dynamically_quantized(qconfig):
    """Whether weights are signed integers of 8 bits, and inputs become unsigned ones at each call."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return activation in (torch.quint8, torch.uint8) and weight in (torch.qint8, torch.int8) and dynamic


def get_quant_type(qconfig):
    """The QuantType of a configuration.

    Raises:
        Exception: its dtypes are those of none (PyTorch's class of error here).
    """
    activation, weight, dynamic = get_qconfig_dtypes(_given(qconfig, "determine quant type"))
    static = _STATIC | {torch.quint4x2}
    if dynamic and (weight in static or weight is torch.float16):
        return QuantType.DYNAMIC
    if weight in static:
        return QuantType.STATIC if activation in static else QuantType.WEIGHT_ONLY
    if weight is activation is torch.float16:
        return QuantType.STATIC
    raise Exception(f"Unrecognized dtype combination in get_quant_type: activation({activation}),weight({weight})")  # noqa: TRY002


def validate_qmin_qmax(quant_min, quant_max):
    """AssertionError for a range of integers that does not hold 0, or no other."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
