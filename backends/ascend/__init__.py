"""Ascend, device type npu. Levels of proof, said with every claim (docs/ascend.md): the wheel holds the primitive with
the arity used (static, bindings.py),
it computes PyTorch's values on an emulated CANN (tests/ascend). Nothing here has been seen on hardware."""

from ...runtime.backend import register
from . import kernels  # noqa: F401  (the table's entries)
from .backend import BACKEND

register("npu", BACKEND)
