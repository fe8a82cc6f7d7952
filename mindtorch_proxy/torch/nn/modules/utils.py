"""Small helpers of layers."""

import sys
from collections.abc import Iterable

from mindtorch_proxy.runtime.dtypes import of

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Each item n times, last first: what F.pad takes for symmetric paddings."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """out_size with the trailing `defaults` in place of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Strip the prefix from the keys of state_dict and of its metadata, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) from the arguments of `to`: (device, dtype, ...), (dtype, ...) or (tensor, ...)."""
    import torch

    def bind(device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=None):
        dtype = of(dtype)
        if dtype is not None and not isinstance(dtype, torch.dtype):
            raise TypeError
        if copy:
            raise RuntimeError(".to() does not accept copy argument")
        return None if device is None else torch.device(device), dtype, non_blocking, memory_format

    tensor = kwargs.get("tensor", args[0] if args else None)
    if isinstance(tensor, torch.Tensor):
        kwargs.pop("tensor", None)
        args = (tensor.device, tensor.dtype, *args[1:])
    elif isinstance(of(tensor), torch.dtype):
        args = (None, *args)
    try:
        return bind(*args, **kwargs)
    except TypeError:
        got = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()])
        raise TypeError(f"to() received an invalid combination of arguments - got ({got})") from None


def _arguments(method):
    code = method.__code__
    return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])


def _layer(signature, forward, repr="", base=None, setup=None):
    """Make the Module class for a layer that stores its arguments and calls a function, e.g. "ELU(alpha=1.0, inplace=False)".

    Arguments that the base's __init__ names are passed up, the others become attributes; a signature without parentheses inherits
    the base's __init__. `setup(self)` may then check or change them. `forward` is the method. `repr` lists what extra_repr shows:
    `x` its value, `x=` name and value, `x?` 'x=True' where true.
    """
    from .module import Module

    base = base or Module
    name, paren, args = signature.partition("(")
    module = sys._getframe(1).f_globals["__name__"]
    body = {"__module__": module, "__doc__": f"{signature}: see the function of torch.nn.functional.", "forward": forward}
    forward.__name__, forward.__qualname__ = "forward", name + ".forward"
    scope = {"_setup": setup}
    if paren:
        exec(f"def __init__(self, {args}: pass", scope)
        names, above = _arguments(scope["__init__"]), _arguments(base.__init__)
        body["__constants__"] = names
        lines = [f"super(_cls, self).__init__({', '.join(f'{n}={n}' for n in names if n in above)})"]
        lines += [f"self.{n} = {n}" for n in names if n not in above] + ["_setup(self)"] * bool(setup)
        exec(f"def __init__(self, {args}:\n    " + "\n    ".join(lines), scope)
        init = body["__init__"] = scope["__init__"]
        init.__module__, init.__qualname__ = module, name + ".__init__"
    if repr:
        body["extra_repr"] = _shower(repr.split(", "))
    cls = scope["_cls"] = type(name, (base,), body)
    return cls


def _family(name, base, doc, targets=None, numbers=(1, 2, 3)):
    """The classes name1d, name2d, ... of a base that reads its number of dimensions from `_n`; each may derive from a target too."""
    module = sys._getframe(1).f_globals["__name__"]
    for i, n in enumerate(numbers):
        body = {"__module__": module, "__doc__": doc.format(n), "_n": n}
        bases = (base,) if targets is None else (base, targets[i])
        if hasattr(base, "cls_to_become"):
            body["cls_to_become"] = targets[i]
        yield type(f"{name}{n}d", bases, body)


def _shower(items):
    """The extra_repr method for a list of items; see _layer."""

    def extra_repr(self):
        parts = []
        for item in items:
            name = item.rstrip("=?")
            value = getattr(self, name)
            if item.endswith("="):
                parts.append(f"{name}={value!r}")
            elif not item.endswith("?"):
                parts.append(f"{value}")
            elif value:
                parts.append(f"{name}=True")
        return ", ".join(parts)

    return extra_repr


def _optional_parameters(module, kwargs, **shapes):
    """Register an uninitialised parameter of each shape, or None."""
    import torch

    from ..parameter import Parameter

    for name, shape in shapes.items():
        module.register_parameter(name, None if shape is None else Parameter(torch.empty(shape, **kwargs)))
