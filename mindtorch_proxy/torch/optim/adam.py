"""Adam."""

import torch

from .optimizer import _ParameterwiseOptimizer, _addcdiv_, _check_options, _functional, _number, _options, _to_scalar

__all__ = ["Adam", "adam"]


class Adam(_ParameterwiseOptimizer):
    """Steps of the averaged gradient divided by the root of the averaged squared gradient."""

    _sparse_hint = ", please consider SparseAdam instead"

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        _check_options(lr, betas, epsilon=eps, weight_decay=weight_decay)
        if len({isinstance(b, torch.Tensor) for b in betas}) != 1 or not all(
            isinstance(b, (float, torch.Tensor)) for b in betas
        ):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, torch.Tensor):
                if not capturable and foreach:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        betas = tuple(map(_to_scalar, betas))
        options = _options(locals())
        super().__init__(params, {k: v for k, v in options.items() if k not in ("i", "beta")})

    def _new_state(self, p, group):
        names = ("exp_avg", "exp_avg_sq") + ("max_exp_avg_sq",) * group["amsgrad"]
        return {"step": self._scalar(0.0, p, group)} | {name: self._zeros(p) for name in names}

    def _in_one_pass(self, group, lr):
        """Whether torch._adam_step_ can run the whole step.

        It cannot for amsgrad, for options that are tensors, and for a differentiable optimizer.
        """
        numbers = (lr, group["weight_decay"], *group["betas"])
        return not (group["amsgrad"] or group["differentiable"] or any(isinstance(n, torch.Tensor) for n in numbers))

    def _apply_all(self, rows, group, lr):
        if not self._in_one_pass(group, lr):
            return super()._apply_all(rows, group, lr)
        kinds = {}
        for p, grad, state in rows:
            if p.is_complex():
                p, grad, average, square = map(torch.view_as_real, (p, grad, state["exp_avg"], state["exp_avg_sq"]))
            else:
                average, square = state["exp_avg"], state["exp_avg_sq"]
            kinds.setdefault((p.dtype, p.device), []).append((p, grad, average, square, state["step"]))
        beta1, beta2 = group["betas"]
        numbers = (
            lr,
            beta1,
            beta2,
            group["weight_decay"],
            group["eps"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )
        for alike in kinds.values():
            torch._adam_step_(*zip(*alike), *numbers)
            if group["decoupled_weight_decay"] and group["weight_decay"]:  # which PyTorch writes by itself
                torch.autograd.graph.increment_version([row[0] for row in alike])

    def _update(self, param, grad, state, group, lr, step):
        beta1, beta2 = map(_number, group["betas"])
        average, square = state["exp_avg"], state["exp_avg_sq"]
        average.lerp_(grad, 1 - beta1)
        if isinstance(beta2, torch.Tensor):
            square.lerp_(torch.square(grad), 1 - beta2)
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            highest = state["max_exp_avg_sq"]
            square = highest.copy_(torch.maximum(highest.clone() if group["differentiable"] else highest, square))
        denominator = (square.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
        if group["differentiable"]:
            average = average.clone()  # backward needs it, and the next step changes it
        _addcdiv_(param, average, denominator, -(lr / (1 - beta1**step)))


adam = _functional(
    Adam,
    "params grads exp_avgs:exp_avg exp_avg_sqs:exp_avg_sq max_exp_avg_sqs:max_exp_avg_sq state_steps:step",
    "foreach=None capturable=False differentiable=False fused=None grad_scale=None found_inf=None has_complex=False "
    "decoupled_weight_decay=False",
    "amsgrad beta1 beta2 lr weight_decay eps maximize",
)
