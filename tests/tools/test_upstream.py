"""The sweep through the model folders of a checkout of transformers."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "upstream.py"


@pytest.fixture
def upstream():
    spec = importlib.util.spec_from_file_location("upstream_sweep", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test(name, outcome, message="", category=None):
    return {"id": name, "outcome": outcome, "message": message, "category": category}


test.__test__ = False


def results(*tests, files=()):
    """Return what a folder's tests give: those of one file that ran, or the given files without tests."""
    counts = {kind: sum(t["outcome"] == kind for t in tests) for kind in ("passed", "skipped")}
    ran = {"name": "f.py", "outcome": "ran", "why": "", "not_run": []}
    files = [ran | file | {"tests": [t["id"] for t in tests], "counts": counts, "wall": 1.0} for file in files or [{}]]
    return {"tests": list(tests), "files": files}


def of_run(folders, sides):
    """Return the results of a run of several folders, or None where one of them gives none."""
    parts = [sides[folder.name] for folder in folders]
    if None in parts:
        return None
    files = [f | {"path": str(folder / f["name"])} for folder, part in zip(folders, parts) for f in part["files"]]
    return {"files": files, "tests": [t for part in parts for t in part["tests"]]}


@pytest.fixture
def checkout(tmp_path):
    for name in ("bert", "vit", "t5"):
        (folder := tmp_path / "tests" / "models" / name).mkdir(parents=True)
        (folder / f"test_modeling_{name}.py").touch()
    return tmp_path


@pytest.fixture
def sweep(upstream, checkout, monkeypatch):
    """sweep(ours, theirs, *options): the exit status, the table's lines by folder, and what ran, as (side, folder)."""

    def run(ours, theirs, *options):
        ran = []

        def answer(python, folders, checkout, given, limit):
            ran.extend(("real" if python == "REAL" else "ours", folder.name) for folder in folders)
            return of_run(folders, theirs if python == "REAL" else ours)

        monkeypatch.setattr(upstream, "run", answer)
        table = checkout / "table.tsv"
        command = ["upstream.py", str(checkout), "--table", str(table), "--real", "REAL", "--together", "1", *options]
        monkeypatch.setattr(sys, "argv", command)
        status = upstream.main()
        if not table.exists():
            return status, {}, ran
        heading, *lines = (line.split("\t") for line in table.read_text().splitlines())
        assert heading == list(upstream.COLUMNS) and lines == sorted(lines)
        return status, {line[0]: dict(zip(upstream.COLUMNS, line)) for line in lines}, ran

    return run


GOOD = results(test("a", "passed"))


def test_what_passes_is_not_asked_of_the_real_one(sweep):
    status, lines, ran = sweep(dict.fromkeys(("bert", "vit", "t5"), GOOD), {})
    assert status == 0 and sorted(ran) == [("ours", "bert"), ("ours", "t5"), ("ours", "vit")]
    assert lines["bert"]["passed"] == "1" and lines["bert"]["skipped"] == "0" and lines["bert"]["differ"] == "0"


def test_what_is_skipped_here_alone_differs(sweep):
    ours = results(test("f.py::a", "skipped"), test("f.py::b", "skipped"), test("f.py::c", "passed"))
    real = results(test("f.py::a", "skipped"), test("f.py::b", "passed"))
    status, lines, _ = sweep({"bert": ours, "vit": GOOD, "t5": GOOD}, {"bert": real})
    found = lines["bert"]
    assert status == 1 and (found["skipped"], found["fail with both"], found["differ"]) == ("2", "0", "1")
    assert found["tests that differ"] == "b"


def test_the_other_folders_and_files(sweep, checkout):
    for name in ("utils/test_a.py", "trainer/deep/test_b.py", "test_image_transforms.py", "test_modeling_common.py"):
        (checkout / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / "tests" / name).touch()
    names = {"utils", "trainer", "test_image_transforms.py"}
    _, lines, ran = sweep(dict.fromkeys(names, GOOD), {}, "--rest")
    assert lines.keys() == {folder for _, folder in ran} == names


