"""Tests the files for `pip install -c`, and the command that prints which one to use."""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from mindtorch_proxy import environment, installation
from mindtorch_proxy.finder import TORCH_VERSION

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(installation.CONSTRAINTS)
PIP = (
    sys.executable,
    "-m",
    "pip",
    "install",
    "--dry-run",
    "--no-deps",
    "--no-index",
    "--no-build-isolation",
    "--disable-pip-version-check",
)


def lines(name):
    """Return the lines of a file without comments."""
    return [line for line in (FOLDER / name).read_text().splitlines() if line and not line.startswith("#")]


def pins(name):
    """Return {package: specifier} for a file and those that it includes."""
    found = {}
    for line in lines(name):
        if line.startswith("-c "):
            found |= pins(line[3:])
        else:
            need = Requirement(line)
            assert (
                need.name == canonicalize_name(need.name) and need.specifier and not need.marker and not need.extras
            ), line
            found[need.name] = str(need.specifier)
    return found


def declared(section, option):
    """Return {package: specifier} for a list in setup.cfg, without requirements that have a marker or an extra."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    needs = [Requirement(line) for line in config[section][option].splitlines() if line and not line.startswith("#")]
    return {need.name: str(need.specifier) for need in needs if not need.marker and not need.extras}


def extras():
    """Return {package: set of specifiers} for the extras in setup.cfg."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    found = {}
    for extra in config["options.extras_require"]:
        for name, specifier in declared("options.extras_require", extra).items():
            found.setdefault(name, set()).add(specifier)
    return found


def test_the_files_agree_with_setup_cfg():
    assert {path.name for path in FOLDER.glob("*.txt")} == {
        "base.txt",
        "cpu.txt",
        "torch.txt",
        "numpy2.txt",
        "numpy2-torch.txt",
    }
    base, cpu, torch = map(pins, ("base.txt", "cpu.txt", "torch.txt"))
    assert lines("base.txt")[0] == "numpy<2" and "mindspore" not in base and "torch" not in base
    assert (
        cpu
        == base | declared("options.extras_require", "cpu")
        == base | {"mindspore": f"=={installation.CPU_MINDSPORE}"}
    )
    assert torch == base | {"torch": f"=={Version(TORCH_VERSION).public}"}
    two, two_torch = pins("numpy2.txt"), pins("numpy2-torch.txt")
    assert two_torch == two | {"torch": torch["torch"]}
    wanted = SpecifierSet(declared("options", "install_requires")["numpy"])
    for version, first, second in (
        (installation.LAST_NUMPY_1, True, False),
        ("1.25.0", True, False),
        ("2.0.0", False, True),
        ("2.4.6", False, True),
    ):
        assert version in wanted and (
            version in SpecifierSet(base["numpy"]),
            version in SpecifierSet(two["numpy"]),
        ) == (first, second)
    assert "3.0.0" not in wanted and "3.0.0" not in SpecifierSet(two["numpy"])
    for name, needs in extras().items():  # no extra allows a version that the files exclude
        first = re.fullmatch(r"<(\S+)", base[name])[1] if name in base else None
        assert first is None or not any(SpecifierSet(need).contains(first) for need in needs), name


def test_the_first_command_of_the_readme_names_the_file():
    text = (ROOT / "README.md").read_text()
    commands = [line for line in text.splitlines() if "pip install" in line and "[cpu" in line]
    assert commands and all(" -c mindtorch_proxy/constraints/cpu.txt " in line for line in commands)


@pytest.mark.parametrize(
    "name, kept_out, because",
    [(n, "numpy>=2", "numpy<2") for n in ("base.txt", "cpu.txt", "torch.txt")]
    + [(n, "numpy<2", "numpy<3,>=2") for n in ("numpy2.txt", "numpy2-torch.txt")],
)
def test_pip_takes_the_files(name, kept_out, because, tmp_path):
    """pip accepts the files from any folder, also when another file includes them, and applies them."""
    pytest.importorskip("pip")

    def pip(need):
        return subprocess.run(
            [*PIP, "-c", FOLDER / name, need],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PIP_CONFIG_FILE": os.devnull},
        )

    assert pip("packaging").returncode == 0
    done = pip(kept_out)
    assert done.returncode == 1 and because in done.stdout + done.stderr


def test_the_command_prints_the_file_that_fits(python, monkeypatch):
    assert python("-m", "mindtorch_proxy.commands", "constraints") == installation.constraints()
    for numpy, without, with_torch in (
        ("1.26.4", "base.txt", "torch.txt"),
        ("2.4.6", "numpy2.txt", "numpy2-torch.txt"),
    ):
        monkeypatch.setattr(installation, "_installed_numpy", lambda: numpy)
        monkeypatch.setattr(environment, "metadata_is_ours", lambda: False)
        assert installation.constraints() == str(FOLDER / without)
        monkeypatch.setattr(environment, "metadata_is_ours", lambda: True)
        assert installation.constraints() == str(FOLDER / with_torch)
        assert installation.pip_command("numpy").endswith(f" -m pip install -c {FOLDER / with_torch} numpy")
