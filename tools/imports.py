"""Which modules and names of torch do packages use, and which of them do we lack?

    python tools/imports.py [--oracle PYTHON] [--json FILE] [--before FILE] [--check] [--write] PACKAGE ...
    python tools/imports.py --list | --rejudge

PACKAGE is a wheel, a source archive, a folder, or the name of an installed distribution. Its source is read and never
run; nothing is installed. A name counts where it is imported (`import torch.x`, `from torch.x import y`), where it is
reached by attributes (`torch.x.y`, through aliases too), and where it is a literal in `importlib.import_module`,
`__import__`, `getattr` and `hasattr`. What `from torch.x import *` brings is not followed. Our torch is asked for all
of them in a process of its own, and so is, with --oracle, the real one: what PyTorch itself lacks is not ours to build.

--list prints the packages that docs/libraries.md tells of, --write writes its table, and --rejudge removes from it what
exists here by now, without reading a package. `tools/imports.toml` names them, and why some names are missing. --before
FILE (of --json) ends with status 1 where a name is missing that was not missing then, --check where one that a module
needs in order to be imported is missing without a reason.
"""

import argparse
import ast
import builtins
import collections
import dataclasses
import importlib.metadata
import json
import re
import subprocess
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / "tools" / "imports.toml"
PAGE = ROOT / "docs" / "libraries.md"
BEGIN, END = "<!-- imports: tools/imports.py --write writes this -->\n", "<!-- end of imports -->\n"
ROOTS = ("torch", "functorch", "torchgen")  # the packages that PyTorch's wheel brings
OURS = [sys.executable, "-m", "mindtorch_proxy"]
# folders of a package that nobody imports who uses it
ASIDE = set("tests test docs doc examples example benchmarks benchmark scripts third_party tutorials notebooks".split())
# folders around the packages in archives
LAYOUT = {"src", "lib", "python", "purelib", "platlib"}
# names in the test of an `if` that ask how new something is, or whether it is there
VERSION = re.compile(r"version|_ge_|at_least", re.I)
THERE = "avail|install|hasattr|find_spec|has_|support|platform|compat|import|exist|is_(npu|xpu|cuda|hip|rocm|hpu)"
ASKS = re.compile(f"{VERSION.pattern}|{THERE}", re.I)
# when a use runs: when the package is imported, when that one of its modules is imported, when something is called
WHERE = ("import", "module", "function")


# --- packages ---


@dataclasses.dataclass
class Package:
    """The source of a package: its name, its version, and what its Python files hold, by their paths."""

    name: str
    version: str
    files: dict

    def __post_init__(self):
        files = {path: text for path, text in self.files.items() if not ASIDE & set(PurePosixPath(path).parts[:-1])}
        self.modules = {module_name(path): path for path in sorted(files)}


