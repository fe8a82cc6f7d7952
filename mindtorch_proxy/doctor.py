"""python -m mindtorch_proxy doctor [--json]: what is installed, what is active and why, what is wrong and what helps.

The exit status is 1 where something is wrong. The command uses the standard library, and `packaging` if it is
installed; MindSpore runs in a separate process, so that the doctor also works where the installation is broken.
"""

import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata

from . import __version__, commands, environment, installation, npu_facts
from .finder import HERE

PACKAGES = ("mindspore", "numpy", "scipy", "ml_dtypes", "torch", "torch_npu")
VARIABLES = (
    "MINDTORCH_ACTIVATE MINDTORCH_REPORT MINDTORCH_NPU MINDTORCH_TRACEBACK PYTHONPATH OMP_NUM_THREADS LD_PRELOAD "
    "MALLOC_TRIM_THRESHOLD_ MALLOC_ARENA_MAX ONEDNN_MAX_CPU_ISA DNNL_PRIMITIVE_CACHE_CAPACITY GLOG_v ASCEND_HOME_PATH "
    "ASCEND_OPP_PATH ASCEND_RT_VISIBLE_DEVICES"
).split()
# addition, matrix product and backward: a broken MindSpore fails in one of them
SMOKE = (
    "import torch, mindtorch_proxy; x = torch.ones(3, 3, requires_grad=True); y = (x @ x + 1).sum(); y.backward(); "
    "assert y.item() == 36 and x.grad.eq(6).all(); "
    "r = mindtorch_proxy.report(); "
    "print(x.device, torch.get_num_threads(), r['choice'], '+'.join(r['compiled']) or 'nothing')"
)


def versions():
    """Return {name: version} of the packages that mindtorch_proxy uses and of those that require torch."""
    users = {}
    for found in metadata.distributions():
        if any(re.match(r"torch\b(?!-)", need) for need in found.requires or ()):
            users[found.metadata["Name"]] = found.version
    return {name: installation.version_of(name) or "not installed" for name in PACKAGES} | dict(sorted(users.items()))


def cann():
    """Return CANN's version and folder, or "not found"."""
    version = npu_facts.cann()
    return f"{version} ({npu_facts.toolkit()})" if version else "not found"


def memory():
    """Return free and total memory in GiB, as text."""
    try:
        with open("/proc/meminfo", encoding="utf-8") as file:
            kb = dict(re.findall(r"^(\w+):\s+(\d+) kB", file.read(), re.M))
        return f"{int(kb['MemAvailable']) / 2**20:.1f} of {int(kb['MemTotal']) / 2**20:.1f} GiB free"
    except (OSError, KeyError):
        return "unknown"


def machine():
    preloaded = os.environ.get("LD_PRELOAD", "")
    return {
        "system": platform.platform(),
        "libc": "-".join(platform.libc_ver()),
        "cores": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} usable",
        "memory": memory(),
        "allocator": next(
            (name for name in ("jemalloc", "tcmalloc", "mimalloc") if name in preloaded), "the C library's"
        ),
        "NPU": ", ".join(map(os.path.basename, npu_facts.devices())) or "none",
        "CANN": cann(),
    }


def smoke():
    """Run a small calculation in a new process. Return (whether it succeeded, a description)."""
    code = [sys.executable, "-m", "mindtorch_proxy", "-c", SMOKE]
    try:
        done = subprocess.run(
            code,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"GLOG_v": "3"},
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return False, "did not end within two minutes"
    if done.returncode == 0:
        device, threads, mode, compiled = done.stdout.split()[-4:]
        rest = (
            ""
            if compiled == "depthwise+halves+samplers"
            else "; loops that were not compiled at installation run in Python"
        )
        return True, f"right, on {device} with {threads} threads in mode {mode}; compiled: {compiled}{rest}"
    lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"ended with status {done.returncode}"]
    return False, lines[-1].removeprefix("mindtorch_proxy: ")


