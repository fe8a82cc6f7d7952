"""torch.utils._pytree: flatten, unflatten and map nested Python containers, with key paths and serialized specs."""

import dataclasses
import functools
import importlib
import json
import threading
import types
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, NamedTuple

import torch

__all__ = [
    "PyTree",
    "Context",
    "FlattenFunc",
    "UnflattenFunc",
    "DumpableContext",
    "ToDumpableContextFn",
    "FromDumpableContextFn",
    "PyTreeSpec",
    "TreeSpec",
    "LeafSpec",
    "keystr",
    "key_get",
    "register_pytree_node",
    "tree_is_leaf",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_unflatten",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_structure",
    "tree_map",
    "tree_map_with_path",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_all",
    "tree_any",
    "tree_all_only",
    "tree_any_only",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "treespec_leaf",
    "treespec_tuple",
    "treespec_dict",
]

PyTree = Context = DumpableContext = Any
FlattenFunc = FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFunc = UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
FlattenWithKeysFunc = Callable[[PyTree], tuple[list[tuple[Any, Any]], Any]]
KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


class NodeDef(NamedTuple):
    type: type
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None = None


class _SerializeNodeDef(NamedTuple):
    typ: type
    serialized_type_name: str
    to_dumpable_context: Callable | None
    from_dumpable_context: Callable | None


SUPPORTED_NODES: dict[type, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[type, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, type] = {}
CONSTANT_NODES: set[type] = set()
_NODE_REGISTRY_LOCK = threading.RLock()


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Register ``cls`` as a container.

    ``flatten_fn(obj) -> (children, context)``, ``unflatten_fn(children, context) -> obj``.
    """
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    with _NODE_REGISTRY_LOCK:
        if cls in SUPPORTED_NODES:
            raise ValueError(f"{cls} is already registered as pytree node.")
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
        name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
        SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. "
        "Please use `torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _deregister_pytree_node(cls):
    with _NODE_REGISTRY_LOCK:
        del SUPPORTED_NODES[cls]
        SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None)
        CONSTANT_NODES.discard(cls)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Register a dataclass as a container of its fields; a field that is None is not a child."""
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, "
                "as it is not a dataclass."
            )
        field_names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in (drop_field_names or ())]
    elif dataclasses.is_dataclass(cls):
        init_fields = {f.name for f in dataclasses.fields(cls) if f.init} - set(drop_field_names or ())
        if init_fields != set(field_names):
            raise ValueError(
                f"field_names does not include all dataclass fields: missing {init_fields - set(field_names)}, "
                f"unexpected {set(field_names) - init_fields}."
            )

    def split(obj):
        present = [n for n in field_names if getattr(obj, n) is not None]
        return present, [present, [n for n in field_names if n not in present]]

    def flatten(obj):
        present, context = split(obj)
        return [getattr(obj, n) for n in present], context

    def flatten_with_keys(obj):
        present, context = split(obj)
        return [(GetAttrKey(n), getattr(obj, n)) for n in present], context

    def unflatten(values, context):
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))

    register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    value: Any