def module_name(path):
    """The dotted name of a file, from the folder on that is on the path when the package is installed."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    while len(parts) > 1 and (parts[0] in LAYOUT or parts[0].endswith(".data")):
        del parts[0]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def from_zip(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}


def from_tar(path):
    with tarfile.open(path) as archive:
        members = [m for m in archive if m.isfile() and m.name.endswith(".py")]
        return {m.name: archive.extractfile(m).read() for m in members}


def inner(files):
    """The files of a source archive without the folder around them, and without the programs beside the packages."""
    files = {path.partition("/")[2]: text for path, text in files.items()}
    return {path: text for path, text in files.items() if "/" in path}


def read(source):
    """The package of a wheel, a source archive, a folder, or an installed distribution's name.

    importlib.metadata.PackageNotFoundError where it is none of these.
    """
    path = Path(source)
    if path.suffix == ".whl":
        name, version = path.name.split("-")[:2]
        return Package(name, version, from_zip(path))
    if path.suffix in (".gz", ".zip", ".bz2", ".xz"):
        name, _, version = re.sub(r"\.(tar\.\w+|zip)$", "", path.name).rpartition("-")
        return Package(name, version, inner(from_zip(path) if path.suffix == ".zip" else from_tar(path)))
    if path.is_dir():
        path = path.resolve()
        root = path.parent if (path / "__init__.py").exists() else path
        return Package(path.name, "", {p.relative_to(root).as_posix(): p.read_bytes() for p in path.rglob("*.py")})
    distribution = importlib.metadata.distribution(source)
    paths = [p for p in distribution.files or () if p.suffix == ".py" and ".." not in p.parts and p.locate().exists()]
    return Package(distribution.name, distribution.version, {p.as_posix(): p.locate().read_bytes() for p in paths})


# --- what one file uses ---


@dataclasses.dataclass(frozen=True)
class Alias:
    """What a name of a program stands for: a dotted name of torch, and the part of it that is an imported module."""

    name: str
    module: str


@dataclasses.dataclass(frozen=True)
class Own:
    """A function or a class of the package itself that a name stands for: its module, and its line there."""

    key: str


@dataclasses.dataclass(frozen=True)
class Use:
    """One use of a dotted name of torch.

    kind: "import", "from", "attribute", or "asked" (hasattr, getattr with a default, find_spec), which needs no name.
    module: the part of the name that is imported first. base: the part that an import before it has reached already.
    level: whether it runs when its module is imported. owner: the key of the function that it stands in, or "".
    when: "", "conditional" or "typing". caught: the names of the exceptions that are caught around it.
    """

    name: str
    kind: str
    module: str
    base: str
    path: str
    line: int
    level: bool
    owner: str
    when: str
    caught: tuple


class Scope(dict):
    """Names of a module, a class or a function: what each stands for, an Alias, an Own, or None for anything else."""

    def __init__(self, kind, names=(), key=""):
        super().__init__(dict.fromkeys(names))
        self.kind, self.key, self.shared = kind, key, set()


class Bound(ast.NodeVisitor):
    """The names that a function binds itself, those of the functions within it left out."""

    def __init__(self, arguments, body):
        self.names, self.shared, self.outer = set(), set(), set()
        for node in (arguments, *body):
            self.visit(node)
        self.names -= self.shared | self.outer

    def visit_arg(self, node):
        self.names.add(node.arg)

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.names.add(node.id)

    def visit_FunctionDef(self, node):
        self.names.add(node.name)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node):
        pass

    def visit_comprehension(self, node):
        pass

    def visit_ExceptHandler(self, node):
        self.names.update(filter(None, [node.name]))
        self.generic_visit(node)

    def visit_Import(self, node):
        self.names.update((a.asname or a.name).partition(".")[0] for a in node.names)

    visit_ImportFrom = visit_Import

    def visit_MatchAs(self, node):
        self.names.update(filter(None, [node.name]))
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_Global(self, node):
        self.shared.update(node.names)

    def visit_Nonlocal(self, node):
        self.outer.update(node.names)


def last(node):
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def words(node):
    """The identifiers within an expression."""
    return [last(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)]


def asks(test):
    return any(ASKS.search(word) for word in words(test))


def is_main(test):
    return "__name__" in words(test)


def is_typing(test):
    return "TYPE_CHECKING" in words(test) and not isinstance(test, ast.UnaryOp)


def leaves(statement):
    """Whether it is an `if` of what is there whose body goes away, so that what follows depends on it."""
    if not isinstance(statement, ast.If) or statement.orelse or not asks(statement.test):
        return False
    old = any(VERSION.search(word) for word in words(statement.test))  # ours is new enough, so that it stays
    return not old and isinstance(statement.body[-1], ast.Raise | ast.Return | ast.Continue)


def handled(handlers):
    """The names of the exceptions that handlers catch and keep."""
    caught = set()
    for handler in handlers:
        if not any(isinstance(statement, ast.Raise) for statement in handler.body):
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            caught.update("BaseException" if kind is None else last(kind) for kind in kinds)
    return caught


def literal(call, position):
    """The text that a call's argument is, or None."""
    argument = call.args[position] if len(call.args) > position else None
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def is_torch(name):
    return name.partition(".")[0] in ROOTS


