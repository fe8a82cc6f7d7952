"""Schemas, the signature strings of operators: those of our declarations, of ATen (aten.py) and of torch.library.

What only calls need of a schema is parsed on first use.
"""

import ast
import functools
import re

from . import dtypes as dt
from .arguments import fits
from .device import contiguous_format, preserve_format, strided
from .device import device as Device

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


# how a schema writes some defaults -> (what Python functions have for it, what TorchScript has)
_CONSTANTS = {
    "contiguous_format": (contiguous_format, 0),
    "preserve_format": (preserve_format, 1),
    "strided": (strided, 0),
    "Mean": (0, 1),  # PyTorch's Python functions read it as 0, which is no reduction
    "long": (dt.int64, 4),
    "float": (dt.float32, 6),
    "inf": (float("inf"),) * 2,
}
_ARGUMENT = re.compile(
    r"(?P<base>Dict\([^()]*\)|[\w.|]+)(?P<kind>[\[\]\d?]*)(?:\((?P<alias>[^()]*)\)|(?P<written>!))?"
    r"(?P<rest>[\[\]\d?]*)(?:\s+(?P<name>\w+))?\s*(?:=\s*(?P<default>.*))?$",
    re.DOTALL,
)


class Argument:
    """One argument or result of a schema.

    `declared` is the type as the schema writes it ("int[2]?"), of which `base` ("int"), `list`, `N` and `optional` are
    the parts; `type` is what TorchScript calls it ("Optional[List[int]]").
    """

    def __init__(self, text, kwarg_only):
        m = _ARGUMENT.match(text)
        if m is None:
            raise RuntimeError(f"{text!r} is no argument of a schema")
        self.name, self.default_text, self.kwarg_only = m["name"] or "", m["default"], kwarg_only
        self.declared = m["base"] + m["kind"] + m["rest"]
        alias = "$!" if m["written"] else m["alias"]  # "Tensor!" is written to, without a named alias set
        self.alias_info = None if alias is None else AliasInfo(alias)
        self.optional, self.required = self.declared[-1] == "?", self.default_text is None
        self.base, bracket, length = self.declared.removesuffix("?").removesuffix("]").rpartition("[")
        self.list, self.N = bracket == "[", int(length) if bracket and length else None
        self.base = self.base if self.list else length
        self.is_tensor = self.base.startswith("Tensor")
        # PyTorch's names of these arguments are keywords of Python
        self.keyword = self.name + "_" * (self.name in ("from", "lambda"))

    @functools.cached_property
    def default(self):
        """The default of a Python function, in which a sequence is a tuple; None where there is none."""
        if self.required:
            return None
        if self.default_text in _CONSTANTS:
            return _CONSTANTS[self.default_text][0]
        value = ast.literal_eval(self.default_text)
        return tuple(value) if value.__class__ is list else value

    @functools.cached_property
    def default_value(self):
        """The default as TorchScript has it: a list for a sequence, a number for what is an enumeration in C++."""
        if self.default_text in _CONSTANTS:
            return _CONSTANTS[self.default_text][1]
        value = list(self.default) if self.default.__class__ is tuple else self.default
        if self.required or self.optional:
            return value
        if self.list and value.__class__ is not list:
            value = [value] * (self.N or 1)
        if self.base == "float":
            return list(map(float, value)) if self.list else float(value)
        return value

    @functools.cached_property
    def type(self):
        return _type(self.declared)

    @property
    def real_type(self):
        return self.type

    def has_default_value(self):
        return not self.required

    def means_another(self, v):
        """Whether `v`, the caller's own default for an int argument, differs from this schema's default."""
        return v.__class__ is int and self.default_value.__class__ is int and v != self.default_value

    def is_default(self, v):
        """Whether a value equals the argument's default in value and type; PyTorch's dispatcher omits such values."""
        return not self.required and same(v, self.default_value)

    def spelled(self, v):
        """Convert a value to the form in which PyTorch's dispatcher passes it on: sequences become lists."""
        if self.declared == "Device?" and v.__class__ in (str, int):
            return Device(v)
        if self.list:
            return list(v) if isinstance(v, (tuple, list)) else v if v is None else [v] * (self.N or 1)
        return v

    @property
    def is_out(self):
        return self.kwarg_only and self.is_write

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    def __repr__(self):
        return f"{self.declared} {self.name}"


