"""Tests activation in real shells, conda's scripts, the hint of the .pth file, metadata for pip, and `python -i`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_proxy
from mindtorch_proxy import shells
from mindtorch_proxy.finder import TORCH_VERSION

ROOT = str(Path(mindtorch_proxy.__file__).parents[1])
WHICH = (
    "import importlib.util as u; s = u.find_spec('torch'); print('ours' if s and 'mindtorch_proxy' in s.origin else "
    "'not ours')"
)
COMMAND = ("-m", "mindtorch_proxy.commands")
POSIX = """
which() {{ "$PY" -c "{which}"; }}
which
eval "$("$PY" -m mindtorch_proxy.commands)"
which
eval "$("$PY" -m mindtorch_proxy.commands deactivate)"
which; echo "${{MINDTORCH_ACTIVATE-unset}} $PYTHONPATH"
"""
SCRIPTS = {
    "bash": POSIX,
    "zsh": POSIX,
    "fish": """
function which; $PY -c "{which}"; end
which
$PY -m mindtorch_proxy.commands | source
which
$PY -m mindtorch_proxy.commands deactivate | source
which; set -q MINDTORCH_ACTIVATE; or set MINDTORCH_ACTIVATE unset; echo $MINDTORCH_ACTIVATE (string join : $PYTHONPATH)
""",
    "nu": """
def which [] {{ ^$env.PY -c "{which}" | str trim | print }}
which
^$env.PY -m mindtorch_proxy.commands | from json | load-env
which
^$env.PY -m mindtorch_proxy.commands deactivate | from json | load-env
which; print $"(if ($env.MINDTORCH_ACTIVATE? | is-empty) {{ 'unset' }} else {{ 'set' }}) ($env.PYTHONPATH)"
""",
    "pwsh": """
& $env:PY -c "{which}"
& $env:PY -m mindtorch_proxy.commands | Out-String | Invoke-Expression
& $env:PY -c "{which}"
& $env:PY -m mindtorch_proxy.commands deactivate | Out-String | Invoke-Expression
& $env:PY -c "{which}"
Write-Output "$(if ($env:MINDTORCH_ACTIVATE) {{ 'set' }} else {{ 'unset' }}) $env:PYTHONPATH"
""",
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_on_and_off(python, tmp_path, shell):
    if not (executable := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "it's a folder").mkdir()
    script = tmp_path / ("s.ps1" if shell == "pwsh" else "script")
    script.write_text(SCRIPTS[shell].format(which=WHICH))
    path = f"{ROOT}:{tmp_path}/it's a folder"
    output = python(script, executable=executable, PY=sys.executable, PYTHONPATH=path, HOME=tmp_path)
    assert output.splitlines() == ["not ours", "ours", "not ours", f"unset {path}"], output


def test_every_shells_syntax():
    values = {"A": "it's \\ $x", "B": None}
    assert (
        shells.script(values, "powershell") == "$env:A = 'it''s \\ $x'\nRemove-Item Env:B -ErrorAction SilentlyContinue"
    )
    assert json.loads(shells.script(values, "nu")) == {"A": "it's \\ $x", "B": ""}
    assert shells.known("pwsh") == "powershell" and shells.known("dash") == "bash" and shells.known("python") is None


def test_a_shell_that_is_not_known(python):
    assert python(*COMMAND, "--shell", "cmd", check=False).returncode == 2
    assert python(*COMMAND, "--shell", "fish").startswith("set -gx MINDTORCH_ACTIVATE")


@pytest.fixture
def own(tmp_path, python):
    """Provide ask(*arguments, **variables), which runs the Python of a new environment and returns what it prints."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)

    def ask(*arguments, check=True, **variables):
        done = python(
            *arguments, executable=str(tmp_path / "env/bin/python"), check=False, **{"PYTHONPATH": ROOT, **variables}
        )
        assert not check or done.returncode == 0, done.stderr
        return (done.stdout + done.stderr).strip()

    return ask


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts)


def test_metadata_for_pip(own, tmp_path):
    before = everything(tmp_path)
    own(*COMMAND, "--install", "--with-metadata")
    dist_info = next(tmp_path.rglob("torch-*.dist-info"))
    assert (dist_info / "INSTALLER").read_text() == "mindtorch_proxy\n" and TORCH_VERSION in dist_info.name
    recorded = {line.split(",")[0] for line in (dist_info / "RECORD").read_text().splitlines()}
    assert recorded == {f"{dist_info.name}/{path.name}" for path in dist_info.iterdir()}
    site = dist_info.parent
    needs = site / "needy-1.0.dist-info"
    needs.mkdir()
    (needs / "METADATA").write_text("Metadata-Version: 2.1\nName: needy\nVersion: 1.0\nRequires-Dist: torch>=2.10\n")
    pip = [sys.executable, "-m", "pip", "--python", tmp_path / "env/bin/python"]
    assert "No broken requirements" in subprocess.run([*pip, "check"], capture_output=True, text=True).stdout
    shown = subprocess.run([*pip, "install", "--no-index", "torch>=2.10"], capture_output=True, text=True)
    assert shown.returncode == 0 and f"({TORCH_VERSION})" in shown.stdout, shown
    shutil.rmtree(needs)
    assert own("-c", WHICH) == "not ours" and str(dist_info) in own(*COMMAND, "--status", check=False)
    own(*COMMAND, "--uninstall")
    assert everything(tmp_path) == before


