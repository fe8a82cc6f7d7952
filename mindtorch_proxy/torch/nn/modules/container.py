"""Modules that hold other modules or parameters."""

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import torch

from ..parameter import Parameter
from .module import Module, _addindent

__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


class Container(Module):
    """Deprecated: subclass Module instead."""

    def __init__(self, **kwargs):
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


def _position(size, idx):
    """Return a sequence index as a number from 0; raise IndexError if it is out of range."""
    idx = operator.index(idx)
    if not -size <= idx < size:
        raise IndexError(f"index {idx} is out of range")
    return idx % size


def _keys(modules, idx):
    """Return the names of the children at an index or slice."""
    keys = list(modules._modules)
    return keys[idx] if isinstance(idx, slice) else [keys[_position(len(keys), idx)]]


def _insert(modules, index, module):
    """Insert a child at this index, after moving the later children up by one."""
    children = modules._modules
    for i in range(len(children), index, -1):
        children[str(i)] = children[str(i - 1)]
    children[str(index)] = module


class _ModuleSequence(Module):
    """Common base of Sequential and ModuleList: the children are addressed by position."""

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, _keys(self, idx)[0], module)

    def __delitem__(self, idx: int | slice) -> None:
        for key in _keys(self, idx):
            delattr(self, key)
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, module: Module):
        """Add a module at the end and return the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Remove the module at this index and return it."""
        module = self[key]
        del self[key]
        return module


def _check_sequential(other):
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


def _check_factor(modules, other):
    if not isinstance(other, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(modules)} and {type(other)}")
    if other <= 0:
        raise ValueError(f"Non-positive multiplication factor {other} for {type(modules)}")


class Sequential(_ModuleSequence):
    """A chain of modules: each is called with the output of the one before it.

    The modules are given as arguments, or as an OrderedDict of names and modules.
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            args = args[0]
        for key, module in args.items() if isinstance(args, OrderedDict) else enumerate(args):
            self.add_module(str(key) if isinstance(key, int) else key, module)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(OrderedDict((key, self._modules[key]) for key in _keys(self, idx)))
        return self._modules[_keys(self, idx)[0]]

    def __add__(self, other):
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        _check_sequential(other)
        return self.extend(other)

    def __mul__(self, other):
        _check_factor(self, other)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self, other):
        _check_factor(self, other)
        return self.extend(list(self) * (other - 1))

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index: int, module: Module):
        """Insert a module before the index; an index out of range raises IndexError."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        _insert(self, index + n if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]):
        """Append all modules of an iterable."""
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_ModuleSequence):
    """A list of modules that are all registered as children; it has no forward of its own."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _get_abs_string_index(self, idx):
        return str(_position(len(self), idx))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def __repr__(self):
        blocks = []  # [first, last, repr] of runs of equal modules
        for i, text in enumerate(map(repr, self)):
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = i
            else:
                blocks.append([i, i, text])
        lines = [
            _addindent(f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}", 2) for a, b, text in blocks
        ]
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before the index."""
        _insert(self, index, module)

    def extend(self, modules: Iterable[Module]):
        """Append all modules of an iterable; anything else raises TypeError."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self


def _pairs(owner, items):
    """Yield the items of a mapping, or those of an iterable of pairs after checking each pair."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{owner}.update should be called with an iterable of key/value pairs, but got {type(items).__name__}"
        )
    if isinstance(items, (Mapping, ModuleDict, ParameterDict)):
        yield from items.items()
        return
    for i, pair in enumerate(items):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{owner} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair


class ModuleDict(Module):
    """A dictionary of modules that are all registered as children, in the order of insertion."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Remove the module with this key and return it."""
        return self._modules.pop(key)

    def keys(self):
        """Return the keys."""
        return self._modules.keys()

    def items(self):
        """Return the (key, module) pairs."""
        return self._modules.items()

    def values(self):
        """Return the modules."""
        return self._modules.values()

    def update(self, modules):
        """Add the modules of a mapping or of an iterable of pairs."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _describe(items, typename):
    """Return the extra_repr of a container of parameters and other values."""
    lines = []
    for key, p in items:
        if isinstance(p, torch.Tensor):
            device = "" if p.device.type in ("cpu", "meta") else f" ({p.device})"
            kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
            lines.append(
                f"  ({key}): {kind} containing: [{typename(p)} of size {'x'.join(map(str, p.size()))}{device}]"
            )
        else:
            lines.append(f"  ({key}): Object of type: {type(p).__name__}")
    return "\n".join(lines)


def _as_parameter(value):
    return Parameter(value) if isinstance(value, torch.Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters that are all registered.

    Tensors that are added become parameters. Other objects may be stored as well.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx):
        return str(_position(len(self), idx))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(*idx.indices(len(self))))
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx, param):
        setattr(self, self._get_abs_string_index(idx), _as_parameter(param))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value):
        """Add a value at the end; a tensor becomes a Parameter."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add all values of an iterable."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return _describe(enumerate(self), lambda p: p.dtype)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters that are all registered.

    Tensors that are added become parameters. Other objects may be stored as well.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._key_to_attr(key), _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """Return a new ParameterDict with the same values."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key, default=None):
        """Return the value of this key, after setting it to `default` if the key is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Remove the value of this key and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove the last (key, value) pair and return it; an empty dictionary raises KeyError."""
        key = next(reversed(self._keys), None)
        if key is None:
            raise KeyError("popitem(): dictionary is empty")
        return key, self.pop(key)

    def get(self, key, default=None):
        """Return the value of this key, or `default` if the key is missing."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """Return a new ParameterDict with these keys, each with the value `default`."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """Return the keys."""
        return self._keys.keys()

    def items(self):
        """Return the (key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Add the values of a mapping or of an iterable of pairs.

        A mapping other than an OrderedDict is added in sorted order of its keys.
        """
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        pairs = _pairs("ParameterDict", parameters)
        for key, value in sorted(pairs) if plain else pairs:
            self[key] = value

    def extra_repr(self):
        return _describe(self.items(), torch.typename)

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other):
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other):
        self.update(other)
        return self
