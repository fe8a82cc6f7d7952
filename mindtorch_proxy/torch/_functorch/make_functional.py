"""Stateless modules, which get their parameters and buffers as arguments of a call."""

import copy

import torch
from torch import nn
from torch.nn.utils._named_member_accessor import NamedMemberAccessor


def _take(model, named):
    """Return {first name: all names} of the tensors, with tied tensors grouped, and the tensors."""
    groups, tensors = {}, {}
    for name, tensor in named(remove_duplicate=False):
        first = next((n for n, t in tensors.items() if t is tensor), None)
        if first is None:
            tensors[name], groups[name] = tensor, [name]
        else:
            groups[first].append(name)
    return groups, tuple(tensors.values())


class FunctionalModuleWithBuffers(nn.Module):
    """A module called with its parameters and buffers: module(params, buffers, *args)."""

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
        return (
            FunctionalModuleWithBuffers(model, tuple(names), tuple(buffer_names), names, buffer_names),
            params,
            buffers,
        )

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
    """A module without buffers, called with its parameters: module(params, *args)."""

    def __init__(self, stateless_model, param_names, names_map):
        super().__init__()
        self.stateless_model, self.param_names, self.names_map = stateless_model, param_names, names_map

    @staticmethod
    def _create_from(model, disable_autograd_tracking=False):
        if next(model.buffers(), None) is not None:
            raise RuntimeError(
                "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
            )
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
    """Return (function of parameters and inputs, parameters) for a module without buffers."""
    return FunctionalModule._create_from(model, disable_autograd_tracking=disable_autograd_tracking)


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """Return (function of parameters, buffers and inputs, parameters, buffers) for a module."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking=disable_autograd_tracking)


def make_functional_with_buffers_deprecated_v1(model):
    """Return (parameters, buffers, function, parameter names, buffer names).

    The function takes the parameters, the buffers and a tuple of inputs.
    """
    called, params, buffers = make_functional_with_buffers(model)

    def fun(weights, buffers, data):
        return called(weights, buffers, *data)

    return params, buffers, fun, called.param_names, called.buffer_names


def make_functional_deprecated_v1(model):
    """Return (parameters, function, parameter names) for a module without buffers.

    The function takes the parameters and a tuple of inputs.
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            "make_functional_deprecated_v1(model): `model` has buffers. "
            "Please use make_functional_with_buffers_deprecated_v1(model) instead."
        )
    params, _, called, names, _ = make_functional_with_buffers_deprecated_v1(model)

    def fun(weights, data):
        return called(weights, (), data)

    return params, fun, names


def _several(make, states, model_class, ensemble_shape, device):
    """Return a function that applies `make` to one or several new models.

    The first `states` results are stacked over the number of models given by ensemble_shape.
    """

    def wrapped(*args, **kwargs):
        def new():
            return model_class(*args, **kwargs).to(device)

        if len(ensemble_shape) > 1:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if not ensemble_shape:
            return make_functional_deprecated_v1(new())
        if ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        made = [make(new()) for _ in range(ensemble_shape[0])]
        columns = [zip(*(parts[i] for parts in made)) for i in range(states)]
        return *(tuple(torch.stack(shards).detach() for shards in column) for column in columns), *made[0][states:]

    return wrapped


def functional_init(model_class, ensemble_shape=(), device="cpu"):
    """Return a function that creates models.

    It returns (stacked parameters, function of them and a tuple of inputs, names).
    """
    return _several(make_functional_deprecated_v1, 1, model_class, ensemble_shape, device)


def functional_init_with_buffers(model_class, ensemble_shape=(), device="cpu"):
    """Do the same as functional_init for models with buffers.

    The created function returns (parameters, buffers, function, names of both).
    """
    return _several(make_functional_with_buffers_deprecated_v1, 2, model_class, ensemble_shape, device)


def combine_state_for_ensemble(models):
    """Return modules of one class as one function, with their stacked parameters and buffers."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*(make_functional_with_buffers(m) for m in models))
    return (
        functions[0],
        tuple(torch.stack(p).detach() for p in zip(*params)),
        tuple(torch.stack(b).detach() for b in zip(*buffers)),
    )
