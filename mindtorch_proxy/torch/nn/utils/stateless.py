"""Calling a module with other tensors in place of its parameters and buffers."""

import contextlib
import warnings

import torch

from ._named_member_accessor import _MISSING, NamedMemberAccessor, _check_name, _of_module, _put

__all__ = ["functional_call"]


def _swap(module, name, tensor):
    """Replace a module's attribute and return the previous value.

    The new value is a tensor, an object with __torch_function__, None, or _MISSING to delete the attribute.
    """
    if (
        tensor is not None
        and tensor is not _MISSING
        and not isinstance(tensor, torch.Tensor)
        and not hasattr(tensor, "__torch_function__")
    ):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _check_name(name)
    before, table = _of_module(module, name)
    if table is None and before is not None and before is not _MISSING and not isinstance(before, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    _put(module, name, tensor, before, table)
    return before


def _tied_names(module):
    """Return {name: all names of the same tensor} for each tensor that has several names."""
    names = {}
    for name, tensor in (
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ):
        names.setdefault(id(tensor), []).append(name)
    return {name: group for group in names.values() if len(group) > 1 for name in group}


def _untie(module, tensors):
    """Return the given tensors also under the other names of the tensors that they replace.

    Different tensors for names of the same tensor raise ValueError.
    """
    tied, result = _tied_names(module), dict(tensors)
    for name, tensor in tensors.items():
        for other in tied.get(name, ()):
            if tensors.get(other, tensor) is not tensor:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(tied[name])}, which are tied. "
                    "Consider using tie_weights=False"
                )
            result[other] = tensor
    return result


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    tensors = _untie(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        known = dict(module.named_parameters(remove_duplicate=False)) | dict(
            module.named_buffers(remove_duplicate=False)
        )
        errors = [
            f"{what} key(s): {', '.join(map(repr, keys))}."
            for what, keys in (
                ("Unexpected", sorted(tensors.keys() - known)),
                ("Missing", sorted(known.keys() - tensors)),
            )
            if keys
        ]
        if errors:
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(errors))
    originals, members = {}, NamedMemberAccessor(module)
    try:
        for name, tensor in tensors.items():
            prefix, _, key = name.rpartition(".")
            owner = members.get_submodule(prefix)
            originals[name] = owner, key, _swap(owner, key, tensor)
        yield
    finally:
        # A forward may have assigned a new tensor, such as batch statistics: store it in the caller's dict.
        for name, (owner, key, original) in originals.items():
            now = _swap(owner, key, original)
            if name in parameters_and_buffers and now is not _MISSING:
                parameters_and_buffers[name] = now


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Deprecated: use torch.func.functional_call."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    if isinstance(module, torch.nn.DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    if isinstance(module, torch.jit.ScriptModule):
        raise RuntimeError("The stateless API can't be used with Jitted modules")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
