"""PyTorch's overload and arguments for a call below autograd, as its dispatcher would get them."""

from ..aten import schemas
from ..classes import NUMBERS
from ..device import get_default_device, strided
from ..schema import same
from ..tensor import Tensor

_ABOVE = ("requires_grad",)  # handled above the dispatcher


def name_of(op):
    """Return PyTorch's (operator, overload or "") of a declared operator."""
    if op.options.aten is not None:
        name, _, overload = op.options.aten.partition(".")
        return name, "" if overload == "default" else overload
    namespace = op.namespace.rpartition(".")[2]
    name = f"{namespace}_{op.name}" if namespace in ("linalg", "fft", "special") else op.name
    two = op.namespace != "special" and any(op.schema.arguments[i].base == "Tensor|Scalar" for i in op.operands[1:])
    return name, op.schema.overload_name or ("Tensor" if two else "")


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


def _renamed(op, schema, values):
    """Return the values under the schema's names, matched by position."""
    ours = [a.name for a in op.schema.arguments if not a.kwarg_only]
    constants = dict(op.options.aten_constants)
    theirs = [a.name for a in schema.positional if a.name not in constants]
    if len(ours) != len(theirs):
        return values
    names = dict(zip(ours, theirs))
    return {names.get(n, n): v for n, v in values.items()}


def values_of(op, schema, args, kwargs):
    """Return the arguments of an overload as values in the order of the declared operator that implements it."""
    bound = schema.bound(args, kwargs)
    ours = [a.name for a in op.schema.arguments if not a.kwarg_only]
    constants = dict(op.options.aten_constants)
    positional = [a.name for a in schema.positional if a.name not in constants]
    theirs = dict(zip(ours, positional)) if not set(ours) <= schema.by_name.keys() else {}
    values = []
    for a in op.schema.arguments:
        name = a.name if a.name in bound or a.name not in theirs else theirs[a.name]
        ours = not a.required and not (name in schema.by_name and schema.by_name[name].means_another(a.default))
        values.append(bound[name] if name in bound else a.default if ours else schema.by_name[name].default_value)
    return values
