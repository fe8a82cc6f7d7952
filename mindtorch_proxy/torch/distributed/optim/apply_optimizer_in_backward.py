"""Optimizers that step during backward, as soon as a parameter's gradient is ready."""

import torch

__all__ = []
param_to_optim_hook_handle_map = torch.utils.weak.WeakTensorKeyDictionary()
param_to_acc_grad_map = torch.utils.weak.WeakTensorKeyDictionary()


def _apply_optimizer_in_backward(optimizer_class, params, optimizer_kwargs, register_hook=True):
    """Give each parameter its own optimizer that steps during backward.

    It steps as soon as the gradient is accumulated, and the gradient is then dropped.
    """
    for param in params:
        _apply_to(param, optimizer_class, optimizer_kwargs, register_hook)


def _apply_to(param, optimizer_class, optimizer_kwargs, register_hook):
    if param not in param_to_acc_grad_map:
        param_to_acc_grad_map[param] = torch.autograd.graph.get_gradient_edge(param).node
    if not hasattr(param, "_in_backward_optimizers"):
        param._in_backward_optimizers, param._optimizer_classes, param._optimizer_kwargs = [], [], []
    param._in_backward_optimizers.append(optimizer_class([param], **optimizer_kwargs))
    param._optimizer_classes.append(optimizer_class)
    param._optimizer_kwargs.append(optimizer_kwargs)
    if not register_hook:
        return

    def step(*_):
        for optimizer in param._in_backward_optimizers:
            optimizer.step()
        param.grad = None

    handle = param_to_acc_grad_map[param].register_hook(step)
    param_to_optim_hook_handle_map.setdefault(param, []).append(handle)


def _get_in_backward_optimizers(module):
    """Return the optimizers of a module's parameters that step in backward. Used for checkpoints."""
    return [optimizer for param in module.parameters() for optimizer in getattr(param, "_in_backward_optimizers", [])]
