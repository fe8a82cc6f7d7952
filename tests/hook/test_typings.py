"""Tests what type checkers and editors see of `torch` after `mindtorch-activate --install --with-types`."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(2, 3)
y = x @ x.t() + 1
reveal_type(F.softmax(y, dim=-1))
reveal_type(torch.max(y, dim=1))
reveal_type(x.shape)
reveal_type(torch.zeros(2, 3, dtype=torch.float32).relu_())
reveal_type(nn.Linear(3, 4))
torch.optim.AdamW(nn.Linear(3, 4).parameters(), lr=1e-3).step()
DataLoader(TensorDataset(x), batch_size=2)
torch.compile(nn.Linear(3, 4))
x.no_such_method()
torch.no_such_function(1)
torch.cat(3)
"""
TENSOR = r"(torch\.)?Tensor"
REVEALED = [TENSOR, r"(torch\.return_types\.)?max", r"(torch\.)?Size", TENSOR, r"(torch\.nn\.modules\.linear\.)?Linear"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Provide an environment that contains only the stubs."""
    folder = tmp_path_factory.mktemp("typed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    python = folder / "env/bin/python"
    site = next((folder / "env").glob("lib/python*/site-packages"))
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_proxy", "-m", "mindtorch_proxy.typings", site], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr  # no warnings of deprecated names
    (folder / "sample.py").write_text(SAMPLE)
    for name in ("idioms", "wrong_calls"):
        (folder / f"{name}.py").write_text((Path(__file__).parent / f"typed/{name}.txt").read_text())
    return folder, python, site


def assert_idioms(output):
    """Check that correct lines have no error, and that every wrong call has one, as with the real torch's stubs."""
    assert not re.search(r"idioms\.py.*error", output), output
    lines = (Path(__file__).parent / "typed/wrong_calls.txt").read_text().splitlines()
    found = {int(n) for n in re.findall(r"wrong_calls\.py:(\d+)(?::\d+)?:? -? ?error", output)}
    assert found == set(range(lines.index("torch.no_such(1)") + 1, len(lines) + 1)), output


def checked(lines, folder):
    """Parse a type checker's output into (revealed types, lines with errors)."""
    revealed = [m[1] for m in re.findall(r"sample\.py:(\d+).*(?:Revealed type is|Type of .* is) \"(.*?)\"", lines)]
    return revealed, sorted({int(n) for n in re.findall(r"sample\.py:(\d+)(?::\d+)?:? -? ?error", lines)})


def test_the_stubs_are_python(environment):
    stubs = list(environment[2].rglob("*.pyi"))
    for path in stubs:
        ast.parse(path.read_text(), str(path))
    assert len(stubs) > 200 and (environment[2] / "torch-stubs/py.typed").exists()


def test_mypy(environment):
    pytest.importorskip("mypy")
    folder, python, _ = environment
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--no-incremental",
        "--config-file=",
        "--strict",
        "--python-executable",
        python,
        "sample.py",
        "idioms.py",
        "wrong_calls.py",
    ]
    output = subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
    revealed, errors = checked(output, folder)
    assert_idioms(output)
    assert errors == [16, 17, 18]
    assert len(revealed) == len(REVEALED) and all(re.fullmatch(p, text) for p, text in zip(REVEALED, revealed)), (
        revealed
    )


