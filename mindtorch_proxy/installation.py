"""Checks what has to be installed, and gives the commands that install it.

Standard library only, except for `packaging`, which the checks of NumPy import and which may be missing.
"""

import importlib
import importlib.util
import os
import re
import shlex
import sys

from .finder import HERE

PYTHONS = (3, 10), (3, 12)
CPU_MINDSPORE = "2.7.2"
CONSTRAINTS = os.path.join(HERE, "constraints")
LAST_NUMPY_1 = "1.26.4"
# The files for NumPy 1 and for NumPy 2; of each pair the first where pip considers torch installed.
FILES = (("torch.txt", "base.txt"), ("numpy2-torch.txt", "numpy2.txt"))


class BrokenInstallation(ImportError):
    """Error whose message is one sentence: what is wrong and what helps.

    `python -m mindtorch_proxy` shows it without a traceback.
    """


def python_problem():
    lowest, highest = PYTHONS
    if not lowest <= sys.version_info[:2] <= highest:
        spoken = " to ".join("%d.%d" % v for v in PYTHONS)
        return (
            "mindtorch_proxy runs on Python %s, this is %d.%d (%s): make an environment with one of them, "
            "for instance `python3.11 -m venv .venv`" % (spoken, *sys.version_info[:2], sys.executable)
        )
    return None


def constraints():
    """Return the constraints file for `pip install -c` in this environment.

    It depends on the installed NumPy, and on whether our metadata lets pip consider torch installed.
    """
    from . import environment

    with_torch, without = FILES[_is_2(_installed_numpy())]
    return os.path.join(CONSTRAINTS, with_torch if environment.metadata_is_ours() else without)


def pip_command(*packages):
    """Return the command that installs these packages without breaking the environment."""
    return shlex.join([sys.executable, "-m", "pip", "install", "-c", constraints(), *packages])


def _is_2(numpy):
    """Whether a version of NumPy is 2 or later."""
    return int(numpy.partition(".")[0]) >= 2


def version_of(name):
    """Return the version of an installed package, or None."""
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _installed_numpy():
    """Return the version of the installed NumPy.

    Where there is none, return the last of NumPy 1, which every MindSpore accepts by its metadata.
    """
    return version_of("numpy") or LAST_NUMPY_1


def _key(name):
    """Normalise a package's name as pip does."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _bounds(numpy):
    """Return {package: requirement} from the constraints file for a version of NumPy.

    It has NumPy itself, and packages of which some versions do not work with that NumPy without stating so.
    """
    with open(os.path.join(CONSTRAINTS, FILES[_is_2(numpy)][1]), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return {_key(re.split("[<>=!~]", line)[0]): line for line in lines if line and line[0] != "#"}


def _numpy_users(bounded):
    """Yield (name, version, requirements on NumPy) of installed packages that require NumPy or are in `bounded`."""
    from importlib import metadata

    # MindSpore 2.7.2 states that it needs NumPy 1, and works with both (docs/troubleshooting.md)
    seen = {"numpy", "mindspore"}
    for found in metadata.distributions():
        name = found.metadata["Name"]
        if not name or _key(name) in seen:  # broken metadata, or hidden by an earlier entry of the path
            continue
        seen.add(_key(name))
        needs = [need for need in found.requires or () if re.match(r"numpy\b(?![-.])", need, re.IGNORECASE)]
        if needs or _key(name) in bounded:
            yield name, found.version, needs


def _unmet(need, version):
    """Whether a requirement applies to this environment and excludes a version.

    A requirement that cannot be parsed (old metadata) excludes nothing, as for pip.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        read = Requirement(need)
    except InvalidRequirement:
        return False
    return (read.marker is None or read.marker.evaluate({"extra": ""})) and not read.specifier.contains(
        version, prereleases=True
    )


def numpy_conflicts(numpy):
    """Return {package: sentence} of the installed packages that do not work with a version of NumPy.

    Raise ImportError where `packaging` is needed and missing.
    """
    bounds, conflicts = _bounds(numpy), {}
    for name, version, needs in _numpy_users(bounds):
        unmet = [need.partition(";")[0].strip() for need in needs if _unmet(need, numpy)]
        if unmet:
            conflicts[name] = f"{name} {version} requires {' and '.join(unmet)}"
        elif _key(name) in bounds and _unmet(bounds[_key(name)], version):
            conflicts[name] = f"{name} {version} requires NumPy 2 without stating it"
    return dict(sorted(conflicts.items()))


def numpy_command():
    """Return the command that installs compatible versions of NumPy and of the packages in conflict with it."""
    numpy = _installed_numpy()
    try:
        packages = list(numpy_conflicts(numpy))
    except ImportError:  # lists every package that uses NumPy: pip does not change those that are compatible
        packages = sorted(name for name, *_ in _numpy_users(_bounds(numpy)) if _key(name) != "mindtorch-proxy")
    return pip_command("numpy", *packages)


def library_problem(numpy):
    """Return a sentence about installed packages that do not work with the installed NumPy, or None."""
    try:
        conflicts = numpy_conflicts(numpy)
    except ImportError:
        return (
            f"packaging is not installed, without which nothing tells whether packages go with NumPy {numpy}: "
            f"{pip_command('packaging')}"
        )
    return (
        f"NumPy {numpy} is installed, but {', '.join(conflicts.values())}: {pip_command('numpy', *conflicts)}"
        if conflicts
        else None
    )


def mindspore_problem():
    if importlib.util.find_spec("mindspore") is None:
        return (
            f"MindSpore is not installed: {sys.executable} -m pip install mindspore=={CPU_MINDSPORE} (on Ascend the "
            "version that fits your CANN, from https://www.mindspore.cn/install)"
        )
    return None


def package_problem():
    if importlib.util.find_spec("mindtorch_proxy.runtime") is None:
        return f"mindtorch_proxy is on sys.path, but not installed: {sys.executable} -m pip install -e its checkout"
    return None


def check():
    """Raise BrokenInstallation if `import torch` cannot work. NumPy is imported; MindSpore only has to be found."""
    problem = python_problem() or package_problem()
    if problem is None:
        try:
            importlib.import_module("numpy")
        except ImportError as error:
            problem = f"NumPy does not load ({error}): {numpy_command()}"
        else:
            problem = mindspore_problem()
    if problem is not None:
        raise BrokenInstallation(problem, name="mindtorch_proxy")


def does_not_load(error):
    """Return the error for a MindSpore that is installed, but whose import fails."""
    return BrokenInstallation(
        f"MindSpore is installed, but does not load ({type(error).__name__}: {error}): `python -m mindtorch_proxy "
        "doctor` says what it finds, and `pip install --force-reinstall` of it mends what is broken",
        name="mindspore",
    )
