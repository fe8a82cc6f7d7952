"""torch.npu.amp: torch.amp for the NPU."""

import torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def custom_fwd(fwd=None, *, cast_inputs=None):
    """Call torch.amp.custom_fwd for the NPU."""
    return torch.amp.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)


def custom_bwd(bwd=None):
    """Call torch.amp.custom_bwd for the NPU."""
    return torch.amp.custom_bwd(bwd, device_type="npu")


class autocast(torch.amp.autocast):
    """torch.amp.autocast("npu")."""

    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__("npu", dtype, enabled, cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler("npu")."""

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
