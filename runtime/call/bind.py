"""Binding of arguments: conversions to what the schema declares, and PyTorch's errors for what does not fit."""

import math
import sys

import numpy as np

from ...tracebacks import shorten
from .. import dtypes as dt
from ..arguments import NUMPY_NAMES, accepts, begins_with_bool, ints_error, is_int, type_error
from ..classes import NUMBERS_OR_NONE, direct
from ..schema import Argument
from ..signatures import mismatch, parameters, signatures
from ..storage import not_allocated
from ..symbolic import SYMBOLIC, SymFloat, SymInt
from ..tensor import Tensor, numel, too_large, type_name
from ..warn import warn_once
from .geometry import broadcast_shapes
from .keywords import keywords_of_call
from .tracing import NUMBERS as TRACED


class _Required:
    def __repr__(self):
        return "<required>"


REQUIRED = _Required()


def fail(e, o, values, name, is_method_):
    """Raise PyTorch's error instead of `e` if memory ran out or an argument was missing or of the wrong type.

    Otherwise the caller raises `e` again, from whose traceback our frames are removed.
    """
    shorten(e)
    overflow(o, values, name)
    no_memory(e, o, values)
    if not isinstance(e, (TypeError, AttributeError)) or isinstance(e, TypeError) and "(): argument '" in str(e):
        return
    missing(o, values, name, is_method_)
    args, named = o.schema.arguments, keywords_of_call(sys._getframe(2))
    err = type_error(
        spelled(o, name), args[1:] if is_method_ else args, values[1:] if is_method_ else values, named=named
    )
    if err is not None:
        raise unfit(o, values, name, is_method_) or err from None


def overflow(o, values, name):
    """Raise PyTorch's error for an int that does not fit into 64 bits."""
    for a, v in zip(o.schema.arguments, values):
        if a.base != "int":
            continue
        for k, n in enumerate(v if isinstance(v, (tuple, list)) else (v,)):
            if n.__class__ is int and not -(2**63) <= n < 2**63:
                if a.list and v is not n:  # PyTorch unpacks a single int as it does for an argument that is one
                    where = f"{name}(): argument '{a.name}' failed to unpack the object at pos {k + 1} with error"
                    raise TypeError(f'{where} "Overflow when unpacking long long"') from None
                raise ValueError("Overflow when unpacking long long") from None


def spelled(o, name):
    """Return a function's name as PyTorch's messages write it."""
    return f"{o.namespace}_{name}" if o.namespace in ("linalg", "fft", "special") else name


def unfit(o, values, name, is_method_, **more):
    """Return PyTorch's error if the arguments fit none of a function's several signatures, else None.

    more: arguments in addition to the schema's.
    """
    args, kwargs = [], {}
    for a, v in list(zip(o.schema.arguments, values))[is_method_:]:
        if v is REQUIRED or not a.required and v is a.default:
            continue
        if (
            a.kwarg_only
            or kwargs
            or len(args) < sum(not b.kwarg_only for b in o.schema.arguments[is_method_ : o.schema.arguments.index(a)])
        ):
            kwargs[a.keyword] = v
        else:
            args.append(v)
    return mismatch(spelled(o, name), is_method_, args, {**kwargs, **more})


def no_memory(e, o, values):
    """Raise PyTorch's error if `e` means that memory ran out or that a size is too large."""
    if isinstance(e, MemoryError) or isinstance(e, RuntimeError) and str(e).startswith("Allocate memory failed"):
        raise out_of_memory(e, o, values) from None
    if isinstance(e, ValueError) and str(e).startswith(("array is too big", "Maximum allowed dimension")):
        sizes = next((v for a, v in zip(o.schema.arguments, values) if a.list and a.base == "int"), None)
        operands = [v._shape for v in values if isinstance(v, Tensor)]
        if sizes is None and (o.promote is not None or len(operands) == 1):
            sizes = broadcast_shapes(*operands)
        raise too_large(sizes or ()) from None


def expect(o, i, value):
    """Raise an error for a value that is not of the class that the i-th argument declares."""
    a = o.schema.arguments[i]
    if not accepts(a, value):
        raise TypeError(f"argument '{a.name}'")  # fail() replaces it by PyTorch's error


def out_of_memory(e, o, values):
    """Return PyTorch's error for an allocation that failed."""
    if isinstance(e, MemoryError):
        n = math.prod(getattr(e, "shape", ())) * getattr(getattr(e, "dtype", None), "itemsize", 1)
    else:
        result = o.meta(*values) if o.meta is not None else None
        n = (
            0
            if result is None
            else sum(math.prod(r[0]) * r[1].itemsize for r in (result if result.__class__ is list else [result]))
        )
    return not_allocated(n)


