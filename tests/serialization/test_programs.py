"""Exported programs in files: those of the real torch run here, and ours with the real torch, at other sizes."""

import json
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import programs  # noqa: E402

ORACLE = os.environ.get("MINDTORCH_ORACLE_PYTHON", "")


def oracle(action, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MINDTORCH", "PYTHON"))}
    command = [ORACLE, "-W", "ignore", programs.__file__, action, folder]
    r = subprocess.run(command, capture_output=True, timeout=300, env=env)
    assert r.returncode == 0, r.stderr.decode()[-3000:]
    return json.loads(r.stdout) if r.stdout.strip() else None


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("ours"))
    programs.write(folder)
    found = {"ours here": programs.read(folder)}
    if ORACLE:
        theirs = str(tmp_path_factory.mktemp("theirs"))
        oracle("write", theirs)
        found |= {"ours there": oracle("read", folder), "theirs here": programs.read(theirs)}
    return found


@pytest.mark.parametrize("name", programs.PROGRAMS)
@pytest.mark.parametrize("way", ["ours here", "ours there", "theirs here"])
def test_same_results(results, way, name):
    if way not in results:
        pytest.skip("MINDTORCH_ORACLE_PYTHON is not set")
    got, want = results[way][name], programs.expected()[name]
    assert [shape for shape, _ in got] == [shape for shape, _ in want]
    for (_, a), (_, b) in zip(got, want):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-5)


def test_extra_files_and_what_is_no_program(tmp_path):
    import torch

    file, extra = tmp_path / "linear.pt2", {"notes.txt": ""}
    torch.export.save(programs.exported("linear"), file, extra_files={"notes.txt": "a note"})
    torch.export.load(file, extra_files=extra)
    assert extra == {"notes.txt": "a note"}
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        torch.export.save(programs.PROGRAMS["linear"]()[0], file)
    torch.save({}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match="no .pt2 file"):
        torch.export.load(tmp_path / "other.pt")


@pytest.mark.parametrize("text", ["__import__('os').system('true')", "Symbol('s0').__class__", "(lambda: 0)()"])
def test_text_in_a_file_is_not_run(text):
    from torch.export import _expressions
    from torch.export.exported_program import Guards

    with pytest.raises((ValueError, SyntaxError)):
        _expressions.read(text)
    if "lambda" in text or "import" in text:
        with pytest.raises(ValueError, match="no condition on sizes"):
            Guards(["x"]).add(text)
