"""PyTorch's signature strings: parsing, binding of calls, and checks of arguments."""

import functools
import re

import numpy as np

from . import dtypes as dt
from .device import Size, contiguous_format, preserve_format, strided
from .device import device as Device
from .device import layout as Layout
from .device import memory_format as MemoryFormat
from .signatures import SPOKEN
from .storage import UntypedStorage
from .tensor import Tensor, type_name
from .typed_storage import TypedStorage

_CONSTANTS = {
    "None": None,
    "True": True,
    "False": False,
    "contiguous_format": contiguous_format,
    "preserve_format": preserve_format,
    # PyTorch's Python functions read Mean as 0, which is no reduction
    "strided": strided,
    "Mean": 0,
    "long": dt.int64,
    "float": dt.float32,
    "inf": float("inf"),
}


class Arg:
    __slots__ = (
        "is_tensor",
        "keyword",
        "name",
        "type",
        "base",
        "optional",
        "list",
        "length",
        "default",
        "required",
        "kwonly",
    )

    def __init__(self, text, kwonly):
        decl, eq, default = text.partition("=")
        type_, name = decl.strip().rsplit(" ", 1)
        type_ = re.sub(r"\([^)]*\)", "", type_).strip()
        self.name, self.type, self.kwonly = name, type_, kwonly
        self.optional = type_.endswith("?")
        base = type_.rstrip("?")
        m = re.match(r"^(.*)\[(\d*)\]$", base)
        self.list, self.length = m is not None, int(m.group(2)) if m and m.group(2) else None
        self.base = m.group(1) if m else base
        self.required = not eq
        self.default = _literal(default.strip()) if eq else None
        self.is_tensor = self.base.rstrip("?").startswith("Tensor")
        # PyTorch's names of these arguments are keywords of Python
        self.keyword = name + "_" * (name in ("from", "lambda"))


def strip_default(arg, v):
    """Whether the value equals the argument's default, so that it may be left out."""
    d = arg.default
    return not arg.required and (v is d or v.__class__ is d.__class__ and v == d)


_argument = functools.cache(Arg)  # most arguments occur in many schemas


def _literal(text):
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.startswith("["):
        return tuple(_literal(t.strip()) for t in text[1:-1].split(",") if t.strip())
    if text[0] in "\"'":
        return text[1:-1]
    return float(text) if re.search(r"[.e]", text) else int(text)


_ALIAS = re.compile(r"\([a-z]!?\)")
_SCHEMA = re.compile(r"\s*([\w.]+)\((.*)\)\s*->\s*(.*\S)\s*$", re.S)
_COMMA = re.compile(r",\s*(?![^\[(]*[\])])")  # outside brackets


class Schema:
    """A parsed signature string: name, overload, args and result names. What only calls need is parsed on first use."""

    def __init__(self, text):
        m = _SCHEMA.match(text)
        if m is None:
            raise ValueError(f"not a schema: {text}")
        self.text, (full, self._args, returns) = text, m.groups()
        self.namespace, self.name, self.overload = _split_name(full)
        self.returns = _ALIAS.sub("", returns).strip() if "(" in returns else returns
        self.aliases = self.returns != returns  # the results are views of an argument
        self.several = "[]" in self.returns or self.returns.startswith("(")

    @functools.cached_property
    def args(self):
        parts = [part for part in _COMMA.split(" ".join(self._args.split())) if part]
        star = parts.index("*") if "*" in parts else len(parts)
        return [_argument(part, i > star) for i, part in enumerate(parts) if i != star]

    @functools.cached_property
    def result_names(self):
        parts = [p.split() for p in self.returns.strip("()").split(",")] if self.returns.startswith("(") else []
        return [p[1] for p in parts if len(p) > 1]

    @functools.cached_property
    def tensor_args(self):
        return [i for i, a in enumerate(self.args) if a.is_tensor]


_NAMESPACES = (
    "aten",
    "nn.functional",
    "linalg",
    "special",
    "fft",
    "signal.windows",
    "nested",
    "masked",
    "Tensor",
    "_C._nn",
    "_C._sparse",
    "_C",
)


def _split_name(full):
    """Split a full name into namespace, name and overload."""
    ns = next((ns for ns in _NAMESPACES if full.startswith(ns + ".")), None) if "." in full else None
    name, _, overload = (full if ns is None else full[len(ns) + 1 :]).partition(".")
    return ns or "torch", name, overload


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