def test_metadata_is_refused_beside_a_real_torch(own, tmp_path):
    other = tmp_path / "env/lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (other / "torch").mkdir()
    (other / "torch/__init__.py").write_text("")
    (other / "torch-2.9.dist-info").mkdir()
    (other / "torch-2.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9\n")
    assert "another torch is installed" in own(*COMMAND, "--install", "--with-metadata", check=False)
    assert not list(tmp_path.rglob("*mindspore.dist-info")) and not list(tmp_path.rglob("mindtorch_proxy_activate.pth"))
    own(*COMMAND, "--install")
    assert own("-c", "import torch; print(torch.__file__)") == str(other / "torch/__init__.py")
    own(*COMMAND, "--uninstall")
    assert (other / "torch-2.9.dist-info/METADATA").exists()


def test_a_forgotten_activation_is_told(own):
    own(*COMMAND, "--install")
    code = "import importlib, importlib.util\nassert importlib.util.find_spec('torch') is None\n"
    code += "try:\n    {}\nexcept ModuleNotFoundError as error:\n    print(error.name, error)"
    for statement in ("import torch", "from torch.nn import Linear", "importlib.import_module('torch')"):
        output = own("-c", code.format(statement))
        assert output.startswith("torch No module named 'torch'.") and "MINDTORCH_ACTIVATE=1" in output, output
    assert own("-c", WHICH, MINDTORCH_ACTIVATE="1") == "ours"
    own(*COMMAND, "--uninstall")
    assert own("-c", code.format("import torch")) == "torch No module named 'torch'"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_condas_scripts(own, python, tmp_path, shell):
    if not (executable := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "env/conda-meta").mkdir()
    (tmp_path / "env/etc").mkdir()  # exists in every conda environment
    before = everything(tmp_path / "env")
    own(*COMMAND, "--install")
    suffix = "fish" if shell == "fish" else "sh"
    on, off = (tmp_path / f"env/etc/conda/{when}.d/mindtorch_proxy.{suffix}" for when in ("activate", "deactivate"))
    which = f'"{tmp_path}/env/bin/python" -c "{WHICH}"'
    (tmp_path / "script").write_text(f"{which}\n. '{on}'\n{which}\n. '{off}'\n{which}\n")
    output = python(tmp_path / "script", executable=executable, PYTHONPATH=ROOT, HOME=tmp_path)
    assert output.splitlines() == ["not ours", "ours", "not ours"]
    own(*COMMAND, "--uninstall")
    assert everything(tmp_path / "env") == before


def test_names_stay_after_an_interactive_start(python, tmp_path):
    (tmp_path / "prog.py").write_text("def f(): return x\nx = 7\n")
    (tmp_path / "fails.py").write_text("x = 7\nraise SystemExit(3)\n")
    for arguments in ((tmp_path / "prog.py",), ("-m", "prog"), (tmp_path / "fails.py",)):
        done = python("-i", "-m", "mindtorch_proxy", *arguments, stdin="print('x is', x)\n", check=False, cwd=tmp_path)
        assert "x is 7" in done.stdout, done
    done = python(
        "-i", "-m", "mindtorch_proxy", tmp_path / "prog.py", stdin="x = 8\nprint('f gives', f())\n", check=False
    )
    assert "f gives 8" in done.stdout


def test_tracebacks_of_a_script_begin_with_the_script(python, tmp_path):
    (tmp_path / "prog.py").write_text("def f():\n    raise KeyError('x')\nf()\n")
    done = python("-m", "mindtorch_proxy", tmp_path / "prog.py", check=False)
    real = python(tmp_path / "prog.py", check=False)
    assert done.stderr == real.stderr and done.returncode == 1


def test_os_has_no_more_variables_than_before(own):
    before = own("-c", "import os; print(sorted(os.environ))")
    own(*COMMAND, "--install")
    assert own("-c", "import os; print(sorted(os.environ))") == before
    assert os.environ.get("MINDTORCH_ACTIVATE")  # this process is activated, while `own` is not
