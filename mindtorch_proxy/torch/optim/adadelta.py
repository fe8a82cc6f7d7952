"""Adadelta."""

from .optimizer import _ParameterwiseOptimizer, _check_options, _functional, _options

__all__ = ["Adadelta", "adadelta"]


class Adadelta(_ParameterwiseOptimizer):
    """Steps scaled by the ratio of the averages of squared updates and squared gradients."""

    _captures_xla = (False, False)

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        _check_options(lr, epsilon=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, _options(locals()))

    def _new_state(self, p, group):
        return {"step": self._scalar(0.0, p, group), "square_avg": self._zeros(p), "acc_delta": self._zeros(p)}

    def _update(self, param, grad, state, group, lr, step):
        rho, eps, square, deltas = group["rho"], group["eps"], state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = deltas.add(eps).sqrt_().div(square.add(eps).sqrt_()).mul(grad)
        deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-lr)


adadelta = _functional(
    Adadelta,
    "params grads square_avgs:square_avg acc_deltas:acc_delta state_steps:step",
    "capturable=False foreach=None differentiable=False has_complex=False",
    "lr rho eps weight_decay maximize",
)
