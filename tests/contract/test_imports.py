"""No file imports another in a circle, imports inside functions counted."""

import ast
from pathlib import Path

import pytest

from mindtorch_proxy.runtime import ops

ROOT = Path(ops.__file__).resolve().parents[2]


def modules(folder):
    """module name relative to the folder -> (path, is a package).

    Of the hook's folder its own files, without the tree that it serves.
    """
    found = {}
    for path in folder.glob("*.py") if folder.name == "mindtorch_proxy" else folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        package = parts[-1] == "__init__"
        found[".".join(parts[:-1] if package else parts)] = path, package
    return found


def edges(folder):
    """module -> the modules of the folder that it imports, wherever the import stands."""
    known = modules(folder)
    graph = {}
    for name, (path, package) in known.items():
        here = name.split(".") if name else []
        targets = set()
        tree = ast.parse(path.read_text())
        for_types = {
            id(n)
            for i in ast.walk(tree)
            if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.dump(i.test)
            for n in ast.walk(i)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.level == 0 or id(node) in for_types:
                continue
            up = node.level - package
            if up > len(here):
                continue  # above the folder
            base = [*here[: len(here) - up], *((node.module or "").split(".") if node.module else [])]
            for alias in node.names:
                full = ".".join([*base, alias.name])
                target = full if full in known else ".".join(base)
                if target in known and target != name:
                    targets.add(target)
        graph[name] = targets
    return graph


def circle(graph):
    """A list of modules in which each imports the next and the last the first, or None."""
    done, stack = set(), []

    def visit(name):
        if name in stack:
            return stack[stack.index(name) :]
        if name in done:
            return None
        stack.append(name)
        for target in sorted(graph[name]):
            found = visit(target)
            if found:
                return found
        stack.pop()
        done.add(name)
        return None

    return next(filter(None, map(visit, sorted(graph))), None)


@pytest.mark.parametrize(
    "folder",
    ["mindtorch_proxy", "runtime", "backends", "mindtorch_proxy/torch/nn", "stubs/distributions", "stubs/_dynamo"],
)
def test_no_circle_of_imports(folder):
    found = circle(edges(ROOT / folder))
    assert found is None, " -> ".join([*found, found[0]])


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None
