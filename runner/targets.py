"""Which files to run: arguments, folders, shards, earlier results; and what has to be installed for them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
UPSTREAM = "https://github.com/huggingface/transformers"


def version_of(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def split_arguments(arguments):
    """(pytest's options, targets): what exists, or looks like a path or a test's id, and is not the value of an option."""
    from _pytest.config import get_config

    positional = get_config()._parser.parse_known_args([*arguments]).file_or_dir
    targets = [a for a in positional if "/" in a or "::" in a or a.endswith(".py") or os.path.exists(a)]
    options = list(arguments)
    for target in targets:
        options.remove(target)
    return options, targets


def files_of(targets):
    """{file: [targets in it]}, folders expanded as pytest would."""
    files: dict[str, list[str]] = {}
    for target in targets:
        path, _, inside = target.partition("::")
        if not os.path.exists(path):
            hint = ""
            if not path.startswith(str(HERE)):
                hint = "\nUpstream's tests are not part of the installed package; `run_test_v2.py --fetch FOLDER` gets the checkout that fits"
            raise SystemExit(f"run_test_v2: no such file or folder: {path}{hint}")
        path = os.path.abspath(path)
        found = sorted(map(str, Path(path).rglob("test_*.py"))) if os.path.isdir(path) else [path]
        for file in found:
            files.setdefault(file, []).append(f"{file}::{inside}" if inside else file)
    return {file: [file] if file in inside else inside for file, inside in files.items()}


def shard(files, text):
    """The i-th of n parts of the files, by "i/n"."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    i, n = map(int, found.groups()) if found else (0, 0)
    if not 1 <= i <= n:
        raise SystemExit(f"run_test_v2: --shard {text}: give it as 1/3, 2/3, 3/3")
    if n > len(files):
        raise SystemExit(f"run_test_v2: --shard {text}: there are {len(files)} files only")
    return dict(list(files.items())[i - 1 :: n])


def failed_in(path):
    """({file: [file]}, {file: its tests that failed or were not run; None for all}) of earlier results."""
    files, only = {}, {}
    results = json.loads(Path(path).read_text(encoding="utf-8"))
    failed = {test["id"] for test in results["tests"] if test["outcome"] == "failed"}
    for file in results["files"]:
        tests = [test for test in (*file["tests"], *file["not_run"]) if test in failed or test in file["not_run"]]
        if tests or file["outcome"] != "ran":
            files[file["path"]] = [file["path"]]
            whole = not tests or file["name"] in tests  # it never came to its tests
            only[file["path"]] = None if whole else tests
    if not files:
        raise SystemExit(f"run_test_v2: nothing failed in {path}")
    files_of(files)  # says what is gone
    return files, only


def checkout_of(file):
    """The root of the upstream checkout, or of this project, that a test file belongs to."""
    for folder in Path(file).parents:
        if (folder / "conftest.py").exists() and (folder / "tests").is_dir() or (folder / "pyproject.toml").exists():
            return folder
    return None


def check(options, roots):
    """Say what is missing, before anything runs."""
    needed = {"transformers": "transformers", "pytest-timeout": "pytest-timeout"}
    if not options.plain:
        needed |= {"mindspore": "'mindspore==2.7.2' (on Ascend: the version that fits your CANN)", "mindtorch_proxy": f"-e {HERE}"}
    for name, install in needed.items():
        if version_of(name) is None:
            raise SystemExit(f"run_test_v2: {name} is not installed for {sys.executable}\npip install {install}")
    installed = version_of("transformers")
    for root in roots:
        source = root and root / "src/transformers/__init__.py"
        if source and source.exists() and not options.any_version:
            found = re.search(r'^__version__ = "(.*)"', source.read_text(encoding="utf-8"), re.M)
            if found and found[1] != installed:
                raise SystemExit(
                    f"run_test_v2: the checkout {root} is transformers {found[1]}, but {installed} is installed.\n"
                    f"pip install 'transformers=={found[1]}', or check out v{installed}; --any-version runs them all the same"
                )


def fetch(folder):
    """Clone upstream's tag that fits the installed transformers."""
    version = version_of("transformers")
    if version is None:
        raise SystemExit(f"run_test_v2: transformers is not installed for {sys.executable}\npip install transformers")
    command = ["git", "clone", "--quiet", "--depth", "1", "--branch", f"v{version}", UPSTREAM, folder]
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"})
    except FileNotFoundError:
        raise SystemExit("run_test_v2: git is not installed") from None
    if done.returncode:
        network = re.search(r"Could not resolve host|Failed to connect|unable to access|timed out", done.stderr)
        what = f"no network to {UPSTREAM}" if network else "git says"
        raise SystemExit(f"run_test_v2: {what}: {done.stderr.strip()}\nwhere there is a network: {shlex.join(command)}")
    print(f"transformers v{version} is in {folder}")
    return 0
