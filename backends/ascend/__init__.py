"""The Ascend backend, device type npu.

Each claim about it has one of two levels of proof (docs/ascend.md): a static check that the wheel has the primitive
with the arity used (bindings.py), or tests that it computes PyTorch's values on an emulated CANN (tests/ascend).
Nothing here has been run on hardware.
"""

from ...runtime.backend import register
from . import gradients, kernels  # noqa: F401  (the table's entries)
from .backend import BACKEND

register("npu", BACKEND)
