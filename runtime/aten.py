"""Schemas of PyTorch's ATen operators, and matching of calls to them.

The schemas are read from aten.txt, which tools/aten_schemas.py writes.
"""

import functools
import os
import re

import numpy as np

from . import dtypes as dt
from .device import device as Device
from .device import layout as Layout
from .device import memory_format as MemoryFormat
from .generator import Generator
from .tensor import Tensor

_TAGS = {
    "c": "core",
    "p": "pointwise",
    "r": "reduction",
    "v": "view_copy",
    "i": "inplace_view",
    "n": "nondeterministic_seeded",
}
_TAGS |= {"d": "dynamic_output_shape", "D": "data_dependent_output"}


class AliasInfo:
    """Alias annotation of an argument or a result: its alias sets, and whether the memory is written to."""

    def __init__(self, text):
        before, _, after = text.partition("->")
        self.is_write = "!" in before
        self.before_set = {s.strip(" !") for s in before.split("|")}
        self.after_set = {s.strip(" !") for s in after.split("|")} if after else self.before_set

    def __eq__(self, other):
        return isinstance(other, AliasInfo) and vars(self) == vars(other)

    __hash__ = None


class Argument:
    """One argument or result of a schema.

    `declared` is the type as the schema writes it ("Tensor?"), `type` as TorchScript does ("Optional[Tensor]").
    """

    def __init__(self, declared, name, default, kwarg_only, alias):
        self.declared, self.name, self.kwarg_only, self.alias_info = declared, name, kwarg_only, alias
        self.default_text = default
        self.default_value = None if default is None else _value(default, declared)
        self.type = self.real_type = _type(declared)
        self.N = int(m.group(1)) if (m := re.search(r"\[(\d+)\]", declared)) else None

    def has_default_value(self):
        return self.default_text is not None

    def means_another(self, v):
        """Whether `v`, the caller's own default for an int argument, differs from this schema's default."""
        return v.__class__ is int and self.default_value.__class__ is int and v != self.default_value

    def is_default(self, v):
        """Whether a value equals the argument's default in value and type; PyTorch's dispatcher omits such values."""
        d = self.default_value
        return self.default_text is not None and (
            v is d or v.__class__ is d.__class__ and v.__class__ in _PLAIN and v == d
        )

    def spelled(self, v):
        """Convert a value to the form in which PyTorch's dispatcher passes it on: sequences become lists."""
        if self.declared == "Device?" and v.__class__ in (str, int):
            return Device(v)
        if self.declared.rstrip("?").endswith("]"):
            return list(v) if isinstance(v, (tuple, list)) else v if v is None else [v]
        return v

    @property
    def is_out(self):
        return self.kwarg_only and self.is_write

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def optional(self):
        return self.declared.endswith("?")

    def __repr__(self):
        return f"{self.declared} {self.name}"


_PLAIN = (bool, int, float, str, list)
_SCALARS = {
    "SymInt": "int",
    "Scalar": "number",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
    "SymBool": "bool",
}


class _Type(str):
    """A type's name, with the methods of TorchScript's type objects."""

    __slots__ = ()

    def kind(self):
        head = self.partition("[")[0]
        return {
            "Optional": "OptionalType",
            "List": "ListType",
            "Tensor": "TensorType",
            "number": "NumberType",
            "str": "StringType",
        }.get(head, head.capitalize() + "Type")

    @property
    def annotation_str(self):
        return str(self)

    def getElementType(self):
        return _Type(self[self.index("[") + 1 : -1])

    def containedTypes(self):
        return [self.getElementType()] if self.endswith("]") else []

    def is_refined(self):
        return False

    def isSubtypeOf(self, other):
        return str(other) in (self, "Optional[" + self + "]", "Any")


def _type(declared):
    t = declared
    if t.endswith("?"):
        return _Type(f"Optional[{_type(t[:-1])}]")
    if t.endswith("]"):
        return _Type(f"List[{_type(t[: t.rindex('[')])}]")
    return _Type(_SCALARS.get(t, t))


