"""torch_npu.optim: optimizers whose step is one pass over all parameters."""

import torch

__all__ = ["NpuFusedAdam", "NpuFusedAdamW", "NpuFusedSGD"]


class NpuFusedAdamW(torch.optim.AdamW):
    """AdamW; `clip_grad_norm_fused_` clips as torch.nn.utils.clip_grad_norm_ does."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)

    def clip_grad_norm_fused_(self, max_norm, norm_type=2):
        """Scale all gradients to at most this norm; returns the norm."""
        return torch.nn.utils.clip_grad_norm_([p for g in self.param_groups for p in g["params"]], max_norm, norm_type)


class NpuFusedAdam(torch.optim.Adam):
    """Adam."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)

    clip_grad_norm_fused_ = NpuFusedAdamW.clip_grad_norm_fused_


class NpuFusedSGD(torch.optim.SGD):
    """Stochastic gradient descent."""

    def __init__(self, params, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False):
        super().__init__(
            params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov
        )

    clip_grad_norm_fused_ = NpuFusedAdamW.clip_grad_norm_fused_