def test_some_folders_and_some_tests(upstream, sweep, monkeypatch, checkout):
    bad = results(test("f.py::ours", "failed"))
    given = []
    lines_of = lambda folders, *rest: given.append(([f.name for f in folders], rest[-1])) or [["x"] * 10]  # noqa: E731
    monkeypatch.setattr(upstream, "lines_of", lines_of)
    monkeypatch.setattr(upstream, "read_table", lambda path: [])
    sweep({"vit": bad}, {}, "--only-folders", "vit", "-k", "fsdp or tp_")
    assert given == [(["vit"], ("-k", "fsdp or tp_"))]


def test_failures_are_told_apart(sweep):
    bad = results(
        test("f.py::both", "failed", "AssertionError"),
        test("f.py::ours", "failed", "RuntimeError"),
        test("f.py::hub", "failed", "OSError: We couldn't connect to 'https://huggingface.co'"),
        test("f.py::package", "failed", "ImportError", "missing dependency"),
        test("f.py::good", "passed"),
    )
    real = results(test("f.py::both", "failed"), test("f.py::ours", "passed"))
    status, lines, ran = sweep({"bert": bad, "vit": GOOD, "t5": GOOD}, {"bert": real})
    assert status == 1 and ran.count(("real", "bert")) == 1
    found = lines["bert"]
    assert [found[name] for name in ("want the hub or a package", "fail with both", "differ", "tests that differ")] == [
        *("2", "1", "1"),
        "ours",
    ]


def test_files_that_neither_side_can_run_are_no_difference(sweep):
    broken = {"name": "f.py", "outcome": "error", "why": "TypeError: no code\nmore", "not_run": []}
    empty, ran = results(files=[broken]), results(files=[broken | {"outcome": "ran"}])
    _, lines, _ = sweep({"bert": empty, "vit": empty, "t5": GOOD}, {"bert": empty, "vit": ran})
    assert lines["bert"]["differ"] == "0"
    assert (lines["vit"]["differ"], lines["vit"]["tests that differ"]) == ("1", "f.py: TypeError: no code")


def test_a_sweep_goes_on_and_repeats_what_is_asked(sweep):
    bad = results(test("f.py::ours", "failed"))
    good = dict.fromkeys(("bert", "vit", "t5"), GOOD)
    _, lines, ran = sweep(good, {}, "--minutes", "0")
    assert not lines and not ran
    sweep(good | {"vit": bad}, {"vit": results(test("f.py::ours", "passed"))})
    assert sweep(good, {})[2] == []
    assert sweep(good, {}, "--again", "bert")[2] == [("ours", "bert")]
    status, lines, ran = sweep(good, {}, "--again", "differs")
    assert status == 0 and ran == [("ours", "vit")] and lines["vit"]["differ"] == "0"


def test_a_folder_that_does_not_end_counts_as_unknown(sweep):
    status, lines, ran = sweep({"bert": None, "vit": GOOD, "t5": GOOD}, {}, "--limit", "7")
    assert status == 0 and lines["bert"]["differ"] == "?" and "no results" in lines["bert"]["tests that differ"]


def test_a_run_of_several_folders_gives_a_line_for_each(sweep):
    ours = {
        "bert": results(test("bert/f.py::a", "passed"), test("bert/f.py::b", "failed")),
        "vit": results(test("vit/f.py::a", "skipped")),
        "t5": results(test("t5/f.py::a", "passed")),
    }
    theirs = {"bert": results(test("bert/f.py::b", "passed")), "vit": results(test("vit/f.py::a", "skipped"))}
    status, lines, ran = sweep(ours, theirs, "--together", "3")
    assert status == 1 and sorted(ran) == sorted(
        [("ours", name) for name in ("bert", "t5", "vit")] + [("real", name) for name in ("bert", "vit")]
    )
    assert [lines[name]["differ"] for name in ("bert", "vit", "t5")] == ["1", "0", "0"]
    assert (lines["bert"]["passed"], lines["vit"]["skipped"], lines["bert"]["tests that differ"]) == ("1", "1", "b")


def test_parts_together_are_all(sweep):
    good = dict.fromkeys(("bert", "vit", "t5"), GOOD)
    ran = sweep(good, {}, "--shard", "1/2")[2] + sweep(good, {}, "--shard", "2/2")[2]
    assert sorted(folder for _, folder in ran) == ["bert", "t5", "vit"]
