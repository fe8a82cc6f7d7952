"""Tests that the steps in docs/add-an-operator.md work, and that functions named in the documents exist."""

import ast
import re
import shutil
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"


@pytest.fixture
def layout(tmp_path):
    """Provide a copy of the package in the layout of a wheel, which tests may change."""
    for folder in ("mindtorch_proxy", "mindtorch_proxy/runtime", "mindtorch_proxy/backends", "mindtorch_proxy/stubs"):
        shutil.copytree(
            REPOSITORY / folder.removeprefix("mindtorch_proxy/"),
            tmp_path / folder,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    return tmp_path


def blocks():
    return re.findall(r"```python\n(.*?)```", (DOCS / "add-an-operator.md").read_text(), re.S)


def test_the_recipe(layout, python):
    statements, programs = 0, 0
    for block in blocks():
        if match := re.match(r"# ((?:runtime|backends)/\S+\.py)\n", block):
            path = layout / "mindtorch_proxy" / match.group(1)
            path.write_text(path.read_text() + "\n\n" + block)
            statements += len(ast.parse(block).body)
        else:
            python("-m", "mindtorch_proxy", "-c", block, cwd=layout, PYTHONPATH=layout, executable=sys.executable)
            programs += 1
            # an elementwise operator with a derivative, then a kernel for one device, then a reduction
            assert statements <= 3 * programs
    assert programs == 3


def references():
    """Yield (path, name) for every `path.py` `name()` in the documents."""
    for document in sorted(DOCS.glob("*.md")):
        for path, name in re.findall(r"`([\w/]+\.py)`\)?,? `(\w+)(?:\(\))?`", document.read_text()):
            yield pytest.param(path, name, id=f"{document.name}: {path} {name}")


@pytest.mark.parametrize("path, name", list(references()))
def test_functions_that_are_named_exist(path, name):
    tree = ast.parse((REPOSITORY / path).read_text())
    assert name in {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def test_enough_is_named():
    assert len(list(references())) > 20