def missing(o, values, name, is_method_):
    """Raise PyTorch's TypeError if arguments were not given."""
    absent = [
        a.keyword if i or a.name != "self" else "input"
        for i, (a, v) in enumerate(zip(o.schema.arguments, values))
        if v is REQUIRED
    ]
    if absent:
        error = unfit(o, values, name, is_method_)
        if error is not None:
            raise error from None
        absent_names = ", ".join(f'"{n}"' for n in absent)
        raise TypeError(
            f"{spelled(o, name)}() missing {len(absent)} required positional argument{'s' * (len(absent) == 1)}: "
            f"{absent_names}"
        ) from None


def check_tensors(op, values, name, is_method_):
    """Raise PyTorch's TypeError if an argument that must be a tensor is not one, or if one is missing."""
    if is_method_ and values and not isinstance(values[0], Tensor):
        raise TypeError(
            f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{type(values[0]).__name__}' "
            f"object"
        )
    missing(op, values, name, is_method_)
    for i in op.tensor_args:
        a = op.schema.arguments[i]
        if not accepts(a, values[i]):
            raise unfit(op, values, name, is_method_) or type_error(
                spelled(op, name), (a,), (values[i],), i + 1 - is_method_
            )


def varargs(star, given, name, o, function):
    """Return the ints of f(2, 3), f((2, 3)) or f(size=(2, 3)). function: the name for error messages."""
    if (
        o.schema.tensor_args and name == o.schema.arguments[o.schema.tensor_args[0]].name
    ):  # or the tensors of f(x, y) and f([x, y])
        return (
            given
            if given is not REQUIRED
            else star[0]
            if len(star) == 1 and isinstance(star[0], (tuple, list))
            else star
        )
    if given is REQUIRED:
        if not star:
            raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
        one = len(star) == 1 and (
            star[0].__class__ in (tuple, list)
            or isinstance(star[0], (tuple, list))
            or isinstance(star[0], Tensor)
            and star[0]._shape
        )
        given = star[0] if one or len(star) == 1 else star
    try:
        return as_ints(given)
    except TypeError:
        if isinstance(given, tuple) and any(
            isinstance(i, SymInt) for i in given
        ):  # sizes of jagged dimensions, which the class of their tensor handles
            if o.schema.tensor_args:
                return given
            raise RuntimeError("SymIntArrayRef expected to contain only concrete integers") from None
        raise ints_error(function, name, given) from None


def direct_list(ts):
    if ts.__class__ is not list and ts.__class__ is not tuple:
        return False
    for t in ts:
        if t.__class__ not in direct and t is not None:
            return False
    return True


def with_numpy_names(public, o, names, values, given, out=None):
    """Call again with PyTorch's names instead of NumPy's (axis, keepdims, x1, x2).

    names: PyTorch's names for the values.
    """
    kw = {} if out is None else {"out": out}
    for name, a in zip(names, o.schema.arguments):
        for alt in NUMPY_NAMES.get(a.name, ()):
            if alt in given:
                kw[name] = given.pop(alt)
    if given:
        missing(o, [kw.get(name, v) for name, v in zip(names, values)], o.name, names[:1] == ("self",))
        raise TypeError(f"{o.name}() got an unexpected keyword argument '{next(iter(given))}'")
    pos = []
    for i, (name, a, v) in enumerate(zip(names, o.schema.arguments, values)):
        if name in kw or v is REQUIRED:
            continue
        if a.kwarg_only or len(pos) < i:
            kw[name] = v
        else:
            pos.append(v)
    return public(*pos, **kw)


def with_deprecated(public, o, name, is_method_, given, named):
    """Call again for a deprecated order of arguments, in which a number comes before a tensor.

    These are add(x, alpha, y) and addmm(beta, x, alpha, a, b), for example; also add(x, 2, alpha).
    """
    if (
        len(given) == 3
        and o.schema.arguments[-1].name == "alpha"
        and all(accepts(_NUMBER, v) and not isinstance(v, Tensor) for v in given[1:])
    ):
        named["alpha"] = given[2]
        return public(*given[:2], **named)
    for names in _old_orders(o.schema.arguments, is_method_):
        values = dict(zip(names, given))
        if len(names) == len(given) and all(
            isinstance(v, Tensor) == (n not in _FACTORS) or n in _FACTORS and accepts(_NUMBER, v)
            for n, v in values.items()
        ):
            _warn_deprecated(o, name, is_method_, names)
            named.update((n, values.pop(n)) for n in names if n in _FACTORS)
            return public(*values.values(), **named)
    positional = sum(not a.kwarg_only for a in o.schema.arguments) - is_method_
    were = len(given) - is_method_
    raise TypeError(f"{name}() takes {positional} positional argument{'s' * (positional != 1)} but {were} were given")


def _old_orders(args, is_method_):
    """Yield the names of the arguments in the deprecated orders; those of a method begin with self."""
    tensors, factors = [a.name for a in args if not a.kwarg_only], [a.name for a in args if a.kwarg_only]
    if factors[0] != "beta":
        yield [tensors[0], *factors, *tensors[1:]]
        return
    lead = [tensors[0], "beta"] if is_method_ else ["beta", tensors[0]]
    yield [*lead, "alpha", *tensors[1:]]
    yield [*lead, *tensors[1:]]


