"""torch.return_types: the named tuples that operators return."""

from collections import namedtuple

from ..registry import operators


def result_class(op):
    """The class of an operator's named results, or None."""
    names = op.schema.result_names
    if not names:
        return None
    name = op.name if op.namespace in ("torch", "Tensor") else f"{op.namespace.replace('.', '_')}_{op.name}"
    cls = _return_types.get(name)
    if cls is None:
        cls = _return_types[name] = _return_type(name, names)
    return cls


_return_types = {}


def _return_type(name, fields):
    """A class of torch.return_types: a tuple with names."""
    cls = namedtuple(name, fields)
    cls.__module__ = "torch.return_types"
    make = cls.__new__

    def new(c, *args):
        return make(c, *(args[0] if len(args) == 1 and len(fields) != 1 else args))

    cls.__new__ = new
    cls.__repr__ = lambda self: f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self)) + ")"
    cls.__reduce__ = lambda self: (cls, (tuple(self),))
    cls.n_fields = cls.n_sequence_fields = len(fields)
    cls.n_unnamed_fields = 0
    return cls


def return_type(name):
    """torch.return_types.NAME, or None."""
    for op in operators():
        prefix = "" if op.namespace == "torch" else op.namespace.replace(".", "_") + "_"
        if op.schema.result_names and name == prefix + op.name:
            return result_class(op)
    return None
