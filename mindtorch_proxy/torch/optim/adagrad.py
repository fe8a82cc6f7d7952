"""Adagrad."""

import torch

from .optimizer import _ParameterwiseOptimizer, _check_options, _functional, _options

__all__ = ["Adagrad", "adagrad"]


class Adagrad(_ParameterwiseOptimizer):
    """Steps divided by the root of the sum of all squared gradients."""

    _sparse = True

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        _check_options(
            lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        super().__init__(params, _options(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(self._new_state(p, group))

    def _new_state(self, p, group):
        value = group["initial_accumulator_value"]
        return {
            "step": self._scalar(0.0, p, group),
            "sum": torch.full_like(
                p, complex(value, value) if p.is_complex() else value, memory_format=torch.preserve_format
            ),
        }

    def share_memory(self):
        """Move the sums in the state to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _update(self, param, grad, state, group, lr, step):
        rate, total = lr / (1 + (step - 1) * group["lr_decay"]), state["sum"]
        if grad.is_sparse:
            grad = grad.coalesce()
            index, values = tuple(grad._indices()), grad._values()
            new = total[index] + values.pow(2)
            total[index] = new
            param[index] = param[index].sub(values / new.sqrt().add_(group["eps"]), alpha=rate)
            return
        total.addcmul_(grad, grad, value=1)
        root = total.sqrt()
        denominator = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
        param.addcdiv_(grad, denominator, value=-rate)


adagrad = _functional(
    Adagrad,
    "params grads state_sums:sum state_steps:step",
    "fused=None grad_scale=None found_inf=None has_sparse_grad=False foreach=None differentiable=False "
    "has_complex=False",
    "lr weight_decay lr_decay eps maximize",
)
