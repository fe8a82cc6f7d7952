"""Writes a stub package for `torch`: python -m mindtorch_proxy -m mindtorch_proxy.typings FOLDER

It is made from the declarations of operators and from the modules under `torch`. Type checkers and editors read
`torch-stubs` in site-packages (PEP 561). Operators have the types of their schemas, Python functions their own
annotations, or what typed_facts.py states, or Any.
"""

import ast
import collections.abc
import enum
import importlib
import importlib.util
import inspect
import keyword
import os
import re
import sys
import textwrap
import types
import typing
import warnings

from . import progress, typed_facts
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
import collections.abc
from typing import Any, Callable, Generic, Iterator, Sequence, SupportsIndex, TypeVar, overload
from typing_extensions import Self
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
"""
NUMBER = '_Number = _int | _float | _bool | _complex\n_T_co = TypeVar("_T_co", covariant=True)\n'
FACTS = typed_facts.read()
MODULES: dict = {}  # {name: (module, whether it is a package)} of the modules that get a stub
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


def result_of(op):
    """Return the type of an operator's result."""
    from .runtime.call.return_types import result_class

    schema, named = op.schema, result_class(op)
    if named is not None and len(schema.returns) > 1:
        return f"torch.return_types.{named.__name__}"
    found = [builtin(TYPES.get(r.base, "Any")) for r in schema.returns]
    found = [f"tuple[{t}, ...]" if r.list else t for t, r in zip(found, schema.returns)]
    return found[0] if len(found) == 1 else f"tuple[{', '.join(found)}]" if found else "None"


def results():
    """Return the lines of torch.return_types: the named tuples of the operators."""
    from .runtime import registry
    from .runtime.call.return_types import result_class

    found = {}
    for op in registry.operators():
        if (cls := result_class(op)) is not None:
            of = ["tuple[Tensor, ...]" if r.list else builtin(TYPES.get(r.base, "Any")) for r in op.schema.returns]
            found[cls.__name__] = [f"class {cls.__name__}(tuple[{', '.join(of)}]):"]
            for name, kind in zip(cls.__match_args__, of):
                found[cls.__name__] += ["    @property", f"    def {name}(self) -> {kind}: ..."]
    return [line for name in sorted(found) for line in found[name]]


def annotation(value):
    """Return the text of a Python annotation, or Any for an annotation that is not supported."""
    if isinstance(value, str):
        return builtin(value) if value in ("bool", "int", "str", "float", "None", "Tensor") else "Any"
    if value is None or value is type(None):
        return "None"
    origin, inside = typing.get_origin(value), typing.get_args(value)
    if origin in (typing.Union, types.UnionType):
        found = [annotation(part) for part in inside]
        return "Any" if "Any" in found else " | ".join(dict.fromkeys(found))
    if origin in (list, dict, set, type) or origin is tuple or getattr(origin, "__module__", "") == "collections.abc":
        if origin is collections.abc.Callable:
            return "Callable[..., Any]"
        parts = ", ".join("..." if part is ... else annotation(part) for part in inside)
        of = origin.__name__ if origin.__module__ == "builtins" else f"collections.abc.{origin.__name__}"
        return f"{of}[{parts}]" if parts else of
    if isinstance(value, type) and value.__module__ == "builtins":
        return builtin(value.__name__)
    if isinstance(value, type) and value.__module__ == "torch" and value.__qualname__ in ("Tensor", "Generator"):
        return value.__qualname__
    if isinstance(value, type) and value.__module__ == "torch" and value.__qualname__ in ("dtype", "device"):
        return builtin(value.__qualname__)
    if isinstance(value, type) and visible(value) and value.__module__ != "torch":
        return f"{value.__module__}.{value.__name__}"
    return "Any"


def visible(cls):
    """Whether a class has a stub in its own module."""
    home, _ = MODULES.get(cls.__module__, (None, False))
    return home is not None and getattr(home, cls.__name__, None) is cls and cls.__name__ in public(home)


