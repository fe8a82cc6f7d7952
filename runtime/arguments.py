"""Checks of values against the arguments that a schema declares, binding of calls, and PyTorch's errors."""

import numpy as np

from . import dtypes as dt
from .device import Size
from .device import device as Device
from .device import layout as Layout
from .device import memory_format as MemoryFormat
from .generator import Generator
from .storage import UntypedStorage
from .symbolic import SYMBOLIC, SymBool, SymInt
from .tensor import Tensor, type_name
from .typed_storage import TypedStorage


def _is_int(v):
    return (
        not isinstance(v, (bool, float, complex, str, type))
        and hasattr(v, "__index__")
        and not _is_tensor(v)
        or _is_tensor0(v)
        and (v.dtype.category == dt.INT or v.dtype is dt.bool_ and not v._shape)
    )


def is_int(v):
    """Whether `v` is accepted for an int argument. Elements of an int list are checked more loosely, by _is_int."""
    if isinstance(v, Tensor):
        return v._shape == () and v.dtype.category == dt.INT and not v._requires_grad
    return _is_int(v) and not isinstance(v, (np.bool_, np.ndarray))


def _is_tensor(v):
    return isinstance(v, Tensor)


def _is_tensor0(v):
    return _is_tensor(v) and all(s == 1 for s in v._shape)


def _is_scalar_tensor(v):
    return _is_tensor(v) and v._shape == () and not v._requires_grad


def _is_python_number(v):
    return isinstance(v, (bool, int, float, complex)) or v.__class__ in SYMBOLIC


def _is_number(v):
    if _is_python_number(v):
        return True
    return isinstance(v, np.generic) and v.dtype.kind in "biufc" or _is_scalar_tensor(v)


_CHECKS = {
    "Tensor": _is_tensor,
    "Scalar": _is_number,
    "Tensor|Scalar": lambda v: _is_tensor(v) or _is_number(v),
    "int": is_int,
    "float": lambda v: _is_number(v) and not isinstance(v, complex) and not getattr(v, "requires_grad", False),
    "bool": lambda v: isinstance(v, (bool, SymBool)),
    "str": lambda v: isinstance(v, str),
    "ScalarType": lambda v: isinstance(v, (dt.dtype, type)),
    "Device": lambda v: isinstance(v, (Device, str, int)),
    "Layout": lambda v: isinstance(v, Layout),
    "MemoryFormat": lambda v: isinstance(v, MemoryFormat),
    "Generator": lambda v: isinstance(v, Generator),
    "Any": lambda v: True,
    "Storage": lambda v: isinstance(v, (TypedStorage, UntypedStorage)),
    "Dimname": lambda v: isinstance(v, str),
}
# the same for PyTorch's dispatcher, to which tensors and NumPy's arrays are no numbers
_DISPATCHED = _CHECKS | {
    "Scalar": lambda v: isinstance(v, (int, float, complex, np.number)) or v.__class__ in SYMBOLIC,
    "int": lambda v: isinstance(v, (int, np.integer, SymInt)) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, (int, float, np.number)) and not isinstance(v, bool) or v.__class__ in SYMBOLIC,
    "bool": lambda v: isinstance(v, (bool, np.bool_, SymBool)),
    "ScalarType": lambda v: isinstance(v, dt.dtype),
    "Device": lambda v: isinstance(v, (Device, str)),
    "Dimname": lambda v: False,
}
_DISPATCHED |= {"Sym" + base: _DISPATCHED[base.lower()] for base in ("Int", "Bool")}


def fits(arg, v, numbers=False):
    """Whether PyTorch's dispatcher takes `v` for an argument. numbers: accept a number for a tensor."""
    if v is None and arg.optional:
        return True
    if not arg.list:
        return numbers and arg.base == "Tensor" and _is_python_number(v) or _is_dispatched(arg.base, v)
    if isinstance(v, (list, tuple)):
        return all(_is_dispatched(arg.base, e) for e in v)
    return arg.N is not None and _is_dispatched(arg.base, v)


def _is_dispatched(base, v):
    if base[-1] == "?":
        return v is None or _is_dispatched(base[:-1], v)
    check = _DISPATCHED.get(base)
    return check is None or check(v)


