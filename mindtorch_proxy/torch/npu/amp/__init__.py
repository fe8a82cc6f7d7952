"""torch.npu.amp: torch.amp for the NPU."""

import torch

__all__ = ["GradScaler", "autocast"]


class autocast(torch.amp.autocast):
    """torch.amp.autocast("npu")."""

    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__("npu", dtype, enabled, cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler("npu")."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
