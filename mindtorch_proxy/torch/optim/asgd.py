"""Averaged stochastic gradient descent."""

import torch

from .optimizer import (
    _ParameterwiseOptimizer,
    _check_options,
    _functional,
    _get_scalar_dtype,
    _number,
    _options,
    _to_scalar,
)

__all__ = ["ASGD", "asgd"]


class ASGD(_ParameterwiseOptimizer):
    """Stochastic gradient descent that also averages the parameters ("ax" in the state)."""

    _on_device = ("params, mus, etas, and state_steps",) * 2

    _scalars = ("step", "eta", "mu")

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        _check_options(lr, weight_decay=weight_decay)
        super().__init__(params, _options(locals()))

    def _scalar(self, value, p, group):
        return torch.tensor(value, device=p.device, dtype=_get_scalar_dtype())

    def _new_state(self, p, group):
        return {
            "step": self._scalar(0.0, p, group),
            "eta": self._scalar(float(_number(_to_scalar(group["lr"]))), p, group),
            "mu": self._scalar(1.0, p, group),
            "ax": self._zeros(p),
        }

    def _update(self, param, grad, state, group, lr, step):
        lambd, eta, mu, average = group["lambd"], state["eta"].item(), state["mu"], state["ax"]
        if group["foreach"]:  # PyTorch's order of roundings, and one write instead of two
            param.add_(grad.add(param, alpha=lambd), alpha=-eta)
        else:
            param.mul_(1 - lambd * eta)
            param.add_(grad, alpha=-eta)
        if mu.item() == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average).mul_(mu))
        # Always compute through float32, because a loaded state has the dtype of the parameter.
        state["eta"].copy_(torch.as_tensor(lr / (1 + lambd * lr * step) ** group["alpha"]))
        mu.copy_(torch.as_tensor(1 / max(1, step - group["t0"])))


asgd = _functional(
    ASGD,
    "params grads axs:ax mus:mu etas:eta state_steps:step",
    "foreach=None maximize=False differentiable=False capturable=False has_complex=False",
    "lambd lr t0 alpha weight_decay",
)
