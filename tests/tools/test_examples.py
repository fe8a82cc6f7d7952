"""Tests the examples: the notebook and its page, and the project of docs/porting.md with the commands of that page."""

import importlib.util
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "examples" / "segments"


@pytest.fixture(scope="module")
def notebooks():
    """Provide tools/notebook.py."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    spec = importlib.util.spec_from_file_location("notebook_tool", ROOT / "tools" / "notebook.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def varies(cell):
    return "varies" in cell["metadata"].get("tags", ())


@pytest.mark.slow
def test_the_notebook(notebooks):
    """Its cells run in a fresh kernel, and show what is kept in the file."""
    pytest.importorskip("transformers")
    kept, now = notebooks.kept(), notebooks.executed()
    for before, after in zip(kept.cells, now.cells):
        if not varies(before):
            assert notebooks.output_of(after) == notebooks.output_of(before), before.source
    mistake = next(cell for cell in now.cells if "raises-exception" in cell.metadata.get("tags", ())).outputs[0]
    assert mistake.evalue == "mat1 and mat2 shapes cannot be multiplied (3x5 and 2x64)"
    assert sum(part.startswith(("Cell", "File")) for part in mistake.traceback) == 2, mistake.traceback
    kernels = next(cell for cell in now.cells if "mindtorch_proxy.report()" in cell.source and varies(cell))
    assert "_linear" in notebooks.output_of(kernels) and "on MindSpore's MatMul" in notebooks.output_of(kernels)


def test_the_notebooks_page_is_current(notebooks):
    assert notebooks.PAGE.read_text() == notebooks.page(notebooks.kept()), "run `python tools/notebook.py`"


SHOW = """
import ast, json, sys
names = {}
for source in json.load(sys.stdin):
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr) and not ast.unparse(last).startswith("print("):
        print(repr(eval(compile(ast.Expression(last.value), "cell", "eval"), names)))
    else:
        exec(compile(ast.Module([last], []), "cell", "exec"), names)
"""


def test_the_real_torch_shows_the_same(python, oracle_python, notebooks):
    """What the notebook says of PyTorch: the same numbers. transformers is not asked for in the other environment."""
    own = ("%load_ext", "mindtorch_proxy", "transformers", "torch.ones(3, 5)")
    same = [cell for cell in notebooks.kept().cells if not any(word in cell.source for word in own)]
    same = [cell for cell in same if cell.cell_type == "code"]
    sources = ["import torch", *(cell.source for cell in same)]
    shown = python("-c", SHOW, executable=oracle_python, stdin=json.dumps(sources))
    texts = [notebooks.output_of(cell) for cell in same]
    assert len(same) == 4 and shown == "\n".join(text for text in texts if text)


def console_blocks(page):
    """Yield (command, output) of a page."""
    for block in re.findall(r"^```console\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.strip()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_commands_of_porting_a_project(python, tmp_path, oracle_python):
    """In a copy of the project, one after the other."""
    project = tmp_path / "segments"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__", "runs", ".pytest_cache"))
    variables = {"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}", "ORACLE": oracle_python}
    seconds = re.compile(r"\d+\.\d+s")
    for command, output in console_blocks("porting.md"):
        shown = python("-ec", command, executable="bash", cwd=project, **variables)
        assert seconds.sub("... s", shown) == seconds.sub("... s", output), command


def test_the_project_knows_nothing_of_this_package():
    for path in PROJECT.rglob("*.*"):
        if path.suffix in (".py", ".md", ".txt", ".yaml"):
            assert not re.search(r"mindtorch|mindspore|\bnpu", path.read_text(), re.I), path
