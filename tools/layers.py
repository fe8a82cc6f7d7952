"""Which files and packages import which: the graphs in which tests/contract/test_imports.py looks for circles, and the
table of the runtime's layers in docs/architecture.md.

python tools/layers.py            writes the table python tools/layers.py --check    exits 1 where the page has another
one
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- written by tools/layers.py -->\n", "<!-- end of what tools/layers.py writes -->\n"
RUNTIME = "mindtorch_proxy.runtime"
# import name -> folders that hold its modules. Of the hook's folder its own files, without the trees that it serves
TREES = {
    "mindtorch_proxy": ["mindtorch_proxy/*.py"],
    RUNTIME: ["runtime/**/*.py"],
    "mindtorch_proxy.backends": ["backends/**/*.py"],
    "torch": ["mindtorch_proxy/torch/**/*.py", "stubs/**/*.py"],
    "functorch": ["mindtorch_proxy/functorch/**/*.py"],
    "torch_npu": ["mindtorch_proxy/torch_npu/**/*.py"],
}


def modules(tree, root=ROOT):
    """{name: (path, whether it is a package)} of the modules of a tree. torch itself is none of them: all files of its
    tree import it, and it needs some of them.
    """
    found = {}
    for pattern in TREES[tree]:
        folder = root / pattern.partition("*")[0]
        for path in sorted(root.glob(pattern)):
            parts = [tree, *path.relative_to(folder).with_suffix("").parts]
            package = parts[-1] == "__init__"
            found[".".join(parts[:-1] if package else parts)] = path, package
    if tree == "torch":
        found.pop(tree, None)
    return found


def imported(tree):
    """The imports of a syntax tree, wherever they stand, but those for types alone."""
    for_types = {
        id(n)
        for i in ast.walk(tree)
        if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.dump(i.test)
        for n in ast.walk(i)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in for_types:
            yield node


def targets(name, package, node):
    """For each name that an import statement of a module brings: the modules that it may be, the likeliest first."""
    if isinstance(node, ast.Import):
        return [[alias.name] for alias in node.names]
    here = name.split(".")
    above = here[: len(here) - node.level + package] if node.level else []
    source = ".".join([*above, *([node.module] if node.module else [])])
    return [[f"{source}.{alias.name}", source] for alias in node.names]


def graph(tree, root=ROOT):
    """{module: the modules of the same tree that it imports}."""
    known = modules(tree, root)
    return {
        name: {
            found
            for node in imported(ast.parse(path.read_text(encoding="utf-8")))
            for candidates in targets(name, package, node)
            if (found := next((c for c in candidates if c in known), name)) != name
        }
        for name, (path, package) in known.items()
    }


def packages(files, tree):
    """The graph of the packages and single modules that lie directly in a tree, from that of its files."""
    home = {name: ".".join(name.split(".")[: tree.count(".") + 2]) for name in files}
    found = {package: set() for package in home.values()}
    for name, others in files.items():
        found[home[name]] |= {home[other] for other in others} - {home[name]}
    return found


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


def layers(graph):
    """Lists of names from the bottom up: each imports from the lists below its own. ValueError for a circle."""
    found, left = [], dict(graph)
    while left:
        layer = sorted(name for name, others in left.items() if not others & left.keys())
        if not layer:
            raise ValueError(f"a circle among {sorted(left)}")
        found.append(layer)
        for name in layer:
            del left[name]
    return found


def table():
    """The table of the page: what lies directly in runtime/, from the bottom up, and what each imports."""
    found = packages(graph(RUNTIME), RUNTIME)
    short = {name: name.removeprefix(RUNTIME).lstrip(".") or "`__init__`" for name in found}
    lines = ["| layer | package or module | imports |", "|---|---|---|"]
    for number, layer in enumerate(layers(found)):
        for name in layer:
            lines.append(f"| {number} | {short[name]} | {', '.join(sorted(short[other] for other in found[name]))} |")
    return "\n".join(lines) + "\n"


def page():
    """The page with the table as it should be."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(page() != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page(), encoding="utf-8")
