"""Passes on graphs."""

from . import fake_tensor_prop, operator_support, shape_prop, split_module, split_utils, tools_common  # noqa: F401
