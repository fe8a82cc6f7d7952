"""Tests run_test_v2.py with a small checkout: crashes, hangs, categories, ledger, reports, exit codes."""

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from runner.installed import check, upstream_version

RUNNER = Path(__file__).resolve().parents[2] / "run_test_v2.py"
TESTS = """
import ctypes, os, signal, time, unittest
import pytest

class BadTest(unittest.TestCase):
    def test_1_good(self): pass
    def test_2_crash(self): os.kill(os.getpid(), signal.SIGSEGV)
    def test_3_value(self): self.assertEqual(1, 2)
    def test_4_hang(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # as code in C that never returns
        time.sleep(100)
    def test_5_slow(self): time.sleep(100)
    @unittest.skip("why not")
    def test_6_skipped(self): pass
    def test_7_api(self):
        import torch.no_such_module
    def test_8_dtype(self): raise RuntimeError("expected scalar type Float but found Half")
    def test_9_device(self): raise RuntimeError("Expected all tensors to be on the same device")
    def test_exit(self): os._exit(3)
    def test_good_at_the_end(self): pass

@pytest.fixture
def broken():
    yield
    raise KeyError("x")

def test_teardown(broken): pass
@pytest.mark.xfail
def test_known_to_pytest(): assert 0
@pytest.mark.parametrize("x", [1, 2])
def test_parametrised(x): pass
"""
EXPECTED = {
    "BadTest::test_1_good": "passed",
    "BadTest::test_2_crash": "crash",
    "BadTest::test_3_value": "wrong value",
    "BadTest::test_4_hang": "time-out",
    "BadTest::test_5_slow": "time-out",
    "BadTest::test_6_skipped": "skipped",
    "BadTest::test_7_api": "missing API",
    "BadTest::test_8_dtype": "dtype",
    "BadTest::test_9_device": "device",
    "BadTest::test_exit": "crash",
    "BadTest::test_good_at_the_end": "passed",
    "test_teardown": "other",
    "test_known_to_pytest": "skipped",
    "test_parametrised[1]": "passed",
    "test_parametrised[2]": "passed",
}


@pytest.fixture
def checkout(tmp_path):
    if not importlib.util.find_spec("transformers"):
        pytest.skip("transformers is not installed")
    models = tmp_path / "checkout/tests/models"
    (models / "bad").mkdir(parents=True)
    (models / "good").mkdir()
    (tmp_path / "checkout/conftest.py").write_text("def pytest_addoption(parser): parser.addoption('--make-reports')\n")
    (tmp_path / "checkout/src/transformers").mkdir(parents=True)
    (tmp_path / "checkout/src/transformers/__init__.py").write_text(f'__version__ = "{upstream_version()}"\n')
    (models / "bad/test_bad.py").write_text(TESTS)
    good = (
        "import os, torch\ndef test_ours(): assert 'mindtorch_proxy' in torch.__file__ and "
        "os.environ['HF_HUB_OFFLINE'] == '1'\n"
    )
    (models / "good/test_good.py").write_text(good + "class A:\n    pass\nclass TestB:\n    def test_b(self): pass\n")
    return tmp_path / "checkout"


def run(*arguments, code=0, cwd="/", **variables):
    command = [sys.executable, RUNNER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=100, env=os.environ | variables)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_each_failure_costs_itself_alone(checkout, tmp_path):
    reports = ("--json", tmp_path / "r.json", "--junitxml", tmp_path / "r.xml")
    output = run(checkout / "tests", "--jobs", 2, "--test-timeout", 8, *reports, code=1)
    report = json.loads((tmp_path / "r.json").read_text())
    results = {t["id"].partition("::")[2]: t for t in report["tests"] if "test_bad" in t["id"]}
    assert {name: t.get("category", t["outcome"]) for name, t in results.items()} == EXPECTED
    assert list(results) == list(EXPECTED)
    assert (
        "SIGSEGV" in results["BadTest::test_2_crash"]["message"]
        and "status 3" in results["BadTest::test_exit"]["message"]
    )
    assert (
        "killed" in results["BadTest::test_4_hang"]["message"]
        and "pytest-timeout" in results["BadTest::test_5_slow"]["message"]
    )
    assert results["BadTest::test_6_skipped"]["message"] == "Skipped: why not"
    assert report["counts"] == {"passed": 6, "failed": 9, "skipped": 2}
    assert output.rstrip().endswith("6 passed, 9 failed, 2 skipped") and "    2 failed: crash\n" in output
    suite = ET.parse(tmp_path / "r.xml").getroot()[0]
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == dict(
        tests="17", failures="8", errors="1", skipped="2"
    )


