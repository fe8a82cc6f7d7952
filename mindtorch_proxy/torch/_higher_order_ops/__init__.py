"""torch._higher_order_ops: operators whose arguments are functions, run eagerly."""

from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.cond import cond
from torch._higher_order_ops.map import map
from torch._higher_order_ops.while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "while_loop"]
