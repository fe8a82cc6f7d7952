"""Conversion of optimizer state between flat pieces and full or sharded tensors for each parameter."""

import torch

from ..distributed_c10d import get_rank
from ..tensor import DTensor
from ._common_utils import clean_tensor_name
from .api import StateDictType


def _keys(model, handles, optim):
    """Return the optimizer's parameter numbers, the parameters of units, and the names of all other parameters.

    handles: [(unit's name, handle)] of the model. The result is ({id of a parameter: number}, {id of a unit's
    parameter: (names, handle, places)}, {id of another parameter: name}).
    """
    numbers = {id(p): i for i, p in enumerate(p for g in optim.param_groups for p in g["params"])}
    flat, others = {}, {}
    for prefix, handle in handles:
        for k, p in enumerate(handle.trained()):
            places = [handle.places[k]] if handle.use_orig_params else handle.places
            flat[id(p)] = [prefix + place.name for place in places], handle, places
    for name, p in model.named_parameters():
        if id(p) not in flat:
            others[id(p)] = clean_tensor_name(name)
    return numbers, flat, others


def collect(model, handles, optim, state_dict, kind, config):
    """Return the optimizer state as {"state": {name: state}, "param_groups": groups with names}."""
    numbers, flat, others = _keys(model, handles, optim)
    names_of, state = {}, {}
    for key, number in numbers.items():
        own = state_dict["state"].get(number, {})
        if key in flat:
            names, handle, places = flat[key]
            names_of[number] = names
            for name, found in zip(names, _whole_states(own, handle, places, kind)):
                if found:
                    state[name] = found
        else:
            names_of[number] = [others[key]]
            if own:
                state[others[key]] = {k: _copied(v) for k, v in own.items()}
    groups = [{**g, "params": [n for i in g["params"] for n in names_of[i]]} for g in state_dict["param_groups"]]
    if kind is StateDictType.FULL_STATE_DICT and getattr(config, "rank0_only", False) and get_rank() != 0:
        return {}
    return {"state": state, "param_groups": groups}


def _whole_states(own, handle, places, kind):
    """Return the full state of each parameter of a flat parameter, or of one piece."""
    found = [{} for _ in places]
    for key, value in own.items():
        if not (isinstance(value, torch.Tensor) and value.ndim):
            for f in found:
                f[key] = _copied(value)
            continue
        piece = value
        if handle.use_orig_params:
            a, b = handle.slice_of(places[0])
            piece = value.new_zeros(handle.step)
            piece[a:b] = value
        whole = handle.gathered(piece)
        for f, place in zip(found, places):
            tensor = whole[place.start : place.stop].view(place.shape).clone()
            f[key] = handle.distributed(tensor) if kind is StateDictType.SHARDED_STATE_DICT else tensor
    return found


def _copied(value):
    """Copy a tensor, because optimizers count steps in place."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def distribute(model, handles, optim, state_dict):
    """Convert a state with names to the form of the optimizer's load_state_dict.

    In the result, parameters are numbered and tensors are this rank's pieces.
    """
    numbers, flat, others = _keys(model, handles, optim)
    state, names_of = {}, {}
    for key, number in numbers.items():
        names = flat[key][0] if key in flat else [others[key]]
        names_of[number] = names
        given = [state_dict["state"].get(n) for n in names]
        if all(g is None for g in given):
            continue
        if key not in flat:
            state[number] = {k: _copied(v) for k, v in given[0].items()}
            continue
        _, handle, places = flat[key]
        state[number] = {k: _own_piece([g[k] for g in given], handle, places) for k in given[0]}
    groups = []
    for own, given in zip(optim.state_dict()["param_groups"], _matched(state_dict["param_groups"], names_of, optim)):
        groups.append({**own, **{k: v for k, v in given.items() if k != "params"}})
    return {"state": state, "param_groups": groups}


def _matched(given, names_of, optim):
    """Return the groups in the order of the optimizer's parameter groups."""
    order, at = [], 0
    for g in optim.param_groups:
        first = names_of[at][0]
        order.append(next((s for s in given if first in s["params"]), {}))
        at += len(g["params"])
    return order


def _own_piece(values, handle, places):
    values = [v.full_tensor() if isinstance(v, DTensor) else v for v in values]
    if not (isinstance(values[0], torch.Tensor) and values[0].ndim):
        return _copied(values[0])
    whole = values[0].new_zeros(handle.numel)
    for place, v in zip(places, values):
        whole[place.start : place.stop] = v.reshape(-1)
    piece = handle._piece(whole)
    if not handle.use_orig_params:
        return piece
    a, b = handle.slice_of(places[0])
    return piece[a:b].clone()
