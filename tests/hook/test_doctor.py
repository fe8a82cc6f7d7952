"""python -m mindtorch_proxy doctor, and what a broken installation says."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_proxy
from mindtorch_proxy import installation
from mindtorch_proxy.finder import TORCH_VERSION

ROOT = Path(mindtorch_proxy.__file__).parents[1]
RUN = ("-m", "mindtorch_proxy")
DOCTOR = (*RUN, "doctor", "--json")


@pytest.fixture
def bare(tmp_path):
    """(a Python without any package, a folder that has ours, as a wheel lays it out, and takes others)."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    folder = tmp_path / "packages"
    (folder / "mindtorch_proxy").mkdir(parents=True)
    for part in (*(ROOT / "mindtorch_proxy").iterdir(), *(ROOT / name for name in ("runtime", "backends", "stubs"))):
        (folder / "mindtorch_proxy" / part.name).symlink_to(part)
    return str(tmp_path / "env/bin/python"), folder


def package(folder, name, text, version="1.0"):
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    (folder / f"{name}-{version}.dist-info").mkdir()
    (folder / f"{name}-{version}.dist-info/METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def said(python, executable, folder, code="import torch; torch.ones(2) + 1"):
    """What a program prints that needs a kernel, and what the doctor finds."""
    done = python(*RUN, "-c", code, executable=executable, check=False, PYTHONPATH=folder)
    report = json.loads(python(*DOCTOR, executable=executable, check=False, PYTHONPATH=folder).stdout)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr, report["problems"]


def test_no_numpy_no_mindspore_numpy_2(python, bare):
    executable, folder = bare
    message, found = said(python, executable, folder)
    assert "NumPy does not load" in message and len(found) == 2  # and MindSpore is missing too
    package(folder, "numpy", "__version__ = '2.3.1'", "2.3.1")
    message, found = said(python, executable, folder)
    assert "NumPy 2.3.1 is installed" in message and f"{executable} -m pip install 'numpy<2'" in message
    assert any("NumPy 2.3.1" in problem["what"] and "numpy<2" in problem["remedy"] for problem in found)
    (folder / "numpy/__init__.py").write_text("__version__ = '1.26.4'")
    message, _ = said(python, executable, folder)
    assert "MindSpore is not installed" in message and "pip install mindspore==2.7.2" in message
    # in an activated process it is an ImportError with that sentence, not an AttributeError of MindSpore's inside
    code = "import mindtorch_proxy as m; m.install()\ntry:\n    import torch\nexcept ImportError as error:\n    print(error)"
    assert "MindSpore is not installed" in python("-c", code, executable=executable, PYTHONPATH=folder)


def test_mindspores_own_import_error(python, tmp_path):
    package(tmp_path, "mindspore", "raise ImportError('libgomp.so.1: cannot open shared object file')")
    message, found = said(python, sys.executable, tmp_path)
    assert "MindSpore is installed, but does not load (ImportError: libgomp.so.1" in message and "doctor" in message
    assert found and any("libgomp" in problem["what"] for problem in found if "calculation" in problem["what"]) or "not known" in found[0]["what"]


@pytest.mark.parametrize("version", [(3, 9), (3, 13)])
def test_another_python(monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", (*version, 0))
    with pytest.raises(installation.BrokenInstallation, match=f"3.10 to 3.12, this is 3.{version[1]} .*venv"):
        installation.check()


def test_a_sound_installation(python):
    done = python(*RUN, "doctor")
    assert done.endswith("nothing is wrong") and "a small calculation: right, on cpu" in done and "import torch is not ours" in done
    report = json.loads(python(*DOCTOR))
    assert not report["problems"] and report["versions"]["mindspore"] != "not installed" and not report["active"]
    assert "because MINDTORCH_ACTIVATE is not set" in report["activation"]
    assert python(*RUN, "doctor", "--nonsense", check=False).returncode == 2
    report = json.loads(
        python("-c", "import subprocess, sys, mindtorch_proxy as m; m.install(); subprocess.run([sys.executable, '-m', 'mindtorch_proxy', 'doctor', '--json'])")
    )
    assert report["active"] and TORCH_VERSION in report["activation"][0] and "read through PYTHONPATH" in report["activation"][1]


def test_a_variable_without_effect_is_found(python):
    done = python(*DOCTOR, check=False, MINDTORCH_ACTIVATE="1")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and "MINDTORCH_ACTIVATE=1 has no effect" in report["problems"][0]["what"]
    assert "nothing reads it" in report["activation"][1]
    assert (
        "means another environment"
        in python("-m", "mindtorch_proxy.commands", "--status", check=False, MINDTORCH_ACTIVATE="/x", PYTHONPATH=mindtorch_proxy.activate.SITE).stdout
    )


def test_the_first_kernel_says_what_takes_seconds(python):
    """On a terminal alone, and the line goes away."""
    code = "import torch; print((torch.ones(2) + 1).tolist())"
    master, slave = pty.openpty()
    done = subprocess.run([sys.executable, *RUN, "-c", code], stdout=subprocess.PIPE, stderr=slave, text=True, timeout=100)
    os.close(slave)
    with open(master, "rb", buffering=0) as terminal:
        told = terminal.read(1000)
    assert done.stdout == "[2.0, 2.0]\n" and told.startswith(b"mindtorch_proxy: MindSpore is being loaded") and told.endswith(b"\r\x1b[K")
    assert python(*RUN, "-c", code, check=False).stderr == ""
