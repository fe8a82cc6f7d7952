"""Selects the files to run from arguments, folders, shards and earlier results."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def split_arguments(arguments):
    """Split arguments into (pytest's options, targets, options that pytest itself does not know).

    A plugin or a conftest.py may know the latter. A target is an argument that exists, or looks like a path or a test
    id, and is not the value of an option.
    """
    from _pytest.config import get_config

    known, unknown = get_config()._parser.parse_known_and_unknown_args([*arguments])
    targets = [a for a in known.file_or_dir if "/" in a or "::" in a or a.endswith(".py") or os.path.exists(a)]
    options = list(arguments)
    for target in targets:
        options.remove(target)
    return options, targets, unknown


def files_of(targets):
    """Return {file: [targets in it]}. Folders are expanded to their test_*.py files."""
    files: dict[str, list[str]] = {}
    for target in targets:
        path, _, inside = target.partition("::")
        if not os.path.exists(path):
            hint = ""
            if not path.startswith(str(HERE)):
                hint = (
                    "\nUpstream's tests are not part of the installed package; `run_test_v2.py --fetch FOLDER` gets "
                    "the checkout that fits"
                )
            raise SystemExit(f"run_test_v2: no such file or folder: {path}{hint}")
        path = os.path.abspath(path)
        found = sorted(map(str, Path(path).rglob("test_*.py"))) if os.path.isdir(path) else [path]
        for file in found:
            files.setdefault(file, []).append(f"{file}::{inside}" if inside else file)
    return {file: [file] if file in inside else inside for file, inside in files.items()}


def shard(files, text):
    """Return the i-th of n parts of the files for the text "i/n"."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    i, n = map(int, found.groups()) if found else (0, 0)
    if not 1 <= i <= n:
        raise SystemExit(f"run_test_v2: --shard {text}: give it as 1/3, 2/3, 3/3")
    if n > len(files):
        raise SystemExit(f"run_test_v2: --shard {text}: there are {len(files)} files only")
    return dict(list(files.items())[i - 1 :: n])


def results_in(path):
    """Read the file that an earlier run wrote with --json.

    Raise SystemExit with an explanation where it cannot be read or is not such a file.
    """
    try:
        results = json.loads(Path(path).read_text(encoding="utf-8"))
        if results["files"] is not None and results["tests"] is not None:
            return results
    except OSError as error:
        raise SystemExit(f"run_test_v2: {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError):
        pass
    raise SystemExit(f"run_test_v2: {path} is not what --json FILE writes")


def failed_in(path):
    """Return ({file: [file]}, {file: tests, or None for all}) of what failed, or was not run, in earlier results."""
    files, only = {}, {}
    results = results_in(path)
    failed = {test["id"] for test in results["tests"] if test["outcome"] == "failed"}
    for file in results["files"]:
        tests = [test for test in (*file["tests"], *file["not_run"]) if test in failed or test in file["not_run"]]
        if tests or file["outcome"] != "ran":
            files[file["path"]] = [file["path"]]
            whole = not tests or file["name"] in tests  # it did not reach its tests
            only[file["path"]] = None if whole else set(tests)
    if not files:
        raise SystemExit(f"run_test_v2: nothing failed in {path}")
    files_of(files)  # raises SystemExit for a file that no longer exists
    return files, only


def named_in(path):
    """Return the set of the tests that a file names, one per line.

    Raise SystemExit where it cannot be read.
    """
    try:
        lines = map(str.strip, Path(path).read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise SystemExit(f"run_test_v2: {path}: {error.strerror}") from None
    return {line for line in lines if line and line[0] != "#"}


def checkout_of(file):
    """Return the root of the upstream checkout, or of this project, to which a test file belongs, or None."""
    for folder in Path(file).parents:
        if (folder / "conftest.py").exists() and (folder / "tests").is_dir() or (folder / "pyproject.toml").exists():
            return folder
    return None
