"""Calling a module with other tensors in the place of its parameters and buffers."""

import contextlib
import warnings

import torch

__all__ = ["functional_call"]


def _owner(module, name):
    """The table (dict of parameters, buffers or attributes) that holds the tensor of this dotted name, and its key; None if absent."""
    path, _, key = name.rpartition(".")
    try:
        module = module.get_submodule(path)
    except AttributeError:
        return None
    return next(((t, key) for t in (module._parameters, module._buffers, module.__dict__) if key in t), None)


def _tied_names(module):
    """{name: all names of the same tensor} for tensors that have several."""
    names = {}
    for name, tensor in (*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)):
        names.setdefault(id(tensor), []).append(name)
    return {name: group for group in names.values() if len(group) > 1 for name in group}


def _untie(module, tensors):
    """The given tensors also under the other names of those they replace."""
    tied, result = _tied_names(module), dict(tensors)
    for name, tensor in tensors.items():
        for other in tied.get(name, ()):
            if tensors.get(other, tensor) is not tensor:
                raise ValueError(f"functional_call got multiple values for keys {sorted(tied[name])}, which are tied. Consider using tie_weights=False")
            result[other] = tensor
    return result


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    tensors = _untie(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        known = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
        errors = [
            f"{what} key(s): {', '.join(map(repr, keys))}."
            for what, keys in (("Unexpected", sorted(tensors.keys() - known)), ("Missing", sorted(known.keys() - tensors)))
            if keys
        ]
        if errors:
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(errors))
    for value in tensors.values():
        if not isinstance(value, torch.Tensor) and not hasattr(value, "__torch_function__"):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    places = {name: _owner(module, name) for name in tensors}
    places = {name: place for name, place in places.items() if place}
    originals = {name: table[key] for name, (table, key) in places.items()}
    try:
        for name, (table, key) in places.items():
            table[key] = tensors[name]
        yield
    finally:
        # A forward may have put a new tensor there (batch statistics): the caller's dict gets it
        for name, (table, key) in places.items():
            if name in parameters_and_buffers and key in table:
                parameters_and_buffers[name] = table[key]
            table[key] = originals[name]


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Deprecated: torch.func.functional_call."""
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated. Please use `torch.func.functional_call` instead.", FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    if isinstance(module, torch.nn.DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
