"""Checks what has to be installed for a run, and fetches the matching checkout of upstream's tests."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from mindtorch_proxy import progress

from .targets import HERE

UPSTREAM = "https://github.com/huggingface/transformers"


def version_of(name):
    """Return the version of a distribution from its metadata, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def stated_version(file):
    """Return the __version__ that a source file states, or None."""
    if not file or not os.path.isfile(file):
        return None
    found = re.search(r'^__version__ = "(.*)"', Path(file).read_text(encoding="utf-8"), re.M)
    return found and found[1]


def upstream_version():
    """Return the version of the transformers that would be imported, read from its source, or None.

    The source is read because a checkout on the path has no metadata and takes precedence over an installed package. A
    folder that is merely called transformers, such as a checkout in the working directory, has no source file.
    """
    found = importlib.util.find_spec("transformers")
    return found and (stated_version(found.origin) or found.origin and version_of("transformers"))


def ways_to(root):
    """Return two commands with which a checkout's own transformers is imported."""
    folder, source = (shlex.quote(str(path)) for path in (root, Path(root, "src")))
    return (
        f"pip install --no-deps -e {folder}   # without --no-deps pip also brings what it requires\n"
        f"PYTHONPATH={source} python run_test_v2.py ...   # for one run"
    )


def check(options, roots):
    """Check that everything needed is installed, before anything runs.

    Raise SystemExit with the commands that help. It is also raised where a checkout in `roots` has another version
    than the transformers that would be imported.
    """
    needed = {"pytest-timeout": "pytest-timeout"}
    if not options.plain:
        mindspore = "'mindspore==2.7.2' (on Ascend: the version that fits your CANN)"
        needed |= {"mindspore": mindspore, "mindtorch_proxy": f"-e {HERE}"}
    for name, install in needed.items():
        if version_of(name) is None:
            raise SystemExit(f"run_test_v2: {name} is not installed for {sys.executable}\npip install {install}")
    checkouts = {root: stated_version(Path(root, "src/transformers/__init__.py")) for root in roots if root}
    checkouts = {root: version for root, version in checkouts.items() if version}
    installed = upstream_version()
    if installed is None:
        what = f"-e {shlex.quote(str(next(iter(checkouts))))}" if checkouts else "transformers"
        raise SystemExit(f"run_test_v2: transformers is not installed for {sys.executable}\npip install {what}")
    for root, version in checkouts.items():
        if version != installed and not options.any_version:
            raise SystemExit(
                f"run_test_v2: the checkout {root} is transformers {version}, but {installed} is installed.\n"
                f"{ways_to(root)}\npython run_test_v2.py --fetch FOLDER   # the checkout of {installed}\n"
                "--any-version runs the tests all the same"
            )


def git_process(*arguments, **pipes):
    """Start git, which asks nothing and speaks English."""
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        return subprocess.Popen(["git", *arguments], text=True, env=environment, **pipes)
    except FileNotFoundError:
        raise SystemExit("run_test_v2: git is not installed") from None


def git(*arguments):
    """Run git and return (whether it succeeded, its output, its error messages)."""
    with git_process(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        output, errors = process.communicate()
    return process.returncode == 0, output, errors.strip()


def clone(*arguments):
    """Run git, showing on a terminal how far it has come. Return (whether it succeeded, its error messages)."""
    said = []
    with git_process(*arguments, "--progress", stderr=subprocess.PIPE) as process:
        for line in process.stderr:  # text, so that a part which ends with a carriage return is a line
            if re.search(r"\d+% \(", line):
                progress.show(line.strip())
            else:
                said.append(line)
    progress.show("")
    return process.returncode == 0, "".join(said).strip()


def near_tags(tag):
    """Return upstream's tags with names similar to `tag`."""
    _, listed, _ = git("ls-remote", "--tags", "--refs", UPSTREAM)
    return difflib.get_close_matches(tag, re.findall(r"refs/tags/(.*)$", listed, re.M), 5, 0.5)


def fetch(folder, tag=None):
    """Clone a tag of upstream into a folder, by default the tag of the installed transformers.

    Raise SystemExit with an explanation where there is no git, no network or no such tag, or the folder is not empty.
    """
    installed = upstream_version()
    if tag is None and installed is None:
        advice = "pip install transformers, or name a tag, as in --tag v5.16.0"
        raise SystemExit(f"run_test_v2: transformers is not installed for {sys.executable}: {advice}")
    tag = tag or f"v{installed}"
    arguments = ["clone", "--quiet", "--depth", "1", "--branch", tag, UPSTREAM, folder]
    good, complaint = clone(*arguments)
    if good:
        print(f"transformers {tag} is in {folder}")
        version = stated_version(Path(folder, "src/transformers/__init__.py"))
        if version and version != installed:
            print(f"It is {version}, and {installed or 'no transformers'} is installed; to run its tests:")
            print(ways_to(os.path.abspath(folder)))
        return 0
    if re.search(r"Remote branch .* not found", complaint):
        near = "; names like it: " + ", ".join(found) if (found := near_tags(tag)) else ""
        raise SystemExit(f"run_test_v2: {UPSTREAM} has no tag {tag}{near}\nname one with --tag")
    if re.search(r"Could not resolve host|Failed to connect|unable to access|timed out", complaint):
        command = shlex.join(["git", *arguments])
        raise SystemExit(f"run_test_v2: no network to {UPSTREAM}: {complaint}\nwhere there is a network: {command}")
    raise SystemExit(f"run_test_v2: git says: {complaint}")
