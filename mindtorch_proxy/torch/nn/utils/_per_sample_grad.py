"""Per-sample gradients, which backward leaves in ``grad_sample`` of each parameter."""

import functools

import torch
from torch.utils import _pytree as pytree

from ..modules.batchnorm import _BatchNorm


class _ForEachSample(torch.autograd.Function):
    """Expand a parameter to one copy per sample.

    Its backward adds the gradients of the samples to ``grad_sample`` of the parameter, and nothing to ``grad``.
    """

    @staticmethod
    def forward(ctx, parameter, batch_size, factor):
        ctx.parameter, ctx.factor = parameter, factor
        return parameter.detach().expand(batch_size, *parameter.shape)

    @staticmethod
    def backward(ctx, grad):
        found, before = grad * ctx.factor, getattr(ctx.parameter, "grad_sample", None)
        ctx.parameter.grad_sample = found if before is None else before + found
        return None, None, None


def _tensors(values):
    return [v for v in values if isinstance(v, torch.Tensor)]


def _batch_size(leaves, dim):
    sizes = {t.shape[dim]: None for t in _tensors(leaves)}
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights "
            "cannot compute the batch size from the inputs. Please specify it explicitly"
        )
    if len(sizes) > 1:
        first, second = list(sizes)[:2]
        raise RuntimeError(
            f"When computing batch size, found at least one input with batch size {first} and one with batch size "
            f"{second}. Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
        )
    return next(iter(sizes))


def _looked_at(module, batch_size, loss_reduction):
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, torch.nn.Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls "
                f"without clearing gradients. Please clear out the grad_sample parameter of {weight} or post an issue "
                "to pytorch/pytorch to prioritize correct behavior"
            )


def call_for_per_sample_grads(module, *, batch_size=None, loss_reduction="sum", batch_first=True):
    """Return a function that runs a module on a batch and yields per-sample gradients in backward.

    A backward pass through its result stores the gradients in ``grad_sample`` of each parameter that requires a
    gradient. Its shape is that of the parameter with a first dimension for the samples. ``grad`` is not changed.

    ``torch.vmap`` runs the module for each sample. Tensors without the size of the batch are passed to every sample.

    Args:
        module: a module that treats its samples independently. In PyTorch only some layers are supported; here layers
            of any kind are.
        batch_size: the number of samples, by default that of the tensors among the arguments.
        loss_reduction: "sum", or "mean" if the loss is a mean over the samples; the gradients are then multiplied by
            the number of samples.
        batch_first: whether the samples are along the first dimension; otherwise they are along the second.

    Raises:
        RuntimeError: for invalid arguments, for batch normalization that uses statistics of the batch and so mixes
            samples, and if a ``grad_sample`` exists already.
    """
    _looked_at(module, batch_size, loss_reduction)
    dim = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def wrapper(*args, **kwargs):
        if any(isinstance(m, _BatchNorm) and (m.training or not m.track_running_stats) for m in module.modules()):
            raise RuntimeError("Expanded Weights encountered but cannot handle function batch_norm")
        leaves, spec = pytree.tree_flatten((args, kwargs))
        size = _batch_size(leaves, dim) if batch_size is None else batch_size
        split = [
            dim if isinstance(v, torch.Tensor) and v.dim() > dim and v.shape[dim] == size else None for v in leaves
        ]
        factor = size if loss_reduction == "mean" else 1
        learning = {n: _ForEachSample.apply(p, size, factor) for n, p in module.named_parameters() if p.requires_grad}

        def of_one(parameters, *values):
            given = [v if d is None else v.unsqueeze(dim) for v, d in zip(values, split)]
            positional, named = pytree.tree_unflatten(given, spec)
            found = torch.func.functional_call(module, parameters, positional, named)
            return pytree.tree_map_only(torch.Tensor, lambda t: t.squeeze(dim), found)

        return torch.vmap(of_one, in_dims=(0, *split), out_dims=dim, randomness="different")(learning, *leaves)

    return wrapper
