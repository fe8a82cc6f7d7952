"""Tests python -m mindtorch_proxy doctor, and the messages of a broken installation."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_proxy
from mindtorch_proxy import (
    environment,  # noqa: F401  (imported before tests replace sys.path, with what it imports)
    installation,
)
from mindtorch_proxy.finder import TORCH_VERSION

ROOT = Path(mindtorch_proxy.__file__).parents[1]
RUN = ("-m", "mindtorch_proxy")
DOCTOR = (*RUN, "doctor", "--json")


@pytest.fixture
def bare(tmp_path):
    """Provide (a Python without packages, a folder with ours in the layout of a wheel, for further packages)."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    folder = tmp_path / "packages"
    (folder / "mindtorch_proxy").mkdir(parents=True)
    for part in (*(ROOT / "mindtorch_proxy").iterdir(), *(ROOT / name for name in ("runtime", "backends", "stubs"))):
        (folder / "mindtorch_proxy" / part.name).symlink_to(part)
    return str(tmp_path / "env/bin/python"), folder


def package(folder, name, text, version="1.0", needs=()):
    """Create a package and the metadata that pip writes for it."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    metadata(folder, name, version, *needs)


def metadata(folder, name, version, *needs):
    """Create the metadata that pip writes for a package; each of `needs` is a requirement."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    requires = "".join(f"Requires-Dist: {need}\n" for need in needs)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}")


def said(python, executable, folder, code="import torch; torch.ones(2) + 1"):
    """Return the message of a program that needs a kernel, and the problems that the doctor finds."""
    done = python(*RUN, "-c", code, executable=executable, check=False, PYTHONPATH=folder)
    report = json.loads(python(*DOCTOR, executable=executable, check=False, PYTHONPATH=folder).stdout)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr, report["problems"]


def test_no_numpy_no_mindspore(python, bare):
    executable, folder = bare
    message, found = said(python, executable, folder)
    assert "NumPy does not load" in message and len(found) == 2  # the second problem is that MindSpore is missing
    assert message.strip().endswith(
        f": {executable} -m pip install -c {folder}/mindtorch_proxy/constraints/base.txt numpy"
    )
    package(folder, "numpy", "__version__ = '2.3.1'", "2.3.1")
    message, _ = said(python, executable, folder)
    assert "MindSpore is not installed" in message and "pip install mindspore==2.7.2" in message
    # in an activated process it is an ImportError with that sentence, not an AttributeError inside MindSpore
    code = (
        "import mindtorch_proxy as m; m.install()\ntry:\n    import torch\nexcept ImportError as error:\n    "
        "print(error)"
    )
    assert "MindSpore is not installed" in python("-c", code, executable=executable, PYTHONPATH=folder)


LIBRARIES = (
    (
        "pandas",
        "3.1.1",
        "numpy>=1.26.0; python_version < '3'",
        "numpy>=2.0.2; python_version >= '3'",
        "numpy-financial>=9",
        "numpy>=3; extra == 'all'",
    ),
    ("Pyarrow", "26.0.1"),  # pip ignores the case of names
    ("scikit_learn", "1.9.1", "numpy>=1.24.1"),
    ("old_one", "0.1", "numpy (<1.20)"),
    ("polars", "2.1.0"),
)


def test_libraries_that_need_numpy_2_are_named_with_the_command_that_mends_them(monkeypatch, tmp_path):
    for library in LIBRARIES:
        metadata(tmp_path, *library)
    metadata(tmp_path / "behind", "pandas", "2.3.3", "numpy>=1.22")  # hidden by the pandas of the first folder
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "behind")])
    what, command = installation.library_problem("1.26.4").split(": ")
    assert what.split(", ") == [
        "NumPy 1.26.4 is installed",
        "but Pyarrow 26.0.1 requires NumPy 2 without stating it",
        "old_one 0.1 requires numpy (<1.20)",
        "pandas 3.1.1 requires numpy>=2.0.2",
    ]
    assert (
        command
        == f"{sys.executable} -m pip install -c {installation.constraints()} numpy Pyarrow old_one pandas"
        == installation.numpy_command()
    )


def test_libraries_that_need_another_numpy_than_2_are_named(monkeypatch, tmp_path):
    """MindSpore 2.7.2 declares that it needs NumPy 1 but works with NumPy 2; NumPy 3 is untested."""
    metadata(tmp_path, "numpy", "2.4.6")
    metadata(tmp_path, "mindspore", "2.7.2", "numpy<2.0.0,>=1.20.0")
    metadata(tmp_path, "mindtorch_proxy", "0.1.0", "numpy<3,>=1.25")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert installation.library_problem("2.4.6") is None
    for library in LIBRARIES:
        metadata(tmp_path, *library)
    command = f"{sys.executable} -m pip install -c {installation.CONSTRAINTS}/numpy2.txt numpy"
    assert (
        installation.library_problem("2.4.6")
        == f"NumPy 2.4.6 is installed, but old_one 0.1 requires numpy (<1.20): {command} old_one"
    )
    assert "mindtorch_proxy 0.1.0 requires numpy<3,>=1.25" in installation.library_problem("3.0.0")
    assert "mindtorch_proxy 0.1.0 requires numpy<3,>=1.25" in installation.library_problem("1.24.4")


