"""Immutable containers of node arguments."""

import torch.utils._pytree as pytree


def _refuse(self, *args, **kwargs):
    raise NotImplementedError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or "
        "args of a torch.fx.Node object, instead create a new copy of it and assign the copy to the node"
    )


def _frozen(base, name, methods):
    return type(
        name,
        (base,),
        {m: _refuse for m in methods.split()}
        | {
            "__module__": __name__,
            "__hash__": lambda self: hash(tuple(self)),
            "__reduce__": lambda self: (type(self), (base(self),)),
        },
    )


immutable_list = _frozen(
    list,
    "immutable_list",
    "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort",
)
immutable_dict = _frozen(dict, "immutable_dict", "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update")

pytree.register_pytree_node(
    immutable_list,
    lambda x: (list(x), None),
    lambda children, _: immutable_list(children),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=lambda x: ([(pytree.SequenceKey(i), v) for i, v in enumerate(x)], None),
)
pytree.register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), list(x)),
    lambda children, keys: immutable_dict(zip(keys, children)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=lambda x: ([(pytree.MappingKey(k), v) for k, v in x.items()], list(x)),
)
