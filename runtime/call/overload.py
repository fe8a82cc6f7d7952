"""PyTorch's overload and arguments for a call below autograd, as its dispatcher would get them."""

import functools

from ..aten import schemas
from ..classes import NUMBERS
from ..device import get_default_device, strided
from ..schema import same
from ..tensor import Tensor

_ABOVE = ("requires_grad",)  # handled above the dispatcher


@functools.cache
def name_of(op):
    """Return PyTorch's (operator, overload or "") of a declared operator.

    The name is that of the declaration; its leading underscore is our own where PyTorch has no such name, but has an
    operator of the name without it that takes the same arguments and is no function over others. The overload of an
    operator with a kernel is the first that takes its arguments.
    """
    if op.options.aten is not None:
        name, _, overload = op.options.aten.partition(".")
        return name, "" if overload == "default" else overload
    namespace = op.namespace.rpartition(".")[2]
    name = f"{namespace}_{op.name}" if namespace in ("linalg", "fft", "special") else op.name
    found = [] if op.fn is not None else [s for s in schemas(name) if _takes(s, op)]
    if name[0] == "_" and not schemas(name):
        found = [s for s in schemas(name[1:]) if _takes(s, op) and not s.implicit]
        name = name[1:] if found else name
    two = any(op.schema.arguments[i].base == "Tensor|Scalar" for i in op.operands[1:])
    return name, op.schema.overload_name or (found[0].overload_name if found else "Tensor" if two else "")


def _takes(schema, op):
    """Whether an overload takes what a declared operator requires, and requires nothing else.

    Arguments correspond that have the same name, or else the same position.
    """
    pairs = [
        (a, schema.by_name.get(a.name, schema.positional[i] if i < len(schema.positional) else None))
        for i, a in enumerate(op.schema.arguments)
        if a.required
    ]
    return (
        not schema.outs
        and all(b is not None and _alike(a, b) for a, b in pairs)
        and {a.name for a in schema.arguments if a.required} <= {b.name for _, b in pairs}
    )


def _alike(ours, theirs):
    """Whether two arguments have one type. We write Tensor|Scalar for Tensor, and int for SymInt."""
    base = ours.base.partition("|")[0]
    return base == "Any" or ours.list == theirs.list and base in (theirs.base, theirs.base.removeprefix("Sym").lower())


def resolve(op, args, suffix="", native=False):
    """Return (schema, args, kwargs) that PyTorch's dispatcher would get for a call, or None if it has no such call.

    native: PyTorch makes the call in C++, where numbers have overloads of their own and new tensors are given their
    dtype.
    """
    name, wanted = name_of(op)
    if native is True and wanted == "Tensor" and any(args[i].__class__ in NUMBERS for i in op.operands[1:]):
        wanted = "Scalar"
    values, defaults = dict(op.options.aten_constants), {}
    for a, v in zip(op.schema.arguments, args):
        if a.name in _ABOVE:
            continue
        if not a.required and same(v, a.default):
            defaults[a.name] = v
        else:
            values[a.name] = v
    if op.options.aten_values is not None:
        values = op.options.aten_values(values)
    found = None
    for schema in schemas(name + suffix):
        if schema.outs:
            continue
        needed = {
            a.name: defaults[a.name]
            for a in schema.arguments
            if a.name in defaults and (not a.has_default_value() or a.means_another(defaults[a.name]))
        }
        given = schema.given(_with_options(op, schema, needed | values, native and args))
        if given is None:
            given = schema.given(_renamed(op, schema, values))
        if given is not None and (found is None or schema.overload_name == wanted):
            found = (schema, *given)
            if schema.overload_name == wanted:
                break
    return found


def _with_options(op, schema, values, native):
    """Add the options that PyTorch's functions always pass for a new tensor.

    These are pin_memory=False and, if no tensor determines it, the device. In C++ (native) they are device, layout, and
    the dtype of the first tensor.
    """
    if "pin_memory" not in schema.by_name or op.fn is None and not native:
        return values
    if native:
        like = next((a for a in native if isinstance(a, Tensor)), None)
        if schema.name.endswith("_like"):
            return values
        made = {} if like is None else {"dtype": like.dtype, "device": like.device}
        return {"device": get_default_device(), "layout": strided, **made, **values}
    place = {} if op.tensor_args else {"device": get_default_device()}
    return {**place, "pin_memory": False, **values}


def _positional(op, schema):
    """Return the names of the positional arguments, ours and PyTorch's."""
    constants = dict(op.options.aten_constants)
    return [a.name for a in op.schema.positional], [a.name for a in schema.positional if a.name not in constants]


def _renamed(op, schema, values):
    """Return the values under the schema's names, matched by position."""
    ours, theirs = _positional(op, schema)
    names = dict(zip(ours, theirs)) if len(ours) == len(theirs) else {}
    return {names.get(n, n): v for n, v in values.items()}


def values_of(op, schema, args, kwargs):
    """Return the arguments of an overload as values in the order of the declared operator that implements it."""
    bound, (ours, theirs) = schema.bound(args, kwargs), _positional(op, schema)
    names = {} if schema.by_name.keys() >= set(ours) else dict(zip(ours, theirs))
    values = []
    for a in op.schema.arguments:
        name = a.name if a.name in bound else names.get(a.name, a.name)
        own = not a.required and not (name in schema.by_name and schema.by_name[name].means_another(a.default))
        values.append(bound[name] if name in bound else a.default if own else schema.by_name[name].default_value)
    return values
