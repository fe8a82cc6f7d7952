"""torch._classes: the namespaces of classes that C++ libraries register.

No such library can be built for this torch, so each class name raises PyTorch's error.
"""

import sys
import types

import torch


class _ClassNamespace(types.ModuleType):
    """torch.classes.NAMESPACE."""

    def __init__(self, name):
        super().__init__("torch.classes" + name)
        self.name = name

    def __getattr__(self, attr):
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{attr}', but it does not exist! Ensure that it is registered "
            f"via torch::class_"
        )


class _Classes(types.ModuleType):
    """torch.classes."""

    __file__ = "_classes.py"

    def __init__(self):
        super().__init__("torch.classes")

    def __getattr__(self, name):
        namespace = _ClassNamespace(name)
        setattr(self, name, namespace)
        return namespace

    @property
    def loaded_libraries(self):
        """Return the paths of the loaded libraries."""
        return torch.ops.loaded_libraries

    def load_library(self, path):
        """Load a shared library, as torch.ops.load_library does."""
        torch.ops.load_library(path)


classes = sys.modules["torch.classes"] = _Classes()
