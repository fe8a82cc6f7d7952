"""The table of decompositions that programs give the compiler.

The compiler is not here, and `make_fx` can trace by the table.
"""

import logging

from torch import _decomp

log = logging.getLogger(__name__)
decompositions: dict = {}


def register_decomposition(ops):
    """A decorator that enters a function as the decomposition of operators.

    Raises:
        RuntimeError: for an overload that has one already; a warning in the log says so first.
    """
    if any(op in decompositions for op in (ops if isinstance(ops, list) else [ops])):
        log.warning("duplicate decomp: %s", ops)
    return _decomp.register_decomposition(ops, decompositions)
