"""Calling a module with other tensors in the place of its parameters and buffers."""

import contextlib
import warnings

import torch

__all__ = ["functional_call"]


_ABSENT = object()  # in the place of a tensor that a module does not have


def _owner(module, name):
    """The module that holds the tensor of this dotted name, and its name there."""
    *path, key = name.split(".")
    seen = ""
    for part in path:
        seen = f"{seen}.{part}".lstrip(".")
        try:
            module = getattr(module, part)
        except AttributeError as e:
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`") from e
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"submodule `{seen}`: {module} is not an instance of torch.nn.Module")
    if not key:
        raise KeyError('tensor name can\'t be empty string ""')
    return module, key


def _put(module, key, tensor):
    """Give a module a tensor, or none, under a name; returns what it had there."""
    if tensor is not None and tensor is not _ABSENT and not isinstance(tensor, torch.Tensor) and not hasattr(tensor, "__torch_function__"):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    table = next((t for t in (module._parameters, module._buffers) if key in t), None)
    if table is not None:
        old, table[key] = table[key], tensor
        if tensor is _ABSENT:
            del table[key]
        return old
    old = getattr(module, key, _ABSENT)
    if old is not None and old is not _ABSENT and not isinstance(old, torch.Tensor):
        raise TypeError(f"attribute `{key}`: {old} is not an instance of torch.Tensor")
    if tensor is not _ABSENT:
        setattr(module, key, tensor)
    elif old is not _ABSENT:
        delattr(module, key)
    return old


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
    originals = {}
    try:
        for name, tensor in tensors.items():
            place = _owner(module, name)
            originals[name] = place, _put(*place, tensor)
        yield
    finally:
        # A forward may have put a new tensor there (batch statistics): the caller's dict gets it
        for name, (place, original) in originals.items():
            now = _put(*place, original)
            if name in parameters_and_buffers and now is not _ABSENT:
                parameters_and_buffers[name] = now


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Deprecated: torch.func.functional_call."""
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated. Please use `torch.func.functional_call` instead.", FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    if isinstance(module, torch.nn.DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    if isinstance(module, torch.jit.ScriptModule):
        raise RuntimeError("The stateless API can't be used with Jitted modules")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
