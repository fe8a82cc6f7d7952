"""Backends by device type. Each registers itself with the runtime when it is first asked for."""

import importlib

_MODULES = {"cpu": "cpu", "meta": "meta", "npu": "ascend"}


def load(device_type):
    importlib.import_module("." + _MODULES[device_type], __name__)


def accelerator_count():
    from ..runtime import pyboost

    return pyboost.mindspore().hal.device_count("Ascend") if pyboost.npu_available() else 0


def require_accelerator(d):
    """`d` with an index, or the error for a machine without Ascend devices."""
    from ..runtime import pyboost

    if not pyboost.npu_available():
        raise RuntimeError(f"Cannot access device {d}: no Ascend NPU is available on this machine")
    return d
