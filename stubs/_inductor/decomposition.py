"""The decompositions that programs register for the compiler.

The compiler does not exist here, but `make_fx` can trace with this table.
"""

import logging

from torch import _decomp

log = logging.getLogger(__name__)
decompositions: dict = {}


def register_decomposition(ops):
    """Return a decorator that registers a function as the decomposition of operators.

    Raises:
        RuntimeError: for an overload that already has one, after a warning in the log.
    """
    if any(op in decompositions for op in (ops if isinstance(ops, list) else [ops])):
        log.warning("duplicate decomp: %s", ops)
    return _decomp.register_decomposition(ops, decompositions)
