"""State dicts of models and optimizers under the original parameter names, regardless of wrappers."""

import contextlib
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.modules.module import _IncompatibleKeys

from .. import distributed_c10d as c10d
from ..tensor import DTensor, distribute_tensor

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """Options of state dicts.

    full_state_dict: return full tensors; with cpu_offload, only on the first rank.
    broadcast_from_rank0: only the first rank has the state to load, and sends it to the others.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _options(options):
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _fsdp():
    from ..fsdp import FullyShardedDataParallel, StateDictType

    return FullyShardedDataParallel, StateDictType


def _names(model):
    """Return {id of a parameter: name without wrapper prefixes}, and a function that removes these prefixes."""
    wrappers = {
        f"{name}." if name else "": inner for name, m in model.named_modules() for inner in [_inner(m)] if inner
    }

    def clean(name):
        for prefix in sorted(wrappers, key=len, reverse=True):
            start = prefix + wrappers[prefix] + "."
            if name.startswith(start):
                name = prefix + name[len(start) :]
        return name.replace("_checkpoint_wrapped_module.", "").replace("_orig_mod.", "")

    return {id(p): clean(n) for n, p in model.named_parameters(remove_duplicate=False)}, clean


def _inner(module):
    """Return the attribute in which a wrapper module holds the wrapped module, or None."""
    if isinstance(module, _fsdp()[0]):
        return "_fsdp_wrapped_module"
    return "module" if isinstance(module, nn.parallel.DistributedDataParallel) else None


@contextlib.contextmanager
def _typed(model, options):
    """Context manager in which FSDP units make state dicts of the kind that the options request.

    Yields whether the model has such units.
    """
    FSDP, StateDictType = _fsdp()
    if not FSDP.fsdp_modules(model):
        yield False
        return
    kind = StateDictType.FULL_STATE_DICT if options.full_state_dict else StateDictType.SHARDED_STATE_DICT
    with FSDP.state_dict_type(model, kind):
        yield True


def _wanted(value, options):
    """Gather a value and move it to the CPU, as the options request."""
    if isinstance(value, dict):
        return {k: _wanted(v, options) for k, v in value.items()}
    if options.full_state_dict and isinstance(value, DTensor):
        value = value.full_tensor()
    return value.detach().cpu() if options.cpu_offload and isinstance(value, torch.Tensor) else value


def _elsewhere(options):
    """Whether this rank's result is empty: a full state offloaded to the CPU is only on the first rank."""
    return options.full_state_dict and options.cpu_offload and c10d.is_initialized() and c10d.get_rank() != 0


def get_model_state_dict(model, *, submodules=None, options=None):
    """Return the state dict of a model."""
    options = _options(options)
    names, clean = _names(model)
    with _typed(model, options):
        state = {clean(key): value for key, value in model.state_dict().items()}
    if submodules:
        chosen = [clean(f"{n}.") for n, m in model.named_modules() if m in submodules]
        keep = options.keep_submodule_prefixes
        state = {k if keep else k[len(p) :]: v for k, v in state.items() for p in chosen if k.startswith(p)}
    if options.ignore_frozen_params:
        frozen = {clean(n) for n, p in model.named_parameters() if not p.requires_grad}
        state = {k: v for k, v in state.items() if k not in frozen}
    state = {k: _wanted(v, options) for k, v in state.items()}
    return {} if _elsewhere(options) else state


def _initialised(optimizer):
    """Make an optimizer create its state, by a step that changes no parameter.

    An optimizer whose parameters have gradients is left alone: it is in use.
    """
    held = [p for g in optimizer.param_groups for p in g["params"]]
    if optimizer.state or any(p.grad is not None for p in held):
        return
    rates = [g["lr"] for g in optimizer.param_groups if "lr" in g]
    for p in held:
        if p.requires_grad:
            p.grad = torch.zeros_like(p)
    for g in optimizer.param_groups:
        if "lr" in g:
            g["lr"] = torch.tensor(0.0) if isinstance(g["lr"], torch.Tensor) else 0.0
    optimizer.step(closure=None)
    for g, lr in zip((g for g in optimizer.param_groups if "lr" in g), rates):
        g["lr"] = lr
    for p in held:
        p.grad = None


def _optimizers(optimizers):
    return (optimizers,) if isinstance(optimizers, torch.optim.Optimizer) else tuple(optimizers)


