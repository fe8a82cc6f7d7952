"""Tests the documentation (programs, site, tables), and that the distributions for PyPI work without the checkout."""

import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.parse
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {path.stem: path for path in [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]}
TRAIN = (
    "import torch\nmodel = torch.nn.Linear(4, 2)\nmodel(torch.ones(3, 4)).sum().backward()\nprint(f'trained "
    "{model.weight.grad[0, 0].item()}')\n"
)
# {first line of a block: code to put before it}, then {page, or pattern of a command: what else runs it}
CONTEXT = {"from mindtorch_proxy.runtime.call.dispatch import intercept": "import torch\nx = y = torch.ones(2)\n"}
PYTHON_ELSEWHERE = {
    "add-an-operator": "tests/contract/test_recipe.py",
    "ascend": "tests/ascend/test_hccl.py",
    "notebook": "tests/tools/test_examples.py",
    "transcript": "tools/transcript.py",
}
COMMANDS_ELSEWHERE = {
    r"(\.venv/bin/)?pip |python3 -m venv |bash \.ci/run|\.ci/lint|.*-m pytest": ".ci/run",
    r"mindtorch-activate --(un)?install": "tests/hook/test_shells.py",
    r"pytest -p mindtorch_proxy": "tests/hook/test_activate.py",
    r".*accelerate launch": "tests/distributed/test_libraries.py",
    r"GLOO_SOCKET_IFNAME=": "tests/distributed/test_hosts.py",
    r"(\.venv/bin/)?python run_test_v2\.py|git clone": "tests/runner/test_truth.py",
}


def blocks(page, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page].read_text(), re.S | re.M)


@pytest.mark.parametrize(
    "page, number", [(page, i) for page in PAGES if page not in PYTHON_ELSEWHERE for i in range(len(blocks(page)))]
)
def test_programs_of_the_pages(python, page, number):
    if page == "distributed":
        pytest.importorskip("xoscar")  # the extra `distributed`
    block = blocks(page)[number]
    if (
        block not in (ROOT / "runtime/ops/pointwise.py").read_text()
    ):  # not a declaration that how-a-call-runs quotes from that file
        python("-m", "mindtorch_proxy", "-c", CONTEXT.get(block.partition("\n")[0], "") + block)


def commands():
    """Return the lines of all blocks of shell commands, without comments, duplicates and those that other tests run."""
    lines = [
        line.partition(" #")[0].strip()
        for page in PAGES
        for block in blocks(page, "bash")
        for line in block.splitlines()
        if line[0] != "#"
    ]
    return [line for line in dict.fromkeys(lines) if not any(re.match(pattern, line) for pattern in COMMANDS_ELSEWHERE)]


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_commands_of_the_pages(python, tmp_path, command, request):
    if "torch.distributed.run" in command or "torchrun" in command:
        pytest.importorskip("xoscar")
    if "--oracle" in command:
        command = re.sub(r"--oracle \S+", f"--oracle {request.getfixturevalue('oracle_python')}", command)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_it.py").write_text("import torch\ndef test_it(): assert 'mindspore' in torch.__version__\n")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    output = python(
        "-ec", command, executable="bash", cwd=tmp_path, PATH=f"{sys.prefix}/bin:{os.environ['PATH']}", PYTHONPATH=ROOT
    )
    assert "train.py" not in command or "trained 3.0" in output


