"""autocast, custom_fwd and custom_bwd for device type cuda."""

import functools

import torch
from typing_extensions import deprecated

from ...amp import autocast as _autocast
from ...amp import custom_bwd as _custom_bwd
from ...amp import custom_fwd as _custom_fwd

__all__ = ["autocast", "custom_fwd", "custom_bwd"]


class autocast(_autocast):
    """Deprecated: ``torch.amp.autocast("cuda")``."""

    @deprecated("`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.", category=FutureWarning)
    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


custom_fwd = deprecated(
    "`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use `torch.amp.custom_fwd(args..., device_type='cuda')` instead.", category=FutureWarning
)(functools.partial(_custom_fwd, device_type="cuda"))
custom_bwd = deprecated(
    "`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use `torch.amp.custom_bwd(args..., device_type='cuda')` instead.", category=FutureWarning
)(functools.partial(_custom_bwd, device_type="cuda"))
