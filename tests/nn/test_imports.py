"""No file of torch.nn imports another that needs it, not even through the package of a third.

None imports inside a function.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "mindtorch_proxy" / "torch" / "nn"
FILES = {
    ".".join(["torch.nn", *(p for p in path.relative_to(ROOT).with_suffix("").parts if p != "__init__")]): path
    for path in ROOT.rglob("*.py")
}


def imported(module, node):
    """The files of torch.nn that an import statement loads: a module's packages are loaded with it, unless one is the
    importer's own.
    """
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        package = module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        source = ".".join([*above, *([node.module] if node.module else [])])
        names = [f"{source}.{alias.name}" if f"{source}.{alias.name}" in FILES else source for alias in node.names]
    for name in names:
        yield name
        while "." in name:
            name = name.rpartition(".")[0]
            if not f"{module}.".startswith(f"{name}."):
                yield name


def test_no_circles():
    edges = {}
    for module, path in FILES.items():
        statements = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, (ast.Import, ast.ImportFrom))
        ]
        edges[module] = {
            name for node in statements for name in imported(module, node) if name in FILES and name != module
        }
    free = set(edges)
    while leaves := {module for module in free if not edges[module] & free}:
        free -= leaves
    assert not free, f"in a circle, or above one: {sorted(free)}"


def test_imports_stand_on_top():
    inner = [
        f"{module}: {ast.unparse(node)}"
        for module, path in FILES.items()
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, (ast.FunctionDef, ast.Lambda))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert not inner