def accepts(arg, v):
    """Whether PyTorch's Python functions take `v` for an argument."""
    if v is None:
        return arg.optional or arg.base == "Any"
    if arg.list:
        base = arg.base.rstrip("?")
        check, none_ok = _is_int if base == "int" else _CHECKS[base], arg.base.endswith("?")
        if base == "int" and begins_with_bool(v):
            return False
        if isinstance(v, (tuple, list, Size)):
            if base == "float" and v and _is_tensor(v[0]):  # at later positions PyTorch takes tensors of one element
                return False
            return all((none_ok and e is None) or check(e) for e in v)
        return arg.N is not None and check(v) or base == "Tensor" and _is_tensor(v) and v._shape != ()
    return _CHECKS[arg.base](v)


def begins_with_bool(v):
    """Whether `v` is a bool or a sequence that begins with one.

    PyTorch accepts a bool for an int at every position but the first.
    """
    return (v[0] if isinstance(v, (tuple, list)) and v else v).__class__ is bool


# names of types in error messages, also of types that combine several
_SPOKEN = {
    "Any": "object",
    "Device": "torch.device",
    "Generator": "torch.Generator",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format",
    "Scalar": "Number",
    "ScalarType": "torch.dtype",
    "Storage": "torch.Storage",
    "SymInt": "int",
    "Tensor|Scalar": "Tensor",
}


def spoken(arg):
    """Return an argument's type as PyTorch's error messages write it."""
    base = arg.base.rstrip("?")
    if not arg.list:
        return _SPOKEN.get(base, base)
    return f"tuple of {'int' if base == 'SymInt' else base}s"


def type_error(fn_name, args, values, offset=1, named=()):
    """Return PyTorch's TypeError for the first value of a wrong type, or None.

    named: the arguments that the call gave by name, of which the error does not tell the position.
    """
    for i, (arg, v) in enumerate(zip(args, values)):
        if not accepts(arg, v):
            if arg.list and arg.is_tensor and isinstance(v, (tuple, list)):
                wrong = next(k for k, e in enumerate(v) if not _is_tensor(e))
                return TypeError(
                    f"expected Tensor as element {wrong} in argument {i + offset - 1}, but got {type_name(v[wrong])}"
                )
            if arg.list and arg.base == "int" and isinstance(v, (tuple, list)):
                return ints_error(fn_name, arg.name, v, None if arg.name in named else i + offset)
            name = "input" if i == 0 and arg.name == "self" else arg.name
            where = "" if arg.kwarg_only or name in named or arg.keyword in named else f" (position {i + offset})"
            return TypeError(f"{fn_name}(): argument '{name}'{where} must be {spoken(arg)}, not {type_name(v)}")
    return None


def ints_error(function, name, v, position=1):
    """Return PyTorch's TypeError for a value that is not a tuple of ints. position: None where it was given by name."""
    if position is None:
        return TypeError(f"{function}(): argument '{name}' must be tuple of ints, not {type_name(v)}")
    if not isinstance(v, (tuple, list)):
        return TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of ints, not {type_name(v)}"
        )
    k = 0 if begins_with_bool(v) else next((k for k, e in enumerate(v) if not _is_int(e)), 0)
    if k == 0:
        return TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of ints, but found element of type "
            f"{type_name(v[0])} at pos 0"
        )
    return TypeError(
        f"{function}(): argument '{name}' failed to unpack the object at pos {k + 1} with error \"type must be tuple "
        f'of ints,but got {type_name(v[k])}"'
    )


def bind(schema, args, kwargs, method=False):
    """Return the values of a call in schema order, or None where count, names or types do not match the schema.

    A method with a single int-list parameter also accepts its ints one by one.
    """
    positional = [a for a in schema.arguments if not a.kwarg_only]
    if len(args) > len(positional):
        last = positional[-1] if positional else None
        starred = method and len(positional) == 2 and last.list and last.base == "int" and last.required
        if not (starred and not last.optional and all(_is_int(a) for a in args[1:])):
            return None
        args = (args[0], tuple(args[1:]))
    out, used = [], 0
    for i, a in enumerate(schema.arguments):
        if i < len(args) and not a.kwarg_only:
            v = args[i]
            if a.name in kwargs:
                return None
        else:
            names = (a.name, *(("input",) if i == 0 and a.name == "self" else ()), *NUMPY_NAMES.get(a.name, ()))
            key = next((n for n in names if n in kwargs), None)
            if key is None:
                if a.required:
                    return None
                out.append(a.default)
                continue
            v, used = kwargs[key], used + 1
        if (
            not accepts(a, v)
            and not (v is None and not a.required and (a.default is None or a.default == ()))
            and not (a.list and a.base == "int" and _is_int(v))
        ):
            return None
        out.append(v)
    return out if used == len(kwargs) else None


NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "other": ("x2",), "self": ("x", "a", "x1")}