def _is_number(v):
    if isinstance(v, (bool, int, float, complex)):
        return True
    return isinstance(v, np.generic) and v.dtype.kind in "biufc" or _is_scalar_tensor(v)


_CHECKS = {
    "Tensor": _is_tensor,
    "Scalar": _is_number,
    "Tensor|Scalar": lambda v: _is_tensor(v) or _is_number(v),
    "int": is_int,
    "float": lambda v: _is_number(v) and not isinstance(v, complex) and not getattr(v, "requires_grad", False),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "ScalarType": lambda v: isinstance(v, (dt.dtype, type)),
    "Device": lambda v: isinstance(v, (Device, str, int)),
    "Layout": lambda v: isinstance(v, Layout),
    "MemoryFormat": lambda v: isinstance(v, MemoryFormat),
    "Generator": lambda v: type(v).__name__ == "Generator",
    "Any": lambda v: True,
    "Storage": lambda v: isinstance(v, (TypedStorage, UntypedStorage)),
    "Dimname": lambda v: isinstance(v, str),
}
# names of types in error messages, also of types that combine several
_SPOKEN = SPOKEN | {"Any": "object", "Tensor|Scalar": "Tensor"}


def accepts(arg, v):
    """Whether v fits the declared type."""
    if v is None:
        return arg.optional or arg.base == "Any"
    if arg.list:
        base = arg.base.rstrip("?")
        check, none_ok = _is_int if base == "int" else _CHECKS[base], arg.base.endswith("?")
        if base == "int" and begins_with_bool(v):
            return False
        if isinstance(v, (tuple, list, Size)):
            return all((none_ok and e is None) or check(e) for e in v)
        return arg.length is not None and check(v) or base == "Tensor" and _is_tensor(v) and v._shape != ()
    return _CHECKS[arg.base](v)


def begins_with_bool(v):
    """Whether `v` is a bool or a sequence that begins with one.

    PyTorch accepts a bool for an int at every position but the first.
    """
    return (v[0] if isinstance(v, (tuple, list)) and v else v).__class__ is bool


def spoken(arg):
    base = _SPOKEN.get(arg.base.rstrip("?"), arg.base.rstrip("?"))
    return f"tuple of {base}s" if arg.list else base


def spoken_signature(args, method):
    """Return the parameters of a schema as PyTorch's error messages list them."""
    found = []
    for i, a in enumerate(args[method:]):
        if a.kwonly and "*" not in found:
            found.append("*")
        found.append(
            f"{spoken(a)} {'input' if not method and i == 0 and a.name == 'self' else a.name}"
            + ("" if a.required else f" = {a.default}")
        )
    return found


def type_error(fn_name, args, values, offset=1):
    """Return PyTorch's TypeError for the first value of a wrong type, or None."""
    for i, (arg, v) in enumerate(zip(args, values)):
        if not accepts(arg, v):
            if arg.list and arg.is_tensor and isinstance(v, (tuple, list)):
                wrong = next(k for k, e in enumerate(v) if not _is_tensor(e))
                return TypeError(
                    f"expected Tensor as element {wrong} in argument {i + offset - 1}, but got {type_name(v[wrong])}"
                )
            if arg.list and arg.base == "int" and isinstance(v, (tuple, list)):
                return ints_error(fn_name, arg.name, v, i + offset)
            name = "input" if i == 0 and arg.name == "self" else arg.name
            where = "" if arg.kwonly else f" (position {i + offset})"
            return TypeError(f"{fn_name}(): argument '{name}'{where} must be {spoken(arg)}, not {type_name(v)}")
    return None


def ints_error(function, name, v, position=1):
    """Return PyTorch's TypeError for a value that is not a tuple of ints."""
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
    positional = [a for a in schema.args if not a.kwonly]
    if len(args) > len(positional):
        last = positional[-1] if positional else None
        starred = method and len(positional) == 2 and last.list and last.base == "int" and last.required
        if not (starred and not last.optional and all(_is_int(a) for a in args[1:])):
            return None
        args = (args[0], tuple(args[1:]))
    out, used = [], 0
    for i, a in enumerate(schema.args):
        if i < len(args) and not a.kwonly:
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