def register_constant(cls):
    """Register ``cls``, which needs __eq__ and __hash__, as a container without children; its value is in the spec."""
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    register_pytree_node(
        cls, lambda x: ([], ConstantNode(x)), lambda _, c: c.value, flatten_with_keys_fn=lambda x: ([], ConstantNode(x))
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    return isinstance(cls, type) and cls in CONSTANT_NODES


# ------------------------------------------------------------------------------------------------------- key paths
@dataclasses.dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        return getattr(obj, self.name)


def keystr(kp):
    """Return a key path as Python code, such as ``['a'][0].b``."""
    return "".join(str(k) for k in kp)


def key_get(obj, kp):
    """Return the value at a key path."""
    for k in kp:
        obj = k.get(obj)
    return obj


# ------------------------------------------------------------------------------------------------------ node types
def is_namedtuple_class(cls):
    """Whether ``cls`` is a subclass of tuple made by namedtuple or NamedTuple."""
    fields = getattr(cls, "_fields", None) if isinstance(cls, type) and issubclass(cls, tuple) else None
    return (
        isinstance(fields, tuple)
        and all(type(f) is str for f in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj):
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls):
    """Whether ``cls`` is a structure sequence such as time.struct_time or a member of torch.return_types."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    )


def is_structseq_instance(obj):
    return is_structseq_class(type(obj))


def is_structseq(obj):
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _sequence_flatten(d):
    return list(d), None


def _sequence_flatten_with_keys(d):
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _mapping_with_keys(flatten):
    def with_keys(d):
        values, context = flatten(d)
        return [(MappingKey(k), v) for k, v in zip(d, values)], context

    return with_keys


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values))


def _defaultdict_flatten(d):
    values, keys = _dict_flatten(d)
    return values, [d.default_factory, keys]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], zip(context[1], values))


def _defaultdict_serialize(context):
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(dumped):
    if not isinstance(dumped, dict) or dumped.keys() != {
        "default_factory_module",
        "default_factory_name",
        "dict_context",
    }:
        raise AssertionError(f"not a dumped defaultdict context: {dumped!r}")
    module = importlib.import_module(dumped["default_factory_module"])
    return [getattr(module, dumped["default_factory_name"]), dumped["dict_context"]]


def _namedtuple_flatten(d):
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d):
    return [(GetAttrKey(f), v) for f, v in zip(d._fields, d)], type(d)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _namedtuple_serialize(context):
    if context not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    name = SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name
    if name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {context} found. Please update your `_register_namedtuple` call "
            f"with a `serialized_type_name` kwarg."
        )
    return name


def _namedtuple_deserialize(dumped):
    if dumped not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumped} because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumped]


def _register_namedtuple(cls, *, serialized_type_name):
    """Register the name that a serialized spec contains for a namedtuple class."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, lambda x: x, lambda x: x)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _deque_flatten(d):
    return list(d), d.maxlen


_tuple_flatten = _list_flatten = _sequence_flatten
_tuple_flatten_with_keys = _list_flatten_with_keys = _sequence_flatten_with_keys
_ordereddict_flatten = _odict_flatten = _dict_flatten
_odict_unflatten = _ordereddict_unflatten
_dict_flatten_with_keys = _ordereddict_flatten_with_keys = _mapping_with_keys(_dict_flatten)
_defaultdict_flatten_with_keys = _mapping_with_keys(_defaultdict_flatten)


def _tuple_unflatten(values, context):
    return tuple(values)


def _list_unflatten(values, context):
    return list(values)


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _deque_flatten_with_keys(d):
    return _sequence_flatten_with_keys(d)[0], d.maxlen


for _cls, _name, _flatten, _unflatten, _with_keys, *_dump in (
    (tuple, "builtins.tuple", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
    (list, "builtins.list", _list_flatten, _list_unflatten, _list_flatten_with_keys),
    (dict, "builtins.dict", _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    (
        namedtuple,
        "collections.namedtuple",
        _namedtuple_flatten,
        _namedtuple_unflatten,
        _namedtuple_flatten_with_keys,
        _namedtuple_serialize,
        _namedtuple_deserialize,
    ),
    (
        OrderedDict,
        "collections.OrderedDict",
        _ordereddict_flatten,
        _ordereddict_unflatten,
        _ordereddict_flatten_with_keys,
    ),
    (
        defaultdict,
        "collections.defaultdict",
        _defaultdict_flatten,
        _defaultdict_unflatten,
        _defaultdict_flatten_with_keys,
        _defaultdict_serialize,
        _defaultdict_deserialize,
    ),
    (deque, "collections.deque", _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
    (torch.Size, "torch.Size", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
):
    register_pytree_node(
        _cls,
        _flatten,
        _unflatten,
        serialized_type_name=_name,
        flatten_with_keys_fn=_with_keys,
        **dict(zip(("to_dumpable_context", "from_dumpable_context"), _dump)),
    )
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def _get_node_type(tree):
    cls = type(tree)
    if cls in SUPPORTED_NODES or not isinstance(tree, tuple):
        return cls
    if cls.__module__ == "torch.return_types":
        make = cls._make if is_namedtuple_class(cls) else cls
        register_pytree_node(
            cls, _tuple_flatten, lambda values, _: make(values), flatten_with_keys_fn=_tuple_flatten_with_keys
        )
    elif is_namedtuple_class(cls):
        return namedtuple
    return cls


def tree_is_leaf(tree, is_leaf=None):
    """Whether ``tree`` is not a container, or ``is_leaf`` returns True for it."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# ----------------------------------------------------------------------------------------------------------- specs
class TreeSpec:
    """The structure of a tree: for each node its type, its context and the specs of its children."""

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children", "__weakref__")

    def __init__(self, type, context, children_specs):
        self.type, self._context, self._children = type, context, list(children_specs)
        self._count()

    def _count(self):
        leaf = self.type is None
        self.num_children = len(self._children)
        self.num_nodes = 1 + sum(c.num_nodes for c in self._children)
        self.num_leaves = 1 if leaf else sum(c.num_leaves for c in self._children)

    context = property(lambda self: self._context)

    @property
    def children_specs(self):
        warnings.warn(
            "`treespec.children_specs` is deprecated. Use `treespec.child()` or `treespec.children()` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self._children

    def is_leaf(self):
        return self.type is None

    def children(self):
        return self._children.copy()

    def child(self, index):
        return self._children[index]

    def __getstate__(self):
        return self.type, self._context, self._children

    def __setstate__(self, state):
        self.type, self._context, self._children = state
        self._count()

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self._context, self._children) == (other.type, other._context, other._children)

    def __hash__(self):
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif isinstance(context, (list, dict)):
            context = tuple(map(str, context))
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        head = f"TreeSpec({self.type.__name__}, {self._context}, ["
        child = [c.__repr__(indent + 2) for c in self._children]
        return head + (",\n" + " " * (indent + 2)).join(child) + "])"

    def flatten_up_to(self, tree):
        """Return the subtrees of ``tree`` at the positions where this spec has leaves."""
        subtrees = []
        self._flatten_up_to(tree, subtrees)
        return subtrees

    def _flatten_up_to(self, tree, out):
        if self.type is None:
            out.append(tree)
            return
        node, children = _get_node_type(tree), None
        both_dicts = self.type in STANDARD_DICT_TYPES and node in STANDARD_DICT_TYPES
        if node != self.type and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {node!r}.")
        if both_dicts:
            keys = self._context[1] if self.type is defaultdict else self._context
            if len(tree) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(tree)}.")
            if set(keys) != set(tree):
                missing, extra = set(keys) - set(tree), set(tree) - set(keys)
                raise ValueError(
                    "Node keys mismatch"
                    + (f"; missing key(s): {missing}" if missing else "")
                    + (f"; extra key(s): {extra}" if extra else "")
                    + "."
                )
            children = [tree[k] for k in keys]
        else:
            children, context = SUPPORTED_NODES[node].flatten_fn(tree)
            if len(children) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
            if (
                self.type is not deque and context != self._context
            ):  # a deque's context is its maxlen, not its structure
                raise ValueError(
                    f"Node context mismatch for custom node type {self.type!r}: expected {self._context!r}, "
                    f"got {context!r}."
                )
        for sub, spec in zip(children, self._children):
            spec._flatten_up_to(sub, out)

    def unflatten(self, leaves):
        """Return the tree with this structure and the given leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves):
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._unflatten(leaves) for c in self._children], self._context)


PyTreeSpec = TreeSpec
_LEAF_SPEC = TreeSpec(None, None, [])


class _LeafMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafMeta):
    """The spec of a leaf (deprecated, use ``treespec_leaf``)."""

    def __new__(cls):
        return _LEAF_SPEC


def treespec_leaf():
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), list(items.values()))


