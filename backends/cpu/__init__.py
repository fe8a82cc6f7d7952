"""The CPU. Registered once its table is complete: a backend without its corrections would compute wrong values."""

from ...runtime.backend import register
from . import kernels  # noqa: F401  (the table's entries)
from .backend import BACKEND

register("cpu", BACKEND)