def test_pyright(environment):
    if not (pyright := shutil.which("pyright", path=os.pathsep.join([f"{sys.prefix}/bin", os.environ["PATH"]]))):
        pytest.skip("pyright is not installed")
    if subprocess.run([pyright, "--version"], capture_output=True).returncode:
        pytest.skip("pyright's package brings pyright itself from npm's registry, which is not reached")
    folder, python, _ = environment
    command = [pyright, "--pythonpath", python, "sample.py", "idioms.py", "wrong_calls.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert_idioms(done.stdout)
    revealed, errors = checked(done.stdout, folder)
    assert errors == [16, 17, 18] and all(re.fullmatch(p, text) for p, text in zip(REVEALED, revealed)), done.stdout


ERROR = re.compile(r"(\S+\.py):(\d+)(?::\d+)?:? -? ?error: .*?(?:[\[(]([\w-]+)[\])])?$", re.M)
# the same mistake by another name: of a class whose __getattr__ is known, or that has an __iter__ of Any
SAME = {"misc": {"attr-defined"}, "union-attr": {"attr-defined"}}


def errors_of(checker, python, folder, files):
    """Return {(file, line): the kinds of its errors} that mypy or pyright finds."""
    command = {
        "mypy": [sys.executable, "-m", "mypy", "--no-incremental", "--config-file=", "--ignore-missing-imports"]
        + ["--check-untyped-defs", "--python-executable", python],
        "pyright": ["pyright", "--pythonpath", python],
    }[checker]
    path = {"PATH": os.pathsep.join([f"{sys.prefix}/bin", os.environ["PATH"]])}
    done = subprocess.run(
        [*command, *files], capture_output=True, text=True, cwd=folder, env=os.environ | path, timeout=800
    )
    found: dict = {}
    for file, line, kind in ERROR.findall(done.stdout):
        found.setdefault((os.path.relpath(os.path.join(folder, file), folder), int(line)), set()).add(kind)
    return found


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_no_error_that_the_real_stubs_do_not_have(environment, oracle_python, checker):
    """Programs that were not written for the stubs: the examples, the benchmark's, and reports of behaviour."""
    pytest.importorskip("mypy") if checker == "mypy" else shutil.which("pyright") or pytest.skip("no pyright")
    folder, python, site = environment
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "packages.pth").write_text(packages + "\n")  # transformers, numpy
    root, work = Path(__file__).resolve().parents[2], folder / f"programs-{checker}"
    shutil.copytree(root / "examples", work, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__"))
    shutil.copy(root / "benchmarks/programs.py", work)
    for path in (root.parent / "shared/reports").glob("*.py"):
        shutil.copy(path, work)
    files = sorted(path.name for path in work.glob("*.py")) + ["segments/segments"]
    ours, real = (errors_of(checker, where, work, files) for where in (python, oracle_python))
    (site / "packages.pth").unlink()
    assert real  # the real stubs find mistakes in some
    assert not {
        place: kinds
        for place, kinds in ours.items()
        if place not in real or kinds - real[place] - set().union(*(SAME.get(kind, set()) for kind in real[place]))
    }


def test_jedi(environment):
    jedi = pytest.importorskip("jedi")
    where = jedi.create_environment(str(environment[1]), safe=False)

    def complete(code):
        return [c.name for c in jedi.Script(f"import torch\n{code}", environment=where).complete()]

    assert complete("torch.randn(2).softm") == ["softmax"]
    assert "Linear" in complete("torch.nn.Lin") and "AdamW" in complete("torch.optim.Ad")
    signature = jedi.Script("import torch\ntorch.softmax(", environment=where).get_signatures()[0]
    assert [p.name for p in signature.params][:3] == ["input", "dim", "dtype"]
    assert "sum to one" in signature.docstring()
    assert "state_dict" in complete("torch.nn.Sequential(torch.nn.ReLU()).state")
    assert "zero_grad" in complete("torch.optim.AdamW([torch.ones(1)]).zero_")


def test_every_operator_is_there(environment, python):
    """Functions and methods of the registry have a line with types, and so has each overload.

    The registry is that of a process of its own: here, other tests may have made further in-place functions.
    """
    code = "import json, torch\nfrom mindtorch_proxy.runtime.registry import names\n"
    code += "print(json.dumps([sorted(n for n in names(of) if n[0] != '_') for of in ('torch', 'Tensor')]))"
    declared = [set(names) for names in json.loads(python("-m", "mindtorch_proxy", "-c", code))]
    text = (environment[2] / "torch-stubs/__init__.pyi").read_text()
    functions, methods = (set(re.findall(rf"^{indent}def (\w+)\(", text, re.M)) for indent in ("", "    "))
    assert len(declared[0]) > 400 and not declared[0] - functions
    assert len(declared[1]) > 400 and not declared[1] - methods
    assert text.count("\n@overload\ndef max(") == 3 and "Any" not in re.search(r"^def addmm\(.*", text, re.M)[0]


def test_facts_are_of_classes_and_functions_that_exist():
    import importlib

    from mindtorch_proxy import typed_facts

    for name, lines in typed_facts.read().items():
        module, _, own = name.rpartition(".")
        value = getattr(importlib.import_module(module), own)
        assert isinstance(value, type) or lines.keys() == {own}, name


def test_installed_and_removed(python, tmp_path):
    """Run the command in an environment that uses the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "packages.pth").write_text(
        os.pathsep.join([str(p) for p in sys.path if p.endswith("site-packages")][:1]) + "\n"
    )
    for finder in Path(next(p for p in sys.path if p.endswith("site-packages"))).glob("__editable__*mindtorch*.pth"):
        (site / finder.name).write_text(finder.read_text())
    before = sorted(site.iterdir())
    command, own = ("-m", "mindtorch_proxy.commands"), str(tmp_path / "env/bin/python")
    said = python(*command, "--install", "--with-types", executable=own)
    assert "wrote" in said and "torch-stubs" in said, said
    assert (site / "torch-stubs/nn/__init__.pyi").exists()
    python(*command, "--uninstall", executable=own)
    assert sorted(site.iterdir()) == before
    (site / "torch-stubs").mkdir()
    assert "is not ours" in python(*command, "--install", "--with-types", executable=own, check=False).stderr