_WORDS = {
    "None": None,
    "True": True,
    "False": False,
    "contiguous_format": 0,
    "strided": 0,
    "Mean": 1,
    "Sum": 2,
    "inf": float("inf"),
}


def _value(text, declared):
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] == "[":
        element = declared.partition("[")[0]
        return [_value(v.strip(), element) for v in text[1:-1].split(",") if v.strip()]
    if text[:1] in "'\"":
        return text[1:-1]
    try:
        value = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        return text
    if declared.startswith("float"):
        return float(value)
    n = re.search(r"\[(\d+)\]", declared)
    return [value] * int(n.group(1)) if n else value


def _split(text):
    """Split text at the commas that are outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()] if text.strip() else parts


_PART = re.compile(
    r"(?P<type>[\w.]+(?:\([^()]*\))?)(?:\((?P<alias>[^()]*)\))?(?P<rest>[\[\]\d?]*)(?:\s+(?P<name>\w+))?(?:=(?P<default>.*))?$",
    re.DOTALL,
)


def _argument(text, kwarg_only):
    text = re.sub(r"^(\w+)!", r"\1($!)", text)  # "Tensor!": written to, without a named alias set
    base = re.match(r"\w+", text)
    alias = re.match(r"\w+(?:\[\d*\]\??)?\(([^()]*)\)", text) if base and base.group() != "Dict" else None
    m = _PART.match(re.sub(r"\([a-z$!| >*-]*\)", "", text, count=1) if alias else text)
    if m is None:
        raise RuntimeError(f"{text!r} is no argument of a schema")
    return Argument(
        m["type"] + m["rest"], m["name"] or "", m["default"], kwarg_only, AliasInfo(alias.group(1)) if alias else None
    )


class FunctionSchema:
    """A parsed schema: ``name.overload(arguments) -> results``."""

    def __init__(self, text, flags="", namespace="aten"):
        head, _, rest = text.partition("(")
        name, _, self.overload_name = head.strip().partition(".")
        self.name = name if "::" in name else f"{namespace}::{name}"
        arrow = rest.rindex(")", 0, rest.rindex("->"))
        arguments, returns = rest[:arrow], rest[rest.rindex("->") + 2 :].strip()
        if not returns or returns.count("(") != returns.count(")"):  # an alias's arrow "(a -> *)"
            cut = re.search(r"\)\s*->\s*(.*)$", rest)
            arguments, returns = rest[: cut.start()], cut.group(1)
        self.arguments, starred = [], False
        for part in _split(arguments):
            if part == "*":
                starred = True
            else:
                self.arguments.append(_argument(part, starred))
        returned = returns[1:-1] if returns[:1] == "(" else returns
        self.returns = [_argument(part, False) for part in _split(returned)]
        self.implicit, self.numbers, self.generated = "I" in flags, "N" in flags, "G" in flags
        self.tags = frozenset(_TAGS[f] for f in flags if f in _TAGS)
        self._text = f"{self.name}{'.' + self.overload_name if self.overload_name else ''}({arguments}) -> {returns}"
        self.by_name = {a.name: a for a in self.arguments}
        self.positional = [a for a in self.arguments if not a.kwarg_only]
        self.outs = [a for a in self.arguments if a.is_out]

    @property
    def full_name(self):
        """namespace::name.overload"""
        return self.name + ("." + self.overload_name if self.overload_name else "")

    @property
    def is_mutable(self):
        return any(a.is_write for a in self.arguments)

    @property
    def is_vararg(self):
        return False

    is_varret = is_vararg

    def __str__(self):
        return self._text

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and self._text == other._text

    def __hash__(self):
        return hash(self._text)

    def given(self, values):
        """Return (args, kwargs) as PyTorch's dispatcher passes them on for {argument: value}.

        Return None where the values do not match the schema.
        """
        if not values.keys() <= self.by_name.keys():
            return None
        for a in self.arguments:
            if a.name in values:
                if not fits(a, values[a.name], self.numbers):
                    return None
            elif a.default_text is None:
                return None
        args = [a.spelled(values[a.name]) if a.name in values else a.default_value for a in self.positional]
        while args and self.positional[len(args) - 1].is_default(args[-1]):
            args.pop()
        named = {a.name: a.spelled(values[a.name]) for a in self.arguments if a.kwarg_only and a.name in values}
        return tuple(args), {k: v for k, v in named.items() if not self.by_name[k].is_default(v)}

    def bound(self, args, kwargs):
        """Return {argument: value} of the arguments given in a call, or None where their names do not match."""
        if len(args) > len(self.positional):
            return None
        values = {a.name: v for a, v in zip(self.positional, args)}
        if kwargs.keys() & values.keys() or not kwargs.keys() <= self.by_name.keys():
            return None
        values.update(kwargs)
        return values

    def misfit(self, args, kwargs):
        """Return PyTorch's error message for a call with too many, unknown or missing arguments, else None."""
        most, given = len(self.arguments), len(args) + len(kwargs)
        if given > most:
            return (
                f"{self.name}() expected at most {most} argument(s) but received {given} argument(s). Declaration: "
                f"{self}"
            )
        for name in kwargs:
            if name not in self.by_name:
                return f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}"
        for a in self.arguments[len(args) :]:
            if a.default_text is None and a.name not in kwargs:
                return f"{self.name}() is missing value for argument '{a.name}'. Declaration: {self}"
        return None

    def accepts(self, args, kwargs):
        """Whether the arguments of a call match this schema."""
        values = self.bound(args, kwargs)
        return values is not None and all(
            fits(a, values[a.name], self.numbers) if a.name in values else a.default_text is not None
            for a in self.arguments
        )


