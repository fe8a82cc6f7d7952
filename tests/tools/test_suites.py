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
    """What fails and is skipped here is asked of the other side, for which this side stands here."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.setattr(suites, "installed", lambda *_: packages)
    line = suites.line_of("some-thing", {"version": "1.2", "tests": ["tests"]}, tmp_path, sys.executable, 120)
    assert line[:2] == ["some-thing", "1.2"]
    assert line[5:] == ["1", "1", "0", "1", "0", ""]  # passed, skipped, wants a package, fails with both, differs
    assert suites.unpacked("some-thing", "1.2", tmp_path) == tmp_path / "some-thing-1.2"  # not fetched again


def test_the_table_of_suites_is_well_formed(suites):
    for name, suite in suites.read_suites().items():
        assert set(suite) <= {"version", "tests", "requires", "variables", "left_out"}, name
        assert suite["version"] and suite["tests"] and isinstance(suite["requires"], list), name