_FACTORS, _NUMBER = ("alpha", "beta", "value"), Argument("Scalar number", False)


def _warn_deprecated(o, name, is_method_, order):
    old = [
        f"{'Number' if n in _FACTORS else 'Tensor'} {'input' if n == 'self' else n}"
        for n in order
        if not (is_method_ and n == "self")
    ]
    old += [] if is_method_ else ["*", "Tensor out = None"]
    now = (signatures(name, is_method_) or [parameters(o.schema, is_method_)])[0]
    warn_once(
        f"This overload of {name} is deprecated:\n\t{name}({', '.join(old)})\nConsider using one of the following "
        f"signatures instead:\n\t"
        f"{name}({', '.join(now)})",
        "overload",
    )


def as_int(v):
    """Convert a single int: Python's, NumPy's, or a tensor without dimensions."""
    if v.__class__ is SymInt:
        return v
    if not is_int(v):
        raise TypeError(f"must be int, not {type_name(v)}")
    if isinstance(v, Tensor):
        v = v.item()
        if v.__class__ is SymInt:
            return v
    n = v.__index__()
    dt.check_int64(n)
    return n


def as_index(v):
    """Convert an int in a list of ints, where PyTorch accepts everything that Python accepts as an index."""
    if isinstance(v, Tensor):
        n = v.item() if v.dtype.category <= dt.INT and numel(v._shape) == 1 else v.__index__()
        return n if n.__class__ is SymInt else int(n)
    if v.__class__ is SymInt:
        return v
    try:
        return v.__index__()
    except AttributeError:
        raise TypeError(f"'{type(v).__name__}' object cannot be interpreted as an integer") from None


def as_sizes(v):
    """Like as_ints, for an argument that must be a sequence."""
    if v.__class__ is not tuple and v.__class__ is not list and not isinstance(v, (tuple, list)):
        raise TypeError(f"must be tuple of ints, not {type_name(v)}")
    return as_ints(v)


def as_dtype(v):
    """Convert a Python number class that was given as a dtype."""
    if v.__class__ is not type or v not in dt.PYTHON:
        raise TypeError(f"must be torch.dtype, not {type_name(v)}")
    return dt.PYTHON[v]


def as_ints(v, length=None):
    c = v.__class__
    if c is tuple or c is list or isinstance(v, (tuple, list)):
        for i in v:
            if i.__class__ is not int:
                if begins_with_bool(v):
                    raise TypeError("must be tuple of ints, but found element of type bool at pos 0")
                return tuple([as_index(i) for i in v])
        return tuple(v)
    if c is range:
        return tuple(v)
    if c is bool or isinstance(v, (Tensor, np.ndarray)) and v.shape and v.shape != (1,):
        raise TypeError(f"must be tuple of ints, not {type_name(v)}")
    n = as_index(v)
    if length and n.__class__ is int:
        dt.check_int64(n)
    return (n,) * (length or 1)


def as_scalar(v):
    if v.__class__ in TRACED or v.__class__ in SYMBOLIC:
        return v
    if isinstance(v, Tensor) and v._shape == () and not v._requires_grad:
        return v.item()
    if isinstance(v, (int, float, complex, np.generic)):
        return python_number(v)
    raise TypeError(f"must be Number, not {type_name(v)}")


def python_number(v):
    """Convert a NumPy number, or an instance of a subclass, to Python's own class."""
    if v is None or isinstance(v, Tensor) or v.__class__ in NUMBERS_OR_NONE or v.__class__ in TRACED:
        return v
    for c in (int, float, complex):
        if isinstance(v, c):
            return c(v)
    return int(v) if isinstance(v, np.integer) else float(v)  # as PyTorch reads NumPy's bool and small complex numbers


def as_float(v):
    if v.__class__ in TRACED:
        return v
    if v.__class__ in SYMBOLIC:
        return v.__sym_float__()
    if isinstance(v, Tensor) and v._shape == () and not v._requires_grad:
        n = v.item()
        return n if n.__class__ is SymFloat else float(n)
    if isinstance(v, (str, bytes, complex, Tensor, np.ndarray)):
        raise TypeError(f"must be float, not {type_name(v)}")
    return float(v)


def no_overload(name, ops, args, kwargs, kind):
    """Return PyTorch's TypeError for arguments that fit no schema of a name."""
    method = kind in ("method", "inplace")
    error = mismatch(spelled(ops[0], name), method, args[method:], kwargs, [parameters(o.schema, method) for o in ops])
    if error is None:
        given = [o for o in ops if len(args) <= len(o.schema.arguments)] or ops
        error = next(
            (
                e
                for o in given
                if (e := type_error(spelled(o, name), o.schema.arguments[method:], args[method:])) is not None
            ),
            None,
        )
    return error or TypeError(f"{name}() received an invalid combination of arguments")