class Reader(ast.NodeVisitor):
    """Walks a module in the order in which it runs, function bodies after all else, and notes what it uses of torch."""

    def __init__(self, source, module, path, tree):
        self.source, self.module, self.path = source, module, path
        self.is_package = path.endswith("__init__.py")
        self.uses = []
        self.calls = []  # (a module's name or a function's key, that of what it imports or calls, whatever is there)
        self.owner = ""
        self.scopes = [Scope("module")]
        self.level, self.when, self.caught = True, "", frozenset()
        self.deferred = collections.deque()
        self.postponed = False  # annotations are texts
        self.tree = tree

    def run(self):
        self.block(self.tree.body)
        while self.deferred:
            node, self.scopes, self.when = self.deferred.popleft()
            self.level, self.caught, self.owner = False, frozenset(), self.key(node)
            bound = Bound(node.args, [] if isinstance(node, ast.Lambda) else node.body)
            scope = Scope("function", bound.names)
            scope.shared = bound.shared
            self.scopes = [*self.scopes, scope]
            self.visit(node.body) if isinstance(node, ast.Lambda) else self.block(node.body)
        del self.tree

    # --- state ---

    def under(self, nodes, when=None, caught=None, level=None):
        """Visit a block, or an expression, with another state."""
        before = self.when, self.caught, self.level
        if when and self.when != "typing":
            self.when = when
        self.caught = self.caught | (caught or frozenset())
        self.level = self.level if level is None else level
        self.block(nodes) if isinstance(nodes, list) else self.visit(nodes)
        self.when, self.caught, self.level = before

    def block(self, statements):
        before = self.when
        for statement in statements:
            self.visit(statement)
            if leaves(statement):
                self.when = self.when or "conditional"
        self.when = before

    def note(self, name, kind, module, base, node):
        state = self.level, self.owner, self.when, tuple(sorted(self.caught))
        self.uses.append(Use(name, kind, module, base, self.path, node.lineno, *state))

    def free(self):
        """Whether what is read runs with the import of the module or with the function around it, whatever is there."""
        return not self.when and not self.caught and (self.level or bool(self.owner))

    def key(self, node):
        return f"{self.module}:{node.lineno}"

    def call(self, function):
        """Note that something calls a function or makes an object of a class."""
        own = self.look(function.id) if isinstance(function, ast.Name) else None
        if isinstance(own, Own) and self.free():
            self.calls.append((self.owner or self.module, own.key))

    def bind(self, name, alias):
        """A name's new meaning; what stands in for something of torch that may be missing changes nothing."""
        scope = self.scopes[0] if name in self.scopes[-1].shared else self.scopes[-1]
        if not isinstance(alias, Alias) and isinstance(scope.get(name), Alias) and self.when:
            return
        scope[name] = alias

    def look(self, name):
        for scope in reversed(self.scopes):
            if name in scope and (scope.kind != "class" or scope is self.scopes[-1]):
                return scope[name]
        return None

    # --- expressions ---

    def resolve(self, node):
        """The Alias that an expression stands for, or None."""
        if isinstance(node, ast.Name):
            found = self.look(node.id)
            return found if isinstance(found, Alias) else None
        if isinstance(node, ast.Attribute):
            value = self.resolve(node.value)
            return value and Alias(f"{value.name}.{node.attr}", value.module)
        if isinstance(node, ast.Call):
            return self.resolve_call(node)
        return None

    def resolve_call(self, node):
        function = last(node.func)
        if function in ("import_module", "__import__") and (name := literal(node, 0)) and is_torch(name):
            return Alias(name if function == "import_module" else name.partition(".")[0], name)
        name = literal(node, 1) or ""
        if function == "getattr" and name.isidentifier() and (value := self.resolve(node.args[0])):
            return Alias(f"{value.name}.{name}", value.module)
        return None

    def root(self, node):
        """The Alias at the start of a chain of attributes."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return self.resolve(node)

    def visit_Attribute(self, node):
        whole = self.resolve(node if isinstance(node.ctx, ast.Load) else node.value)
        if whole is None:
            self.generic_visit(node)
            return
        root = self.root(node)
        if whole != root:
            self.note(whole.name, "attribute", whole.module, root.name, node)
        while isinstance(node, ast.Attribute):
            node = node.value
        self.visit(node)

    def visit_Call(self, node):
        found = self.resolve_call(node)
        function = last(node.func)
        if found and function in ("import_module", "__import__"):
            self.note(found.module, "import", found.module, "", node)
        elif found:
            value = self.resolve(node.args[0])
            self.note(found.name, "attribute" if len(node.args) < 3 else "asked", found.module, value.name, node)
        elif function == "hasattr" and (name := literal(node, 1)) and (value := self.resolve(node.args[0])):
            self.note(f"{value.name}.{name}", "asked", value.module, value.name, node)
        elif function == "find_spec" and (name := literal(node, 0)) and is_torch(name):
            self.note(name, "asked", name, "", node)
        self.call(node.func)
        self.generic_visit(node)

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.bind(node.id, None)

    def visit_IfExp(self, node):
        self.visit(node.test)
        for branch in (node.body, node.orelse):
            self.under(branch, "conditional" if asks(node.test) else None)

    def visit_BoolOp(self, node):
        when = None
        for value in node.values:
            self.under(value, when)
            when = when or ("conditional" if asks(value) else None)

    def comprehension(self, node):
        self.visit(node.generators[0].iter)
        self.scopes.append(Scope("function"))
        for i, part in enumerate(node.generators):
            self.visit(part.target)
            for inside in (*[part.iter][: i > 0], *part.ifs):
                self.visit(inside)
        for field in ("key", "value", "elt"):
            if hasattr(node, field):
                self.visit(getattr(node, field))
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    # --- definitions ---

    def defer(self, node):
        self.deferred.append((node, list(self.scopes), self.when))

    def annotation(self, node, evaluated=True):
        if node is not None:
            self.under(node, None if evaluated and not self.postponed else "typing")

    def defaults(self, arguments):
        for default in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
            self.visit(default)

    def visit_Lambda(self, node):
        self.defaults(node.args)
        self.defer(node)

    def visit_FunctionDef(self, node):
        for decorator in node.decorator_list:
            self.call(decorator)
            self.visit(decorator)
        self.defaults(node.args)
        for part in ast.iter_child_nodes(node.args):
            self.annotation(part.annotation if isinstance(part, ast.arg) else None)
        self.annotation(node.returns)
        self.defer(node)
        if node.name in ("__init__", "__new__", "__post_init__") and self.scopes[-1].kind == "class":
            self.calls.append((self.scopes[-1].key, self.key(node)))
        self.bind(node.name, Own(self.key(node)))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        for decorator in node.decorator_list:
            self.call(decorator)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self.scopes.append(Scope("class", key=self.key(node)))
        self.block(node.body)
        self.scopes.pop()
        self.bind(node.name, Own(self.key(node)))

    # --- statements ---

    def visit_AnnAssign(self, node):
        self.annotation(node.annotation, evaluated=self.scopes[-1].kind != "function")
        if node.value is not None:
            self.assign([node.target], node.value)

    def visit_Assign(self, node):
        self.assign(node.targets, node.value)

    def visit_NamedExpr(self, node):
        self.assign([node.target], node.value)

    def assign(self, targets, value):
        self.visit(value)
        for target in targets:
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts))
            for one, its in pairs:
                if not isinstance(one, ast.Name):
                    self.visit(one)
                elif not (isinstance(its, ast.Constant) and its.value is None):
                    self.bind(one.id, self.resolve(its))

    def visit_If(self, node):
        self.visit(node.test)
        if is_typing(node.test):
            self.under(node.body, "typing")
            self.under(node.orelse)
            return
        when = "conditional" if asks(node.test) else None
        self.under(node.body, when, level=False if is_main(node.test) else None)
        self.under(node.orelse, when)

    def visit_Try(self, node):
        caught = handled(node.handlers)
        self.under(node.body, caught=caught)
        for handler in node.handlers:
            if handler.type is not None:
                self.visit(handler.type)
            self.under(handler.body, "conditional")
        self.under(node.orelse, "conditional" if caught else None)
        self.under(node.finalbody)

    visit_TryStar = visit_Try

    def visit_With(self, node):
        caught = set()
        for item in node.items:
            self.visit(item)
            call = item.context_expr
            if isinstance(call, ast.Call) and last(call.func) == "suppress":
                caught.update(map(last, call.args))
        self.under(node.body, caught=frozenset(caught))

    visit_AsyncWith = visit_With

    # --- imports ---

    def visit_Import(self, node):
        for name in node.names:
            short = name.name.partition(".")[0]
            if not is_torch(name.name):
                self.own_imports(name.name)
                self.bind(name.asname or short, None)
                continue
            self.note(name.name, "import", name.name, "", node)
            self.bind(name.asname or short, Alias(*[name.name if name.asname else short] * 2))

    def visit_ImportFrom(self, node):
        if node.module == "__future__":
            self.postponed = self.postponed or any(name.name == "annotations" for name in node.names)
        module = self.absolute(node)
        if node.level or not is_torch(module):
            self.own(module, node)
            return
        for name in node.names:
            if name.name == "*":
                self.note(module, "import", module, "", node)
                continue
            whole = f"{module}.{name.name}"
            self.note(whole, "from", module, "", node)
            self.bind(name.asname or name.name, Alias(whole, module))

    def own_imports(self, name):
        """Note that a module is imported, and those around it, if they are the package's."""
        if self.free():
            parts = name.split(".")
            self.calls += [(self.owner or self.module, ".".join(parts[:i])) for i in range(1, len(parts) + 1)]

    def absolute(self, node):
        """The full name of the module that a `from ... import` names."""
        if not node.level:
            return node.module
        parts = self.module.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *filter(None, [node.module])])

    def own(self, module, node):
        """Names that another module of the package has of torch are torch's here too."""
        names = self.source.names(module)
        for name in node.names:
            if name.name == "*":
                self.own_imports(module)
                for own, alias in names.items():
                    if alias and not own.startswith("_"):
                        self.bind(own, alias)
                continue
            self.own_imports(f"{module}.{name.name}")
            self.bind(name.asname or name.name, names.get(name.name))