# ------------------------------------------------------------------------------------------------------ operations
def _flatten(tree, leaves, is_leaf):
    if is_leaf is not None and is_leaf(tree):
        node = None
    else:
        node = SUPPORTED_NODES.get(_get_node_type(tree))
    if node is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_flatten(tree, is_leaf=None):
    """Return the list of the leaves, from left to right, and the spec."""
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """Return the tree with the structure of a spec and the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of "
            f"type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """Iterate over the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """Apply ``func`` to each leaf, with the subtrees of the other trees at that position; return the new tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call ``func`` for each leaf like ``tree_map``, but return the original tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]), maxlen=0)
    return tree


def map_only(type_or_types_or_pred, /):
    """Return a decorator that makes a function return arguments unchanged that lack the type or fail the predicate."""
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):

        def pred(x):
            return isinstance(x, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        pred = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrapper(func):
        @functools.wraps(func)
        def wrapped(x):
            return func(x) if pred(x) else x

        return wrapped

    return wrapper


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def arg_tree_leaves(*args, **kwargs):
    """Return the leaves of all arguments."""
    return [leaf for a in (*args, *kwargs.values()) for leaf in tree_iter(a)]


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Return the leaves of ``tree``, each repeated for all leaves of ``treespec`` below its position.

    Return None if the structures do not match.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    node = _get_node_type(tree)
    if treespec.is_leaf() or node != treespec.type:
        return None
    children, context = SUPPORTED_NODES[node].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    out = []
    for child, spec in zip(children, treespec._children):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        out += flat
    return out


def _generate_key_paths(key_path, tree, is_leaf=None):
    if is_leaf is not None and is_leaf(tree):
        yield key_path, tree
        return
    node = SUPPORTED_NODES.get(_get_node_type(tree))
    if node is None:
        yield key_path, tree
    elif node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument "
            f"to register_pytree_node."
        )
    else:
        for key, child in node.flatten_with_keys_fn(tree)[0]:
            yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    return list(_generate_key_paths((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """Return the list of (key path, leaf), and the spec."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """Apply ``func(key path, leaf, ...)`` to each leaf, as ``tree_map`` does."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = zip(*pairs) if pairs else ((), ())
    return spec.unflatten(map(func, paths, leaves, *[spec.flatten_up_to(r) for r in rests]))


