"""python -m mindtorch_proxy where NAME ...

Shows where a public name of torch is declared, differentiated, computed and tested. NAME is a name that programs use,
such as torch.nn.functional.layer_norm, torch.Tensor.add_ or torch.optim.Adam, or an operator's name from `report()` or
`compare`, such as native_layer_norm_backward. The exit status is 1 where a name does not exist.
"""

import functools
import importlib
import inspect
import os
import re
import sys

TABLES = {"cpu": "mindtorch_proxy.backends.cpu.table", "npu": "mindtorch_proxy.backends.ascend.table"}
LEVELS = 4  # how deep the operators that composites call are shown


def shown(where):
    """Return file:line, relative to the current folder where the file is below it."""
    if where is None:
        return "made when it is first asked for"
    file, line = where
    inside = os.path.relpath(file)
    return f"{file if inside.startswith(os.pardir) else inside}:{line}"


def place(f):
    """Return (file, line) of a function or class, or None where it is not written in Python."""
    while isinstance(f, functools.partial):
        f = f.func
    f = inspect.unwrap(f)
    if inspect.isclass(f):
        try:
            return inspect.getsourcefile(f), inspect.getsourcelines(f)[1]
        except (OSError, TypeError):
            return None
    code = getattr(f, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else None


def named(f):
    """Return a function's location together with its name."""
    where = place(f)
    name = getattr(f, "__name__", "")
    return (
        f"{shown(where)}{'' if name in ('', '<lambda>') else f' {name}()'}"
        if where
        else f"{getattr(f, '__module__', None) or ''} {name}".strip()
    )


def operators_of(name):
    """Return the operators of a name in the form that programs, `report()` or `compare` use."""
    from .runtime import registry
    from .runtime.call.overload import name_of

    short = name.removeprefix("torch.ops.aten.").removeprefix("aten.").removeprefix("torch.")
    for wanted in filter(None, (short, short.rpartition(".")[0])):  # with the overload, and without it
        found = [
            o
            for o in registry.operators()
            if wanted in (o.full, o.name, f"{o.namespace}.{o.name}", ".".join(filter(None, name_of(o))))
        ]
        if found:
            return found
    return []


def resolved(name):
    """Return the object of a dotted name of torch. Raise AttributeError or ModuleNotFoundError if there is none."""
    parts, value = name.split("."), importlib.import_module("torch")
    for i, part in enumerate(parts[1:], 2):
        try:
            value = getattr(value, part)
        except AttributeError:
            if not inspect.ismodule(value):
                raise
            value = importlib.import_module(".".join(parts[:i]))
    return value


def called(f):
    """Return the operators that a function calls by name, directly or through other functions of the runtime."""
    from .runtime import registry
    from .runtime.declare import Op

    found, seen, todo = {}, set(), [f]
    while todo:
        f = todo.pop()
        while isinstance(f, functools.partial):
            f = f.func
        inside = [cell.cell_contents for cell in getattr(f, "__closure__", None) or ()]
        names = list(names_in(getattr(f, "__code__", None)))
        for name, value in [*((name, f.__globals__.get(name)) for name in names), *(("", value) for value in inside)]:
            op = value if isinstance(value, Op) else getattr(value, "op", None)
            if isinstance(op, Op):
                found[op] = None
            elif inspect.isfunction(value) and value not in seen and ".runtime." in (value.__module__ or ""):
                seen.add(value)
                todo.append(value)
            elif value is None and name:
                found |= dict.fromkeys(
                    o for space in ("_C", "_C._nn") for o in registry.OPERATORS.get(space, {}).get(name, ())
                )
    return list(found)


def names_in(code):
    """Yield the names that a code object and the code objects nested in it use."""
    if code is not None:
        yield from code.co_names
        for constant in code.co_consts:
            if inspect.iscode(constant):
                yield from names_in(constant)


def derivative_lines(op):
    """Return lines that say where an operator's gradient formulas are defined."""
    if op.derivative is None:
        return ["none" if op.fn is None else "that of what it calls"]
    if isinstance(op.derivative, dict):
        return [
            f"by {', '.join([argument] if isinstance(argument, str) else argument)}: {named(f)}"
            for argument, f in op.derivative.items()
            if callable(f)
        ]
    return [named(op.derivative)] if callable(op.derivative) else ["that of what it calls, as one node"]


def kernel_lines(op):
    """Yield lines about each kernel of each device, in order of preference."""
    for device, module in TABLES.items():
        for kernel in importlib.import_module(module).kernels(op):
            spread = kernel.above == float("inf")
            size = (
                ", where a large result spreads an operand"
                if spread
                else f", from {kernel.above} elements on"
                if kernel.above
                else ""
            )
            dtypes = (
                ", ".join(sorted(d.name for d in kernel.dtypes)) if kernel.dtypes and len(kernel.dtypes) < 8 else ""
            )
            of = f" {kernel.primitive}" if kernel.primitive else ""
            yield (
                f"{device}: "
                f"{kernel.kind}{of}{size}{f' ({dtypes})' if dtypes else ''}{f': {kernel.why}' if kernel.why else ''}"
            )
            yield f"    entry {shown(kernel.where)}{f', function {named(kernel.fn)}' if kernel.fn is not None else ''}"


def describe(op, level=LEVELS, seen=None):
    """Yield lines about an operator and, indented, about the operators that it calls."""
    from .runtime.registry import DECOMPOSITIONS

    seen = set() if seen is None else seen
    seen.add(op)
    yield op.schema.text
    yield f"  declared {shown(op.where)}"
    yield from (f"  gradient {line}" for line in derivative_lines(op))
    functions = [f for f in (op.fn, DECOMPOSITIONS.get(op.full)) if f is not None]
    for f in functions:
        yield f"  {'composite' if f is op.fn else 'decomposition'} {named(f)}"
    if op.fn is None and op.geometry is None and not op.options.memory:
        yield from (f"  {line}" for line in kernel_lines(op))
    formulas = list(op.derivative.values()) if isinstance(op.derivative, dict) else [op.derivative]
    for f in (*functions, *(f for f in formulas if callable(f))):
        for inner in called(f) if level else ():
            if inner not in seen:
                yield "  calls"
                yield from ("    " + line for line in describe(inner, level - 1, seen))


def test_lines(name):
    """Yield the tests that mention a name, if this is a checkout that has the tests."""
    root = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests")
    if not os.path.isdir(root):
        return
    short = name.removeprefix("torch.").removeprefix("Tensor.")
    yield f"tests/oracle/test_operators.py -k '[{short}]'"
    word, counts = re.compile(rf"\b{re.escape(short.rpartition('.')[2])}\b"), {}
    for folder, _, files in os.walk(root):
        for file in files:
            if file.endswith(".py"):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as text:
                    counts[os.path.relpath(path, os.path.dirname(root))] = len(word.findall(text.read()))
    yield from (f"{path} ({n} times)" for path, n in sorted(counts.items(), key=lambda item: -item[1])[:6] if n)


def lines(name):
    """Yield the lines about a name. Raise LookupError where it does not exist."""
    value, ops = None, ()
    try:
        value = resolved(name) if name.startswith("torch.") else None
    except (AttributeError, ImportError):
        pass
    if name.startswith("torch.ops.") and hasattr(value, "_fn"):  # what runs it, None where it is not supported
        value = value._fn
    if value is not None:
        ops = getattr(value, "ops", None) or ([value.op] if hasattr(value, "op") else [])
    if value is None or not ops and place(value) is None and not inspect.ismodule(value):
        ops = operators_of(name)
    if value is None and not ops:
        raise LookupError(f"torch has no {name}")
    yield name
    if not ops:
        yield (
            f"written in Python: "
            f"{shown((value.__file__, 1)) if inspect.ismodule(value) else named(value) or type(value).__name__}"
        )
    for op in ops:
        yield from ("  " + line for line in describe(op))
    yield "  tests"
    yield from ("    " + line for line in test_lines(name))


def main(argv):
    """Run the command and return its exit status."""
    from . import install

    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if argv else 2
    install()
    status = 0
    for name in argv:
        try:
            print("\n".join(lines(name)))
        except LookupError as error:
            print(f"mindtorch_proxy: {error}", file=sys.stderr)
            status = 1
    return status
