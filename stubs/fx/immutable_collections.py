"""Containers of arguments that are not to be changed in place."""


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
        | {"__module__": __name__, "__hash__": lambda self: hash(tuple(self)), "__reduce__": lambda self: (type(self), (base(self),))},
    )


immutable_list = _frozen(list, "immutable_list", "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort")
immutable_dict = _frozen(dict, "immutable_dict", "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update")