def _optimizer_state(model, optimizer, options):
    """Return {"state": {name: state}, "param_groups": groups with names}."""
    _initialised(optimizer)
    FSDP, _ = _fsdp()
    with _typed(model, options) as wrapped:
        if wrapped:
            return FSDP.optim_state_dict(model, optimizer)
    names, _ = _names(model)
    own = optimizer.state_dict()
    keys = [names[id(p)] for g in optimizer.param_groups for p in g["params"]]
    groups = [{**g, "params": [keys[i] for i in g["params"]]} for g in own["param_groups"]]
    return {"state": {keys[i]: s for i, s in own["state"].items()}, "param_groups": groups}


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """Return the state dict of optimizers."""
    if submodules:
        raise NotImplementedError("get_optimizer_state_dict of submodules is not supported")
    options, state = _options(options), {"state": {}, "param_groups": []}
    for optimizer in _optimizers(optimizers):
        found = _optimizer_state(model, optimizer, options)
        state["state"].update({k: _wanted(v, options) for k, v in found["state"].items()})
        state["param_groups"] += found["param_groups"]
    if _elsewhere(options):
        return {}
    return _flat(state) if options.flatten_optimizer_state_dict else state


def _flat(state):
    """Flatten to {"state.NAME.KEY": value, "param_groups.NAME.KEY": value}."""
    found = {f"state.{name}.{key}": value for name, own in state["state"].items() for key, value in own.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            found |= {f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"}
    return found


def _unflat(flat, model, optimizer):
    """Restore the nested form for an optimizer from the flat form."""
    names, _ = _names(model)
    state, groups = {}, []
    for group in optimizer.param_groups:
        keys = [names[id(p)] for p in group["params"]]
        for name in keys:
            prefix = f"state.{name}."
            own = {k[len(prefix) :]: v for k, v in flat.items() if k.startswith(prefix) and "." not in k[len(prefix) :]}
            if own:
                state[name] = own
        groups.append(
            {"params": keys}
            | {
                k: flat[f"param_groups.{keys[0]}.{k}"]
                for k in group
                if k != "params" and f"param_groups.{keys[0]}.{k}" in flat
            }
        )
    return {"state": state, "param_groups": groups}


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """Return (the model's state dict, the optimizers' state dict)."""
    return get_model_state_dict(model, submodules=submodules, options=options), get_optimizer_state_dict(
        model, optimizers, submodules=submodules, options=options
    )


def _like(value, own):
    """Distribute a full tensor as the current value is distributed."""
    if isinstance(own, DTensor) and isinstance(value, torch.Tensor) and not isinstance(value, DTensor) and value.ndim:
        return distribute_tensor(value.detach().to(own.device), own.device_mesh, own.placements, src_data_rank=None)
    return value


def _from_first(state):
    """Send the first rank's state to every rank."""
    held = [state if c10d.get_rank() == 0 else None]
    c10d.broadcast_object_list(held, src=0)
    return held[0]


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Load a model's state dict; return the missing and unexpected keys."""
    options = _options(options)
    if options.broadcast_from_rank0:
        model_state_dict = _from_first(model_state_dict)
    if not model_state_dict:
        return _IncompatibleKeys([], [])
    _, clean = _names(model)
    with _typed(model, options) as wrapped:
        if wrapped:
            return model.load_state_dict(dict(model_state_dict), strict=options.strict)
        own = model.state_dict()
        renamed = {clean(k): k for k in own}
        given = {renamed.get(k, k): _like(v, own.get(renamed.get(k, k))) for k, v in model_state_dict.items()}
        return model.load_state_dict(given, strict=options.strict)


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Load the state dict of optimizers."""
    options = _options(options)
    if options.broadcast_from_rank0:
        optim_state_dict = _from_first(optim_state_dict)
    FSDP, _ = _fsdp()
    for optimizer in _optimizers(optimizers):
        _initialised(optimizer)
        state = (
            _unflat(optim_state_dict, model, optimizer) if options.flatten_optimizer_state_dict else optim_state_dict
        )
        if FSDP.fsdp_modules(model):
            FSDP.optim_state_dict_to_load(model, optimizer, state, load_directly=True)
        else:
            optimizer.load_state_dict(_by_number(model, optimizer, state))


def _by_number(model, optimizer, state):
    names, _ = _names(model)
    own, at, found, groups = optimizer.state_dict(), 0, {}, []
    for group, described in zip(optimizer.param_groups, own["param_groups"]):
        keys = [names[id(p)] for p in group["params"]]
        for key, p in zip(keys, group["params"]):
            if key in state["state"]:
                kept = optimizer.state.get(p, {})
                found[at] = {k: _like(v, kept.get(k)) for k, v in state["state"][key].items()}
            at += 1
        given = next((g for g in state["param_groups"] if keys and keys[0] in g["params"]), {})
        groups.append({**described, **{k: v for k, v in given.items() if k != "params"}})
    return {"state": found, "param_groups": groups}


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load the state dicts of a model and its optimizers; return the model's missing and unexpected keys."""
    incompatible = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return incompatible
