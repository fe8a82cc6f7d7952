"""Modules of settings, in which only known names can be read or set, and ``patch`` sets them temporarily."""

import contextlib
import json
import sys
import types
from pathlib import Path


class ConfigModule(types.ModuleType):
    """A module with a fixed set of settings."""

    def __setattr__(self, name, value):
        if name not in self._settings:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self._settings[name] = value

    def __getattr__(self, name):
        settings = self.__dict__.get("_settings", {})
        if name in settings:
            return settings[name]
        if any(k.startswith(name + ".") for k in settings):
            return _Section(self, name)
        raise AttributeError(f"{self.__name__}.{name} does not exist")

    def __delattr__(self, name):
        """Reset a setting to its default."""
        if name not in self._settings:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        self._settings[name] = self._defaults[name]

    def get_config_copy(self):
        """Return the settings as a dict."""
        return dict(self._settings)

    def load_config(self, config):
        """Set the settings from a dict."""
        for name, value in config.items():
            setattr(self, name, value)

    def patch(self, arg1=None, arg2=None, **changes):
        """Return a context manager and decorator that sets settings temporarily."""
        changes = changes if arg1 is None else {arg1: arg2} if isinstance(arg1, str) else dict(arg1)
        return _Patch(self, changes)


class _Section:
    """Access to the settings ``module.section.name``."""

    def __init__(self, module, section):
        object.__setattr__(self, "_place", (module, section + "."))

    def __getattr__(self, name):
        module, section = self._place
        return getattr(module, section + name)

    def __setattr__(self, name, value):
        module, section = self._place
        setattr(module, section + name, value)

    def __delattr__(self, name):
        module, section = self._place
        delattr(module, section + name)


class _Patch(contextlib.ContextDecorator):
    def __init__(self, module, changes):
        self.module, self.changes, self.stack = module, changes, []

    def __enter__(self):
        self.stack.append({k: getattr(self.module, k) for k in self.changes})
        self.module.load_config(self.changes)

    def __exit__(self, *exc):
        self.module.load_config(self.stack.pop())


def config_module(name, **others):
    """Turn the module of this name into a module of settings.

    Defaults are read from the JSON file beside the module; others holds those that JSON cannot represent.
    """
    module = sys.modules[name]
    settings = {**json.loads(Path(module.__file__).with_suffix(".json").read_text()), **others}
    module.__dict__["_settings"], module.__dict__["_defaults"] = settings, dict(settings)
    module.__class__ = ConfigModule
