"""Stochastic gradient descent."""

import torch

from .optimizer import _ParameterwiseOptimizer, _add_, _check_options, _functional, _options

__all__ = ["SGD", "sgd"]


class SGD(_ParameterwiseOptimizer):
    """Stochastic gradient descent, optionally with momentum."""

    _sparse, _as_real, _scalars = True, False, ()

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        _check_options(lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, _options(locals()))

    def _new_state(self, p, group):
        return {"momentum_buffer": None} if group["momentum"] != 0 else {}

    def _in_one_pass(self, group, lr):
        """Whether torch._sgd_step_ can run the whole step.

        It needs momentum, options that are not tensors, and an optimizer that is not differentiable.
        """
        numbers = (lr, group["momentum"], group["dampening"], group["weight_decay"])
        return (
            group["momentum"] != 0
            and not group.get("differentiable")
            and not any(isinstance(n, torch.Tensor) for n in numbers)
        )

    def _apply_all(self, rows, group, lr):
        if not self._in_one_pass(group, lr):
            return super()._apply_all(rows, group, lr)
        kinds, rest = {}, []
        for row in rows:
            p, grad, state = row
            buffer = state.get("momentum_buffer")
            if buffer is None or grad.is_sparse or p.is_complex():
                rest.append(row)
            else:
                kinds.setdefault((p.dtype, p.device), []).append((p, grad, buffer))
        for alike in kinds.values():
            torch._sgd_step_(
                *zip(*alike),
                lr,
                *(group[name] for name in ("momentum", "dampening", "weight_decay", "nesterov", "maximize")),
            )
        return super()._apply_all(rest, group, lr)

    def _update(self, param, grad, state, group, lr, step):
        momentum = group["momentum"]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        _add_(param, grad, -lr)


sgd = _functional(
    SGD,
    "params d_p_list momentum_buffer_list:momentum_buffer",
    "has_sparse_grad=False foreach=None fused=None grad_scale=None found_inf=None",
    "weight_decay momentum lr dampening nesterov maximize",
)