def test_what_runs_the_other_blocks_exists():
    assert all((ROOT / path).exists() for path in {*COMMANDS_ELSEWHERE.values(), *PYTHON_ELSEWHERE.values()})
    usage = subprocess.run([sys.executable, ROOT / "run_test_v2.py", "--help"], capture_output=True, text=True).stdout
    known = {"python", "bash", "console"}
    for page in PAGES:
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```", PAGES[page].read_text(), re.S | re.M):
            assert language in known | {"yaml", "groovy", "fish", "nu", "powershell"}, (page, language)
            for options in re.findall(r"run_test_v2\.py(.*)", block):
                assert not {o for o in re.findall(r"(?<= )--[a-z-]+", options.partition(" #")[0]) if o not in usage}, (
                    page,
                    options,
                )
            if language == "yaml":
                assert pytest.importorskip("yaml").safe_load(block)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Provide the folder of the built site. --strict checks the links between its pages."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds(site):
    assert (site / "troubleshooting/index.html").exists()


def test_commands_of_other_shells(site, python, tmp_path):
    """They stand on the page as they are in the source, and fish's activate and deactivate."""
    page = (site / "activation/index.html").read_text()
    shown = html.unescape(re.sub(r"<[^>]*>", "", page))
    for language in ("fish", "nu", "powershell"):
        (block,) = blocks("activation", language)
        assert all(line in shown for line in block.splitlines()) and "\\|" not in block
    if not (fish := shutil.which("fish")):
        pytest.skip("fish is not installed")
    which = "import importlib.util as u; print(u.find_spec('torch') is not None)"
    on, off = blocks("activation", "fish")[0].splitlines()
    code = f'{on}; python -c "{which}"; {off}; python -c "{which}"'
    output = python("-c", code, executable=fish, PATH=f"{sys.prefix}/bin:{os.environ['PATH']}", HOME=tmp_path)
    assert output.split() == ["True", "False"]


FRAMES = """<!doctype html>{frames}<script>
const seen = {{}};
for (const f of document.querySelectorAll("iframe")) f.onload = () => {{
  const d = f.contentDocument, e = d.documentElement, at = n => n.getBoundingClientRect();
  const cells = [...d.querySelectorAll(".md-content td code")].filter(
    n => n.getClientRects().length > 2 && n.textContent.length / n.getClientRects().length < 9);
  const picture = d.querySelector(".md-content img");
  seen[f.title] = {{scroll: e.scrollWidth, narrow: cells.length, picture: picture && at(picture).width,
    pre: [...d.querySelectorAll(".md-content pre, .md-content table, .md-content img")].filter(
      n => at(n).left < {width} && at(n.closest("pre, .md-typeset__scrollwrap, p")).right > {width} + 1).length}};
}};
addEventListener("load", () => setTimeout(() => {{
  document.title = "done"; document.body.innerHTML = "<pre>" + JSON.stringify(seen) + "</pre>"; }}, 500));</script>"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_the_site_in_a_browser(site, browser, tmp_path, width):
    """No page is wider than its window, and names in tables are not broken letter by letter."""
    pages = sorted(site.rglob("index.html"))
    frame = '<iframe title="{}" src="{}" style="width:{}px;height:900px"></iframe>'
    frames = "".join(frame.format(page.parent.name, page.as_uri(), width) for page in pages)
    (tmp_path / "frames.html").write_text(FRAMES.format(frames=frames, width=width))
    shown, said = browser(tmp_path / "frames.html")
    seen = json.loads(html.unescape(re.search(r"<pre>(.*)</pre>", shown)[1]))
    assert len(seen) == len(pages) > 20, said
    assert not {name: page for name, page in seen.items() if page["scroll"] > width or page["narrow"] or page["pre"]}
    assert seen["architecture"]["picture"] > 340  # its text is readable: it is drawn for a width of 400


@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    """Links of all pages are well-formed, and those of pages outside of the site lead to files and headings."""
    for target in re.findall(
        r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```", "", PAGES[page].read_text(), flags=re.S | re.M)
    ):
        parts = urllib.parse.urlsplit(target)
        if parts.scheme or parts.netloc:
            assert parts.scheme == "https" and re.fullmatch(r"([\w-]+\.)+[a-z]+", parts.netloc), target
        elif page in ("README", "CONTRIBUTING"):
            file = PAGES[page].parent / parts.path if parts.path else PAGES[page]
            assert file.exists(), target
            headings = re.findall(r"^#+ (.*)", file.read_text(), re.M) if parts.fragment else ()
            assert not parts.fragment or parts.fragment in {
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            }, target


def test_every_variable_is_documented():
    rooms = [
        path for room in ("mindtorch_proxy", "runtime", "backends", "stubs") for path in (ROOT / room).rglob("*.py")
    ]
    used = {name for path in rooms for name in re.findall(r"MINDTORCH_[A-Z_]+", path.read_text())}
    documented = set(re.findall(r"^\| `(MINDTORCH_[A-Z_]+)`", (DOCS / "variables.md").read_text(), re.M))
    assert used - documented <= {"MINDTORCH_"} and documented - used == {"MINDTORCH_ORACLE_PYTHON", "MINDTORCH_ANSWERS"}


