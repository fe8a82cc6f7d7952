"""Writes a stub package for `torch`: python -m mindtorch_proxy -m mindtorch_proxy.typings FOLDER

It is made from the declarations of operators and from the modules under `torch`. Type checkers and editors read
`torch-stubs` in site-packages (PEP 561). Operators have the types of their schemas, Python functions their own
annotations, or Any where they have none.
"""

import enum
import importlib
import inspect
import keyword
import os
import sys
import types

from .finder import ROOTS

TYPES = {
    "Tensor": "Tensor",
    "Scalar": "_Number",
    "Tensor|Scalar": "Tensor | _Number",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Device": "device | str | int",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Generator": "Generator",
    "Dimname": "str",
}
HEAD = """\
from typing import Any, Callable, Iterator, Sequence, overload
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
"""
NUMBER = "_Number = _int | _float | _bool | _complex\n"
# names that mean something else in torch or Tensor
SHADOWED = ("bool", "complex", "float", "int", "str", "dtype", "device", "layout", "memory_format")
CONVERSIONS = {
    "len": "_int",
    "bool": "_bool",
    "int": "_int",
    "float": "_float",
    "complex": "_complex",
    "index": "_int",
    "iter": "Iterator[Tensor]",
}


def builtin(text):
    """Return the stub's name of a type, with an underscore where torch shadows the name."""
    return f"_{text}" if text in SHADOWED else text


def type_of(arg):
    """Return the type of a schema's argument."""
    base = arg.base.rstrip("?")
    found = " | ".join(builtin(part) for part in TYPES.get(base, "Any").split(" | "))
    if arg.list:
        found = f"Sequence[{found} | None]" if arg.base.endswith("?") else f"Sequence[{found}]"
        found += " | _int" if base == "int" else ""
    return f"{found} | None" if arg.optional else found


def result_of(schema):
    """Return the type of a schema's result."""
    found = [builtin(TYPES.get(r.base, "Any")) for r in schema.returns]
    found = [f"tuple[{t}, ...]" if r.list else t for t, r in zip(found, schema.returns)]
    return found[0] if len(found) == 1 else f"tuple[{', '.join(found)}]" if found else "None"


def annotation(value):
    """Return the text of a Python annotation, or Any for an annotation that is not supported."""
    if isinstance(value, str):
        return builtin(value) if value in ("bool", "int", "str", "float", "None", "Tensor") else "Any"
    if value is None or value is type(None):
        return "None"
    if isinstance(value, type) and value.__module__ == "builtins":
        return builtin(value.__name__)
    if (
        isinstance(value, type)
        and value.__module__ == "torch"
        and value.__qualname__ in ("Tensor", "dtype", "device", "Generator")
    ):
        return builtin(value.__qualname__)
    return "Any"


def default(value):
    """Return the text of a default value, or "..." where its repr is not valid in a stub."""
    return (
        repr(value) if isinstance(value, (bool, int, str, type(None))) and not isinstance(value, enum.Enum) else "..."
    )


