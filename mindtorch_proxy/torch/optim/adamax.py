"""Adamax."""

import torch

from .optimizer import _ParameterwiseOptimizer, _check_options, _functional, _options

__all__ = ["Adamax", "adamax"]


class Adamax(_ParameterwiseOptimizer):
    """The variant of Adam that uses the infinity norm."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        _check_options(lr, betas, epsilon=eps, weight_decay=weight_decay)
        super().__init__(params, _options(locals()))

    def _new_state(self, p, group):
        return {"step": self._scalar(0.0, p, group), "exp_avg": self._zeros(p), "exp_inf": self._zeros(p)}

    def _update(self, param, grad, state, group, lr, step):
        (beta1, beta2), average, norm = group["betas"], state["exp_avg"], state["exp_inf"]
        average.lerp_(grad, 1 - beta1)
        norm.copy_(torch.maximum(norm.mul(beta2), grad.abs().add_(group["eps"])))
        if group["differentiable"]:
            average, norm = average.clone(), norm.clone()
        param.addcdiv_(average, norm, value=-lr / (1 - beta1**step))


adamax = _functional(
    Adamax,
    "params grads exp_avgs:exp_avg exp_infs:exp_inf state_steps:step",
    "foreach=None maximize=False differentiable=False capturable=False has_complex=False",
    "eps beta1 beta2 lr weight_decay",
)
