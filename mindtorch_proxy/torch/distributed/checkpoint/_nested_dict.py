"""Flattens nested state dicts and restores them."""

from ._traverse import set_element, traverse_state_dict

__all__ = ["flatten_state_dict", "unflatten_state_dict"]


def flatten_state_dict(state_dict):
    """Return the flat state dict {"a.b": value} and the paths {"a.b": ("a", "b")}."""
    flat, paths = {}, {}

    def visit(path, value):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    traverse_state_dict(state_dict, visit)
    return flat, paths


def unflatten_state_dict(state_dict, mapping):
    """Restore the nested state dict from a flat one and its paths."""
    nested = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
