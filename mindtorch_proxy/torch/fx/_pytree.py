"""Flattening by a known tree spec, for the container types that torch.fx supports."""

from collections import namedtuple

import torch
import torch.utils._pytree as pytree_

SUPPORTED_NODES, SUPPORTED_NODES_EXACT_MATCH = {}, {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """Register ``flatten_fn_spec(obj, spec)``, which returns the children in the order of the spec."""
    SUPPORTED_NODES[cls], SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_spec, flatten_fn_exact_match_spec


def tree_flatten_spec(pytree, spec):
    """Return the leaves of ``pytree`` in the order of ``spec``."""
    if spec.is_leaf():
        return [pytree]
    if spec.type in SUPPORTED_NODES:
        children = SUPPORTED_NODES[spec.type](pytree, spec)
    elif spec.type in pytree_.SUPPORTED_NODES:
        children = pytree_.SUPPORTED_NODES[spec.type].flatten_fn(pytree)[0]
    else:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            f"torch.fx._pytree.register_pytree_flatten_spec."
        )
    return [leaf for child, s in zip(children, spec.children()) for leaf in tree_flatten_spec(child, s)]


def _dict_flatten_spec(d, spec):
    return [d[k] for k in spec.context]


def _list_flatten_spec(d, spec):
    return [d[i] for i in range(spec.num_children)]


_tuple_flatten_spec = _namedtuple_flatten_spec = _list_flatten_spec
register_pytree_flatten_spec(dict, _dict_flatten_spec)
for _cls in (list, tuple, namedtuple, torch.Size):
    register_pytree_flatten_spec(_cls, _list_flatten_spec)
