"""The tables of torch._decomp, and the functions that register decompositions in them."""

from torch._ops import OperatorBase, OpOverloadPacket
from torch.utils._pytree import tree_leaves

global_decomposition_table = {"post_autograd": {}, "pre_autograd": {}, "meta": {}}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _table(type):
    if type not in global_decomposition_table:
        raise AssertionError(f"type must be one of {{'post_autograd', 'pre_autograd', 'meta'}}, got {type}")
    return global_decomposition_table[type]


def _overloads(op):
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    if not isinstance(op, OperatorBase):
        raise RuntimeError(f"an operator or a packet of overloads is registered, not {op}")
    return [op]


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """Return a decorator that registers a function as the decomposition of operators.

    Args:
        aten_op: an overload, a packet (which means all its overloads), or any nesting of those in lists and dicts.
        registry: the table for it; None means the one named by `type`.
        type: "post_autograd", "pre_autograd" or "meta".
        unsafe: ignored; in PyTorch it omits a wrapper for out= parameters, which does not exist here.

    Raises:
        RuntimeError: for an overload that is already in the table.
    """
    table = _table(type) if registry is None else registry

    def decorator(fn):
        for op in [overload for given in tree_leaves(aten_op) for overload in _overloads(given)]:
            if op in table:
                raise RuntimeError(f"duplicate registrations for {op}")
            table[op] = fn
        return fn

    return decorator


def get_decompositions(aten_ops, type="post_autograd"):
    """Return ``{overload: function}`` for those of the operators that have a decomposition."""
    table = _table(type)
    return {op: table[op] for given in aten_ops for op in _overloads(given) if op in table}


def remove_decompositions(decompositions, aten_ops):
    """Remove the decompositions of operators from a table; operators without one are ignored."""
    for given in aten_ops:
        for op in _overloads(given):
            decompositions.pop(op, None)
