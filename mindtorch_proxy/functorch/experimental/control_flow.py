"""functorch.experimental.control_flow: choices that depend on values."""

from torch import cond

__all__ = ["cond"]
