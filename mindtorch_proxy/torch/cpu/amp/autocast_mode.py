"""autocast for the CPU, under its deprecated name."""

import torch
from typing_extensions import deprecated

from ...amp import autocast as _autocast

__all__ = ["autocast"]


class autocast(_autocast):
    """Deprecated: ``torch.amp.autocast("cpu")``."""

    @deprecated(
        "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
        category=FutureWarning,
    )
    def __init__(self, enabled=True, dtype=torch.bfloat16, cache_enabled=True):
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
