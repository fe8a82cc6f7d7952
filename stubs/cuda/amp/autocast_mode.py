"""autocast, custom_fwd and custom_bwd for device type cuda."""

import torch
from torch.amp import autocast as _autocast
from torch.amp import autocast_mode as _autocast_mode
from torch.amp import custom_bwd as _custom_bwd
from torch.amp import custom_fwd as _custom_fwd
from typing_extensions import deprecated

__all__ = ["autocast", "custom_fwd", "custom_bwd"]


class autocast(_autocast):
    """Deprecated: ``torch.amp.autocast("cuda")``."""

    @deprecated(
        "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
        category=FutureWarning,
    )
    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def _cast(value, dtype):
    """Cast the CUDA tensors in a value to a dtype where autocast would."""
    return _autocast_mode._cast(value, "cuda", dtype)


@deprecated(
    "`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use `torch.amp.custom_fwd(args..., "
    "device_type='cuda')` instead.",
    category=FutureWarning,
)
def custom_fwd(fwd=None, *, cast_inputs=None):
    """Deprecated: ``torch.amp.custom_fwd`` for CUDA."""
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


@deprecated(
    "`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use `torch.amp.custom_bwd(args..., "
    "device_type='cuda')` instead.",
    category=FutureWarning,
)
def custom_bwd(bwd):
    """Deprecated: ``torch.amp.custom_bwd`` for CUDA."""
    return _custom_bwd(bwd, device_type="cuda")
