"""A step of a graph."""
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]
_side_effects = set()
Argument = Target = object
base_types = (str, int, float, bool, complex)


def has_side_effect(fn):
    """Keep calls of fn although nothing uses their result."""
    _side_effects.add(fn)
    return fn


def map_aggregate(a, fn):
    """fn over the leaves of nested tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """fn over the Nodes in an argument."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """op is placeholder, get_attr, call_function, call_method, call_module or output; target what it names or calls."""

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users, self._input_nodes, self.meta = {}, {}, {}
        self._erased = False
        self._args, self._kwargs = (), {}
        self._set(args, kwargs)

    def _set(self, args, kwargs):
        for n in self._input_nodes:
            n.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = map_aggregate(args, lambda x: x), map_aggregate(kwargs, lambda x: x), {}
        map_arg((self._args, self._kwargs), lambda n: self._input_nodes.setdefault(n))
        for n in self._input_nodes:
            n.users.setdefault(self)

    args = property(lambda self: self._args, lambda self, a: self._set(tuple(a), self._kwargs))
    kwargs = property(lambda self: self._kwargs, lambda self, k: self._set(self._args, dict(k)))
    all_input_nodes = property(lambda self: list(self._input_nodes))

    @property
    def next(self):
        return self.graph._neighbour(self, 1)

    @property
    def prev(self):
        return self.graph._neighbour(self, -1)

    def update_arg(self, idx, arg):
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def update_kwarg(self, key, arg):
        self.kwargs = {**self.kwargs, key: arg}

    def insert_arg(self, idx, arg):
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def prepend(self, x):
        self.graph._move(x, self, 0)

    def append(self, x):
        self.graph._move(x, self, 1)

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        changed = [u for u in list(self.users) if delete_user_cb(u)]
        for u in changed:
            swap = lambda n: replace_with if n is self else n
            u._set(map_arg(u.args, swap), map_arg(u.kwargs, swap))
        if propagate_meta:
            replace_with.meta.update(self.meta)
        return changed

    def replace_input_with(self, old_input, new_input):
        swap = lambda n: new_input if n is old_input else n
        self._set(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def is_impure(self):
        return self.op in ("placeholder", "output") or self.op == "call_function" and (self.target in _side_effects or getattr(self.target, "__name__", "") in (
            "_assert", "_assert_is_none", "setitem"))

    def format_node(self):
        return f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={self._spoken()}](args = {self.args}, kwargs = {dict(self.kwargs)})"

    def _spoken(self):
        return self.target if isinstance(self.target, str) else getattr(self.target, "__module__", "") + "." + getattr(self.target, "__name__", repr(self.target))

    def __repr__(self):
        return self.name

    def __lt__(self, other):
        return self.graph._nodes.index(self) < self.graph._nodes.index(other)
