"""Loads a file of cases so that its results have names and cannot hide one another.

A case returns what it found. `return [x + 1, x.T]` becomes `{"x + 1": ..., "x.T": ...}`, so that a difference names the
expression that differs.
A dictionary that is built with a key which it has already would lose a result: it raises KeyError instead.
"""

import ast
import importlib.util
from pathlib import Path


class Results(dict):
    """A dictionary that takes each key once."""

    def __init__(self, pairs=()):
        super().__init__()
        for key, value in pairs:
            self[key] = value

    def __setitem__(self, key, value):
        if key in self:
            raise KeyError(f"two results have the name {key!r}")
        super().__setitem__(key, value)


def named(names, values):
    """A dictionary of the values by their expressions, or the values as they are where there is only one or a name is
    not unique.
    """
    return dict(zip(names, values)) if len(set(names)) == len(names) else list(values)


def of_the_machine(file):
    """The cases of a file whose results depend on the processor, so that recordings say nothing of them."""
    return getattr(load(Path(__file__).parent / "cases" / f"{file}.py"), "OF_THE_MACHINE", ())


class _Names(ast.NodeTransformer):
    """Rewrites the functions of a file whose names begin with case_."""

    def visit_FunctionDef(self, node):
        if not node.name.startswith("case_"):
            return node
        own = list(_statements(node))
        returned = {
            name.id
            for r in own
            if isinstance(r, ast.Return) and r.value
            for name in ast.walk(r.value)
            if isinstance(name, ast.Name)
        }
        for inner in own:
            if isinstance(inner, ast.Return) and inner.value is not None:
                inner.value = self._named(inner.value)
            elif isinstance(inner, ast.Assign) and _is_empty_dict(inner.value) and _is_one_of(inner.targets, returned):
                inner.value = ast.Call(ast.Name("_Results", ast.Load()), [], [])
        return ast.fix_missing_locations(self.generic_visit(node))

    def _named(self, value):
        plain = isinstance(value, ast.List) and not any(isinstance(e, ast.Starred) for e in value.elts)
        if not plain:
            return value
        names = ast.List([ast.Constant(ast.unparse(e)) for e in value.elts], ast.Load())
        inside = ast.List([self._named(e) for e in value.elts], ast.Load())
        return ast.Call(ast.Name("_named", ast.Load()), [names, inside], [])

    def visit_DictComp(self, node):
        self.generic_visit(node)
        pairs = ast.GeneratorExp(ast.Tuple([node.key, node.value], ast.Load()), node.generators)
        return ast.Call(ast.Name("_collected", ast.Load()), [pairs], [])


def _statements(function):
    """All nodes of a function, without those of functions and classes inside it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _statements(child)


def _is_empty_dict(value):
    return isinstance(value, ast.Dict) and not value.keys


def _is_one_of(targets, names):
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id in names


def load(path):
    """The module of a file of cases."""
    with open(path, encoding="utf-8") as file:
        tree = _Names().visit(ast.parse(file.read(), str(path)))
    spec = importlib.util.spec_from_file_location("cases", path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(_Results=Results, _named=named, _collected=lambda pairs: dict(Results(pairs)))
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), vars(module))
    return module


def cases_of(module):
    """{name: function} of a file's cases."""
    return {name: f for name, f in vars(module).items() if name.startswith("case_")}
