"""Tests what run_test_v2.py reports for each file in the terminal, JUnit, JSON and its exit code.

Also tests what can be done with the results: groups of failures, reruns, comparisons and HTML pages.
"""

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import runner
from mindtorch_proxy.page import render
from runner import compare
from runner.causes import category_of, cause_of, groups, missing_package
from runner.installed import fetch, upstream_version
from runner.progress import Progress

RUNNER = Path(__file__).resolve().parents[2] / "run_test_v2.py"
SCHEMA = json.loads(Path(runner.__file__).with_name("results.schema.json").read_text())
# {file: (source, outcome, part of the reason)}
FILES = {
    "a/test_ok.py": ("import torch\ndef test_1(): pass\ndef test_2(): assert [1, 2] == [1, 3]\n", "ran", ""),
    "b/test_dependency.py": (
        "import no_such_dependency\ndef test_1(): pass\n",
        "could not start",
        "no_such_dependency",
    ),
    "c/test_conftest.py": ("def test_1(): pass\n", "could not start", "No module named 'absent_helper'"),
    "d/test_crash.py": ("import os\nos.abort()\n", "crashed", "SIGABRT"),
    "e/test_slow.py": ("import time\ndef test_1(): time.sleep(60)\ndef test_2(): pass\n", "timed out", "limit of 25 s"),
    "f/test_exit.py": (
        "import pytest\ndef test_1(): pytest.exit('enough')\ndef test_2(): pass\n",
        "interrupted",
        "enough",
    ),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    pytest.importorskip("transformers")
    root = tmp_path_factory.mktemp("checkout")
    for name, (text, *_) in FILES.items():
        (root / "tests" / name).parent.mkdir(parents=True)
        (root / "tests" / name).write_text(text)
    (root / "conftest.py").write_text("")
    (root / "tests/c/conftest.py").write_text("import absent_helper\n")
    return root


def run(*arguments, code=0, cwd="/", **variables):
    done = subprocess.run(
        [sys.executable, RUNNER, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=200,
        env=os.environ | variables,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def whole(checkout, tmp_path_factory):
    """Run all files; provide (output, JSON, JUnit, folder)."""
    folder = tmp_path_factory.mktemp("results")
    reports = ("--json", folder / "r.json", "--junitxml", folder / "r.xml", "--html", folder / "r.html")
    output = run(checkout / "tests", "--jobs", 2, "--timeout", 25, "--test-timeout", 30, *reports, code=2)
    return output, json.loads((folder / "r.json").read_text()), ET.parse(folder / "r.xml").getroot()[0], folder


def test_each_file_says_what_became_of_it(whole):
    output, report, _, _ = whole
    found = {file["name"].removeprefix("tests/"): file for file in report["files"]}
    assert {name: file["outcome"] for name, file in found.items()} == {
        name: outcome for name, (_, outcome, _) in FILES.items()
    }
    for name, (_, outcome, why) in FILES.items():
        assert why in found[name]["why"]
        assert re.search(rf"^{outcome} .* {re.escape('tests/' + name)}$", output, re.M), output
    assert found["f/test_exit.py"]["not_run"] == ["tests/f/test_exit.py::test_1", "tests/f/test_exit.py::test_2"]
    assert "6 files: 1 ran, 2 could not start, 1 crashed, 1 timed out, 1 interrupted" in output


def test_junit_has_an_error_for_every_file_that_did_not_run(whole):
    cases = {f"{case.get('classname')}.{case.get('name')}".lstrip("."): case for case in whole[2]}
    for name, (_, _, why) in FILES.items():
        bad = [
            part.get("message")
            for where, case in cases.items()
            if where.startswith(f"tests.{name[0]}.")
            for part in case
        ]
        assert any(why in message for message in bad), (name, bad)
    assert int(whole[2].get("errors")) == len(list(whole[2].iter("error"))) > 0
    assert int(whole[2].get("tests")) == len(cases)


def test_json_follows_its_schema_and_knows_torch_and_device(whole):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(whole[1], SCHEMA)
    assert whole[1]["versions"]["torch"] == "2.13.0+mindspore" and whole[1]["device"] == "cpu"


def test_missing_dependencies_are_a_category_of_their_own(whole):
    output, report, _, _ = whole
    categories = {test["id"].rpartition("/")[2]: test["category"] for test in report["tests"] if "category" in test}
    assert (
        categories["test_dependency.py"] == "missing dependency"
        and categories["test_conftest.py"] == "missing dependency"
    )
    assert "pip install absent_helper no_such_dependency" in output
    assert category_of("ModuleNotFoundError: No module named 'torch.no_such'") == "missing API"
    assert missing_package("ModuleNotFoundError: No module named 'sklearn.utils'") == "scikit-learn"
    assert (
        missing_package("ImportError: \nX requires the librosa library but it was not found in your environment")
        == "librosa"
    )
    other = (
        "ImportError: tokenizers>=0.22.0,<=0.23.0 is required for a normal functioning of this module, but found 0.23.3"
    )
    assert category_of(other) == "missing dependency" and missing_package(other) == "'tokenizers>=0.22.0,<=0.23.0'"
    absent = "PackageNotFoundError: The 'regex>=2025' distribution was not found and is required by this application."
    assert category_of(absent) == "missing dependency" and missing_package(absent) == "'regex>=2025'"


def test_failures_are_grouped_by_cause_with_a_command(whole, checkout):
    assert (
        cause_of("AssertionError: 0.25 != 0.5 within 1e-05")
        == cause_of("AssertionError: 1.25 != 7 within 2")
        == "AssertionError: N != N within N"
    )
    assert cause_of("RuntimeError: at 0x7f00 in /tmp/a/b.py\n") == cause_of("RuntimeError: at 0x1 in /home/b.py")
    assert "1 wrong value: assert [1, 2] == [1, 3]\n" in whole[0] and whole[1]["causes"][0].keys() >= {"cause", "count"}
    late = {"outcome": "failed", "category": "time-out"}
    failures = [late | {"id": f"a::{n}", "message": f"Failed: Timeout (>{n}.0s) from pytest-timeout."} for n in (8, 9)]
    (group,) = groups(failures)  # shown with the numbers of the first failure
    assert (group["count"], group["cause"]) == (2, "Failed: Timeout (>8.0s) from pytest-timeout.")
    command = re.search(r"^ +(python\S* .*test_ok.py::test_2)$", whole[0], re.M)[1]
    done = subprocess.run(
        command.replace("python", sys.executable, 1), shell=True, capture_output=True, text=True, cwd="/"
    )
    assert "0 passed, 1 failed, 0 skipped" in done.stdout, done


def test_what_failed_can_be_run_again(checkout, whole, tmp_path):
    earlier = whole[3] / "r.json"
    report = json.loads(earlier.read_text())
    keep = [file for file in report["files"] if "/a/" in file["name"] or "/c/" in file["name"]]
    (tmp_path / "earlier.json").write_text(json.dumps(report | {"files": keep}))
    (checkout / "tests/c/conftest.py").write_text("")
    try:
        output = run("--rerun-failed", tmp_path / "earlier.json", "--compare", tmp_path / "earlier.json", code=1)
    finally:
        (checkout / "tests/c/conftest.py").write_text("import absent_helper\n")
    assert output.rstrip().endswith("1 passed, 1 failed, 0 skipped"), output  # test_ok's test_1 passed before
    # a test that passed before was not selected now, so it is not reported as missing
    assert "not run" not in output and output.count("0 newly failing") == 2


def test_compare_and_shards(checkout, whole, tmp_path):
    good = checkout / "tests/a/test_ok.py"
    run(good, "--json", tmp_path / "r.json", "-k", "test_1")
    report = json.loads((tmp_path / "r.json").read_text())
    report["tests"].append({"id": "tests/a/test_ok.py::test_2", "outcome": "passed", "duration": 1.0})
    (tmp_path / "r.json").write_text(json.dumps(report))
    output = run(good, "--compare", tmp_path / "r.json", "--html", tmp_path / "r.html", code=1)
    assert (
        "newly failing: wrong value: assert [1, 2] == [1, 3]" in output and "1 of     2     1 newly failing" in output
    )
    assert '"earlier": {"counts"' in (tmp_path / "r.html").read_text()
    for selection in ([f"{good}::test_1"], [good, "-k", "test_1"], [good, "--deselect", "tests/a/test_ok.py::test_2"]):
        assert "1 of     1     0 newly failing" in run(*selection, "--compare", tmp_path / "r.json")
    output = run(good, checkout / "tests/d", "--shard", "1/2", code=1)
    assert "test_ok.py" in output and "test_crash.py" not in output
    assert "2 files only" in run(good, checkout / "tests/d", "--shard", "1/3", code=2)
    assert "give it as" in run(good, "--shard", "2/1", code=2)


def test_an_interrupted_run_says_so(checkout, tmp_path):
    (tmp_path / "test_long.py").write_text(
        f"import time\ndef test_a(): pass\ndef test_b():\n    open({str(tmp_path / 'on')!r}, 'w')\n    time.sleep(90)\n"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            RUNNER,
            tmp_path / "test_long.py",
            checkout / "tests/a",
            "--json",
            tmp_path / "r.json",
            "--junitxml",
            tmp_path / "r.xml",
        ],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (tmp_path / "on").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=30)[0]
    assert process.returncode == 130 and "2 files: 2 interrupted" in output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["interrupted"] and [file["why"] for file in report["files"]] == [
        "1 of 2 tests were not run",
        "not started",
    ]
    assert [error.get("type") for error in ET.parse(tmp_path / "r.xml").iter("error")] == ["interrupted", "interrupted"]


def test_fetch(tmp_path, monkeypatch):
    version = upstream_version()
    upstream = tmp_path / "upstream"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", upstream]
    subprocess.run(["git", "init", "-q", upstream], check=True)
    (upstream / "src/transformers").mkdir(parents=True)
    for number in (version, "5.1.0"):
        (upstream / "src/transformers/__init__.py").write_text(f'__version__ = "{number}"\n')
        for command in (["add", "."], ["commit", "-q", "-m", "a"], ["tag", f"v{number}"]):
            subprocess.run([*git, *command], check=True)

    def instead(place):
        key = f"url.{place}.insteadOf"
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": key,
            "GIT_CONFIG_VALUE_0": "https://github.com/huggingface/transformers",
        }

    there = instead(f"file://{upstream}")
    assert run("--fetch", tmp_path / "got", **there) == f"transformers v{version} is in {tmp_path}/got\n"
    assert (tmp_path / "got/src/transformers").exists()
    output = run("--fetch", "other", "--tag", "v5.1.0", cwd=tmp_path, **there)
    assert f"It is 5.1.0, and {version} is installed" in output
    assert f"\npip install --no-deps -e {tmp_path}/other " in output
    assert "5.1.0" in (tmp_path / "other/src/transformers/__init__.py").read_text()
    output = run("--fetch", tmp_path / "none", "--tag", "v5.1", code=2, **there)
    assert "has no tag v5.1; names like it: v5.1.0" in output and not (tmp_path / "none").exists()
    assert "already exists and is not an empty directory" in run("--fetch", tmp_path / "got", code=2, **there)
    output = run("--fetch", tmp_path / "none", code=2, **instead("https://localhost:1/none"))
    assert "no network to https://github.com/huggingface/transformers" in output and "git clone" in output
    monkeypatch.setattr("runner.installed.upstream_version", lambda: None)
    with pytest.raises(SystemExit, match="transformers is not installed .* name a tag, as in --tag v5.16.0"):
        fetch(tmp_path / "none")


def test_progress_knows_what_is_left():
    class Run:
        def __init__(self, collected, done):
            self.collected, self.results = range(collected), range(done)

    progress = Progress([one := Run(10, 10), Run(0, 0)], live=False)
    progress.started = time.monotonic() - 100
    progress.ended.append(one)
    assert 99 < progress.left() < 102  # the other file is estimated to take as long as this one


FRAME = """<!doctype html><iframe id="f" src="{page}" style="width:{width}px;height:900px;border:0"></iframe><script>
f.onload = () => {{ const d = f.contentDocument, e = d.documentElement;
  const out = [...d.querySelectorAll("td, th, .row > *, summary, input")].filter(
    n => n.getBoundingClientRect().right > {width} + 1);
  document.body.append(JSON.stringify({{scroll: e.scrollWidth, client: e.clientWidth, out: out.length,
    rows: d.querySelectorAll(".row").length, causes: d.querySelectorAll(".cause").length,
    text: d.body.innerText}})); }}</script>"""
COLORS = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}