class Source:
    """The modules of a package, each read once, where another one asks for its names if that is earlier."""

    def __init__(self, package):
        self.package, self.readers, self.unreadable = package, {}, []

    def names(self, module):
        """The names of one of the package's modules, as far as they are known; none of another's."""
        reader = self.reader(module)
        return reader.scopes[0] if reader else {}

    def reader(self, module):
        if module not in self.package.modules:
            return None
        if module not in self.readers:
            path = self.package.modules[module]
            try:
                tree = ast.parse(self.package.files[path], path)
            except (SyntaxError, ValueError):
                self.unreadable.append(path)
                tree = ast.Module([], [])
            self.readers[module] = Reader(self, module, path, tree)
            self.readers[module].run()
        return self.readers[module]

    def reached(self, modules):
        """The modules and functions that run when modules are imported, by their names and keys."""
        calls = collections.defaultdict(set)
        for reader in self.readers.values():
            for caller, callee in reader.calls:
                calls[caller].add(callee)
        found, left = set(), list(modules)
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += calls[one]
        return found


def uses(package):
    """(Each use of torch in a package with where it runs, the files that are no Python of today)."""
    source = Source(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in package.modules:
            source.reader(module)
    first, later = source.reached(m for m in package.modules if "." not in m), source.reached(package.modules)
    found = []
    for module, reader in source.readers.items():
        for use in reader.uses:
            runs = module if use.level else use.owner
            found.append((use, "import" if runs in first else "module" if runs in later else "function"))
    return found, source.unreadable


# --- what a torch says of the names ---

# Prints of each [module, name] its state, the part of the name that failed, and the error's text.
# The module "bare" asks for attributes after `import torch` alone.
PROBE = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
import torch
at = ""
def walk(first, name, imports):
    global at
    value, at = importlib.import_module(first), first
    for part in name[len(first) + 1:].split(".") if name != first else ():
        at += "." + part
        try:
            value = getattr(value, part)
        except AttributeError:
            if not imports or type(value).__name__ != "module":
                raise
            value = importlib.import_module(at)
def load(name):
    global at
    parts = name.split(".")
    for i in range(len(parts)):
        at = ".".join(parts[: i + 1])
        importlib.import_module(at)
def state(first, name):
    try:
        if first != "bare":
            load(first)
        walk(name.partition(".")[0] if first == "bare" or not name.startswith(first) else first, name, first != "bare")
    except NotImplementedError as error:
        return "unsupported", at, str(error)
    except ModuleNotFoundError as error:
        if not error.name or not (at + ".").startswith(error.name + "."):  # something else that it needs
            return "error", at, str(error)
        return "no module" if (first + ".").startswith(at + ".") else "missing", at, str(error)
    except AttributeError as error:
        return "missing", at, str(error)
    except BaseException as error:
        return "error", at, type(error).__name__ + ": " + str(error)[:200]
    return "there", "", ""
for first, name in json.loads(sys.stdin.readline()):
    print("ANSWER" + json.dumps([first, name, state(first, name)]), flush=True)
"""


def ask(command, wanted):
    """What a torch says of each (module, name). Where one ends the process, another process is asked for the others."""
    answers, left = {}, sorted(set(wanted), key=lambda pair: (pair[0] != "bare", pair))
    while left:
        done = subprocess.run([*command, "-c", PROBE], input=json.dumps(left) + "\n", capture_output=True, text=True)
        lines = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("ANSWER")]
        if not lines and not answers:
            sys.exit(f"tools/imports.py: {command[0]} did not answer:\n{done.stderr[-2000:]}")
        answers.update({(first, name): answer for first, name, answer in lines})
        left = left[len(lines) :]
        if left:
            answers[left[0]] = ["error", left[0][1], f"the process ended with {done.returncode}"]
            left = left[1:]
    return answers


def failure(use, answer):
    """The name of the exception that a use meets."""
    state, at, _ = answer
    if state == "unsupported":
        return "NotImplementedError"
    if state == "error":
        return "Exception"
    if (use.module + ".").startswith(at + "."):
        return "ModuleNotFoundError"
    return "ImportError" if use.kind == "from" and at == use.name else "AttributeError"


def guarded(use, error):
    """Whether the program is ready for it: it asks first, or catches the error."""
    kinds = [getattr(builtins, name, None) for name in use.caught]
    catches = any(isinstance(k, type) and issubclass(getattr(builtins, error), k) for k in kinds)
    return "asks" if use.kind == "asked" else use.when or ("catches" if catches else "")


# --- findings ---


def within(part, name):
    return (name + ".").startswith(part + ".")


def unloaded(use, ours, theirs):
    """An answer for what is here, but only after an import that PyTorch does not need; None else."""
    bare = "bare", use.name
    if theirs is None or bare not in ours or ours[bare][0] == "there" or theirs[bare][0] != "there":
        return None
    return "not loaded", *ours[bare][1:]


def judge(package, found, ours, theirs):
    """What one package meets: a dictionary for each use of a name that is not here, but is in PyTorch."""
    for use, where in found:
        answer = ours[use.module, use.name]
        if answer[0] == "there" and (answer := unloaded(use, ours, theirs)) is None:
            continue
        state, at, why = answer
        real = "there" if theirs is None else theirs[use.module, use.name][0]
        if real == state == "error":  # what both need is not installed
            continue
        error = failure(use, answer)
        yield {
            "package": package,
            "name": at,
            "wanted": use.name,
            "state": state if real in ("there", "error") else "not in PyTorch",
            "place": f"{use.path}:{use.line}",
            "where": where,
            "guard": guarded(use, error),
            "error": error,
            "why": why,
            "derived": bool(use.base) and within(at, use.base),
        }


def survey(packages, oracle):
    """The report, as --json writes it, on packages: each given as (name, version, uses, files that cannot be read)."""
    wanted = {(use.module, use.name) for _, _, found, _ in packages for use, _ in found}
    names = len({name for _, name in wanted})
    wanted |= {("bare", name) for module, name in wanted if module in ROOTS}
    ours = ask(OURS, wanted)
    theirs = ask([oracle], wanted) if oracle else None
    return {
        "packages": {name: version for name, version, _, _ in packages},
        "unreadable": {name: files for name, _, _, files in packages if files},
        "names": names,
        "findings": [finding for name, _, found, _ in packages for finding in judge(name, found, ours, theirs)],
    }


def opened(source):
    """What `survey` asks of one package."""
    try:
        package = read(source)
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"tools/imports.py: {source} is no wheel, archive, folder, or installed distribution")
    print(f"{package.name} {package.version}: {len(package.modules)} modules", file=sys.stderr, flush=True)
    return package.name, package.version, *uses(package)


# --- reports ---

FREE, GUARDED, LATER = "At module level, nothing guards it", "At module level, guarded", "Within functions"


def parts(findings):
    """The findings that count, in three parts."""
    found = {FREE: [], GUARDED: [], LATER: []}
    for f in findings:
        if f["state"] != "not in PyTorch" and not f["derived"]:
            found[LATER if f["where"] == "function" else GUARDED if f["guard"] else FREE].append(f)
    return found


def grouped(findings):
    """[(name, its findings)], the name of most packages first, and of its findings the one that is met first."""
    names = collections.defaultdict(list)
    for finding in sorted(findings, key=lambda f: (WHERE.index(f["where"]), f["package"], f["place"])):
        names[finding["name"]].append(finding)
    return sorted(names.items(), key=lambda item: (-len(packages_of(item[1])), item[0]))


def packages_of(findings):
    return sorted({f["package"] for f in findings})


FATES = ("not in PyTorch", "unsupported", "guarded", "missing")


def fate(finding):
    if finding["state"] in FATES[:2]:
        return finding["state"]
    return "guarded" if finding["guard"] else "missing"


def summary(report):
    """How many names there are, and what became of them, in a sentence."""
    worst = {}
    for finding in report["findings"]:
        worst[finding["wanted"]] = max(worst.get(finding["wanted"], 0), FATES.index(fate(finding)))
    lacks, unsupported, guarded, missing = (list(worst.values()).count(i) for i in range(len(FATES)))
    return (
        f"{report['names']:,} names and modules of torch: {report['names'] - len(worst):,} exist here, "
        f"{lacks:,} are not in"
        f" PyTorch, {unsupported} raise NotImplementedError, {guarded} are missing but the package handles that,"
        f" {missing} are missing."
    )


def text(report):
    """The findings in plain lines."""
    lines, wanted = [summary(report)], collections.defaultdict(set)
    for f in report["findings"]:
        if f["state"] != "not in PyTorch":
            wanted[f["name"]].add(f["wanted"])
    for title, part in parts(report["findings"]).items():
        names = grouped(part)
        lines += ["", f"## {title}: {len(names)} names"]
        for name, some in names:
            first, packages = some[0], packages_of(some)
            guards = "/".join(sorted({f["guard"] or "free" for f in some}))
            kind = f"[{first['state']}, {first['where']}, {guards}]"
            lines.append(f"{len(packages):3} {name}  {kind}  {first['package']}: {first['place']}")
            lines += [f"      packages: {', '.join(packages)}"] if len(packages) > 1 else []
            deeper = sorted(wanted[name] - {name})
            lines += [f"      wanted: {', '.join(d.removeprefix(name) for d in deeper)}"] if deeper else []
    stopped = collections.defaultdict(set)
    for f in parts(report["findings"])[FREE]:
        if f["where"] == "import":
            stopped[f["package"]].add(f["name"])
    lines += ["", f"## Packages whose own import meets such a name: {len(stopped)}"]
    lines += [f"{package}: {', '.join(sorted(names))}" for package, names in sorted(stopped.items())]
    return "\n".join(lines)


def listed():
    """What tools/imports.toml says: the names of packages, why others are left out, {name that is missing: why}."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    said = tomllib.loads(PACKAGES.read_text(encoding="utf-8"))
    return {**said, "reasons": {name: entry["why"] for entry in said["missing"] for name in entry["names"]}}


def reason(name, reasons):
    """Why a name is missing: as is said of it, or of the nearest module above it."""
    known = [part for part in reasons if within(part, name)]
    return reasons[max(known, key=len)] if known else ""


def absent(report):
    """{name: how bad it is}: 0 where a module cannot be imported, 1 where a function fails.

    What says so by NotImplementedError, and what the package is ready for, is honestly absent and left out.
    """
    found = {}
    for title, part in parts(report["findings"]).items():
        for f in part:
            if fate(f) == "missing":
                found[f["name"]] = min(found.get(f["name"], 1), int(title == LATER))
    return found


def became(report, before):
    """The names that are missing now and were not, or only within functions."""
    then = absent(before)
    return sorted(name for name, bad in absent(report).items() if bad < then.get(name, 2))


def row(name, some, reasons):
    first = some[0]
    needs = {"import": "the package", "module": "one of its modules"}[first["where"]]
    states = {"unsupported": "NotImplementedError says so", "not loaded": "here, but `import torch` does not load it"}
    why = states.get(first["state"]) or reason(name, reasons)
    return f"| `{name}` | {', '.join(packages_of(some))} | {needs} | {first['place']} | {why} |"


def section(report, known):
    """The section of docs/libraries.md."""
    found = parts(report["findings"])
    packages = sorted(f"{name.replace('_', '-')} {version}" for name, version in report["packages"].items())
    lines = [
        f"{len(packages)} packages, each in the newest version on the registry, use {summary(report)}",
        f"{len(grouped(found[FREE]))} missing names prevent the import of a module; the table lists them.",
        f"The packages are {', '.join(packages)}.",
        *(f"Left out: {name} ({why})." for name, why in sorted(known["left-out"].items())),
        "",
        "| missing | packages | needed by the import of | first place | why |",
        "|---|---|---|---|---|",
        *(row(name, some, known["reasons"]) for name, some in grouped(found[FREE])),
        "",
    ]
    for title in (GUARDED, LATER):
        said = (f"`{name}` ({', '.join(packages_of(some))})" for name, some in grouped(found[title]))
        lines += [f"{title}: {', '.join(said)}.", ""]
    return "\n".join(lines)


def write(report):
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + section(report, listed()) + END + rest.split(END)[1], encoding="utf-8")


