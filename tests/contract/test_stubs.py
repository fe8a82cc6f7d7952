"""Tests that modules in stubs/ would run on the real torch unchanged.

Stubs are modules such as _dynamo, distributions, utils.data, missing devices, settings and versions. They only use
names of torch, and not the engine below. No package is in both trees, except torch and torch.utils.
"""

import ast
import configparser
import json
from pathlib import Path

from mindtorch_proxy import finder

STUBS = Path(finder.STUBS)
SERVED = Path(finder.ROOTS[0])
LIMIT = 12_000  # lines
# the program for the real torch: imports each stub beside it, and reads each private name of torch that stubs use
PROGRAM = """
import importlib, json, sys, types, warnings
warnings.simplefilter("ignore")
import torch
folder, modules, names = json.loads(sys.stdin.read())
package = types.ModuleType("beside")
package.__path__, sys.modules["beside"] = [folder], package
for name in modules:
    try:
        importlib.import_module(f"beside.{name}")
    except Exception as e:
        print(f"{name}: {type(e).__name__}: {e}")
for name in names:
    value = torch
    for part in name.split(".")[1:]:
        try:
            inner = f"{value.__name__}.{part}"
            value = getattr(value, part) if hasattr(value, part) else importlib.import_module(inner)
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {e}")
            break
"""


def modules():
    """Yield the stubs as module names below torch."""
    for path in sorted(STUBS.rglob("*.py")):
        parts = path.relative_to(STUBS).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def dotted(node):
    """Return the dotted name of an expression, or None if it is something else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def names_read(tree):
    """Yield the names of torch with a private part that a file reads or imports."""
    for node in ast.walk(tree):
        found = []
        if isinstance(node, ast.Attribute):
            found = [dotted(node)]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (
            name
            for name in found
            if name
            and name.startswith("torch.")
            and any(part[:1] == "_" and part[:2] != "__" for part in name.split("."))
        )


def trees():
    return {path.relative_to(STUBS).as_posix(): ast.parse(path.read_text()) for path in sorted(STUBS.rglob("*.py"))}


def test_stubs_run_beside_the_real_torch(oracle_python, python):
    names = sorted({name for tree in trees().values() for name in names_read(tree)})
    given = json.dumps([str(STUBS), [*modules()], names])
    assert names and python("-c", PROGRAM, executable=oracle_python, stdin=given) == ""


# slots of tensors and storages for memory or autograd history
ENGINE = {"_ms", "_np", "_storage", "_vc", "_acc", "_shape", "_stride", "_offset", "_array", "_edges"}


def engine_names(tree):
    """Return the engine's slots that a file reads or writes of objects other than `self`."""
    return {
        n.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute)
        and n.attr in ENGINE
        and not (isinstance(n.value, ast.Name) and n.value.id == "self")
    }


def test_stubs_touch_no_engine():
    assert {path: found for path, tree in trees().items() if (found := engine_names(tree))} == {}
    imports = [
        ast.unparse(n)
        for tree in trees().values()
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
    ]
    assert not [line for line in imports if "mindtorch_proxy" in line]


def packages_above():
    """Return the packages of the served tree that may only use operators, according to .importlinter."""
    contracts = configparser.ConfigParser()
    contracts.read(SERVED.parents[1] / ".importlinter")
    return [
        SERVED.joinpath(*name.split(".")[2:])
        for name in contracts["importlinter:contract:above"]["source_modules"].split()
    ]


def test_packages_above_the_operators_touch_no_engine():
    found = {}
    for package in packages_above():
        for path in package.rglob("*.py"):
            if names := engine_names(ast.parse(path.read_text())):
                found[path.relative_to(SERVED).as_posix()] = names
    assert found == {
        "_functorch/_batched.py": {"_ms", "_np", "_storage"},  # clears them: a batched tensor has no memory
        "distributed/rpc/_wire.py": {"_array"},  # a message contains the memory of storages
    }


def test_stubs_are_few():
    assert sum(len(path.read_text().splitlines()) for path in STUBS.rglob("*.py")) < LIMIT
    assert {"_dynamo", "distributions"} <= {path.name for path in STUBS.iterdir()} and (
        STUBS / "utils/data/dataloader.py"
    ).exists()


def packages(root):
    """Return the packages of a tree as names below torch."""
    return {".".join(path.parent.relative_to(root).parts) for path in root.rglob("*.py")}


def test_packages_lie_in_one_place():
    assert packages(STUBS) & packages(SERVED) == {"", "utils"} == {name.partition(".")[2] for name in finder.SPLIT}
    assert not (STUBS / "__init__.py").exists() and not (STUBS / "utils/__init__.py").exists()


def test_a_private_name_is_found():
    tree = ast.parse("import torch\nfrom torch._absent import f\nx = torch.fx._nothing.g + torch.ones(2)._version")
    assert sorted(names_read(tree)) == ["torch._absent.f", "torch.fx._nothing", "torch.fx._nothing.g"]
