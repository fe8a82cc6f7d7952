"""What has to be installed, and what to do where it is not. Standard library only."""

import importlib
import importlib.util
import sys

PYTHONS = (3, 10), (3, 12)
CPU_MINDSPORE = "2.7.2"


class BrokenInstallation(ImportError):
    """One sentence that says what is wrong and what helps; `python -m mindtorch_proxy` shows it without a traceback."""


def python_problem():
    lowest, highest = PYTHONS
    if not lowest <= sys.version_info[:2] <= highest:
        spoken = " to ".join("%d.%d" % v for v in PYTHONS)
        return "mindtorch_proxy runs on Python %s, this is %d.%d (%s): make an environment with one of them, for instance `python3.11 -m venv .venv`" % (
            spoken,
            *sys.version_info[:2],
            sys.executable,
        )
    return None


def numpy_problem(version):
    if int(version.partition(".")[0]) >= 2:
        return f"NumPy {version} is installed, but MindSpore works with NumPy 1 only: {sys.executable} -m pip install 'numpy<2'"
    return None


def mindspore_problem():
    if importlib.util.find_spec("mindspore") is None:
        return (
            f"MindSpore is not installed: {sys.executable} -m pip install mindspore=={CPU_MINDSPORE} "
            "(on Ascend the version that fits your CANN, from https://www.mindspore.cn/install)"
        )
    return None


def package_problem():
    if importlib.util.find_spec("mindtorch_proxy.runtime") is None:
        return f"mindtorch_proxy is on sys.path, but not installed: {sys.executable} -m pip install -e its checkout"
    return None


def check():
    """BrokenInstallation if `import torch` can't work here. NumPy is imported, MindSpore is only looked for."""
    problem = python_problem() or package_problem()
    if problem is None:
        try:
            numpy = importlib.import_module("numpy")
        except ImportError as error:
            problem = f"NumPy does not load ({error}): {sys.executable} -m pip install 'numpy<2'"
        else:
            problem = numpy_problem(numpy.__version__) or mindspore_problem()
    if problem is not None:
        raise BrokenInstallation(problem, name="mindtorch_proxy")


def does_not_load(error):
    """MindSpore is there, and its import fails."""
    return BrokenInstallation(
        f"MindSpore is installed, but does not load ({type(error).__name__}: {error}): `python -m mindtorch_proxy doctor` says what it finds, and "
        "`pip install --force-reinstall` of it mends what is broken",
        name="mindspore",
    )