PRELOADED = """
import os, signal, sys, time
def test_imported_before(): assert "colorsys" in sys.modules and "torch" in sys.modules
def test_place(): assert os.path.isdir("tests/models") and os.getsid(0) == os.getpid()
def test_crash(): os.kill(os.getpid(), signal.SIGSEGV)
def test_ours(): import torch; assert "mindtorch_proxy" in torch.__file__ and torch.ones(3).add(1).sum() == 6
"""
HANGS = "def test_hang(): signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); time.sleep(100)\n"


@pytest.mark.parametrize(("jobs", "names"), [(1, "ab"), pytest.param(2, "abc", marks=pytest.mark.nightly)])
def test_files_start_from_a_process_that_has_imported(checkout, tmp_path, jobs, names):
    for name in names:
        text = PRELOADED + (HANGS if name == "c" else "")
        (checkout / f"tests/models/good/test_{name}.py").write_text(text)
    options = ("--preload", "colorsys,torch", "--jobs", jobs, "--test-timeout", 10, "--json", tmp_path / "r.json")
    output = run(*(checkout / f"tests/models/good/test_{name}.py" for name in names), *options, code=1)
    results = json.loads((tmp_path / "r.json").read_text())
    for name in names:
        of_file = {t["id"].partition("::")[2]: t for t in results["tests"] if f"test_{name}.py" in t["id"]}
        outcomes = {test: result.get("category", result["outcome"]) for test, result in of_file.items()}
        passed = dict.fromkeys(("test_imported_before", "test_place", "test_ours"), "passed")
        assert outcomes == passed | {"test_crash": "crash"} | ({"test_hang": "time-out"} if name == "c" else {}), output
    assert [file["outcome"] for file in results["files"]] == ["ran"] * len(names)


def test_what_cannot_be_preloaded_is_said(checkout):
    output = run(checkout / "tests/models/good", "--preload", "no_such_module", code=2)
    assert "--preload" in output and "no_such_module" in output


def test_junit_names_are_pytests_own(checkout, tmp_path):
    file = checkout / "tests/models/good/test_good.py"
    run(file, "--junitxml", tmp_path / "ours.xml")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "mindtorch_proxy",
            f"--rootdir={checkout}",
            file,
            f"--junitxml={tmp_path}/pytests.xml",
        ],
        env={"HF_HUB_OFFLINE": "1"},
        check=True,
        stdout=subprocess.DEVNULL,
    )

    def names(path):
        return [(case.get("classname"), case.get("name")) for case in ET.parse(path).iter("testcase")]

    assert names(tmp_path / "ours.xml") == names(tmp_path / "pytests.xml") != []


@pytest.mark.slow
def test_pauses_between_tests_are_counted_one_by_one(checkout):
    (checkout / "tests/conftest.py").write_text(
        "import pytest, time\n@pytest.hookimpl(hookwrapper=True, tryfirst=True)\ndef pytest_runtest_protocol():\n    "
        "yield\n    time.sleep(4)\n"
    )
    (checkout / "tests/models/good/test_many.py").write_text(
        "def test_1(): pass\ndef test_2(): pass\ndef test_3(): pass\ndef test_4(): pass\n"
    )
    assert "4 passed, 0 failed, 0 skipped" in run(checkout / "tests/models/good/test_many.py", "--test-timeout", 1)


def test_limit_of_a_file(checkout, tmp_path):
    run(checkout / "tests/models/bad", "-k", "4 or 6 or end", "--timeout", 4, "--json", tmp_path / "r.json", code=1)
    results = json.loads((tmp_path / "r.json").read_text())["tests"]
    assert [t["message"].split(":")[0] for t in results] == ["Timeout", "Not run", "Not run"]
    assert {(t["outcome"], t["category"]) for t in results} == {("failed", "time-out")}


