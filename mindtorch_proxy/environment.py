"""Writes files into an environment: the .pth file, conda's scripts, metadata of `torch`. Standard library only."""

import base64
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from importlib.machinery import PathFinder

from .activate import VARIABLE
from .finder import METADATA, TORCH_VERSION

INSTALLER = "mindtorch_proxy"
SITE_PACKAGES = sysconfig.get_path("purelib")
PTH = os.path.join(SITE_PACKAGES, "mindtorch_proxy_activate.pth")
STUBS = os.path.join(SITE_PACKAGES, "torch-stubs")
DIST_INFO = os.path.join(SITE_PACKAGES, f"torch-{TORCH_VERSION}.dist-info")
# A single line, since site.py executes lines, and a short one, since every start of Python compiles it. It activates
# where the variable requests it. Otherwise it appends a finder that explains a failing `import torch`: a
# SimpleNamespace, obtained without an import.
PTH_LINE = (
    f'import os, sys; os.environ.get("{VARIABLE}") and __import__("mindtorch_proxy").activate.install_if_asked() or '
    "sys.meta_path.append(type(sys.implementation)(find_spec=lambda n, *_: "
    'n == "torch" and __import__("mindtorch_proxy.hint").hint.explain() or None))\n'
)
CONDA = {
    ("activate.d", "sh"): 'eval "$({python} -m mindtorch_proxy.commands --shell bash)"\n',
    ("deactivate.d", "sh"): 'eval "$({python} -m mindtorch_proxy.commands deactivate --shell bash)"\n',
    ("activate.d", "fish"): "{python} -m mindtorch_proxy.commands --shell fish | source\n",
    ("deactivate.d", "fish"): "{python} -m mindtorch_proxy.commands deactivate --shell fish | source\n",
    (
        "activate.d",
        "ps1",
    ): "& {python} -m mindtorch_proxy.commands --shell powershell | Out-String | Invoke-Expression\n",
    (
        "deactivate.d",
        "ps1",
    ): "& {python} -m mindtorch_proxy.commands deactivate --shell powershell | Out-String | Invoke-Expression\n",
}


def install(with_metadata=False, with_types=False):
    """Write the .pth file, and in a conda environment also conda's scripts.

    with_metadata: also write metadata, so that pip considers torch installed. with_types: also write type stubs.
    """
    if with_metadata:
        _write_metadata()
        print(f"wrote {DIST_INFO}: pip takes torch for installed")
    if with_types:
        _write_types()
        print(f"wrote {STUBS}: type checkers and editors know what `import torch` gives")
    _write(PTH, PTH_LINE)
    print(f"wrote {PTH}: {VARIABLE}=1 activates {sys.executable}")
    for path, text in conda_scripts().items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, text)
        print(f"wrote {path}")


def uninstall():
    """Remove everything that install() has written."""
    for path in (PTH, *conda_scripts()):
        if os.path.exists(path):
            os.remove(path)
    for path in conda_scripts():
        folder = os.path.dirname(path)
        for empty in (folder, os.path.dirname(folder)):
            if os.path.isdir(empty) and not os.listdir(empty):
                os.rmdir(empty)
    for folder in (DIST_INFO, STUBS):
        if is_ours(folder):
            shutil.rmtree(folder)


def conda_scripts():
    """Return {path: text} of the scripts that `conda activate` and `deactivate` source; empty outside of conda."""
    if not os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        return {}
    folder = os.path.join(sys.prefix, "etc", "conda")
    return {
        os.path.join(folder, when, f"mindtorch_proxy.{shell}"): text.format(python=shlex.quote(sys.executable))
        for (when, shell), text in CONDA.items()
    }


def other_torch():
    """Return the location of a torch on sys.path that is not ours, or a description of its metadata, or None."""
    spec = PathFinder.find_spec("torch")
    if spec is not None:
        return spec.origin or str(list(spec.submodule_search_locations or ()))
    for found in metadata.MetadataPathFinder.find_distributions(metadata.DistributionFinder.Context(name="torch")):
        if (found.read_text("INSTALLER") or "").strip() != INSTALLER:
            return f"metadata of torch {found.version}"
    return None


def is_ours(folder):
    """Whether mindtorch_proxy has written a folder in site-packages."""
    try:
        with open(os.path.join(folder, "INSTALLER"), encoding="utf-8") as file:
            return file.read().strip() == INSTALLER
    except OSError:
        return False


def metadata_is_ours():
    """Whether --with-metadata has written the metadata of torch that pip sees."""
    return is_ours(DIST_INFO)


def _write_types():
    if os.path.exists(STUBS) and not is_ours(STUBS):
        raise SystemExit(f"mindtorch-activate: {STUBS} is not ours: remove it first")
    shutil.rmtree(STUBS, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "mindtorch_proxy", "-m", "mindtorch_proxy.typings", SITE_PACKAGES],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    _write(os.path.join(STUBS, "INSTALLER"), INSTALLER + "\n")


def _write_metadata():
    if where := other_torch():
        raise SystemExit(
            f"mindtorch-activate: another torch is installed ({where}): `{sys.executable} -m pip uninstall torch` first"
        )
    files = {"METADATA": METADATA, "INSTALLER": INSTALLER + "\n"}
    folder = os.path.basename(DIST_INFO)
    os.makedirs(DIST_INFO, exist_ok=True)
    lines = []
    for name, text in files.items():
        _write(os.path.join(DIST_INFO, name), text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        lines.append(f"{folder}/{name},sha256={digest},{len(text.encode())}\n")
    _write(os.path.join(DIST_INFO, "RECORD"), "".join([*lines, f"{folder}/RECORD,,\n"]))


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
