"""torch.ao.nn: modules for quantization."""

from importlib import import_module as _import_module


def __getattr__(name):
    if name in ("intrinsic", "qat", "quantized"):
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
