"""RMSprop."""

from .optimizer import _ParameterwiseOptimizer, _check_options, _functional, _options

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(_ParameterwiseOptimizer):
    """Steps divided by the root of the averaged squared gradient, or of its variance with `centered`."""

    _captures_xla = (True, True)

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        _check_options(lr, epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, _options(locals()))

    def _new_state(self, p, group):
        names = (
            ("square_avg",) + ("momentum_buffer",) * (group["momentum"] > 0) + ("grad_avg",) * bool(group["centered"])
        )
        return {"step": self._scalar(0.0, p, group)} | {name: self._zeros(p) for name in names}

    def _update(self, param, grad, state, group, lr, step):
        alpha, square = group["alpha"], state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square.sqrt()
        root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
        if group["momentum"] > 0:
            param.add_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root), alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)


rmsprop = _functional(
    RMSprop,
    "params grads square_avgs:square_avg grad_avgs:grad_avg momentum_buffer_list:momentum_buffer state_steps:step",
    "foreach=None maximize=False differentiable=False capturable=False has_complex=False",
    "lr alpha eps weight_decay momentum centered",
)
