"""Arguments of a call: conversions to what the schema says, and PyTorch's errors for what does not fit."""

import math

import numpy as np

from .. import dtypes as dt
from ..schema import NUMPY_NAMES, accepts, ints_error, spoken, type_error, type_name
from ..tensor import Tensor, numel
from .state import NUMBERS_OR_NONE, direct


class _Required:
    def __repr__(self):
        return "<required>"


REQUIRED = _Required()


def fail(e, o, values, name, is_method_):
    """After an error: PyTorch's message, where it was for want of memory, or an argument was missing or of the wrong type; else the error as it is."""
    if isinstance(e, MemoryError) or isinstance(e, RuntimeError) and str(e).startswith("Allocate memory failed"):
        raise out_of_memory(e, o, values) from None
    if isinstance(e, ValueError) and str(e).startswith(("array is too big", "Maximum allowed dimension")):
        sizes = next((list(v) for a, v in zip(o.schema.args, values) if a.list and a.base == "int"), "")
        raise RuntimeError(f"Storage size calculation overflowed with sizes={sizes}") from None
    if not isinstance(e, (TypeError, AttributeError)) or isinstance(e, TypeError) and "(): argument '" in str(e):
        return
    missing(o, values, name)
    args = o.schema.args
    err = type_error(name, args[1:] if is_method_ else args, values[1:] if is_method_ else values)
    if err is not None:
        raise err from None


def out_of_memory(e, o, values):
    """PyTorch's error for memory that is not there."""
    if isinstance(e, MemoryError):
        n = math.prod(getattr(e, "shape", ())) * getattr(getattr(e, "dtype", None), "itemsize", 1)
    else:
        result = o.meta(*values) if o.meta is not None else None
        n = 0 if result is None else sum(math.prod(r[0]) * r[1].itemsize for r in (result if result.__class__ is list else [result]))
    return RuntimeError(
        f"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate {n} bytes. "
        "Error code 12 (Cannot allocate memory)"
    )


def missing(o, values, name):
    """PyTorch's TypeError for arguments that were not given."""
    absent = [a.keyword if i or a.name != "self" else "input" for i, (a, v) in enumerate(zip(o.schema.args, values)) if v is REQUIRED]
    if absent:
        absent_names = ", ".join(f'"{n}"' for n in absent)
        raise TypeError(f"{name}() missing {len(absent)} required positional argument{'s' * (len(absent) == 1)}: {absent_names}") from None


def check_tensors(op, values, name, is_method_):
    """PyTorch's TypeError for what is not a tensor where one must be, or is not there."""
    missing(op, values, name)
    for i in op.tensor_args:
        a = op.schema.args[i]
        if not accepts(a, values[i]):
            raise type_error(name, (a,), (values[i],), i + 1 - is_method_)


def varargs(star, given, name, o, function):
    """The ints of f(2, 3), f((2, 3)) and f(size=(2, 3)); function: the name that the caller knows it by."""
    if o.schema.tensor_args and name == o.schema.args[o.schema.tensor_args[0]].name:  # or the tensors of f(x, y) and f([x, y])
        return given if given is not REQUIRED else star[0] if len(star) == 1 and isinstance(star[0], (tuple, list)) else star
    if given is REQUIRED:
        if not star:
            raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
        one = len(star) == 1 and (star[0].__class__ in (tuple, list) or isinstance(star[0], (tuple, list)) or isinstance(star[0], Tensor) and star[0]._shape)
        given = star[0] if one or len(star) == 1 else star
    try:
        return as_ints(given)
    except TypeError:
        raise ints_error(function, name, given) from None


def direct_list(ts):
    if ts.__class__ is not list and ts.__class__ is not tuple:
        return False
    for t in ts:
        if t.__class__ not in direct and t is not None:
            return False
    return True


def with_numpy_names(public, o, names, values, given, out=None):
    """Call again with NumPy's names (axis, keepdims, x1, x2) as PyTorch's. names: PyTorch's for the values."""
    kw = {} if out is None else {"out": out}
    for name, a in zip(names, o.schema.args):
        for alt in NUMPY_NAMES.get(a.name, ()):
            if alt in given:
                kw[name] = given.pop(alt)
    if given:
        raise TypeError(f"{o.name}() got an unexpected keyword argument '{next(iter(given))}'")
    pos = []
    for i, (name, a, v) in enumerate(zip(names, o.schema.args, values)):
        if name in kw or v is REQUIRED:
            continue
        if a.kwonly or len(pos) < i:
            kw[name] = v
        else:
            pos.append(v)
    return public(*pos, **kw)


def as_int(v):
    if isinstance(v, Tensor):
        return int(v.item()) if v.dtype.category <= dt.INT and numel(v._shape) == 1 else v.__index__()
    if v.__class__ is bool:
        return int(v)
    try:
        return v.__index__()
    except AttributeError:
        raise TypeError(f"'{type(v).__name__}' object cannot be interpreted as an integer") from None


def as_ints(v, length=None):
    c = v.__class__
    if c is tuple or c is list or isinstance(v, (tuple, list)):
        for i in v:
            if i.__class__ is not int:
                return tuple([as_int(i) for i in v])
        return tuple(v)
    if isinstance(v, Tensor) and v._shape:
        return tuple(v.tolist())
    if c is range:
        return tuple(v)
    n = as_int(v)
    return (n,) * (length or 1)


def as_scalar(v):
    if isinstance(v, Tensor):
        return v.item()
    if isinstance(v, (int, float, complex, np.generic)):
        return python_number(v)
    raise TypeError(f"must be Number, not {type_name(v)}")


def python_number(v):
    """A number of Python's own class, where NumPy's or a subclass stands for it."""
    if v is None or isinstance(v, Tensor) or v.__class__ in NUMBERS_OR_NONE:
        return v
    for c in (int, float, complex):
        if isinstance(v, c):
            return c(v)
    return int(v) if isinstance(v, np.integer) else float(v)  # so PyTorch reads NumPy's bool and small complex numbers


def as_float(v):
    if isinstance(v, Tensor):
        return float(v.item())
    if isinstance(v, (str, bytes)):
        raise TypeError(f"must be float, not {type(v).__name__}")
    return float(v) if not isinstance(v, complex) else v


def no_overload(name, ops, args, kwargs, kind):
    if len(args) == 1 + (kind in ("method", "inplace")) or not kwargs:
        best = None
        for o in ops:
            if len(args) <= len(o.schema.args):
                skip = 1 if kind in ("method", "inplace") else 0
                best = best or type_error(name, o.schema.args[skip:], args[skip:])
        if best is not None and len(ops) < 2:
            return best
    got = ", ".join([kind_of(a) for a in args] + [f"{k}={kind_of(v)}" for k, v in kwargs.items()])
    lines = "".join(f"\n * ({', '.join(f'{spoken(a)} {a.name}' for a in o.schema.args)})" for o in ops)
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:{lines}\n")


def kind_of(v):
    return type(v).__name__ if not isinstance(v, (tuple, list)) else f"{type(v).__name__} of ({', '.join(map(kind_of, v))})"
