"""tools/suites.py: libraries' own test suites on both sides."""

import http.server
import importlib.util
import io
import sys
import tarfile
import threading
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "suites.py"
PAGE = """<a href="../../files/some_thing-1.2.tar.gz#sha256=0">some_thing-1.2.tar.gz</a>
<a href="../../files/some_thing-1.2.1.tar.gz#sha256=1">some_thing-1.2.1.tar.gz</a>
<a href="../../files/some_thing-1.2-py3-none-any.whl">some_thing-1.2-py3-none-any.whl</a>"""


@pytest.fixture(scope="module")
def suites():
    spec = importlib.util.spec_from_file_location("suites", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def archive():
    """Return the bytes of a source distribution with a library and three tests of it."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as file:
        for name, text in {
            "some_thing-1.2/some_thing.py": "def double(x):\n    return x * 2\n",
            "some_thing-1.2/tests/test_double.py": (
                "import pytest, torch\nfrom some_thing import double\n\n"
                "def test_values():\n    assert torch.equal(double(torch.ones(2)), torch.full((2,), 2.0))\n\n"
                "def test_wrong():\n    assert double(1) == 3\n\n"
                "@pytest.mark.skipif('mindspore' in str(torch.__file__) or True, reason='always')\n"
                "def test_skipped():\n    pass\n"
            ),
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            file.addfile(entry, io.BytesIO(text.encode()))
    return written.getvalue()


@pytest.fixture
def registry(monkeypatch):
    """Provide a package registry with one library, as pip's variable names it."""
    files = {"/simple/some-thing/": PAGE.encode(), "/files/some_thing-1.2.tar.gz": archive()}

    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path in files else 404)
            self.end_headers()
            self.wfile.write(files.get(self.path, b""))

        def log_message(self, *_):
            """Write nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield
    server.shutdown()


def test_a_suite_on_both_sides(suites, registry, tmp_path, monkeypatch):
    """Each side runs the whole suite; what the other one, for which this side stands here, passes alone differs."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.setattr(suites, "installed", lambda *_: packages)
    suite = {"version": "1.2", "tests": ["tests"], "variables": {"SIDE": "x"}}
    line = suites.line_of("some-thing", suite, tmp_path, sys.executable, 120)
    assert line[:2] == ["some-thing", "1.2"]
    assert line[4:6] == ["1", "1"] and line[8:] == ["", ""]  # the real one passes, ours of these; slow, different
    assert suites.unpacked("some-thing", suite, tmp_path) == tmp_path / "some_thing_1_2"  # not fetched again


def test_what_passes_on_the_other_side_alone_is_told(suites, tmp_path, monkeypatch):
    def side(python, *_, **__):
        outcome = "passed" if python == "real" else "failed"
        tests = [
            {"id": "t.py::same", "outcome": "passed", "duration": 0.1 if python == "real" else 2.0},
            {"id": "t.py::other", "outcome": outcome, "duration": 0.1, "text": "why", "message": ""},
        ]
        return {"tests": [{"text": "", "message": ""} | test for test in tests], "files": []}

    monkeypatch.setattr(suites, "installed", lambda *_: tmp_path)
    monkeypatch.setattr(suites, "unpacked", lambda *_: tmp_path)
    monkeypatch.setattr(suites.upstream, "run_tests", side)
    line = suites.line_of("thing", {"version": "1", "tests": []}, tmp_path, "real", 1)
    assert line[4:] == ["2", "1", "0.1", "2.0", "same 20", "other"]
    assert "why" in (tmp_path / "thing.txt").read_text()


def test_files_of_a_suite(suites, tmp_path):
    for file in ("tests/a_test.py", "tests/b/test_b.py", "tests/c_tests.py", "one.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    given = {"tests": ["tests", "one.py"], "left_out": {"tests/a_test.py": "why"}}
    assert suites.files_of(tmp_path, given) == [tmp_path / "tests/b/test_b.py", tmp_path / "one.py"]
    given = {"tests": ["tests"], "patterns": ["*_tests.py"]}
    assert suites.files_of(tmp_path, given) == [tmp_path / "tests/c_tests.py"]


def test_the_table_of_suites_is_well_formed(suites):
    known = {"version", "repository", "commit", "tests", "patterns", "requires", "variables", "left_out"}
    for name, suite in suites.read_suites().items():
        assert set(suite) <= known, name
        assert suite["version"] and suite["tests"] and isinstance(suite["requires"], list), name
        assert ("repository" in suite) == ("commit" in suite), name
