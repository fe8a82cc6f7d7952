"""Helpers that average parameters over a process group."""

import torch
import torch.distributed as dist

__all__ = ["average_parameters", "get_params_to_average", "average_parameters_or_parameter_groups"]


def average_parameters(params, process_group):
    """Average parameters over a group, with one all_reduce."""
    group = dist.group.WORLD if process_group is None else process_group
    params = list(params)
    if dist._rank_not_in_group(group) or not params:
        return
    flat = torch.cat([p.data.reshape(-1) for p in params])
    flat /= dist.get_world_size(group)
    dist.all_reduce(flat, group=group)
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        p.data = piece.view_as(p).type_as(p)


def get_params_to_average(params):
    """Return the parameters that have gradients, from parameters or parameter groups."""
    found = []
    for p in params:
        if not isinstance(p, (torch.nn.Parameter, dict)):
            raise NotImplementedError(f"Parameter input of type {type(p)} is not supported")
        found += [q for q in (p["params"] if isinstance(p, dict) else [p]) if q.grad is not None]
    return found


def average_parameters_or_parameter_groups(params, process_group):
    """Average the parameters that have gradients, of a model or an optimizer."""
    average_parameters(iter(get_params_to_average(params)), process_group)
