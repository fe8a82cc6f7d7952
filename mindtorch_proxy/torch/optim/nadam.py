"""NAdam."""

from .optimizer import _ParameterwiseOptimizer, _check_options, _functional, _options

__all__ = ["NAdam", "nadam"]


class NAdam(_ParameterwiseOptimizer):
    """Adam with Nesterov momentum."""

    _on_device = ("params, mu_products and state_steps", "params, mu_products, and state_steps")

    _scalars = ("step", "mu_product")

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        _check_options(lr, betas, epsilon=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, _options(locals()))

    def _new_state(self, p, group):
        return {
            "step": self._scalar(0.0, p, group),
            "mu_product": self._scalar(1.0, p, group),
            "exp_avg": self._zeros(p),
            "exp_avg_sq": self._zeros(p),
        }

    def _update(self, param, grad, state, group, lr, step):
        (beta1, beta2), average, square = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        mu, next_mu = (beta1 * (1.0 - 0.5 * 0.96 ** (s * group["momentum_decay"])) for s in (step, step + 1))
        state["mu_product"] *= mu
        average.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(1 - beta2**step).sqrt_()
        if group["differentiable"]:  # backward needs both, and differentiates the product
            product, denominator = state["mu_product"], root.add(group["eps"])
            param.addcdiv_(grad * (-lr * (1.0 - mu) / (1.0 - product)), denominator)
            param.addcdiv_(average * (-lr * next_mu / (1.0 - product * next_mu)), denominator)
            return
        product, denominator = state["mu_product"].item(), root.add_(group["eps"])
        param.addcdiv_(grad, denominator, value=-lr * (1.0 - mu) / (1.0 - product))
        param.addcdiv_(average, denominator, value=-lr * next_mu / (1.0 - product * next_mu))


nadam = _functional(
    NAdam,
    "params grads exp_avgs:exp_avg exp_avg_sqs:exp_avg_sq mu_products:mu_product state_steps:step",
    "decoupled_weight_decay=False foreach=None capturable=False differentiable=False has_complex=False maximize=False",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)
