"""Adafactor."""

import torch

from .optimizer import _ParameterwiseOptimizer

__all__ = ["Adafactor"]


class Adafactor(_ParameterwiseOptimizer):
    """Adaptive learning rates whose second moments for a matrix are stored as one row and one column."""

    _complex = False

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for ok, text in (
            (0.0 <= lr, f"Learning rate should be >= 0 but is: {lr}"),
            (0.0 >= beta2_decay, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is None or 0.0 <= eps[0], f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (0.0 <= eps[1], f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (1.0 <= d, f"Clipping threshold d should be >= 1 but is: {d}"),
            (0.0 <= weight_decay, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if not ok:
                raise ValueError(text)
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def _new_state(self, p, group):
        state, shape = {"step": self._scalar(0.0, p, group)}, list(p.grad.shape)
        if len(shape) < 2:
            return state | {"variance": self._zeros(p.grad)}
        return state | {
            "row_var": p.grad.new_zeros(shape[:-1] + [1]),
            "col_var": p.grad.new_zeros(shape[:-2] + [1, shape[-1]]),
        }

    def _decay(self, p, grad, group, lr):
        return grad  # _update applies the decay, after computing the parameter's norm

    def _update(self, param, grad, state, group, lr, step):
        eps1, eps2 = group["eps"]
        eps1 = torch.finfo(param.dtype).eps if eps1 is None else eps1
        weight = step ** group["beta2_decay"]
        rate = max(eps2, param.norm(2).item() / param.numel() ** 0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            for name, dim in (("row_var", -1), ("col_var", -2)):
                state[name].lerp_(torch.norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim)), weight)
            row, column = state["row_var"], state["col_var"]
            variance = (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            variance = state["variance"].lerp_(grad * grad, weight).clone()
        update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        clip = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        param.add_(update, alpha=-rate / clip)
