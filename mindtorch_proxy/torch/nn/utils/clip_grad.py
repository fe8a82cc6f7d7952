"""Gradient clipping."""

import types
import warnings

import torch

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def _listed(tensors):
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _grads(parameters):
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@torch.no_grad()
def _get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Return the norm of all tensors, as if they were concatenated into one vector."""
    tensors, norm_type = _listed(tensors), float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    device = tensors[0].device
    norms = [torch.linalg.vector_norm(t, norm_type).to(device) for t in tensors]
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    return total


@torch.no_grad()
def _clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients so that their norm, which is total_norm, becomes at most max_norm."""
    grads = _grads(parameters)
    if grads:
        factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.device))


@torch.no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients of all parameters so that their total norm is at most max_norm.

    Return the norm before scaling.
    """
    generator = isinstance(parameters, types.GeneratorType)
    parameters = _listed(parameters)
    if generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total = _get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    _clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Deprecated: use clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@torch.no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamp every element of the gradients to [-clip_value, clip_value], in-place."""
    for grad in _grads(parameters):
        grad.clamp_(min=-float(clip_value), max=float(clip_value))
