"""Backends by device type. Each registers itself with the runtime when it is first needed."""

import importlib

_MODULES = {"cpu": "cpu", "meta": "meta", "npu": "ascend"}


def exists(device_type):
    return device_type in _MODULES


def load(device_type):
    importlib.import_module("." + _MODULES[device_type], __name__)