def documented(lines, value):
    """Return the lines of a function or class with the first sentence of its help, which editors show."""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"' * 3, "'").strip()
    if not text or text.startswith(("str(object", "partial(", "Initialize self.")):
        return lines
    quoted = f'"""{text}"""' if text[-1] != '"' else f'"""{text} """'
    return [
        f"{line[:-4]}\n    {quoted}" if line.startswith("def ") and line.endswith(": ...") else line for line in lines
    ]


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
        if stars == "*" and types_.get(p.name) == "Sequence[Tensor]":  # f(x, y) and f([x, y])
            types_ = types_ | {p.name: "Tensor | Sequence[Tensor]"}
        if p.name in ("self", "cls") and not found:
            found.append(p.name)
            continue
        kind = types_.get(p.name) or ("Any" if p.annotation is P.empty else annotation(p.annotation))
        found.append(f"{stars}{p.name}: {kind}" + ("" if p.default is P.empty else f" = {default(p.default)}"))
    return ", ".join(found)


def signature_of(f):
    try:
        return inspect.signature(f, eval_str=True)
    except NameError:
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
    result = "Tensor" if name.endswith("_") and name[-2:] != "__" else result_of(op)
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
    if isinstance(value, enum.Enum) or type(value).__name__.endswith("property"):  # a cached one, for example
        return [f"{name}: Any"]
    if inspect.isroutine(value):
        lines = function(value, name, method=True)
        if "(self" not in lines[-1] and not lines[-1].startswith(f"def {name}(*args"):
            lines = [line.replace(f"def {name}(", f"def {name}(self, ", 1) for line in lines]
        lines = [line.replace("-> Any: ...", "-> None: ...") for line in lines] if name == "__init__" else lines
        return documented(lines, value)
    if isinstance(value, (bool, int, float, str)) and not isinstance(value, enum.Enum):
        return [f"{name}: {builtin(type(value).__name__)}"]
    return []


OURS = ("torch", "mindtorch_proxy", "contextlib")  # packages whose classes have stubs or give their members away
SPECIAL = tuple(
    f"__{name}__" for name in "init call enter exit iter len getitem getitems setitem contains next".split()
)
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
    """Return the names of a class's bases. Of a base without a stub they are its own bases."""
    known = {tuple: "tuple[Any, ...]", int: "_int", dict: "dict[Any, Any]", list: "list[Any]"}
    found = list(dict.fromkeys(stubbed(cls, known)))
    least = [b for b in found if not any(b is not other and issubclass(other, b) for other in found)]
    return [known[b] if b in known else reference(b, here) for b in least]


def stubbed(cls, known):
    """Yield the nearest classes above a class that have a stub, or are in `known`."""
    for b in cls.__bases__:
        if b in known or visible(b):
            yield b
        elif b.__module__.partition(".")[0] in OURS:
            yield from stubbed(b, known)


def hidden(cls):
    """Return the classes without a stub whose members a class inherits."""
    found = []
    for b in cls.__bases__:
        if b.__module__.partition(".")[0] in OURS and not visible(b):
            found += [b, *hidden(b)]
    return found


def reference(cls, here):
    """Return the name by which a module's stub refers to a class."""
    return cls.__name__ if cls.__module__ == here else f"{cls.__module__}.{cls.__name__}"


