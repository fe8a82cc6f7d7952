"""torch.ao.nn.intrinsic: modules that are fused, because they become a single quantized operation."""

from importlib import import_module as _import_module

from torch import nn

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


class _FusedModule(nn.Sequential):
    """A chain of modules that is observed and converted as one module."""


def _chain(name, first):
    def __init__(self, layer, relu):
        if type(layer) is not first or type(relu) is not nn.ReLU:
            raise AssertionError(f"Incorrect types for input modules: {type(layer)}{type(relu)}")
        _FusedModule.__init__(self, layer, relu)

    kind = type(
        name, (_FusedModule,), {"__init__": __init__, "__doc__": f"{first.__name__} and ReLU.", "__module__": __name__}
    )
    __init__.__qualname__ = f"{name}.__init__"
    return kind


LinearReLU = _chain("LinearReLU", nn.Linear)
ConvReLU1d = _chain("ConvReLU1d", nn.Conv1d)
ConvReLU2d = _chain("ConvReLU2d", nn.Conv2d)
ConvReLU3d = _chain("ConvReLU3d", nn.Conv3d)


def __getattr__(name):
    if name in ("qat", "quantized"):
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