@pytest.mark.slow
@pytest.mark.parametrize("width, colors", [(1280, "light"), (390, "light"), (390, "dark")])
def test_the_page_in_a_browser(whole, width, colors, tmp_path, browser):
    """Show the page in a frame with a width: there are no console messages, and no element is wider than the frame.

    A frame is used because Chromium's window is never narrower than 500 pixels.
    """
    kernel = {
        "op": "_softmax_backward_data",
        "device": "cpu",
        "dtype": "float32",
        "kind": "pyboost",
        "primitive": "SoftmaxBackward",
        "calls": 12345,
    }
    kernels = {"kernels": [kernel | {"seconds": 12.3456, "why": "because " * 20}], "share": 0.5}
    (tmp_path / "kernels.html").write_text(render("Kernels", kernels=kernels))
    for page in (whole[3] / "r.html", tmp_path / "kernels.html"):
        assert "http" not in page.read_text().split("<script type")[0]  # nothing is loaded from elsewhere
        (tmp_path / "frame.html").write_text(FRAME.format(page=page.as_uri(), width=width))
        shown, said = browser(tmp_path / "frame.html", *COLORS[colors])
        assert "CONSOLE" not in said, said
        seen = json.loads(html.unescape(re.search(r"\{&quot;scroll.*\}|\{\"scroll.*\}", shown)[0]))
        assert seen["scroll"] <= seen["client"] <= width and not seen["out"], seen
        assert "Operators by kind of kernel" in seen["text"]
        if page.name == "r.html":
            assert seen["rows"] == len(FILES) and seen["causes"]