def parameters(signature, types_, first=()):
    """Return the text between the parentheses. types_: {name: type}, which override the annotations."""
    P = inspect.Parameter
    found, keywords = list(first), False
    for p in signature.parameters.values():
        if not p.name.isidentifier() or keyword.iskeyword(p.name):
            return ", ".join([*first, "*args: Any", "**kwargs: Any"])
        if p.kind is P.KEYWORD_ONLY and not keywords:
            found.append("*")
        keywords = keywords or p.kind in (P.KEYWORD_ONLY, P.VAR_POSITIONAL)
        stars = {P.VAR_POSITIONAL: "*", P.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = types_.get(p.name) or ("Any" if p.annotation is P.empty else annotation(p.annotation))
        found.append(f"{stars}{p.name}: {kind}" + ("" if p.default is P.empty else f" = {default(p.default)}"))
    return ", ".join(found)


def signature_of(f):
    try:
        return inspect.signature(f)
    except (ValueError, TypeError):
        P = inspect.Parameter
        return inspect.Signature([P("args", P.VAR_POSITIONAL), P("kwargs", P.VAR_KEYWORD)])


def operator(part, name, method):
    """Return the line `def name(...)` for one schema."""
    op, signature = part.__globals__["op"], part.__signature__
    shown = list(signature.parameters.values())
    known = {p.name: type_of(a) for p, a in zip(shown, op.schema.arguments)}
    known |= {"out": "Tensor | tuple[Tensor, ...] | list[Tensor] | None"} if "out" not in known else {}
    result = "Tensor" if name.endswith("_") and name[-2:] != "__" else result_of(op.schema)
    if method:
        signature, first = signature.replace(parameters=_fitting(shown[1:])), ("self",)
    else:
        signature, first = signature.replace(parameters=_fitting(shown)), ()
    return f"def {name}({parameters(signature, known, first)}) -> {result}: ..."


def _fitting(shown):
    """Give a default to positional parameters that follow one with a default, as Python requires."""
    late, found = False, []
    for p in shown:
        late = late or p.default is not p.empty
        found.append(
            p.replace(default=...) if late and p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD else p
        )
    return found


def function(f, name, method=False):
    """Return the lines of a function, or of a method."""
    if isinstance(f, types.BuiltinFunctionType) and isinstance(f.__self__, types.FunctionType):
        f = f.__self__  # what a builtin of ours calls
    parts = list(getattr(f, "overloads", {}).values() or [f])
    if all("op" in getattr(part, "__globals__", ()) and hasattr(part, "__signature__") for part in parts):
        lines = [operator(part, name, method) for part in parts]
        return [line for text in dict.fromkeys(lines) for line in (["@overload"] * (len(set(lines)) > 1) + [text])]
    signature = signature_of(f)
    result = "Any" if signature.return_annotation is signature.empty else annotation(signature.return_annotation)
    return [f"def {name}({parameters(signature, {})}) -> {result}: ..."]


def member(cls, name, value):
    """Return the lines of one attribute of a class."""
    if isinstance(value, property) or inspect.isdatadescriptor(value):
        getter = getattr(value, "fget", None)
        result = annotation(getattr(getter, "__annotations__", {}).get("return", ...)) if getter else "Any"
        return ["@property", f"def {name}(self) -> {KNOWN.get((cls.__name__, name), result)}: ..."]
    if isinstance(value, (staticmethod, classmethod)):
        kind = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
        first = ("cls",) if kind == "classmethod" else ()
        signature = signature_of(getattr(cls, name))
        return [f"@{kind}", f"def {name}({parameters(signature, {}, first)}) -> Any: ..."]
    if inspect.isroutine(value):
        lines = function(value, name, method=True)
        return (
            lines
            if "(self" in lines[-1] or "(*args" in lines[-1]
            else [line.replace(f"def {name}(", f"def {name}(self, ", 1) for line in lines]
        )
    return []


# double-underscore methods that do not return a tensor, or that type checkers know from `object`
OWN = {
    f"__{n}__"
    for n in "init new repr hash format contains array setitem delitem setattr getattr dir deepcopy copy setstate "
    "reduce dlpack".split()
}
KNOWN = {
    ("Tensor", "shape"): "Size",
    ("Tensor", "dtype"): "_dtype",
    ("Tensor", "device"): "_device",
    ("Tensor", "grad"): "Tensor | None",
    ("Tensor", "requires_grad"): "_bool",
    ("Tensor", "is_leaf"): "_bool",
    ("Tensor", "ndim"): "_int",
    ("Tensor", "layout"): "_layout",
    **{("Tensor", name): "Tensor" for name in ("T", "H", "mT", "mH", "data", "real", "imag")},
}


def bases(cls, here):
    found = [
        b
        for b in cls.__bases__
        if b is not object and b.__module__.partition(".")[0] == "torch" and "<" not in b.__qualname__
    ]
    names = [reference(b, here) for b in found]
    known = {tuple: "tuple[Any, ...]", int: "_int", dict: "dict[Any, Any]", list: "list[Any]"}
    return [name for name in names if name] + [known[b] for b in cls.__bases__ if b in known]


def reference(cls, here):
    """Return the name by which a module's stub refers to a class, or None."""
    home = sys.modules.get(cls.__module__)
    if getattr(home, cls.__name__, None) is not cls:
        return None
    return cls.__name__ if cls.__module__ == here else f"{cls.__module__}.{cls.__name__}"


def class_(cls, here, module):
    """Return the lines of a class."""
    names = set(vars(cls)) if cls.__name__ != "Tensor" else set(dir(cls)) | set(vars(cls))
    lines, seen = [], set()
    for name, kind in getattr(cls, "__annotations__", {}).items():
        lines.append(f"{name}: {annotation(kind)}")
        seen.add(name)
    for name in sorted(names - seen):
        if name.startswith("_") and name not in (
            "__init__",
            "__call__",
            "__enter__",
            "__exit__",
            "__iter__",
            "__len__",
            "__getitem__",
        ):
            continue
        if cls.__name__ == "Tensor" and (name in ("__init__", "__call__") or hasattr(object, name)):
            continue
        lines += member(cls, name, inspect.getattr_static(cls, name, None) if name in vars(cls) else getattr(cls, name))
    if cls.__name__ == "Tensor" and here == "torch":
        lines += ["def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
        dunder = (
            n for n in sorted(set(dir(cls)) - OWN) if n[:2] == n[-2:] == "__" and inspect.isfunction(getattr(cls, n))
        )
        lines += [
            f"def {n}(self, *other: Any) -> {CONVERSIONS.get(n[2:-2], 'Tensor')}: ..."
            for n in dunder
            if n != "__reduce_ex__"
        ]
        lines += ["def __setitem__(self, index: Any, value: Any) -> None: ..."]
    if cls.__name__ == "Module" and here.startswith("torch.nn"):
        lines += [
            "def __getattr__(self, name: _str) -> Any: ...",
            "def __setattr__(self, name: _str, value: Any) -> None: ...",
        ]
    own = (
        list(dict.fromkeys(lines)) if "@overload" not in lines and not any(line[0] == "@" for line in lines) else lines
    )
    inherited = ", ".join(bases(cls, here))
    return [
        f"class {cls.__name__}{f'({inherited})' if inherited else ''}:",
        *(f"    {line}" for line in own or ["..."]),
    ]


def value_(name, value, here):
    kind = type(value)
    if kind.__module__ == "builtins" and kind in (bool, int, float, str):
        return f"{name}: {builtin(kind.__name__)}"
    if kind.__module__ == "torch" and kind.__name__ in ("dtype", "device", "layout", "memory_format"):
        return f"{name}: _{kind.__name__}"
    return f"{name}: Any"


def public(module):
    """Return the public names of a module."""
    listed = getattr(module, "__all__", None) if module.__name__ != "torch" else None
    return sorted(
        {*(listed or ()), *(name for name in dir(module) if name[0] != "_")}
        | ({"__version__"} if module.__name__ == "torch" else set())
    )


def module_(module, modules):
    """Return the text of a module's stub."""
    here = module.__name__
    imports, bodies = {"import torch"}, []
    for name in public(module):
        try:
            value = getattr(module, name)
        except Exception:  # a name that raises an explanation has no stub
            continue
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        if isinstance(value, types.ModuleType):
            if value.__name__ == f"{here}.{name}" and value.__name__ in modules:
                imports.add(f"from . import {name} as {name}")
            elif value.__name__ in modules and value.__name__ != here:
                parent, _, last = value.__name__.rpartition(".")
                imports.add(f"from {parent} import {last} as {name}" if parent else f"import {last} as {name}")
            continue
        defined = isinstance(value, type) or inspect.isroutine(value)
        home, own_name = (value.__module__, value.__name__) if defined else (None, "")
        elsewhere = (
            home != here
            and home in modules
            and home != "torch.functional"
            and vars(sys.modules[home]).get(own_name) is value
        )
        if defined and elsewhere:
            imports.add(f"from {home} import {own_name} as {name}")
        elif isinstance(value, type) and value.__name__ == name and (home or "").partition(".")[0] == "torch":
            bodies += class_(value, here, module)
        elif inspect.isroutine(value) and (home or "").partition(".")[0] in ("torch", "mindtorch_proxy"):
            bodies += function(value, name)
        elif not defined:
            bodies.append(value_(name, value, here))
    names = ("device", "dtype", "layout", "memory_format")
    if here != "torch":
        imports.add(f"from torch import Generator, Size, Tensor, {', '.join(f'{name} as _{name}' for name in names)}")
    else:
        bodies += [f"_{name} = {name}" for name in names]
    text = HEAD + "\n".join(sorted(imports)) + "\n" + NUMBER + "\n".join(bodies) + "\n"
    return text if here == "torch" else "\n".join(line for line in text.splitlines() if line != f"import {here}") + "\n"


def served():
    """Return {name: (module, whether it is a package)} of the public modules under torch that can be imported."""
    found = {}
    for root in ROOTS:
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f[0] != "_" and f != "__pycache__"]
            for file in files:
                if not file.endswith(".py") or file[0] == "_" and file != "__init__.py":
                    continue
                inside = os.path.relpath(os.path.join(folder, file), root)[:-3].split(os.sep)
                package = inside[-1] == "__init__"
                name = ".".join(["torch", *inside[: -1 if package else None]])
                try:
                    found[name] = importlib.import_module(name), package or found.get(name, (0, False))[1]
                except (ImportError, NotImplementedError):  # an unsupported module has no stub
                    continue
    return found


def write(folder):
    """Write the package torch-stubs into a folder and return the number of modules."""
    modules = served()
    target = os.path.join(folder, "torch-stubs")
    for name, (module, _) in modules.items():
        package = any(other.startswith(name + ".") for other in modules) or modules[name][1]
        path = os.path.join(target, *name.split(".")[1:])
        path = os.path.join(path, "__init__.pyi") if package else path + ".pyi"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(module_(module, modules))
    with open(os.path.join(target, "py.typed"), "w", encoding="utf-8") as file:
        file.write("")
    return len(modules)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"{write(sys.argv[1])} modules in {sys.argv[1]}/torch-stubs")
