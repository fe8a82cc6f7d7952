"""Functional calls of modules."""

import torch
from torch.nn.utils.stateless import _functional_call


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with the given parameters and buffers; several dicts must not share keys."""
    tensors = parameter_and_buffer_dicts
    if not isinstance(tensors, dict):
        if not isinstance(tensors, (list, tuple)):
            raise ValueError(
                f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(tensors)}"
            )
        if not all(isinstance(d, dict) for d in tensors):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [k for d in tensors for k in d]
        repeated = sorted({k for k in keys if keys.count(k) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        tensors = {k: v for d in tensors for k, v in d.items()}
    return _functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """Stack the parameters and buffers of models of one architecture, for use with vmap."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(name, tensors):
        if len({t.requires_grad for t in tensors}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        if all(t.is_leaf for t in tensors):
            return torch.stack(tensors).detach().requires_grad_(tensors[0].requires_grad)
        return torch.stack(tensors)

    def all_stacked(columns):
        return {name: stacked(name, [column[name] for column in columns]) for name in columns[0]}

    return all_stacked([dict(m.named_parameters()) for m in models]), all_stacked(
        [dict(m.named_buffers()) for m in models]
    )


def replace_all_batch_norm_modules_(root):
    """Remove running statistics from all batch norms, because vmap cannot update them."""
    for m in root.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.running_mean = m.running_var = m.num_batches_tracked = None
            m.track_running_stats = False
    return root