_MISSING = object()


def _is_int(v):
    return isinstance(v, (int, np.integer)) and not isinstance(v, bool)


_FITS = {
    "Tensor": lambda v: isinstance(v, Tensor),
    "Scalar": lambda v: isinstance(v, (int, float, complex, np.number)),
    "int": _is_int,
    "SymInt": _is_int,
    "float": lambda v: isinstance(v, (int, float, np.number)) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, (bool, np.bool_)),
    "SymBool": lambda v: isinstance(v, (bool, np.bool_)),
    "str": lambda v: isinstance(v, str),
    "ScalarType": lambda v: isinstance(v, dt.dtype),
    "Device": lambda v: isinstance(v, (Device, str)),
    "Layout": lambda v: isinstance(v, Layout),
    "MemoryFormat": lambda v: isinstance(v, MemoryFormat),
    "Generator": lambda v: isinstance(v, Generator),
    "Dimname": lambda v: False,
}


def fits(a, v, numbers=False):
    """Whether a value may be passed for an argument. numbers: accept a number for a tensor."""
    return _fits(a.declared, v, numbers)


def _fits(declared, v, numbers):
    if declared.endswith("?"):
        return v is None or _fits(declared[:-1], v, numbers)
    if declared.endswith("]"):
        element, n = declared[: declared.rindex("[")], declared[declared.rindex("[") + 1 : -1]
        if isinstance(v, (list, tuple)):
            return all(_fits(element, e, False) for e in v)
        return bool(n) and _fits(element, v, False)
    if numbers and declared == "Tensor" and isinstance(v, (int, float, complex)):
        return True
    check = _FITS.get(declared)
    return check is None or check(v)


@functools.cache
def _lines():
    found = {}
    with open(os.path.join(os.path.dirname(__file__), "aten.txt"), encoding="ascii") as f:
        for line in f:
            flags, text = line.rstrip("\n").split("\t")
            found.setdefault(text[: min(text.index("("), text.find(".") % 10**6)], []).append((text, flags))
    return found


@functools.cache
def schemas(name):
    """Return PyTorch's overloads of an operator in PyTorch's order; empty where it has no such operator."""
    return tuple(FunctionSchema(text, flags) for text, flags in _lines().get(name, ()))


def names():
    """Return the names of PyTorch's operators."""
    return _lines().keys()
