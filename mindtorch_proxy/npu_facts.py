"""What can be known of the NPUs of this machine without using one. Standard library only."""

import glob
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess

from .installation import version_of

ROOT = "/usr/local/Ascend"
DRIVER, FIRMWARE = f"{ROOT}/driver/version.info", f"{ROOT}/firmware/version.info"
VARIABLES = re.compile(r"(ASCEND|HCCL|MINDTORCH|MS|GLOG|EMULATED)_|LD_LIBRARY_PATH$|LD_PRELOAD$|OMP_NUM_THREADS$")
NODES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")  # which every process that uses an NPU opens


def devices():
    """Return the device nodes of the NPUs."""
    return sorted(glob.glob("/dev/davinci[0-9]*"))


def toolkit():
    """Return the folder of CANN's toolkit, or an empty string."""
    for folder in (os.environ.get("ASCEND_HOME_PATH", ""), f"{ROOT}/ascend-toolkit/latest", f"{ROOT}/latest"):
        if folder and os.path.isdir(folder):
            return os.path.realpath(folder)
    return ""


def version_in(path):
    """Return the version that a file of CANN, the driver or the firmware states, or an empty string."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            found = re.search(r"[Vv]ersion\s*[=:]?\s*\[?([\w.]+)", f.read())
    except OSError:
        return ""
    return found[1] if found else ""


def cann():
    """Return the version of CANN's toolkit, or an empty string."""
    folder = toolkit()
    files = glob.glob(f"{folder}/*/ascend_toolkit_install.info") + [
        f"{folder}/version.cfg",
        f"{folder}/compiler/version.info",
        f"{folder}/runtime/version.info",
    ]
    return next(filter(None, map(version_in, files)), "") if folder else ""


def fitting():
    """Return the versions of CANN that the installed MindSpore says it fits, by its own list, or none if unknown."""
    try:
        files = importlib.metadata.distribution("mindspore").files or []
        path = next(f.locate() for f in files if f.name == "_check_version.py")
        with open(path) as f:
            text = f.read()
    except (importlib.metadata.PackageNotFoundError, StopIteration, OSError):
        return []
    found = re.search(r"class AscendEnvChecker.*?self\.version\s*=\s*\[(.*?)\]", text, re.S)
    return re.findall(r"[\d.]+", found[1]) if found else []


def wheels():
    """Return {name: version} of CANN's own Python packages that MindSpore needs."""
    return {name: version_of(name) or "" for name in ("te", "hccl")}


def smi():
    """Return what `npu-smi info` prints, or why it does not."""
    command = shutil.which("npu-smi")
    if command is None:
        return "npu-smi is not installed"
    try:
        done = subprocess.run([command, "info"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "npu-smi info did not end within a minute"
    return (done.stdout or done.stderr).strip()


def facts():
    """Return all of it as a dict."""
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "devices": devices(),
        "npu-smi": smi(),
        "driver": version_in(DRIVER),
        "firmware": version_in(FIRMWARE),
        "CANN": cann(),
        "CANN's folder": toolkit(),
        "CANN's wheels": wheels(),
        "CANN that fits MindSpore": fitting(),
        "variables": {name: value for name, value in sorted(os.environ.items()) if VARIABLES.match(name)},
    }


def problems():
    """Return [(what is wrong, what helps)] of a machine that has NPUs; nothing where there is none."""
    if not devices():
        return []
    wrong = []
    closed = [node for node in (*devices(), *NODES) if os.path.exists(node) and not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        wrong.append(
            (
                f"this user may not open {', '.join(closed)}",
                "add the user to the group of the device nodes (mostly HwHiAiUser), or run the container with them",
            )
        )
    folder, version, fit = toolkit(), cann(), fitting()
    if not folder:
        wrong.append(
            ("there is an NPU, but no CANN toolkit", f"install CANN {' or '.join(fit)}, then source its set_env.sh")
        )
    elif version and fit and not any(version.startswith(f) for f in fit):
        wrong.append(
            (
                f"CANN {version} is not among those that MindSpore states: {', '.join(fit)}",
                "install one of these, or the MindSpore that fits (its release notes say which)",
            )
        )
    if folder and folder not in os.environ.get("LD_LIBRARY_PATH", ""):
        wrong.append((f"LD_LIBRARY_PATH lacks {folder}", f"source {folder}/../set_env.sh, or {folder}/bin/setenv.bash"))
    missing = [name for name, version in wheels().items() if not version]
    if folder and missing:
        wrong.append(
            (
                f"CANN's Python packages are missing: {', '.join(missing)}",
                f"pip install {folder}/lib64/{{te,hccl}}-*-py3-none-any.whl",
            )
        )
    return wrong