def class_(cls, here, module):
    """Return the lines of a class."""
    names = set(vars(cls)) if cls.__name__ != "Tensor" else set(dir(cls)) | set(vars(cls))
    inherited = hidden(cls)
    for other in inherited:
        names |= set(vars(other))
    key = f"{here}.{cls.__name__}"
    facts = FACTS.get(key, {})
    lines, seen = [line for found in facts.values() for line in found], set(facts)
    for name, kind in vars(cls).get("__annotations__", {}).items():
        if name not in seen and name.isidentifier():
            lines.append(f"{name}: {annotation(kind)}")
        seen.add(name)
    for name in sorted(names - seen):
        if name.startswith("_") and name not in SPECIAL:
            continue
        if cls.__name__ == "Tensor" and (name in ("__init__", "__call__") or hasattr(object, name)):
            continue
        own = name in vars(cls) or any(name in vars(other) for other in inherited)
        lines += member(cls, name, inspect.getattr_static(cls, name, None) if own else getattr(cls, name))
    if cls.__name__ == "Tensor" and here == "torch":
        lines += [] if "__init__" in facts else ["def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
        dunder = (
            n for n in sorted(set(dir(cls)) - OWN) if n[:2] == n[-2:] == "__" and inspect.isfunction(getattr(cls, n))
        )
        lines += [
            f"def {n}(self, *other: Any) -> {CONVERSIONS.get(n[2:-2], 'Tensor')}: ..."
            for n in dunder
            if n != "__reduce_ex__" and n not in facts
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
    known = {re.match(r"(?:def )?(\w*)", line)[1] for line in own}
    own = [f"{name}: Any" for name in assigned([cls, *inherited]) if name not in known and not hasattr(cls, name)] + own
    if not any(line.startswith("def __init__") for line in own) and native(cls):
        own = [*own, "def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
    above = typed_facts.GENERIC.get(key) or ", ".join(bases(cls, here))
    head = documented([f"def {cls.__name__}: ..."], cls) if vars(cls).get("__doc__") else []
    return [
        f"class {cls.__name__}{f'({above})' if above else ''}:",
        *(line.partition("\n")[2] for line in head),
        *("    " + line.replace("\n", "\n    ") for line in own or ["..."]),
    ]


def assigned(classes):
    """Return the public attributes that the methods of classes assign to self."""
    found: dict = {}
    for cls in classes:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
        except (OSError, TypeError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr[0] != "_":
                    found[node.attr] = None
    return list(found)


def native(cls):
    """Whether something other than an __init__ makes the objects of a class."""
    own = cls.__init__ is object.__init__ and cls.__new__ is not object.__new__
    return own or type(cls).__call__ is not type.__call__ and cls.__module__ == "torch"


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
        {*(listed or ()), *(name for name in dir(module) if name[0] != "_" or name.startswith("_foreach_"))}
        | ({"__version__", "__future__"} if module.__name__ == "torch" else set())
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
            elif value.__name__.partition(".")[0] == "torch" and value.__name__ not in modules:
                bodies.append(f"{name}: Any")
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
            facts = FACTS.get(f"{here}.{name}")
            bodies += documented(facts[name] if facts else function(value, name), value)
        elif not defined or name in getattr(module, "__all__", ()):
            bodies.append(value_(name, value, here))
    return text_of(here, imports, bodies + (results() if here == "torch.return_types" else []))


def text_of(here, imports, bodies):
    """Return the text of a stub."""
    names = ("device", "dtype", "layout", "memory_format")
    if here != "torch":
        imports.add(f"from torch import Generator, Size, Tensor, {', '.join(f'{name} as _{name}' for name in names)}")
    else:
        imports |= {f"from . import {name} as {name}" for name in private(sys.modules["torch"])}
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated names, which the program does not use
        return _write(folder)


def private(torch):
    """Return the names of torch's private modules that `import torch` makes reachable; their contents are Any."""
    names = (name for name in torch._SUBMODULES if name[0] == "_" and name[:2] != "__")
    return sorted(name for name in names if importlib.util.find_spec(f"torch.{name}"))


def _write(folder):
    modules = served()
    MODULES.update(modules)
    target = os.path.join(folder, "torch-stubs")
    for done, (name, (module, _)) in enumerate(modules.items()):
        progress.show(progress.counted(done, len(modules), f"stubs of {name}"))
        package = any(other.startswith(name + ".") for other in modules) or modules[name][1]
        path = os.path.join(target, *name.split(".")[1:])
        path = os.path.join(path, "__init__.pyi") if package else path + ".pyi"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(module_(module, modules))
    for name in private(modules["torch"][0]):
        with open(os.path.join(target, f"{name}.pyi"), "w", encoding="utf-8") as file:
            file.write("from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n")
    with open(os.path.join(target, "py.typed"), "w", encoding="utf-8") as file:
        file.write("")
    progress.show("")
    return len(modules)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"{write(sys.argv[1])} modules in {sys.argv[1]}/torch-stubs")
