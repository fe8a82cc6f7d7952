"""Nodes of a graph."""

import builtins
import operator
import types
from collections.abc import Callable
from typing import Any, Union

import torch

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]
Target = Callable[..., Any] | str
BaseArgumentTypes = (
    str
    | int
    | float
    | bool
    | complex
    | torch.dtype
    | torch.Tensor
    | torch.device
    | torch.memory_format
    | torch.layout
    | torch._ops.OpOverload
)
Argument = Union[
    tuple["Argument", ...], list["Argument"], dict[str, "Argument"], slice, range, "Node", BaseArgumentTypes, None
]
_SIDE_EFFECTS = {torch._assert, operator.setitem}
_ASSERTIONS = frozenset(
    "aten::_assert_async aten::_assert_scalar aten::_assert_tensor_metadata aten::sym_constrain_range "
    "aten::sym_constrain_range_for_size".split()
)
_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")


def has_side_effect(fn):
    """Mark a function whose calls must not be removed even if their result is unused."""
    _SIDE_EFFECTS.add(fn)
    return fn


def map_aggregate(a, fn):
    """Apply ``fn`` to the elements of nested tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {k: map_aggregate(v, fn) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a, fn):
    """Apply ``fn`` to each Node in a nested argument."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _type_repr(obj):
    """Return the name of a type or a function."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{obj.__module__}.{obj.__qualname__}"
    return "..." if obj is ... else obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)


def _qualified_name(func):
    """Return a name by which Python code can access the function."""
    if isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return f"torch.ops.{func}"
    if isinstance(func, torch._ops.HigherOrderOperator):
        return f"torch.ops.{func.namespace}.{func.name()}"
    name, module = getattr(func, "__name__", type(func).__name__), getattr(func, "__module__", None) or ""
    if getattr(builtins, name, None) is func:
        return f"builtins.{name}"
    module = {"_operator": "operator"}.get(module, module)
    if isinstance(func, type(torch.Tensor.add)) and getattr(torch.Tensor, name, None) is func:
        return f"torch.Tensor.{name}"
    for home in (module, "torch", "torch.nn.functional", "operator"):  # use the first module that has the function
        owner = torch if home == "torch" else __import__("sys").modules.get(home)
        if getattr(owner, name, None) is func:
            return f"{home}.{name}"
    return f"{module}.{name}" if module else name


def _get_qualified_name(func):
    """Return the qualified name of a function, with its module as PyTorch reports it."""
    name = _qualified_name(func).removeprefix("builtins.")
    return f"_{name}" if name.startswith("operator.") else name


class Node:
    """A node of a graph.

    ``op`` is its kind: placeholder, get_attr, call_function, call_method, call_module or output.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is "
                f"expected"
            )
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users, self._input_nodes, self.meta, self._erased = {}, {}, {}, False
        self._args, self._kwargs = (), {}
        self._update(args, kwargs)

    args = property(
        lambda self: self._args,
        lambda self, a: self._update(a, self._kwargs),
        doc="The positional arguments; nodes in them are users of their values.",
    )
    kwargs = property(
        lambda self: self._kwargs,
        lambda self, k: self._update(self._args, k),
        doc="The keyword arguments; nodes in them are users of their values.",
    )
    all_input_nodes = property(lambda self: list(self._input_nodes), doc="The nodes in the arguments, each once.")
    next = property(lambda self: self._neighbour(1), doc="The node behind this one.")
    prev = property(lambda self: self._neighbour(-1), doc="The node before this one.")

    @property
    def stack_trace(self):
        """The stack trace where the node was created, or None."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def _neighbour(self, step):
        order = self.graph._order
        i = order.index(self) + step
        return order[i] if 0 <= i < len(order) else self.graph._root

    def _update(self, args, kwargs):
        for n in self._input_nodes:
            n.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = tuple(args), dict(kwargs), {}
        map_arg((self._args, self._kwargs), self._input_nodes.setdefault)
        for n in self._input_nodes:
            n.users.setdefault(self)

    def __repr__(self):
        return self.name

    def update_arg(self, idx, arg):
        """Replace one positional argument."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1 :])

    def update_kwarg(self, key, arg):
        """Replace or add one keyword argument."""
        self.kwargs = self._kwargs | {key: arg}

    def insert_arg(self, idx, arg):
        """Insert a positional argument before another one."""
        self._args = (*self._args[:idx], arg, *self._args[idx:])
        map_arg(arg, self._input_nodes.setdefault)  # behind the other inputs, wherever the argument stands
        map_arg(arg, lambda n: n.users.setdefault(self))

    def replace_input_with(self, old_input, new_input):
        """Replace an input node by another node."""
        self._update(*map_arg((self._args, self._kwargs), lambda n: new_input if n is old_input else n))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Replace this node by another one in all its users; return these users."""
        users = [u for u in self.users if delete_user_cb(u)]
        for user in users:
            user.replace_input_with(self, replace_with)
        if propagate_meta:
            replace_with.meta.update(self.meta)
        return users

    def prepend(self, x):
        """Move ``x`` before this node."""
        self._move(x, 0)

    def append(self, x):
        """Move ``x`` after this node."""
        self._move(x, 1)

    def _move(self, x, after):
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is not self:
            order = self.graph._order
            order.remove(x)
            order.insert(order.index(self) + after, x)

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """Return an ArgsKwargsPair with defaults filled in, or None if the signature is not known."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    def is_impure(self, impure_random=True):
        """Whether the node must be kept even if it is unused."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name, schema = getattr(self.target, "__name__", ""), getattr(self.target, "_schema", None)
            if schema is not None and (schema.is_mutable or schema.name in _ASSERTIONS):
                return True
            return self.target in _SIDE_EFFECTS or name.endswith("_") and not name.startswith("_")
        if self.op == "call_module" and self.graph.owning_module is not None:
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        return self.op == "call_method" and self.target.endswith("_") and not self.target.endswith("__")

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """Return the node as a line of text."""
        kind = "" if self.type is None else f"{_typename(self.type)} "
        name = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "output":
            return f"return {self._args[0]}"
        target = self.target if isinstance(self.target, str) else _qualified_name(self.target)
        if self.op == "placeholder":
            return f"{name}[target={target}]" + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return f"{name}[target={target}]"
        return f"{name}[target={target}](args = {_format(self._args)}, kwargs = {_format(self._kwargs)})"


def _typename(kind):
    """Return the name of a type for text output."""
    if isinstance(kind, type):
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return str(kind)


def _format(a):
    """Format an argument for text output: nodes as %name, strings without quotes."""
    if hasattr(a, "_custom_fx_repr_fn"):
        return a._custom_fx_repr_fn()
    if isinstance(a, (list, tuple)):
        text = ", ".join(map(_format, a))
        return f"[{text}]" if isinstance(a, list) else f"({text},)" if len(a) == 1 else f"({text})"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{k}: {_format(v)}" for k, v in a.items()) + "}"
    return f"%{a}" if isinstance(a, Node) else str(a)


_format_arg = _format
