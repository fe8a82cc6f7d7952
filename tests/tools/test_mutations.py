"""Tests the tool that inserts faults: its table matches the tree, and it reports correctly whether tests fail."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "mutations.py"


def load():
    spec = importlib.util.spec_from_file_location("mutations", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mutations = load()
FAULTS = mutations.read(ROOT)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fits_the_tree(name):
    fault = FAULTS[name]
    assert (ROOT / fault["file"]).read_text(encoding="utf-8").count(fault["old"]) == 1
    assert fault["old"] != fault["new"]
    assert fault["from"] in ("review", "own", "blind") and fault["why"] and fault["tests"]
    for tests in fault["tests"]:
        _, words = mutations.split(tests)
        named = [word for word in words if word.startswith("tests/")]
        assert named and all((ROOT / word).exists() for word in named)


def test_no_fault_is_planted_twice():
    assert len({(fault["file"], fault["new"]) for fault in FAULTS.values()}) == len(FAULTS)


def test_shards_are_all_faults():
    parts = [mutations.shard(FAULTS, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(FAULTS)


ADDITION = "def add(a, b):\n    return a + b\n\n\ndef same(a):\n    return a\n"
TESTS = "from tiny import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
TABLE = """
[seen]
from = "own"
why = "takes off"
file = "tiny.py"
old = "a + b"
new = "a - b"
tests = ["test_tiny.py"]

[unseen]
from = "own"
why = "another number"
file = "tiny.py"
old = "return a\\n"
new = "return 0\\n"
tests = ["test_tiny.py", "WORD=x test_word.py"]

[gone]
from = "own"
why = "a text that is not there"
file = "tiny.py"
old = "a * b"
new = "a / b"
tests = ["test_tiny.py"]

[failing]
from = "own"
why = "its test fails anyway"
file = "tiny.py"
old = "a + b"
new = "b + a + 0"
tests = ["test_bad.py"]
"""


def git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", *arguments], cwd=folder, check=True, capture_output=True
    )


@pytest.fixture
def tiny(tmp_path):
    """Provide a small repository with a function, its tests, a table of faults and the tool."""
    files = {
        "tiny.py": ADDITION,
        "test_tiny.py": TESTS,
        "test_word.py": "import os\n\n\ndef test_word():\n    assert os.environ['WORD'] == 'x'\n",
        "test_bad.py": "def test_bad():\n    assert False\n",
        "tools/mutations.toml": TABLE,
        "tools/mutations.py": TOOL.read_text(encoding="utf-8"),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Tiny")
    return tmp_path


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, folder / "tools" / "mutations.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_tool_says_what_is_noticed(tiny):
    done = run(tiny, "--json", tiny / "out.json")
    assert done.returncode == 1 and "1 of 4 faults are noticed" in done.stdout, done.stdout + done.stderr
    found = {result["name"]: result for result in json.loads((tiny / "out.json").read_text())}
    assert found["seen"]["noticed_by"] == "test_tiny.py::test_add"
    assert found["unseen"]["noticed_by"] is found["unseen"]["problem"] is None
    assert "occurs 0 times" in found["gone"]["problem"]
    assert found["failing"]["problem"] == "without the fault too: test_bad.py::test_bad"
    assert (tiny / "tiny.py").read_text() == ADDITION
    assert run(tiny, "--only", "seen").returncode == 0
    assert "unseen" in run(tiny, "--list").stdout


def test_the_tool_refuses_files_with_changes(tiny):
    (tiny / "tiny.py").write_text(ADDITION + "\n")
    done = run(tiny)
    assert done.returncode == 2 and "tiny.py" in done.stderr and (tiny / "tiny.py").read_text() == ADDITION + "\n"


def test_a_file_is_written_back_when_the_tool_is_interrupted(tiny):
    fault = mutations.read(tiny)["seen"]
    with pytest.raises(KeyboardInterrupt), mutations.planted(tiny, fault):
        assert "a - b" in (tiny / "tiny.py").read_text()
        raise KeyboardInterrupt
    assert (tiny / "tiny.py").read_text() == ADDITION
