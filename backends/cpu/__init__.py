"""The CPU backend.

It is registered once its table is complete, because a backend without the corrections would compute wrong values.
"""

from ...runtime.backend import register
from . import kernels  # noqa: F401  (the table's entries)
from .backend import BACKEND

register("cpu", BACKEND)
