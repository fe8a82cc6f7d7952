"""functorch.experimental.control_flow: choices that depend on values, functions of slices."""

from torch import cond  # noqa: F401
from torch._higher_order_ops.map import _stack_pytree, _unstack_pytree, map  # noqa: F401
