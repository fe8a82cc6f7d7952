"""Nested state dicts as flat ones and back."""

from collections.abc import Mapping

import torch

__all__ = ["flatten_state_dict", "unflatten_state_dict", "set_element"]


def _is_leaf(value):
    """Whether a value stays in one piece: lists do that hold neither tensors nor dicts."""
    if isinstance(value, Mapping):
        return False
    return not isinstance(value, list) or not any(isinstance(v, torch.Tensor) or isinstance(v, (Mapping, list)) and not _is_leaf(v) for v in value)


def flatten_state_dict(state_dict):
    """({"a.b": value}, {"a.b": ("a", "b")})."""
    flat, paths = {}, {}

    def visit(path, value):
        if isinstance(value, Mapping):
            for k, v in value.items():
                visit((*path, str(k)), v)
        elif isinstance(value, list) and not _is_leaf(value):
            for i, v in enumerate(value):
                visit((*path, i), v)
        else:
            name = ".".join(map(str, path))
            if name in flat:
                raise ValueError(f"duplicated flatten key {name}")
            flat[name], paths[name] = value, path

    for key, value in state_dict.items():
        visit((str(key),), value)
    return flat, paths


def set_element(root, path, value):
    """Set what a path leads to, with dicts and lists on the way."""
    at = root
    for key, following in zip(path, path[1:]):
        new = [] if isinstance(following, int) else {}
        if isinstance(at, list):
            at.extend([None] * (key + 1 - len(at)))
            if at[key] is None:
                at[key] = new
        else:
            at.setdefault(key, new)
        at = at[key]
    if isinstance(at, list):
        at.extend([None] * (path[-1] + 1 - len(at)))
    at[path[-1]] = value


def unflatten_state_dict(state_dict, mapping):
    """The nested one again."""
    nested = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
