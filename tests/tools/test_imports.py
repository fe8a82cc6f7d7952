"""Tests the tool that finds names of torch in packages: its findings in a small package, its report and its table."""

import importlib.util
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load():
    spec = importlib.util.spec_from_file_location("imports", ROOT / "tools" / "imports.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["imports"] = module  # needed by dataclasses
    spec.loader.exec_module(module)
    return module


imports = load()


def planted(folder, files):
    """Create a package in a folder from {path within it: source}; return the folder."""
    for name, source in {"__init__.py": "", **files}.items():
        path = folder / "planted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return folder


def found(folder):
    """Return ({(file, line, name, kind)}, {name: (where, when, caught)}) for the uses in a folder."""
    uses, unreadable = imports.uses(imports.read(folder))
    assert not unreadable
    places = {(use.path.rpartition("/")[2], use.line, use.name, use.kind) for use, _ in uses}
    return places, {use.name: (where, use.when, use.caught) for use, where in uses}


def names(folder):
    return {name for _, _, name, _ in found(folder)[0]}


FORMS = """\
import torch
import torch.a.b
import torch.c as C
from torch import nn
from torch.d import e as E, f
from torch.g import *
import importlib
import numpy as np
T = torch.h
one, two = torch.i, nn.j
T.k.l(1)
C.m(), E.n, f.o, one.p, two.q
importlib.import_module("torch.r").s
__import__("torch.t")
getattr(torch.u, "v").w
getattr(nn, "x", None)
hasattr(torch, "y")
importlib.util.find_spec("torch.z")
torch.tensor([1]).not_followed
np.torch.not_torch
torch.set.on = torch.value
getattr(np, "not_torch")
C["text"].not_followed
"""


def test_every_form_is_found(tmp_path):
    assert found(planted(tmp_path, {"forms.py": FORMS}))[0] == {
        ("forms.py", line, name, kind)
        for line, name, kind in [
            (1, "torch", "import"),
            (2, "torch.a.b", "import"),
            (3, "torch.c", "import"),
            (4, "torch.nn", "from"),
            (5, "torch.d.e", "from"),
            (5, "torch.d.f", "from"),
            (6, "torch.g", "import"),
            (9, "torch.h", "attribute"),
            (10, "torch.i", "attribute"),
            (10, "torch.nn.j", "attribute"),
            (11, "torch.h.k.l", "attribute"),
            (12, "torch.c.m", "attribute"),
            (12, "torch.d.e.n", "attribute"),
            (12, "torch.d.f.o", "attribute"),
            (12, "torch.i.p", "attribute"),
            (12, "torch.nn.j.q", "attribute"),
            (13, "torch.r", "import"),
            (13, "torch.r.s", "attribute"),
            (14, "torch.t", "import"),
            (15, "torch.u", "attribute"),
            (15, "torch.u.v", "attribute"),
            (15, "torch.u.v.w", "attribute"),
            (16, "torch.nn.x", "asked"),
            (17, "torch.y", "asked"),
            (18, "torch.z", "asked"),
            (19, "torch.tensor", "attribute"),
            (21, "torch.set", "attribute"),
            (21, "torch.value", "attribute"),
        ]
    }


SCOPES = """\
import torch
from torch import nn

def parameter(torch, nn=nn.default):
    torch.no, nn.no

def rebound():
    nn = other()
    nn.no
    torch.yes1

def inner():
    import torch.own as nn
    def deeper():
        nn.yes2
        return [torch.no for torch in range(3)]
    lambda nn: nn.no
    for torch.target in (): pass
    try: ...
    except Exception as torch: torch.no

class Class:
    nn = nn.of_class
    value = nn.yes3
    def method(self, x: torch.annotation) -> torch.returned:
        nn.yes4
        local: torch.typing1 = 1

later.nn.no
def uses_what_comes_later():
    late.yes5
late = torch.late

def shared():
    global lazy
    import torch.lazy as lazy
def after_shared():
    lazy.yes6
match later:
    case {"x": x}: torch.yes7
nn = something()
nn.no
"""


def test_names_are_torchs_where_they_are_bound_to_it(tmp_path):
    assert names(planted(tmp_path, {"scopes.py": SCOPES})) == {
        "torch",
        "torch.nn",
        "torch.nn.default",
        "torch.yes1",
        "torch.own",
        "torch.own.yes2",
        "torch.nn.of_class",
        "torch.nn.of_class.yes3",
        "torch.annotation",
        "torch.returned",
        "torch.typing1",
        "torch.late",
        "torch.late.yes5",
        "torch.lazy",
        "torch.lazy.yes6",
        "torch.yes7",
    }


def test_what_does_not_stand_for_torch_at_the_end_is_not_followed_into_functions(tmp_path):
    """A name that the module rebinds does not mean torch in functions, unless the new value is a fallback like None."""
    source = "from torch import a, b\ntry:\n    from torch import c\nexcept ImportError:\n    c = Other()\n"
    source += "a = 1\nb = None\ndef f():\n    a.no, b.yes, c.yes\n"
    assert names(planted(tmp_path, {"m.py": source})) == {"torch.a", "torch.b", "torch.b.yes", "torch.c", "torch.c.yes"}


GUARDS = """\
import contextlib
import torch
from typing import TYPE_CHECKING
free = torch.free
try:
    import torch.a
    from torch import b
    torch.c
except (ImportError, errors.Own):
    torch.fallback
else:
    torch.otherwise
finally:
    torch.always
try:
    torch.d
except AttributeError:
    raise RuntimeError
with contextlib.suppress(AttributeError, ImportError):
    torch.e
if TYPE_CHECKING:
    torch.f
else:
    torch.g
if is_torch_available():
    torch.h
elif torch.__version__ >= "2":
    torch.i
if hasattr(torch, "j"):
    torch.j.k
torch.l if torch.cuda.is_available() else None
hasattr(torch, "m") and torch.m.n
if chance:
    torch.o
if __name__ == "__main__":
    torch.p
def function(x=torch.default):
    if not is_there_available():
        return
    torch.q
@torch.decorator
class Class(torch.Base):
    torch.body
    def method(self):
        torch.r
if is_torch_available():
    def guarded_function():
        torch.s
"""


def test_guards_and_levels(tmp_path):
    found_there = found(planted(tmp_path, {"__init__.py": "from . import guards", "guards.py": GUARDS}))[1]
    free, later = ("import", "", ()), ("function", "", ())
    typing, conditional = ("import", "typing", ()), ("import", "conditional", ())
    both = ("ImportError", "Own")
    assert found_there == {
        "torch": free,
        "torch.free": free,
        "torch.a": ("import", "", both),
        "torch.b": ("import", "", both),
        "torch.c": ("import", "", both),
        "torch.fallback": conditional,
        "torch.otherwise": conditional,
        "torch.always": free,
        "torch.d": free,
        "torch.e": ("import", "", ("AttributeError", "ImportError")),
        "torch.f": typing,
        "torch.g": free,
        "torch.h": conditional,
        "torch.__version__": conditional,
        "torch.i": conditional,
        "torch.j": free,
        "torch.j.k": conditional,
        "torch.cuda.is_available": free,
        "torch.l": conditional,
        "torch.m": free,
        "torch.m.n": conditional,
        "torch.o": free,
        "torch.p": later,
        "torch.default": free,
        "torch.q": ("function", "conditional", ()),
        "torch.decorator": free,
        "torch.Base": free,
        "torch.body": free,
        "torch.r": later,
        "torch.s": ("function", "conditional", ()),
    }


@pytest.mark.parametrize(
    "caught, kind, error, ready",
    [
        (("ImportError",), "from", "ModuleNotFoundError", True),
        (("ImportError",), "from", "NotImplementedError", False),
        (("ModuleNotFoundError",), "from", "ImportError", False),
        (("RuntimeError",), "attribute", "NotImplementedError", True),
        (("BaseException",), "attribute", "AttributeError", True),
        (("ImportError", "Own"), "attribute", "AttributeError", False),
        ((), "asked", "AttributeError", True),
    ],
)
def test_an_error_is_caught_where_the_handler_names_it(caught, kind, error, ready):
    use = imports.Use("torch.a", kind, "torch", "torch", "x.py", 1, True, "", "", caught)
    assert bool(imports.guarded(use, error)) is ready


def test_modules_of_the_package(tmp_path):
    """Relative imports are the package's own modules, through which names of torch may come.

    "import" marks names that are used when the package is imported.
    """
    modules = {
        "__init__.py": "from .compat import T, nn\nfrom .sub import module\nT.first",
        "compat.py": "import torch as T\nfrom torch import nn\nfrom .torch import own\nown.no",
        "torch.py": "own = 1",
        "sub/__init__.py": "",
        "sub/module.py": "from ..compat import *\nnn.second\nfrom . import lazy as lazy_\n",
        "sub/lazy.py": "from planted.compat import nn as N\nN.third",
        "alone.py": "from .compat import nn\nnn.fourth\nfrom .alone import nn",
        "tests/test_it.py": "import torch.no",
    }
    planted(tmp_path, modules)
    there = found(tmp_path)[1]
    assert {name: where for name, (where, _, _) in there.items()} == {
        "torch": "import",
        "torch.nn": "import",
        "torch.first": "import",
        "torch.nn.second": "import",
        "torch.nn.third": "import",
        "torch.nn.fourth": "module",
    }


def test_functions_that_the_import_calls_run_with_it(tmp_path):
    modules = {
        "__init__.py": "from .tools import decorate, Made, guarded\n@decorate\ndef f(): torch.no\nmade = Made()\n"
        "try:\n    guarded()\nexcept ImportError: ...\n",
        "tools.py": "import torch\ndef decorate(f):\n    helper()\n    def inner(): torch.inner\n    return inner\n"
        "def helper():\n    from torch import called\n    from . import lazy\n"
        "class Made:\n    def __init__(self): torch.made\n    def method(self): torch.method\n"
        "def guarded(): torch.guarded\ndef alone(): torch.alone\n",
        "lazy.py": "import torch.lazy\n",
        "other.py": "from .tools import alone\nalone()",
    }
    there = found(planted(tmp_path, modules))[1]
    assert {name: where for name, (where, _, _) in there.items()} == {
        "torch": "import",
        "torch.called": "import",
        "torch.lazy": "import",
        "torch.made": "import",
        "torch.alone": "module",
        "torch.inner": "function",
        "torch.method": "function",
        "torch.guarded": "function",
    }


def test_annotations_that_are_texts_run_nothing(tmp_path):
    source = "from __future__ import annotations\nimport torch\n"
    source += "def f(x: torch.a) -> torch.b: ...\nx: torch.c = torch.d\n"
    there = found(planted(tmp_path, {"m.py": source}))[1]
    assert sorted(name for name, (_, when, _) in there.items() if when == "typing") == ["torch.a", "torch.b", "torch.c"]
    assert sorted(name for name, (_, when, _) in there.items() if not when) == ["torch", "torch.d"]


def test_wheels_archives_and_distributions_are_read(tmp_path):
    source = b"import torch.planted"
    wheel, archive = tmp_path / "our_package-1.2-py3-none-any.whl", tmp_path / "our-package-1.3.tar.gz"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("our_package/__init__.py", source)
        file.writestr("our_package-1.2.dist-info/METADATA", "")
    with tarfile.open(archive, "w:gz") as file:
        for name in ("setup.py", "src/our_package/__init__.py", "tests/test_it.py"):
            member = tarfile.TarInfo(f"our-package-1.3/{name}")
            member.size = len(source)
            file.addfile(member, io.BytesIO(source))
    for file, name, version in ((wheel, "our_package", "1.2"), (archive, "our-package", "1.3")):
        package = imports.read(file)
        assert (package.name, package.version, list(package.modules)) == (name, version, ["our_package"])
        assert [use.name for use, _ in imports.uses(package)[0]] == ["torch.planted"]
    assert "pytest" in imports.read("pytest").modules
    with pytest.raises(imports.importlib.metadata.PackageNotFoundError):
        imports.read("no-such-distribution-of-ours")


PLANTED = """\
import torch
from torch.nn import Linear, NoSuchLayer
from torch.no_such_module import anything
torch.nn.functional.no_such_function
torch.Tensor.no_such_method
torch.Tensor.relu
torch.distributed.tensor.DTensor
try:
    from torch import no_such_name
except ImportError:
    no_such_name = None
def function():
    return torch.no_such_operator(1), torch.relu(2), anything.deeper
"""


def survey(folder, capsys, *arguments):
    """Run the tool on the package in a folder; return (exit status, report, printed text)."""
    status = imports.main([str(folder), "--json", str(folder / "report.json"), *map(str, arguments)])
    return status, json.loads((folder / "report.json").read_text()), capsys.readouterr().out


def test_missing_names_are_reported(tmp_path, capsys):
    planted(tmp_path, {"__init__.py": PLANTED})
    status, report, printed = survey(tmp_path, capsys, "--check")
    said = {
        title: {f["name"]: (f["state"], f["error"], int(f["place"].rpartition(":")[2])) for f in some}
        for title, some in imports.parts(report["findings"]).items()
    }
    assert said == {
        imports.FREE: {
            "torch.nn.NoSuchLayer": ("missing", "ImportError", 2),
            "torch.no_such_module": ("no module", "ModuleNotFoundError", 3),
            "torch.nn.functional.no_such_function": ("missing", "AttributeError", 4),
            "torch.Tensor.no_such_method": ("missing", "AttributeError", 5),
        },
        imports.GUARDED: {"torch.no_such_name": ("missing", "ImportError", 9)},
        imports.LATER: {"torch.no_such_operator": ("missing", "AttributeError", 13)},
    }
    assert "1 torch.no_such_module  [no module, import, free]" in printed
    assert "wanted: .anything, .anything.deeper" in printed
    assert f"{tmp_path.name}: torch.Tensor.no_such_method, torch.nn.NoSuchLayer" in printed
    assert status == 1 and printed.count("missing without a reason") == 4


def test_what_became_missing_ends_with_status_1(tmp_path, capsys, monkeypatch):
    def ask(command, wanted):
        return {pair: ["missing", pair[1], ""] if "no_such" in pair[1] else ["there", "", ""] for pair in wanted}

    monkeypatch.setattr(imports, "ask", ask)
    planted(tmp_path, {"__init__.py": "import torch\ntorch.no_such_a, torch.b\ndef f():\n    torch.no_such_c\n"})
    assert survey(tmp_path, capsys)[0] == 0
    before = (tmp_path / "report.json").rename(tmp_path / "before.json")
    assert survey(tmp_path, capsys, "--before", before)[0] == 0
    source = "import torch\ntorch.no_such_d\ntry:\n    torch.no_such_e\nexcept AttributeError: ...\n"
    source += "torch.no_such_c\ndef f():\n    torch.no_such_a\n"
    planted(tmp_path, {"__init__.py": source})
    status, _, printed = survey(tmp_path, capsys, "--before", before)
    assert status == 1 and [line for line in printed.splitlines() if line.startswith("became")] == [
        "became missing: torch.no_such_c",
        "became missing: torch.no_such_d",
    ]


def test_rejudging_removes_what_exists():
    section = """1 package uses 9 names.
3 missing names prevent the import of a module; the table lists them.

| missing | packages | why |
|---|---|---|
| `torch.no_such_a` | one | `torch.relu` is not it |
| `torch.nn.Linear` | one, two | no longer |
| `torch.no_such_b.c` | two | |

Within functions: `torch.relu` (one, two), `torch.no_such_d` (one, two), `functorch.no_such` (one).
"""
    kept = section.replace("| `torch.nn.Linear` | one, two | no longer |\n", "").replace("3 missing", "2 missing")
    assert imports.rejudged(section) == kept.replace("`torch.relu` (one, two), ", "")


def test_the_page_lists_nothing_that_exists():
    section = imports.PAGE.read_text(encoding="utf-8").split(imports.BEGIN)[1].split(imports.END)[0]
    assert imports.rejudged(section) == section


def test_what_pytorch_lacks_is_not_ours(tmp_path, capsys, oracle_python):
    source = PLANTED + "torch.multiprocessing.spawn, torch.relu\nimport torch.utils.tensorboard\n"
    planted(tmp_path, {"__init__.py": source})
    _, report, _ = survey(tmp_path, capsys, "--oracle", oracle_python)
    assert {f["state"] for f in report["findings"]} == {"not in PyTorch"}
    assert not any(imports.parts(report["findings"]).values())


def test_a_name_that_ends_the_process_is_told_of():
    say = "os._exit(3) if n == 'torch.b' else print('ANSWER' + json.dumps([m, n, ['there', '', '']]), flush=True)"
    program = f"import json, os, sys\nfor m, n in json.loads(sys.stdin.readline()):\n    {say}"
    answers = imports.ask([sys.executable, "-c", program], [("torch", f"torch.{letter}") for letter in "abc"])
    assert [answers["torch", f"torch.{letter}"][0] for letter in "abc"] == ["there", "error", "there"]


def test_the_table_has_a_reason_for_each_name():
    known = imports.listed()
    rows = imports.PAGE.read_text().split(imports.BEGIN)[1].split(imports.END)[0].splitlines()
    rows = [row for row in rows if row.startswith("| `")]
    without = [row for row in rows if not row.rstrip(" |").rpartition("|")[2].strip() or row.count("|") != 6]
    assert rows and not without, without
    assert len(known["packages"]) >= 80 and len(set(known["packages"])) == len(known["packages"])


def test_a_reason_holds_for_what_lies_below_its_name():
    reasons = {"torch.a": "first", "torch.a.b": "second"}
    said = [imports.reason(name, reasons) for name in ("torch.a", "torch.a.c", "torch.a.b.d", "torch.ab")]
    assert said == ["first", "first", "second", ""]
