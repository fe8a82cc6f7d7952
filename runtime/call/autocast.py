"""Autocast: which operators run in low precision, which in float32, and which in the widest dtype.

Also the state behind torch.autocast.
"""

from enum import Enum

from .. import dtypes as dt
from ..backend import backend
from ..context import CONTEXT, activate
from ..tensor import Tensor
from .dispatch import tensors_of


class Autocast(Enum):
    """The dtype in which autocast runs an operator, and whether it does so on accelerators only."""

    LOWER = "lower", False
    FLOAT32 = "float32", False
    WIDEST = "widest", False
    LOWER_ON_ACCELERATORS = "lower", True
    FLOAT32_ON_ACCELERATORS = "float32", True
    WIDEST_ON_ACCELERATORS = "widest", True


LOWER, FLOAT32, WIDEST, LOWER_ON_ACCELERATORS, FLOAT32_ON_ACCELERATORS, WIDEST_ON_ACCELERATORS = Autocast


_DEFAULT = {"cpu": dt.bfloat16, "npu": dt.float16, "cuda": dt.float16, "xpu": dt.float16}


def set_enabled(device_type, enabled):
    before = any(CONTEXT.autocast_enabled.values())
    CONTEXT.autocast_enabled[device_type] = bool(enabled)
    after = any(CONTEXT.autocast_enabled.values())
    if before != after:
        activate(1 if after else -1)
    CONTEXT.autocast = cast_arguments if after else None


def is_enabled(device_type=None):
    return (
        CONTEXT.autocast_enabled.get(device_type, False)
        if device_type is not None
        else CONTEXT.autocast_enabled.get("cuda", False)
    )


def get_dtype(device_type):
    return CONTEXT.autocast_dtype.get(device_type, _DEFAULT.get(device_type, dt.float16))


def set_dtype(device_type, d):
    CONTEXT.autocast_dtype[device_type] = d


def nest(n):
    CONTEXT.autocast_nesting += n
    return CONTEXT.autocast_nesting


def _widest(lower, dtypes):
    """Return the dtype for operands that must share one: float32 if an operand has it, else autocast's own.

    float64 operands are ignored. Any other dtype raises RuntimeError, as in PyTorch, unless a float32 operand comes
    before it.
    """
    for d in dtypes:
        if d is dt.float32:
            return d
        if d.is_floating_point and d not in (lower, dt.float64):
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return lower


def cast_arguments(op, args):
    """Return the arguments of an autocast operator in its dtype, or None to leave them unchanged."""
    rule = op.options.autocast
    first = next(tensors_of(args), None)
    if rule is None or first is None or not CONTEXT.autocast_enabled.get(first.device.type):
        return None
    kind, accelerators_only = rule.value
    if accelerators_only and backend(first.device).host:
        return None
    want = dt.float32 if kind == "float32" else get_dtype(first.device.type)
    if kind == "widest":
        want = _widest(want, [t.dtype for t in tensors_of(args)])

    def cast(t):
        if not isinstance(t, Tensor):
            return t
        eligible = (
            t.dtype.is_floating_point
            and t.dtype is not dt.float64
            and (kind != "float32" or t.dtype in (dt.float16, dt.bfloat16))
        )
        return t.to(want) if eligible and t.dtype is not want else t

    with CONTEXT.set(autocast=None):
        return [
            type(a)([cast(t) for t in a])
            if isinstance(a, (list, tuple)) and a and isinstance(a[0], Tensor)
            else cast(a)
            for a in args
        ]