def problems(found, active):
    """Return [(what is wrong, what helps)] for known incompatibilities and mistakes."""
    installed = {name: version for name, version in found.items() if version != "not installed"}
    numpy, mindspore = installed.get("numpy"), installed.get("mindspore")
    sentences = [installation.python_problem(), installation.package_problem(), installation.mindspore_problem()]
    if numpy:
        sentences.append(installation.library_problem(numpy))
    else:
        sentences.append(f"NumPy is not installed: {installation.numpy_command()}")
    wrong = [tuple(sentence.split(": ", 1)) for sentence in sentences if sentence] + npu_facts.problems()
    if mindspore and not (2, 7) <= tuple(map(int, re.findall(r"\d+", mindspore)[:2])) <= (2, 10):
        wrong.append((f"MindSpore {mindspore} is not known to work", "install 2.7.2 to 2.10"))
    other = environment.other_torch()
    if other and environment.metadata_is_ours():
        wrong.append(
            (f"pip takes our metadata for torch beside a real one ({other})", "mindtorch-activate --uninstall")
        )
    value = os.environ.get("MINDTORCH_ACTIVATE")
    if value and not active:
        wrong.append(
            (
                f"MINDTORCH_ACTIVATE={value} has no effect here",
                'see `because` above; eval "$(mindtorch-activate)" sets what is needed',
            )
        )
    return wrong


def advice(found):
    """Return [(what is worth knowing, what helps)] for things that are not errors."""
    known = []
    mindspore = found["mindspore"]
    if re.match(r"2\.([89]|10)\b", mindspore) and machine()["NPU"] == "none":
        known.append(
            (f"MindSpore {mindspore} loses memory at every call of many CPU primitives", "pip install mindspore==2.7.2")
        )
    if found["torch"] == "not installed" and not environment.metadata_is_ours():
        known.append(
            (
                "pip sees no torch: installing what requires it brings the real one",
                "mindtorch-activate --install --with-metadata; or pip --no-deps",
            )
        )
    return known


def examine():
    """Return everything that the doctor finds as a dict."""
    found = versions()
    active, lines = commands.status()
    wrong = problems(found, active)
    right, said = smoke()
    if not right and not wrong:
        wrong.append(
            (
                f"a small calculation fails: {said}",
                f'reinstall MindSpore; the whole traceback: {sys.executable} -m mindtorch_proxy -c "{SMOKE}"',
            )
        )
    return {
        "mindtorch_proxy": f"{__version__} in {HERE}",
        "python": f"{platform.python_version()}, {sys.executable}",
        "active": active,
        "activation": lines,
        "versions": found,
        "machine": machine(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "calculation": said,
        "problems": [{"what": what, "remedy": remedy} for what, remedy in wrong],
        "advice": [{"what": what, "remedy": remedy} for what, remedy in advice(found)],
    }


def text(report):
    """Return the report as text that can be pasted into an issue."""
    lines = [
        f"mindtorch_proxy {report['mindtorch_proxy']}",
        f"Python {report['python']}",
        "",
        *report["activation"],
        "",
    ]
    for title in ("versions", "machine", "variables"):
        lines += [f"{title}:", *([f"  {name}: {value}" for name, value in report[title].items()] or ["  none is set"])]
    lines += [f"a small calculation: {report['calculation']}", ""]
    for kind, title in (("problems", "WRONG"), ("advice", "to know")):
        lines += [f"{title}: {entry['what']}\n  what helps: {entry['remedy']}" for entry in report[kind]]
    return "\n".join([*lines, *([] if report["problems"] else ["nothing is wrong"])])


def main(argv):
    if argv not in ([], ["--json"]):
        print(__doc__, file=sys.stderr)
        return 2
    report = examine()
    print(json.dumps(report, indent=1) if argv else text(report))
    return 1 if report["problems"] else 0
