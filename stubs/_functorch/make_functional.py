"""Modules without state: parameters and buffers come with the call."""

import copy

import torch
from torch import nn
from torch.nn.utils._named_member_accessor import NamedMemberAccessor


def _take(model, named):
    """A structure's names, tied ones together, and its tensors; {first name: all names}."""
    groups, tensors = {}, {}
    for name, tensor in named(remove_duplicate=False):
        first = next((n for n, t in tensors.items() if t is tensor), None)
        if first is None:
            tensors[name], groups[name] = tensor, [name]
        else:
            groups[first].append(name)
    return groups, tuple(tensors.values())


class FunctionalModuleWithBuffers(nn.Module):
    """A module that is called with its parameters and buffers: module(params, buffers, *args)."""

    def __init__(self, stateless_model, param_names, buffer_names, param_names_map, buffer_names_map):
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(model, disable_autograd_tracking=False):
        model = copy.deepcopy(model)
        names, params = _take(model, model.named_parameters)
        buffer_names, buffers = _take(model, model.named_buffers)
        if disable_autograd_tracking:
            for p in params:
                p.requires_grad_(False)
        return FunctionalModuleWithBuffers(model, tuple(names), tuple(buffer_names), names, buffer_names), params, buffers

    def _places(self, tensors):
        return {place: t for (_, places), t in zip(self.all_names_map.items(), tensors) for place in places}

    def forward(self, params, buffers, *args, **kwargs):
        accessor = NamedMemberAccessor(self.stateless_model)
        before, _ = accessor.swap_tensors_dict(self._places((*params, *buffers)))
        try:
            return self.stateless_model(*args, **kwargs)
        finally:
            accessor.swap_tensors_dict(before)


class FunctionalModule(nn.Module):
    """A module without buffers that is called with its parameters: module(params, *args)."""

    def __init__(self, stateless_model, param_names, names_map):
        super().__init__()
        self.stateless_model, self.param_names, self.names_map = stateless_model, param_names, names_map

    @staticmethod
    def _create_from(model, disable_autograd_tracking=False):
        if next(model.buffers(), None) is not None:
            raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
        made, params, _ = FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)
        return FunctionalModule(made.stateless_model, made.param_names, made.all_names_map), params

    def forward(self, params, *args, **kwargs):
        accessor = NamedMemberAccessor(self.stateless_model)
        places = {place: t for (_, places), t in zip(self.names_map.items(), params) for place in places}
        before, _ = accessor.swap_tensors_dict(places)
        try:
            return self.stateless_model(*args, **kwargs)
        finally:
            accessor.swap_tensors_dict(before)


def make_functional(model, disable_autograd_tracking=False):
    """(function of parameters and inputs, parameters) of a module without buffers."""
    return FunctionalModule._create_from(model, disable_autograd_tracking=disable_autograd_tracking)


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(function of parameters, buffers and inputs, parameters, buffers) of a module."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking=disable_autograd_tracking)


def combine_state_for_ensemble(models):
    """Modules of one class as one function, and their parameters and buffers, stacked."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*(make_functional_with_buffers(m) for m in models))
    return functions[0], tuple(torch.stack(p).detach() for p in zip(*params)), tuple(torch.stack(b).detach() for b in zip(*buffers))