_argument = functools.cache(Argument)  # most arguments occur in many schemas


def same(v, default):
    """Whether a value equals a default in value and type, so that it may be left out."""
    return v is default or v.__class__ is default.__class__ and v == default


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


_SCHEMA = re.compile(r"\s*([\w.:]+)\(((?:.*[^\s,])?)\s*\)\s*->\s*(.*\S)\s*$", re.DOTALL)
# what stands between commas that are outside of brackets and quotes
_PART = re.compile(r"""(?:[^,(\["']|\([^()]*\)|\[[^\[\]]*\]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[(\["'])+""", re.DOTALL)
# of declarations, whose names are those of Python: "linalg.inv"
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


def _parts(text):
    return [part.strip() for part in _PART.findall(text)]


class FunctionSchema:
    """A parsed schema: ``namespace::name.overload(arguments) -> results``.

    namespace: of a name without one. None for the schema of a declaration, whose namespace is Python's.
    """

    def __init__(self, text, flags="", namespace=None):
        m = _SCHEMA.match(text)
        if m is None:
            raise RuntimeError(f"{text!r} is no schema")
        self.text, (full, self._arguments, self._returns) = text, m.groups()
        if "::" in full:
            namespace, _, full = full.partition("::")
        elif namespace is None:
            namespace = next((n for n in _NAMESPACES if full.startswith(n + ".")), None) if "." in full else None
            full, namespace = full[len(namespace) + 1 :] if namespace else full, namespace or "torch"
        name, _, self.overload_name = full.partition(".")
        self.name = f"{namespace}::{name}" if namespace else name
        self.implicit, self.numbers, self.generated = "I" in flags, "N" in flags, "G" in flags
        self.tags = frozenset(_TAGS[f] for f in flags if f in _TAGS)

    @functools.cached_property
    def arguments(self):
        parts = _parts(self._arguments)
        star = parts.index("*") if "*" in parts else len(parts)
        return [_argument(part, i > star) for i, part in enumerate(parts) if i != star]

    @functools.cached_property
    def returns(self):
        packed = self._returns[0] == "("
        return [_argument(part, False) for part in _parts(self._returns[1:-1] if packed else self._returns)]

    @functools.cached_property
    def by_name(self):
        return {a.name: a for a in self.arguments}

    @functools.cached_property
    def positional(self):
        return [a for a in self.arguments if not a.kwarg_only]

    @functools.cached_property
    def outs(self):
        return [a for a in self.arguments if a.is_out]

    @functools.cached_property
    def tensor_args(self):
        return [i for i, a in enumerate(self.arguments) if a.is_tensor]

    @functools.cached_property
    def several(self):
        """Whether a call returns several tensors, or a list of them."""
        return len(self.returns) != 1 or self.returns[0].list

    @functools.cached_property
    def aliases(self):
        """Whether results are views of an argument, or the argument itself."""
        return any(r.alias_info is not None for r in self.returns)

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
        return f"{self.full_name}({self._arguments}) -> {self._returns}"

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

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
            elif a.required:
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
            if a.required and a.name not in kwargs:
                return f"{self.name}() is missing value for argument '{a.name}'. Declaration: {self}"
        return None

    def accepts(self, args, kwargs):
        """Whether the arguments of a call match this schema."""
        values = self.bound(args, kwargs)
        return values is not None and all(
            fits(a, values[a.name], self.numbers) if a.name in values else not a.required for a in self.arguments
        )


def parse(text, namespace):
    """Return the schema of a text from outside. Raise RuntimeError where it is none, in its arguments too."""
    schema = FunctionSchema(text, namespace=namespace)
    assert isinstance(schema.arguments, list) and isinstance(schema.returns, list)
    return schema
