"""Properties of qconfigs: dtypes, integer ranges, and the kind of quantization."""

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
    """Merge two dicts; for a key in both, the value of the second one is used."""
    return {**default_dict, **additional_dict}


def is_per_tensor(qscheme):
    """Whether the scheme has one scale for the whole tensor."""
    return qscheme in _PER_TENSOR


def is_per_channel(qscheme):
    """Whether the scheme has a scale for each channel."""
    return qscheme in _PER_CHANNEL


def getattr_from_fqn(obj, fqn):
    """Return the attribute with this dotted name."""
    return functools.reduce(getattr, fqn.split("."), obj)


def to_underlying_dtype(qdtype):
    """Return the dtype of a quantized tensor's integers.

    AssertionError is raised for a dtype that has none.
    """
    if qdtype not in _UNDERLYING:
        raise AssertionError("Unsupported dtype: " + str(qdtype))
    return _UNDERLYING[qdtype]


def get_qparam_dict(observer_or_fake_quant):
    """Return the scheme, dtype, scale and other parameters of an observer or fake quantization module."""
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
    found["qscheme"] = symmetric.get(scheme, scheme)  # tensors never have a symmetric scheme
    found["scale"], found["zero_point"] = watched.calculate_qparams()
    return found | {name: getattr(watched, name) for name in ("quant_min", "quant_max") if hasattr(watched, name)}


def get_swapped_custom_module_class(custom_module, custom_module_class_mapping, qconfig):
    """Return the class for a module in a mapping ``{QuantType: {class: class}}``.

    AssertionError is raised if the mapping has none.
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
    """Return the dtype of outputs."""
    return _given(qconfig, "determine activation dtype").activation().dtype


def weight_dtype(qconfig):
    """Return the dtype of weights."""
    return _given(qconfig, "determine weight dtype").weight().dtype


def get_qconfig_dtypes(qconfig):
    """Return (dtype of outputs, dtype of weights, whether outputs are quantized dynamically)."""
    activation, weight = _given(qconfig, "extract dtypes").activation(), qconfig.weight()
    return activation.dtype, weight.dtype, getattr(activation, "is_dynamic", False)


def activation_is_statically_quantized(qconfig):
    """Whether outputs have an integer, float8 or float16 dtype and are not quantized dynamically."""
    return activation_dtype(qconfig) in _STATIC | {torch.float16} and not activation_is_dynamically_quantized(qconfig)


def activation_is_dynamically_quantized(qconfig):
    """Whether activations are quantized dynamically, at each call."""
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_int8_quantized(qconfig):
    """Whether outputs are 8-bit integers."""
    return activation_dtype(qconfig) in _BYTES


def activation_is_int32_quantized(qconfig):
    """Whether outputs are 32-bit integers."""
    return activation_dtype(qconfig) in (torch.qint32, torch.int32)


def weight_is_quantized(qconfig):
    """Whether weights are quantized or float16."""
    return weight_dtype(qconfig) in _STATIC - {torch.qint32} | {torch.float16, torch.quint4x2}


def weight_is_statically_quantized(qconfig):
    """Whether weights are 8-bit integers."""
    return weight_dtype(qconfig) in _BYTES


def op_is_int8_dynamically_quantized(qconfig):
    """Whether weights are signed 8-bit integers, and activations are quantized dynamically to unsigned ones."""
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return activation in (torch.quint8, torch.uint8) and weight in (torch.qint8, torch.int8) and dynamic


def get_quant_type(qconfig):
    """Return the QuantType of a qconfig.

    Raises:
        Exception: if its dtypes match no type; PyTorch raises this class as well.
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
    """Raise AssertionError for a range that does not include 0 or has fewer than two integers."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
