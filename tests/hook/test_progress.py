"""Tests that what takes long says so on a terminal, leaves nothing behind there, and is quiet in pipes."""

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mindtorch_proxy import progress

ROOT = Path(__file__).resolve().parents[2]


def screen(written):
    """Return the lines that a terminal shows after this text, which uses the few codes of progress.py."""
    lines, row, column, kept = [""], 0, 0, (0, 0)
    for code, text in re.findall(r"(\x1b\[\?7[lh]|\x1b\[K|\x1b[78]|\r|\n)|([^\x1b\r\n]+)", written):
        lines += [""] * (row + 1 - len(lines))
        if text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif code == "\n":
            row += 1
        elif code == "\r":
            column = 0
        elif code == "\x1b[K":
            lines[row] = lines[row][:column]
        elif code == "\x1b7":
            kept = row, column
        elif code == "\x1b8":
            row, column = kept
    return [line.rstrip() for line in lines]


@pytest.fixture
def terminal():
    """Provide terminal(*arguments), which runs this Python on a terminal and returns (exit status, what it wrote)."""

    def run(*arguments, cwd=ROOT, **variables):
        ours, theirs = pty.openpty()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MINDTORCH_")} | {"TERM": "xterm"}
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=environment | variables,
            start_new_session=True,
        )
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
        os.close(ours)
        return process.wait(60), written.decode()

    return run


def test_a_screen():
    assert screen("a\r\nbc \x1b7\x1b[?7lxyz\x1b[K\x1b[?7h\x1b8d\x1b7\x1b[?7l\x1b[K\x1b[?7h\x1b8") == ["a", "bc d"]


def test_loading_mindspore(terminal, python):
    """The message does not remove what the program has written before it on the same line."""
    code = "import torch; print('result', end=' ', flush=True); print(torch.ones(2) + 1)"
    status, written = terminal("-m", "mindtorch_proxy", "-c", code)
    assert status == 0 and "MindSpore is being loaded" in written
    assert screen(written) == ["result tensor([2., 2.])"]
    done = python("-m", "mindtorch_proxy", "-c", code, check=False)
    assert (done.stdout, done.stderr) == ("result tensor([2., 2.])\n", "")
    assert "MindSpore is being loaded" not in terminal("-m", "mindtorch_proxy", "-c", code, TERM="dumb")[1]


TUNE = (
    "from mindtorch_proxy.backends.cpu import tune\n"
    "cases = [case for case in tune._cases() if case[0].full in ('mm', 'bitwise_or')]\n"
    "tune._cases = lambda: cases\n"
    "tune.main({!r})\n"
)


def test_tune(terminal, python, tmp_path):
    file = str(tmp_path / "table.json")
    status, written = terminal("-m", "mindtorch_proxy", "-c", TUNE.format(file), cwd=tmp_path)
    assert status == 0 and "0 of 3: " in written and re.search(r"2 of 3, about \d+ s left: \w+ torch\.", written)
    assert screen(written) == [file]
    done = python("-m", "mindtorch_proxy", "-c", TUNE.format(file), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{file}\n", "")


def test_compare(terminal, python, oracle_python, tmp_path):
    (tmp_path / "prog.py").write_text("import torch, time\nprint(torch.ones(2) + 1)\ntime.sleep(2)\n")
    command = ("-m", "mindtorch_proxy", "compare", "--oracle", oracle_python, "prog.py")
    status, written = terminal(*command, cwd=tmp_path)
    assert status == 0 and re.search(r"compare: \[#+\.*\] PyTorch runs the script to compare, \d+ s", written)
    shown = screen(written)
    assert shown[0].startswith("compare: the script runs on mindtorch_proxy") and shown[1] == "tensor([2., 2.])"
    assert shown[-1] == "nothing differs" and len(shown) == 4
    done = python(*command, cwd=tmp_path, check=False)
    assert done.stdout.startswith("tensor([2., 2.])\n") and "compare:" not in done.stdout + done.stderr


NPU = (
    "import time\nfrom mindtorch_proxy import npu_report\n"
    "npu_report.child = lambda *names, **more: time.sleep(0.8) or ({'result': 'ok', 'what': ''}, '', '')\n"
    "print(len(npu_report.measured(['copies', 'launches'])))\n"
)


def test_npu_report(terminal, python):
    """Probes take long where there is an NPU; here they sleep."""
    status, written = terminal("-c", NPU)
    assert status == 0 and "0 of 2: copies" in written and "1 of 2: launches" in written and screen(written)[0] == "3"
    done = python("-c", NPU, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_fetch(terminal, python, tmp_path):
    upstream = tmp_path / "upstream"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", upstream]
    (upstream / "src").mkdir(parents=True)
    (upstream / "src/file").write_text("text\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"], ["tag", "v1"]):
        subprocess.run([*git, *command], check=True)
    place = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{upstream}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/huggingface/transformers",
    }
    command = (ROOT / "run_test_v2.py", "--tag", "v1", "--fetch")
    status, written = terminal(*command, tmp_path / "a", **place)
    assert status == 0 and "Counting objects: 100%" in written
    assert screen(written) == [f"transformers v1 is in {tmp_path}/a"]
    done = python(*command, tmp_path / "b", check=False, **place)
    assert (done.stdout, done.stderr) == (f"transformers v1 is in {tmp_path}/b\n", "")
    status, written = terminal(*command[:1], "--tag", "v2", "--fetch", tmp_path / "c", **place)
    assert status != 0 and "has no tag v2; names like it: v1" in screen(written)[0]


def test_the_runner(terminal, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"test_{name}.py").write_text("import time\ndef test_it():\n    time.sleep(1)\n")
    command = (ROOT / "run_test_v2.py", "test_a.py", "test_b.py", "--jobs", "2", "-p", "no:cacheprovider")
    status, written = terminal(*command, cwd=tmp_path)
    assert re.search(r"\[[#.]{20}\] \d of 2 files, \d tests, 0 failed", written), written
    shown = screen(written)
    assert not [line for line in shown if "[#" in line or "[." in line], shown
    assert sum(line.startswith(("[1/2]", "[2/2]")) for line in shown) == 2


def test_texts():
    assert [progress.span(s) for s in (5, 500, 7200)] == ["5 s", "8 min", "2.0 h"]
    assert progress.bar(0.5) == "[##########..........]" and progress.bar(7).count("#") == progress.WIDTH
    assert progress.counted(1, 4, "x") == "[#####...............] 1 of 4: x"
    assert progress.counted(1, 4, "x", 50) == "[#####...............] 1 of 4, about 2 min left: x"


def test_no_standard_error(monkeypatch):
    """A process without standard error, such as a service, is no terminal."""
    monkeypatch.setattr(sys, "stderr", None)
    progress.show("x")
    progress.note("x")
    with progress.ticking(lambda seconds: "x"):
        time.sleep(0.01)
