"""Passes over graphs."""

from . import fake_tensor_prop, shape_prop, split_module  # noqa: F401
