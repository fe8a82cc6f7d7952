"""RAdam."""

from .optimizer import _ParameterwiseOptimizer, _check_options, _functional, _options

__all__ = ["RAdam", "radam"]


class RAdam(_ParameterwiseOptimizer):
    """Adam with a rectified adaptive learning rate: plain momentum while its variance is too large."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        _check_options(lr, betas, epsilon=eps, weight_decay=weight_decay)
        super().__init__(params, _options(locals()))

    def _new_state(self, p, group):
        return {"step": self._scalar(0.0, p, group), "exp_avg": self._zeros(p), "exp_avg_sq": self._zeros(p)}

    def _update(self, param, grad, state, group, lr, step):
        (beta1, beta2), average, square = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        average.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2**step
        update = average / (1 - beta1**step) * lr
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction
        if length > 5.0:
            rectify = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            update = update * (correction**0.5 / square.sqrt().add(group["eps"])) * rectify
        param.add_(update, alpha=-1.0)


radam = _functional(
    RAdam,
    "params grads exp_avgs:exp_avg exp_avg_sqs:exp_avg_sq state_steps:step",
    "decoupled_weight_decay=False foreach=None differentiable=False capturable=False has_complex=False maximize=False",
    "beta1 beta2 lr weight_decay eps",
)