def test_runs_compared_by_the_command(tmp_path, capsys):
    def run(name, **tests):
        path = tmp_path / name
        path.write_text(
            json.dumps(
                {
                    "tests": [
                        {
                            "id": f"tests/models/x/test_x.py::A::{test}",
                            "outcome": outcome,
                            "message": "why\nmore",
                            "category": "dtype",
                            "duration": seconds,
                        }
                        for test, (outcome, seconds) in tests.items()
                    ]
                }
            )
        )
        return str(path)

    before = run("before.json", a=("passed", 2.0), b=("passed", 1.0), c=("failed", 1.0))
    after = run("after.json", a=("passed", 5.0), b=("failed", 1.0), c=("passed", 1.0))
    assert compare.main([before, "--with", after]) == 1
    out = capsys.readouterr().out
    assert "x/test_x.py::A::b\n    newly failing: dtype: why\n" in out and "::A::c\n    newly passing" in out
    assert "1 of     2     1 newly failing    1 newly passing   2.50 times as long  x/test_x.py" in out
    listed = tmp_path / "passed.txt"
    listed.write_text("# ids\nx/test_x.py::A::a\nx/test_x.py::A::c\n")
    assert compare.main([str(listed), "--with", after]) == 0
    assert "2 of     2 " in capsys.readouterr().out
    listed.write_text("x/test_x.py::A::gone\n")
    assert compare.main([str(listed), "--with", after]) == 1 and "failing: not run" in capsys.readouterr().out