def test_pytest_arguments_node_ids_and_lists(checkout, tmp_path):
    file = checkout / "tests/models/bad/test_bad.py"
    assert "1 passed, 0 failed, 0 skipped" in run(f"{file}::BadTest::test_1_good", "--make-reports", "tests")
    assert "1 passed, 0 failed, 0 skipped" in run("tests/models/bad/test_bad.py", "-k", "test_1_good", cwd=checkout)
    others = "".join(f"another/test_file.py::test_{i}\n" for i in range(8000))  # too long for a command line
    (tmp_path / "only").write_text("# a comment\nbad/test_bad.py::test_parametrised[2]\n" + others)
    assert "1 passed, 0 failed, 0 skipped" in run(file, "--only", tmp_path / "only")
    assert "0 passed, 0 failed, 0 skipped" in run(file, "-k", "nothing", code=5)
    assert "test_1_good" in run(file, "--collect-only")
    run(file, "--no-such-option", code=2)


def test_ledger(checkout, tmp_path):
    name = "tests/models/bad/test_bad.py::BadTest::"
    (tmp_path / "l.toml").write_text(f'["{name}test_3_value"]\ncategory = "wrong value"\nreason = "rounding"\n')
    arguments = (checkout / "tests/models/bad", "-k", "value or good", "--ledger", tmp_path / "l.toml")
    assert "2 passed, 0 failed" in run(*arguments)
    (tmp_path / "l.toml").write_text(f'["{name}test_3_value"]\ncategory = "dtype"\nreason = "rounding"\n')
    assert "the ledger expects: dtype" in run(*arguments, code=1)
    (tmp_path / "l.toml").write_text(f'["{name}test_1_good"]\ncategory = "crash"\nreason = "oneDNN"\n')
    assert "passed, but the ledger expects a failure" in run(
        checkout / "tests/models/bad", "-k", "good", *arguments[3:], code=1
    )
    (tmp_path / "l.toml").write_text(f'["{name}test_1_good"]\ncategory = "crash"\n')
    assert "needs a reason" in run(*arguments, code=2)


def test_broken_test_file(checkout, tmp_path):
    (checkout / "tests/models/good/test_broken.py").write_text("from torch import no_such_name\n")
    (checkout / "tests/models/good/test_killed.py").write_text("import os\nos.abort()\n")
    run(checkout / "tests/models/good", "--json", tmp_path / "r.json", code=2)
    tests = {t["id"].rpartition("/")[2]: t for t in json.loads((tmp_path / "r.json").read_text())["tests"]}
    assert tests["test_broken.py"]["category"] == "missing API" and "no_such_name" in tests["test_broken.py"]["message"]
    assert tests["test_killed.py"]["category"] == "crash" and tests["test_good.py::test_ours"]["outcome"] == "passed"


def test_what_is_missing_is_said(checkout, tmp_path):
    assert (
        "no such file" in (output := run("/no/such/checkout/tests/models/bert", code=2)) and "--fetch FOLDER" in output
    )
    (checkout / "src/transformers/__init__.py").write_text('__version__ = "4.0.0"\n')
    output = run(checkout / "tests/models/good", code=2)
    assert "transformers 4.0.0" in output and f"but {upstream_version()} is installed" in output
    assert f"\npip install --no-deps -e {checkout} " in output
    assert f"PYTHONPATH={checkout}/src python run_test_v2.py" in output
    assert "2 passed" in run(checkout / "tests/models/good", "--any-version")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    bare = subprocess.run([tmp_path / "env/bin/python", RUNNER, checkout / "tests"], capture_output=True, text=True)
    assert bare.returncode == 2 and "pytest is not installed" in bare.stderr


def test_report_of_kernels_is_merged(checkout, tmp_path):
    for name in "ab":
        (checkout / f"tests/models/good/test_{name}.py").write_text(
            "import torch\ndef test(): torch.ones(2) + torch.ones(2)\n"
        )
    run(checkout / "tests/models/good", "--report", tmp_path / "k.json")
    report = json.loads((tmp_path / "k.json").read_text())
    assert report["device"] == "cpu" and sum(k["calls"] for k in report["kernels"] if k["op"] == "add") == 2


