"""torch.return_types: the named tuples that operators return."""

from operator import itemgetter

from ..registry import operators


def result_class(op):
    """Return the class of an operator's named results, or None."""
    names = [r.name for r in op.schema.returns if r.name]
    if not names:
        return None
    name = op.name if op.namespace in ("torch", "Tensor") else f"{op.namespace.replace('.', '_')}_{op.name}"
    cls = _return_types.get(name)
    if cls is None:
        cls = _return_types[name] = _return_type(name, names)
    return cls


def out_class(cls):
    """Return the class of the same results when they are written to out=."""
    name = cls.__name__ + "_out"
    found = _return_types.get(name)
    if found is None:
        found = _return_types[name] = _return_type(name, cls.__match_args__)
    return found


_return_types = {}


def _return_type(name, fields):
    """Create a class of torch.return_types: a named tuple made of one sequence, as CPython's struct sequences are."""
    full = f"torch.return_types.{name}"

    def new(cls, *given, **named):
        if not given and "sequence" not in named:
            raise TypeError("structseq() missing required argument 'sequence' (pos 1)")
        sequence = given[0] if given else named["sequence"]
        if not hasattr(sequence, "__iter__"):
            raise TypeError("constructor requires a sequence")
        values = tuple(sequence)
        if len(values) != len(fields):
            raise TypeError(f"{full}() takes a {len(fields)}-sequence ({len(values)}-sequence given)")
        return tuple.__new__(cls, values)

    def missing(self, wanted):
        raise AttributeError(f"'{full}' object has no attribute '{wanted}'")

    members: dict = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    members |= {
        "__slots__": (),
        "__module__": "torch.return_types",
        "__match_args__": tuple(fields),
        "__new__": new,
        "__getattr__": missing,
        "__repr__": lambda self: f"{full}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self)) + ")",
        "__reduce__": lambda self: (cls, (tuple(self),)),
        "n_fields": len(fields),
        "n_sequence_fields": len(fields),
        "n_unnamed_fields": 0,
    }
    cls = type(name, (tuple,), members)
    return cls


def return_types():
    """Return {name: class} for all functions of torch and torch.linalg with named results.

    Functions with out= have a second class, whose name ends in ``_out``.
    """
    found = {}
    for op in operators():
        cls = result_class(op) if op.namespace in ("torch", "linalg") and op.name[0] != "_" else None
        if cls is not None:
            found[cls.__name__] = cls
            if op.options.out:
                found[cls.__name__ + "_out"] = out_class(cls)
    return found
