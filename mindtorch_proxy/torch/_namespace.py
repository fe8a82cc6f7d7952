"""Operator modules such as torch.fft, torch.linalg, torch.special: functions are created at their first use."""

from mindtorch_proxy.runtime import ops  # noqa: F401  (fills the registry)
from mindtorch_proxy.runtime.registry import function, names


def serve(module, ns):
    """Add a __getattr__ and a __dir__ for the functions of an operator namespace to the globals of a module."""

    def __getattr__(name):
        if name == "__all__":  # what `from MODULE import *` gives
            return [n for n in __dir__() if n[:1] != "_"]
        f = function(ns, name) if name[:2] != "__" else None
        if f is None:
            raise AttributeError(f"module '{module['__name__']}' has no attribute '{name}'")
        module[name] = f
        return f

    def __dir__():
        return sorted({*(n for n in module if n != "serve"), *names(ns)})

    module.update(__getattr__=__getattr__, __dir__=__dir__)
