"""The decorator for functions that modify modules in place, at most once each, and keep all names in them unchanged."""

import functools
import uuid

from torch.nn import Module

from .._composable_state import _State
from ..utils import _get_root_modules

__all__ = []


def generate_state_key(string="__composable_api_state_key"):
    """Return a unique attribute name."""
    return f"{string}_{uuid.uuid4()}"


STATE_KEY, REGISTRY_KEY = generate_state_key(), generate_state_key()


class RegistryItem:
    """Marks that an API was applied to a module."""


def _roots(modules):
    return [modules] if isinstance(modules, Module) else _get_root_modules(list(modules))


def _names(modules):
    """Return, for each module, the names of its parameters, buffers and submodules, in order."""
    kinds = {"parameters": Module.named_parameters, "buffers": Module.named_buffers, "modules": Module.named_modules}
    return [{kind: [name for name, _ in named(m)] for kind, named in kinds.items()} for m in modules]


def _check_names(before, after):
    for kind in before:
        old, new = before[kind], after[kind]
        if old == new:
            continue
        said = f"Checking {kind}: Composable distributed API implementations cannot modify"
        gone, come = set(old) - set(new), set(new) - set(old)
        if gone or come:
            raise RuntimeError(f"{said} FQNs.\nFQNs only in original: {gone}\nFQNs only in new: {come}")
        raise RuntimeError(f"{said} the order of FQNs.\nOriginal FQNs: {old}\nNew FQNs: {new}")


def contract(state_cls=_State):
    """Make a function of one or several modules a composable API.

    It can be applied to a module at most once; ``.state(module)`` returns its state for that module.
    """

    def decorate(function):
        @functools.wraps(function)
        def applied(module, *args, **kwargs):
            roots, state, item = _roots(module), state_cls(), RegistryItem()
            for m in roots:
                states, registry = m.__dict__.setdefault(STATE_KEY, {}), m.__dict__.setdefault(REGISTRY_KEY, {})
                if function in states or function.__name__ in registry:
                    raise AssertionError(
                        "Each distinct composable distributed API can only be applied to a module once. "
                        f"{function.__name__} has already been applied to the following module:\n{m}"
                    )
                states[function], registry[function.__name__] = state, item
            before = _names(roots)
            made = function(module, *args, **kwargs)
            made = module if made is None else made
            after = _names(_roots(made))
            if len(before) != len(after):
                raise AssertionError(
                    f"{function.__name__} should return the same number of modules as input modules. Inputs: "
                    f"{len(before)} modules\n"
                    f"Outputs: {len(after)} modules"
                )
            for old, new in zip(before, after):
                _check_names(old, new)
            return made

        applied.state = lambda module: module.__dict__.get(STATE_KEY, {}).get(function)
        return applied

    return functools.wraps(state_cls)(decorate)


def _get_registry(module):
    """Return {name: item} for the APIs applied to a module, or None if none was applied."""
    return getattr(module, REGISTRY_KEY, None)