def test_every_option_of_the_commands_is_documented(python):
    text = (DOCS / "variables.md").read_text() + (DOCS / "activation.md").read_text()
    usage = python("-m", "mindtorch_proxy.commands", "--help") + python("-m", "mindtorch_proxy", "--help")
    assert not {option for option in re.findall(r"--[a-z-]+", usage) if option not in text}


def test_messages_of_the_troubleshooting_page_exist():
    """The messages in backquotes in the first column are in the code, apart from the parts that vary."""
    said = "".join(path.read_text() for room in ("mindtorch_proxy", "stubs") for path in (ROOT / room).rglob("*.py"))
    rows = re.findall(r"^\| `(.*?)`", (DOCS / "troubleshooting.md").read_text(), re.M)
    parts = [
        max(re.split(r"\.\.\.+|'[^']*'|^\w+Error: ", row), key=len).strip()
        for row in rows
        if row not in ("NotImplementedError", "pip check")
    ]
    assert len(parts) > 6 and not [part for part in parts if part not in said]


@pytest.mark.slow
def test_the_coverage_page_claims_nothing_that_is_absent(oracle_python):
    spec = importlib.util.spec_from_file_location("coverage_tool", ROOT / "tools/coverage.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    def not_working(text):
        return {
            (module, name)
            for module, names in re.findall(r"^- `([\w.]+)`, \w+: (.*)$", text, re.M)
            for name in names.replace("`", "").split(", ")
        }

    now, then = tool.page(oracle_python), (DOCS / "coverage.md").read_text()
    assert int(re.search(r"Of (\d+) names", now)[1]) > 5000
    whole = {module for module, name in not_working(then) if name == "all"}
    assert not {(module, name) for module, name in not_working(now) - not_working(then) if module not in whole}


@pytest.mark.slow
def test_wheel_and_sdist(tmp_path):
    """Build and check both, and use the wheel in an environment that has it instead of the checkout."""
    pytest.importorskip("build")
    pytest.importorskip("twine")
    source = tmp_path / "source"  # the build/ of the checkout may contain deleted files
    source.mkdir()
    for name in "setup.py setup.cfg pyproject.toml MANIFEST.in README.md LICENSE run_test_v2.py".split():
        shutil.copy(ROOT / name, source)
    for room in ("mindtorch_proxy", "runtime", "backends", "stubs", "examples", "tests", "runner"):
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", source]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    files = sorted((tmp_path / "dist").iterdir())
    assert [path.suffix for path in files] == [".gz", ".whl"]
    assert (
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], capture_output=True).returncode
        == 0
    )
    names = zipfile.ZipFile(files[1]).namelist()
    for part in (
        "page.html",
        "_site/sitecustomize.py",
        "runtime/descriptions.tsv",
        "torch/__init__.py",
        "stubs/distributions/kl.py",
        "doctor.py",
    ):
        assert f"mindtorch_proxy/{part}" in names, part
    compiled = [name for name in names if name.endswith(".so")]
    found = sorted(name.rpartition("/")[2].split(".")[0] for name in compiled)
    assert found == (["depthwise", "halves", "samplers"] if shutil.which("cc") else [])
    assert not [name for name in names if name.startswith(("tests/", "runner/", "tools/")) or "/segments/" in name]
    sources = {
        name.partition("/")[2] for name in tarfile.open(files[0]).getnames()
    }  # includes the tests, which the second command in README runs
    assert {
        "tests/conftest.py",
        "tests/hook/test_doctor.py",
        "runner/main.py",
        "run_test_v2.py",
        "examples/train_bert.py",
    } <= sources
    zipfile.ZipFile(files[1]).extractall(tmp_path / "site")
    others = next(path for path in sys.path if path.endswith("site-packages"))
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path / 'site')!r}]; sys.path.append({others!r}); import runpy; "
        f"sys.argv[1:1] = []; "
    )
    program = (
        code
        + "import mindtorch_proxy as m; m.install(); import torch; print((torch.ones(2) + 1).tolist(), torch.__file__)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == f"[2.0, 2.0] {tmp_path}/site/mindtorch_proxy/torch/__init__.py", done.stderr
    pytest.importorskip("transformers")
    demo = code + "from mindtorch_proxy.commands import demo; sys.exit(demo())"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", demo],
        capture_output=True,
        text=True,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    assert (
        done.returncode == 0 and "accuracy after training" in done.stdout and f"from {tmp_path}/site" in done.stdout
    ), done.stdout + done.stderr
