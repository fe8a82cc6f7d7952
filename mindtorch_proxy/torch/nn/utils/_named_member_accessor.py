"""Access to the tensors and submodules of a module by dotted name: get, set and swap."""

import torch

_MISSING = object()


def _tables(module):
    return module._parameters, module._buffers


def _of_module(module, name):
    """Return the value of a module's attribute and the table that holds it, or None for the table.

    A missing attribute gives _MISSING.
    """
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
    """Store a tensor or None under a name, or delete the name if `tensor` is _MISSING.

    `before` and `table` are the results of _of_module.
    """
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
    """Set a parameter, buffer or attribute of a module to a tensor or None."""
    _check(module, name, tensor)
    _put(module, name, tensor, *_of_module(module, name))


def swap_tensor(module, name, tensor, allow_missing=False):
    """Set a parameter, buffer or attribute to a tensor or None, and return the previous value.

    With allow_missing, the previous value may be missing; the result of such a swap can be passed back to delete the
    name.
    """
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
    """Replace a submodule and return the previous one."""
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
    """Access to a module's tensors and submodules by dotted name; looked up submodules are cached."""

    def __init__(self, module):
        self.module = module
        self.memo = {}

    def get_submodule(self, name):
        """Return the submodule with this dotted name."""
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
        """Replace a submodule, return the previous one, and drop cached submodules below it."""
        prefix, _, attr = path.rpartition(".")
        before = swap_submodule(self.get_submodule(prefix), attr, value)
        self.memo = {k: m for k, m in self.memo.items() if k != path and not k.startswith(path + ".")}
        return before

    def get_tensor(self, name):
        """Return the tensor with this dotted name."""
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
        """Set the tensor with this dotted name."""
        prefix, _, attr = name.rpartition(".")
        set_tensor(self.get_submodule(prefix), attr, value)

    def del_tensor(self, name):
        """Delete the tensor with this dotted name."""
        prefix, _, attr = name.rpartition(".")
        owner = self.get_submodule(prefix)
        try:
            delattr(owner, attr)
        except AttributeError as e:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`") from e

    def swap_tensor(self, name, value, allow_missing=False):
        """Replace the tensor with this dotted name and return the previous one."""
        prefix, _, attr = name.rpartition(".")
        return swap_tensor(self.get_submodule(prefix), attr, value, allow_missing=allow_missing)

    def get_tensors(self, names):
        """Return the tensors with these names as a list."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names, values):
        """Set the tensors with these names."""
        for name, value in zip(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors):
        """Set the tensors of a dict {name: tensor}."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names):
        """Delete the tensors with these names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names, values, allow_missing=False):
        """Replace the tensors with these names and return the previous ones as a list."""
        return [self.swap_tensor(name, value, allow_missing=allow_missing) for name, value in zip(names, values)]

    def swap_tensors_dict(self, named_tensors, allow_missing=False):
        """Replace the tensors of a dict {name: tensor}.

        Return the previous values as {name: value}, and a list of the names that were missing. On an error, or if names
        are missing without allow_missing, restore all tensors and raise RuntimeError.
        """
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
        """Return the module's tensor names that are not in `keys`, and the keys that name no tensor."""
        keys = set(keys)
        names = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(names - keys), sorted(keys - names)

    def named_parameters(self, remove_duplicate=True):
        """Yield (name, parameter) pairs of the module."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate=True):
        """Yield (name, buffer) pairs of the module."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate=True):
        """Yield (name, tensor) pairs of the module: first the parameters, then the buffers."""
        yield from self.named_parameters(remove_duplicate=remove_duplicate)
        yield from self.named_buffers(remove_duplicate=remove_duplicate)

    def named_modules(self, remove_duplicate=True):
        """Yield (name, module) pairs of the module and its submodules."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