# --------------------------------------------------------------------------------------------------- serialization
class EnumEncoder(json.JSONEncoder):
    def default(self, obj):
        if isinstance(obj, Enum):
            return {"__enum__": True, "fqn": f"{type(obj).__module__}:{type(obj).__qualname__}", "name": obj.name}
        return super().default(obj)


def enum_object_hook(obj):
    if "__enum__" not in obj:
        return obj
    module, _, qualname = obj["fqn"].partition(":")
    return functools.reduce(getattr, qualname.split("."), importlib.import_module(module))[obj["name"]]


def _treespec_to_json(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    if spec.type not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    entry = SUPPORTED_SERIALIZED_TYPES[spec.type]
    if entry.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            f"with a `serialized_type_name` kwarg."
        )
    if entry.to_dumpable_context is None:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as e:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "using _register_pytree_node."
            ) from e
    else:
        context = entry.to_dumpable_context(spec.context)
    return {
        "type": entry.serialized_type_name,
        "context": context,
        "children_spec": [_treespec_to_json(c) for c in spec._children],
    }


def _json_to_treespec(schema):
    if schema["type"] is None:
        return _LEAF_SPEC
    if schema["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {schema['type']} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[schema["type"]]
    load = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context
    context = json.loads(schema["context"], object_hook=enum_object_hook) if load is None else load(schema["context"])
    return TreeSpec(cls, context, [_json_to_treespec(c) for c in schema["children_spec"]])


def _check_protocol(protocol):
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]"
        )
    return protocol


def treespec_dumps(treespec, protocol=None):
    """Return the spec as JSON, in PyTorch's format."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    protocol = _check_protocol(DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol)
    return json.dumps((protocol, _treespec_to_json(treespec)), cls=EnumEncoder)


def treespec_loads(serialized):
    """Return the spec from the JSON of ``treespec_dumps``."""
    protocol, schema = json.loads(serialized, object_hook=enum_object_hook)
    _check_protocol(protocol)
    return _json_to_treespec(schema)


class _Asterisk(str):
    def __repr__(self):
        return "*"


def treespec_pprint(treespec):
    """Return the spec as text: the repr of the container with * for leaves."""
    return repr(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))


pytree_to_str, str_to_pytree = treespec_dumps, treespec_loads
