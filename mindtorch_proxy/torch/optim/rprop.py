"""Rprop."""

import torch

from .optimizer import _ParameterwiseOptimizer, _check_options, _functional, _options, _to_scalar

__all__ = ["Rprop", "rprop"]


class Rprop(_ParameterwiseOptimizer):
    """Steps with a separate size for each element.

    A step size grows while the gradient keeps its sign, and shrinks when the sign changes.
    """

    _captures_xla = (True, True)

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        _check_options(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, _options(locals()))

    def _new_state(self, p, group):
        lr = _to_scalar(group["lr"])
        return {
            "step": self._scalar(0.0, p, group),
            "prev": self._zeros(p),
            "step_size": torch.full_like(p.grad, complex(lr, lr) if p.is_complex() else lr),
        }

    def _update(self, param, grad, state, group, lr, step):
        (shrink, grow), size, previous = group["etas"], state["step_size"], state["prev"]
        agreement = grad.mul(previous.clone() if group["differentiable"] else previous)
        changed = agreement < 0
        factor = torch.ones_like(size).masked_fill_(agreement > 0, grow).masked_fill_(changed, shrink)
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(changed, 0)
        param.addcmul_(grad.sign(), size, value=-1)
        previous.copy_(grad)


rprop = _functional(
    Rprop,
    "params grads prevs:prev step_sizes:step_size state_steps:step",
    "foreach=None capturable=False maximize=False differentiable=False has_complex=False",
    "step_size_min step_size_max etaminus etaplus",
)
