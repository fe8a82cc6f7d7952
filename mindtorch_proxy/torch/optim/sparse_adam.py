"""Adam for sparse gradients."""

import math

from .optimizer import _check_options, _options, _ParameterwiseOptimizer

__all__ = ["SparseAdam"]


class SparseAdam(_ParameterwiseOptimizer):
    """The variant of Adam that updates only the rows in a sparse gradient."""

    _sparse = True
    _scalars = ()

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        _check_options(lr, betas)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        super().__init__(params, _options(locals()))
        places = [([i, j], p) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        for what, wants, wrong in (
            ("Sparse", "requires dense parameter tensors", [x for x, p in places if p.is_sparse]),
            ("Complex", "does not support complex parameters", [x for x, p in places if p.is_complex()]),
        ):
            if wrong:
                raise ValueError(f"{what} params at indices {wrong}: SparseAdam {wants}")

    def _new_state(self, p, group):
        return {"step": 0, "exp_avg": self._zeros(p), "exp_avg_sq": self._zeros(p)}

    def _checked(self, p, group):
        if not p.grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return super()._checked(p, group)

    def _update(self, param, grad, state, group, lr, step):
        grad = grad.coalesce()
        index, values = tuple(grad._indices()), grad._values()
        if values.numel() == 0:
            return
        beta1, beta2 = group["betas"]
        averages = []
        for name, new, beta in (("exp_avg", values, beta1), ("exp_avg_sq", values.pow(2), beta2)):
            old = state[name][index]
            averages.append(old + (new - old).mul_(1 - beta))
            state[name][index] = averages[-1]
        size = lr * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        param[index] = param[index] - size * averages[0].div_(averages[1].sqrt_().add_(group["eps"]))
