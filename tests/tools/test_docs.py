"""The documentation: its programs run, its site builds, its tables are true; what is built for PyPI works alone."""

import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ["index", "porting", "tools", "distributed"]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.S)


@pytest.mark.parametrize("page, number", [(page, i) for page in PAGES for i in range(len(blocks(page)))])
def test_programs_of_the_pages(python, page, number):
    if page == "distributed":
        pytest.importorskip("xoscar")  # the extra `distributed`
    assert python("-m", "mindtorch_proxy", "-c", blocks(page)[number])


def test_the_site_builds(tmp_path):
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "troubleshooting/index.html").exists()


def test_every_variable_is_documented():
    rooms = [path for room in ("mindtorch_proxy", "runtime", "backends", "stubs") for path in (ROOT / room).rglob("*.py")]
    used = {name for path in rooms for name in re.findall(r"MINDTORCH_[A-Z_]+", path.read_text())}
    documented = set(re.findall(r"^\| `(MINDTORCH_[A-Z_]+)`", (DOCS / "variables.md").read_text(), re.M))
    assert used - documented <= {"MINDTORCH_"} and documented - used == {"MINDTORCH_ORACLE_PYTHON"}


def test_every_option_of_the_commands_is_documented(python):
    text = (DOCS / "variables.md").read_text() + (DOCS / "activation.md").read_text()
    usage = python("-m", "mindtorch_proxy.commands", "--help") + python("-m", "mindtorch_proxy", "--help")
    assert not {option for option in re.findall(r"--[a-z-]+", usage) if option not in text}


def test_messages_of_the_troubleshooting_page_exist():
    """What stands in backquotes in its first column is said by the code, up to the parts that vary."""
    said = "".join(path.read_text() for room in ("mindtorch_proxy", "stubs") for path in (ROOT / room).rglob("*.py"))
    rows = re.findall(r"^\| `(.*?)`", (DOCS / "troubleshooting.md").read_text(), re.M)
    parts = [max(re.split(r"\.\.\.+|'[^']*'|^\w+Error: ", row), key=len).strip() for row in rows if row not in ("NotImplementedError", "pip check")]
    assert len(parts) > 6 and not [part for part in parts if part not in said]


@pytest.mark.slow
def test_the_coverage_page_claims_nothing_that_is_absent(oracle_python):
    spec = importlib.util.spec_from_file_location("coverage_tool", ROOT / "tools/coverage.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    def not_working(text):
        return {(module, name) for module, names in re.findall(r"^- `([\w.]+)`, \w+: (.*)$", text, re.M) for name in names.replace("`", "").split(", ")}

    now, then = tool.page(oracle_python), (DOCS / "coverage.md").read_text()
    assert int(re.search(r"Of (\d+) names", now)[1]) > 5000
    whole = {module for module, name in not_working(then) if name == "all"}
    assert not {(module, name) for module, name in not_working(now) - not_working(then) if module not in whole}


@pytest.mark.slow
def test_wheel_and_sdist(tmp_path):
    """Built, checked, and used from an environment that has the wheel alone in the place of the checkout."""
    pytest.importorskip("build")
    pytest.importorskip("twine")
    source = tmp_path / "source"  # the checkout's own build/ may hold files that are gone
    source.mkdir()
    for name in "setup.py setup.cfg pyproject.toml README.md LICENSE".split():
        shutil.copy(ROOT / name, source)
    for room in ("mindtorch_proxy", "runtime", "backends", "stubs"):
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", source]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    files = sorted((tmp_path / "dist").iterdir())
    assert [path.suffix for path in files] == [".gz", ".whl"]
    assert subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True).returncode == 0
    names = zipfile.ZipFile(files[1]).namelist()
    for part in ("page.html", "_site/sitecustomize.py", "runtime/descriptions.tsv", "torch/__init__.py", "stubs/profiler/profiler.py", "doctor.py"):
        assert f"mindtorch_proxy/{part}" in names, part
    assert not [name for name in names if name.startswith(("tests/", "runner/", "tools/"))]
    zipfile.ZipFile(files[1]).extractall(tmp_path / "site")
    others = next(path for path in sys.path if path.endswith("site-packages"))
    code = f"import sys; sys.path[:0] = [{str(tmp_path / 'site')!r}]; sys.path.append({others!r}); import runpy; sys.argv[1:1] = []; "
    program = code + "import mindtorch_proxy as m; m.install(); import torch; print((torch.ones(2) + 1).tolist(), torch.__file__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == f"[2.0, 2.0] {tmp_path}/site/mindtorch_proxy/torch/__init__.py", done.stderr