def test_libraries_that_go_with_numpy_1_are_no_problem(monkeypatch, tmp_path):
    for library in (
        ("pandas", "3.0.6", "numpy>=1.26.0"),
        ("pyarrow", "24.0.0"),
        ("rc", "1", "numpy>=1.26.0rc1"),
        ("unreadable", "1", "numpy>=2.*"),
    ):
        metadata(tmp_path, *library)
    (tmp_path / "broken-1.0.dist-info").mkdir()  # has no METADATA
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert installation.library_problem("1.26.4") is None


def test_without_packaging(monkeypatch, tmp_path):
    """A message says that versions cannot be compared, and the command then contains every library that needs NumPy."""
    for library in LIBRARIES:
        metadata(tmp_path, *library)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in ("packaging", "packaging.requirements"):
        monkeypatch.setitem(sys.modules, name, None)
    assert installation.numpy_command().endswith(" numpy Pyarrow old_one pandas scikit_learn")
    assert (
        installation.library_problem("1.26.4").startswith("packaging is not installed")
        and "polars" not in installation.numpy_command()
    )


def test_the_doctor_does_not_pass_over_a_broken_library(python, monkeypatch, tmp_path):
    metadata(tmp_path, "numpy", "1.26.4")
    metadata(tmp_path, "pyarrow", "26.0.1")
    metadata(tmp_path, "pandas", "3.1.1", "numpy>=2.0.2")
    done = python(*RUN, "doctor", check=False, PYTHONPATH=tmp_path)
    assert done.returncode == 1 and "nothing is wrong" not in done.stdout
    monkeypatch.setattr(installation, "_installed_numpy", lambda: "1.26.4")
    wrong, command = re.search(
        r"WRONG: (NumPy 1.26.4 is installed, but .*\n.*?(\S+ -m pip .*))\n", done.stdout
    ).groups()
    assert (
        "pandas 3.1.1 requires numpy>=2.0.2" in wrong and "pyarrow 26.0.1 requires NumPy 2 without stating it" in wrong
    )
    assert f"-c {installation.constraints()} numpy " in command and {"pandas", "pyarrow"} <= set(command.split())


def test_mindspores_own_import_error(python, tmp_path):
    package(tmp_path, "mindspore", "raise ImportError('libgomp.so.1: cannot open shared object file')")
    message, found = said(python, sys.executable, tmp_path)
    assert "MindSpore is installed, but does not load (ImportError: libgomp.so.1" in message and "doctor" in message
    assert (
        found
        and any("libgomp" in problem["what"] for problem in found if "calculation" in problem["what"])
        or "not known" in found[0]["what"]
    )


@pytest.mark.parametrize("version", [(3, 9), (3, 13)])
def test_another_python(monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", (*version, 0))
    with pytest.raises(installation.BrokenInstallation, match=f"3.10 to 3.12, this is 3.{version[1]} .*venv"):
        installation.check()


def test_a_sound_installation(python):
    done = python(*RUN, "doctor")
    assert (
        done.endswith("nothing is wrong")
        and "a small calculation: right, on cpu" in done
        and "import torch is not ours" in done
    )
    report = json.loads(python(*DOCTOR))
    assert not report["problems"] and report["versions"]["mindspore"] != "not installed" and not report["active"]
    assert "because MINDTORCH_ACTIVATE is not set" in report["activation"]
    assert python(*RUN, "doctor", "--nonsense", check=False).returncode == 2
    report = json.loads(
        python(
            "-c",
            "import subprocess, sys, mindtorch_proxy as m; m.install(); subprocess.run([sys.executable, '-m', "
            "'mindtorch_proxy', 'doctor', '--json'])",
        )
    )
    assert (
        report["active"]
        and TORCH_VERSION in report["activation"][0]
        and "read through PYTHONPATH" in report["activation"][1]
    )


def test_a_variable_without_effect_is_found(python):
    done = python(*DOCTOR, check=False, MINDTORCH_ACTIVATE="1")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and "MINDTORCH_ACTIVATE=1 has no effect" in report["problems"][0]["what"]
    assert "nothing reads it" in report["activation"][1]
    assert (
        "means another environment"
        in python(
            "-m",
            "mindtorch_proxy.commands",
            "--status",
            check=False,
            MINDTORCH_ACTIVATE="/x",
            PYTHONPATH=mindtorch_proxy.activate.SITE,
        ).stdout
    )


def test_the_first_kernel_says_what_takes_seconds(python):
    """The message is only shown on a terminal, and removed afterwards."""
    code = "import torch; print((torch.ones(2) + 1).tolist())"
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, *RUN, "-c", code], stdout=subprocess.PIPE, stderr=slave, text=True, timeout=100
    )
    os.close(slave)
    with open(master, "rb", buffering=0) as terminal:
        told = terminal.read(1000)
    assert (
        done.stdout == "[2.0, 2.0]\n"
        and b"mindtorch_proxy: MindSpore is being loaded" in told
        and told.endswith(b"\x1b[K\x1b[?7h\x1b8")
    )
    assert python(*RUN, "-c", code, check=False).stderr == ""
