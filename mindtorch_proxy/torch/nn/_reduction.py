"""The `reduction` argument of losses, and the two older arguments that it replaced."""

import warnings

_CODES = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction):
    """Return the number that native functions take for a reduction.

    An unknown reduction raises ValueError.
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        reduction = "mean"
    if reduction not in _CODES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _CODES[reduction]


def legacy_get_string(size_average, reduce, emit_warning=True):
    """Return the reduction that size_average and reduce mean, where None means True."""
    ret = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{ret}' instead.", stacklevel=2
        )
    return ret


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """Return the number of the reduction that size_average and reduce mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
