"""Tensors and submodules of a module by their dotted names: looked up, set, swapped."""

import torch

_MISSING = object()


def _tables(module):
    return module._parameters, module._buffers


def _of_module(module, name):
    """What a module holds under a name, in which table, or in none."""
    for table in _tables(module):
        if name in table:
            return table[name], table
    return getattr(module, name, _MISSING), None


def _check_name(name):
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def _check(module, name, tensor):
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not isinstance(tensor, torch.Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _check_name(name)


def _put(module, name, tensor, before, table):
    """Write a tensor, None, or nothing where _of_module() has found `before`."""
    if tensor is not _MISSING:
        if table is None:
            setattr(module, name, tensor)
        else:
            table[name] = tensor
    elif table is not None:
        del table[name]
    elif before is not _MISSING:
        delattr(module, name)


def set_tensor(module, name, tensor):
    """Put a tensor, or None, in the place of a parameter, buffer or attribute."""
    _check(module, name, tensor)
    _put(module, name, tensor, *_of_module(module, name))


def swap_tensor(module, name, tensor, allow_missing=False):
    """Put a tensor, or None, or with allow_missing nothing (what an earlier swap gave), in a place; what was there."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    _check_name(name)
    before, table = _of_module(module, name)
    if before is _MISSING:
        if not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    elif before is not None and not isinstance(before, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    _put(module, name, tensor, before, table)
    return before


def swap_submodule(module, name, submodule):
    """Put a module in the place of a submodule; what was there."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if not isinstance(submodule, torch.nn.Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('submodule name can\'t contain "."')
    if name == "":
        raise KeyError('submodule name can\'t be empty string ""')
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, torch.nn.Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """A module's tensors and submodules by dotted names; submodules that have been looked up are remembered."""

    def __init__(self, module):
        self.module = module
        self.memo = {}

    def get_submodule(self, name):
        """The submodule of a name."""
        if not name:
            return self.module
        if name not in self.memo:
            prefix, _, attr = name.rpartition(".")
            owner = self.get_submodule(prefix)
            try:
                found = getattr(owner, attr)
            except AttributeError as e:
                raise AttributeError(f"{owner._get_name()} has no attribute `{attr}`") from e
            if not isinstance(found, torch.nn.Module):
                raise TypeError(f"submodule `{name}`: {found} is not an instance of torch.nn.Module")
            self.memo[name] = found
        return self.memo[name]

    def swap_submodule(self, path, value):
        """Put a module in a place; what was there. Remembered submodules below it are forgotten."""
        prefix, _, attr = path.rpartition(".")
        before = swap_submodule(self.get_submodule(prefix), attr, value)
        self.memo = {k: m for k, m in self.memo.items() if k != path and not k.startswith(path + ".")}
        return before

    def get_tensor(self, name):
        """The tensor of a name."""
        prefix, _, attr = name.rpartition(".")
        owner = self.get_submodule(prefix)
        try:
            tensor = getattr(owner, attr)
        except AttributeError as e:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`") from e
        if not isinstance(tensor, torch.Tensor) and tensor is not None:
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        return tensor

    def set_tensor(self, name, value):
        """Put a tensor in a place."""
        prefix, _, attr = name.rpartition(".")
        set_tensor(self.get_submodule(prefix), attr, value)

    def del_tensor(self, name):
        """Remove a tensor."""
        prefix, _, attr = name.rpartition(".")
        owner = self.get_submodule(prefix)
        try:
            delattr(owner, attr)
        except AttributeError as e:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`") from e

    def swap_tensor(self, name, value, allow_missing=False):
        """Put a tensor in a place; what was there."""
        prefix, _, attr = name.rpartition(".")
        return swap_tensor(self.get_submodule(prefix), attr, value, allow_missing=allow_missing)

    def get_tensors(self, names):
        """The tensors of names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names, values):
        """Put tensors in places."""
        for name, value in zip(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors):
        """Put tensors in places, {name: tensor}."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names):
        """Remove tensors."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names, values, allow_missing=False):
        """Put tensors in places; what was there."""
        return [self.swap_tensor(name, value, allow_missing=allow_missing) for name, value in zip(names, values)]

    def swap_tensors_dict(self, named_tensors, allow_missing=False):
        """Put tensors in places; ({name: what was there}, names that held nothing). All or none of them."""
        before, missing = {}, []
        try:
            for name, tensor in named_tensors.items():
                old = self.swap_tensor(name, tensor, allow_missing=True)
                before[name] = old
                if old is _MISSING:
                    missing.append(name)
        except Exception as e:
            for name, old in before.items():
                self.swap_tensor(name, old, allow_missing=True)
            raise RuntimeError(f"Failed to swap tensors: {e}.") from e
        if missing and not allow_missing:
            for name, old in before.items():
                self.swap_tensor(name, old, allow_missing=True)
            raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        return before, missing

    def check_keys(self, keys):
        """(names of the module's tensors that are not among the keys, keys that name none)."""
        keys = set(keys)
        names = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(names - keys), sorted(keys - names)

    def named_parameters(self, remove_duplicate=True):
        """The module's parameters with their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate=True):
        """The module's buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate=True):
        """Parameters, then buffers, with their names."""
        yield from self.named_parameters(remove_duplicate=remove_duplicate)
        yield from self.named_buffers(remove_duplicate=remove_duplicate)

    def named_modules(self, remove_duplicate=True):
        """The module and its submodules with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
