"""A gradient scaler for sharded gradients: if one rank finds inf or NaN, all ranks skip the step."""

import torch
from torch.amp.grad_scaler import GradScaler

from .. import distributed_c10d as c10d

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A GradScaler whose ranks agree on whether a gradient is inf or NaN."""

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        backoff_factor=0.5,
        growth_factor=2.0,
        growth_interval=2000,
        enabled=True,
        process_group=None,
    ):
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16=True):
        from ..tensor import DTensor

        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, True) or {found_inf.device: found_inf.clone()}
        agreed = {}
        for device, value in found.items():
            value = value.full_tensor() if isinstance(value, DTensor) else value.clone()
            c10d.all_reduce(value, c10d.ReduceOp.MAX, self.process_group)
            agreed[device] = value
        return agreed