def interrupted(checkout, tmp_path, number=signal.SIGINT, before=lambda process: None):
    """Interrupt a run in its second test; return (exit status, standard error, results, pid of the test's process)."""
    pid = tmp_path / "pid"
    (checkout / "tests/models/good/test_long.py").write_text(
        f"import os, time\ndef test_a(): pass\ndef test_b():\n    open({str(pid)!r}, 'w').write(str(os.getpid()))\n  "
        f"  time.sleep(90)\n"
    )
    process = subprocess.Popen(
        [sys.executable, RUNNER, checkout / "tests/models/good/test_long.py", "--json", tmp_path / "r.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # restores SIGINT, which background processes of a shell ignore
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None
        time.sleep(0.1)
    before(process)
    process.send_signal(number)
    complaints = process.stderr.read()
    return process.wait(30), complaints, json.loads((tmp_path / "r.json").read_text()), int(pid.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_results_and_leaves_no_process(checkout, tmp_path, number):
    status, complaints, report, pid = interrupted(checkout, tmp_path, number)
    assert (status, complaints) == (130, "")  # no traceback of the terminated process
    assert [(t["id"].rpartition("::")[2], t["outcome"]) for t in report["tests"]] == [("test_a", "passed")]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_reader_that_goes_away_does_not_end_the_run(checkout, tmp_path):
    """Ctrl-C also ends `cat` in `| cat`, and `| head` ends before the run does."""
    status, complaints, report, _ = interrupted(checkout, tmp_path, before=lambda process: process.stdout.close())
    assert (status, complaints) == (130, "") and report["counts"] == {"passed": 1}
    command = f"{sys.executable} {RUNNER} {checkout}/tests/models/good/test_good.py -v --json {tmp_path}/all.json"
    shell = ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, capture_output=True, text=True, cwd="/")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("\n") == 1
    report = json.loads((tmp_path / "all.json").read_text())
    assert report["counts"] == {"passed": 2} and report["files"][0]["outcome"] == "ran"


def plant(folder, version="5.1.0"):
    """Create a checkout of a version, with a test that imports its package; return the folder."""
    (folder / "src/transformers").mkdir(parents=True)
    (folder / "src/transformers/__init__.py").write_text(f'__version__ = "{version}"\n')
    (folder / "tests/models/x").mkdir(parents=True)
    (folder / "conftest.py").write_text("")
    test = f"import transformers\ndef test(): assert transformers.__version__ == '{version}'\n"
    (folder / "tests/models/x/test_x.py").write_text(test)
    return folder


def test_a_checkout_on_the_path_is_what_counts(tmp_path):
    """Its version is used even if metadata has another version or is missing; paths are relative to the user's cwd."""
    plant(tmp_path / "upstream")
    output = run("upstream/tests", "--json", tmp_path / "r.json", cwd=tmp_path, PYTHONPATH="upstream/src")
    assert "1 passed, 0 failed" in output
    assert json.loads((tmp_path / "r.json").read_text())["versions"]["transformers"] == "5.1.0"


def test_the_version_without_metadata(tmp_path, monkeypatch):
    """Without site-packages (-S), the version is read from the source, on the path or of an editable install."""
    plant(tmp_path / "upstream")
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages/editable.pth").write_text(f"{tmp_path}/upstream/src\n")
    (tmp_path / "here/transformers").mkdir(parents=True)  # a folder with that name is not yet a package

    def version(path, more=""):
        code = f"import sys; sys.path[:0] = {[str(RUNNER.parent), str(tmp_path / path)]!r}; {more}\n"
        code += "from runner.installed import upstream_version as f; print(f(), 'transformers' in sys.modules)"
        done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd="/")
        return done.stdout.strip()

    assert version("upstream/src") == "5.1.0 False"
    assert version("here", f"import site; site.addsitedir({str(tmp_path / 'packages')!r})") == "5.1.0 False"
    assert version("here") == "None False"
    monkeypatch.setattr("runner.installed.upstream_version", lambda: None)
    options = argparse.Namespace(plain=True, any_version=False)
    with pytest.raises(SystemExit, match=f"transformers is not installed for .*\npip install -e {tmp_path}/upstream$"):
        check(options, [tmp_path / "upstream"])
    with pytest.raises(SystemExit, match="transformers is not installed for .*\npip install transformers$"):
        check(options, [None])


def test_an_option_that_nobody_knows_is_refused_once(checkout):
    output = run(checkout / "tests", "--jbs", 2, code=2)
    assert output.count("unrecognized arguments") == 1 and "--jbs 2 (did you mean --jobs?)" in output
    assert "could not start" not in output
    assert "--tag TAG goes with --fetch" in run("--tag", "v5.0.0", code=2)


def test_files_of_earlier_results_that_cannot_be_read(checkout):
    for option in ("--rerun-failed", "--compare", "--only"):
        output = run(checkout / "tests/models/good", option, "/no/such.json", code=2)
        assert output == "run_test_v2: /no/such.json: No such file or directory\n"
    assert "conftest.py is not what --json FILE writes" in run("--rerun-failed", checkout / "conftest.py", code=2)