LISTED = re.compile(r"`((?:torch|functorch|torchgen)\b[\w.]*)`")


def rejudged(section):
    """The section without the names that exist here by now; the counts of its first sentence stay as they are."""
    lines = section.splitlines()
    names = [LISTED.findall(line) if line.startswith(("| `", GUARDED, LATER)) else [] for line in lines]
    answers = ask(OURS, {("torch", name) for line in names for name in line if name.startswith("torch.")})
    there = {name for (_, name), answer in answers.items() if answer[0] == "there"}
    kept = [line for line in lines if not (line.startswith("| `") and LISTED.match(line, 2)[1] in there)]
    for i, line in enumerate(kept):
        if line.startswith((GUARDED, LATER)):
            title, items = line.rstrip(".").split(": ", 1)
            items = [item for item in re.split(r"(?<=\)), ", items) if LISTED.match(item)[1] not in there]
            kept[i] = f"{title}: {', '.join(items)}."
        elif "missing names prevent" in line:
            count = sum(other.startswith("| `") for other in kept)
            kept[i] = f"{count}{line[line.index(' ') :]}"
    return "\n".join(kept) + "\n"


def rejudge():
    """Remove from docs/libraries.md what exists here by now."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    section, after = rest.split(END)
    PAGE.write_text(before + BEGIN + rejudged(section) + END + after, encoding="utf-8")


def complaints(report, options):
    """What ends the run with status 1."""
    reasons = listed()["reasons"]
    if options.before:
        then = json.loads(Path(options.before).read_text(encoding="utf-8"))
        yield from (f"became missing: {name}" for name in became(report, then) if not reason(name, reasons))
    if options.check:
        needed = sorted(name for name, bad in absent(report).items() if not bad)
        yield from (f"missing without a reason: {name}" for name in needed if not reason(name, reasons))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    parser.add_argument("--oracle", metavar="PYTHON", help="a Python with the real torch")
    parser.add_argument("--json", metavar="FILE", help="write the findings there")
    parser.add_argument("--before", metavar="FILE", help="an earlier --json: say what became missing, with status 1")
    parser.add_argument("--check", action="store_true", help="say what is missing without a reason, with status 1")
    parser.add_argument("--write", action="store_true", help="write the table of docs/libraries.md")
    parser.add_argument("--list", action="store_true", help="print the names of the packages in tools/imports.toml")
    parser.add_argument("--rejudge", action="store_true", help="remove from that table what exists here by now")
    options = parser.parse_args(arguments)
    if options.rejudge:
        rejudge()
        return 0
    if options.list:
        print(*listed()["packages"], sep="\n")
        return 0
    report = survey([opened(source) for source in options.packages], options.oracle)
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.write:
        write(report)
    print(text(report))
    found = list(complaints(report, options))
    print("", *found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.setrecursionlimit(100_000)  # modules that read each other, and long expressions
    sys.exit(main(sys.argv[1:]))
