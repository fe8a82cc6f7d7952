"""Run the test folders of a checkout of transformers and keep a table of what differs from the real PyTorch.

    python tools/upstream.py CHECKOUT --table docs/upstream-5.16.tsv --real ORACLE/bin/python [--minutes 60]
    python tools/upstream.py CHECKOUT --table docs/upstream-5.16-rest.tsv --real ORACLE/bin/python --rest
    python tools/upstream.py CHECKOUT --table docs/upstream-5.16-parallel.tsv --real ORACLE/bin/python \\
        -k "tp_ or ep_ or fsdp or training_overfit" --only-folders qwen3 llama

Each folder of CHECKOUT/tests/models, or with --rest each other folder and file of CHECKOUT/tests, is run by
run_test_v2.py with the checkout's own transformers, some folders in one run, and what fails or is skipped runs once
more on the real PyTorch (--plain), so that a line says how many tests passed here, how many fail with both, and which
pass with the real PyTorch alone. Failures for want of a package or of the model hub are counted by themselves and not
asked again. A line is written as soon as its run is done: an interrupted sweep goes on where it stopped. --again
FOLDER... repeats folders, --again differs those with differences. The folders come in a fixed random order, so that the
first part is a fair sample of the rest; -k selects tests as pytest does. Packages that the checkout wants in other
versions than the environment has belong into PYTHONPATH.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from sweeping import commit, part_of, read_table, write_table  # noqa: E402

COLUMNS = (
    "folder",
    "date",
    "commit",
    "seconds",
    "passed",
    "skipped",
    "want the hub or a package",
    "fail with both",
    "differ",
    "tests that differ",
)
PRELOADED = "transformers.testing_utils,transformers.trainer"  # by each run once, for all its files
HUB = re.compile(
    r"ConnectError|OfflineMode|LocalEntryNotFound|couldn't connect|Can't load"
    r"|does not appear to have a file|MaxRetryError"
)


def run_tests(python, paths, options, seconds, folders, **variables):
    """Run files and folders of tests by the runner and return what it wrote to its JSON file, or None.

    seconds: for all of them. folders: what stands before PYTHONPATH.
    """
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "results.json"
        path = os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = dict(os.environ, PYTHONPATH=path, HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1", **variables)
        # Python's own tracebacks: for each of its own, pytest parses whole files, most of the time of a failing test
        command = [python, ROOT / "run_test_v2.py", *paths, "-q", "--tb=native", "--json", results, *options]
        try:
            subprocess.run([*map(str, command)], cwd=scratch, env=environment, capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(results.read_text()) if results.exists() else None


def run(python, folders, checkout, options, limit):
    """Run folders' tests with the checkout's own transformers, and return the results, or None."""
    # a hanging test costs its own result, not its folder's
    options = [*options, "--preload", PRELOADED, "--timeout", limit, "--test-timeout", limit / 2]
    files = sum(len([*folder.rglob("test_*.py")]) if folder.is_dir() else 1 for folder in folders)
    return run_tests(python, folders, options, limit * files, [checkout / "src"], TRANSFORMERS_OFFLINE="1")


def of_folder(results, folder):
    """Return the part of a run's results that belongs to a folder or file, with the counts and seconds of that part."""
    files = [file for file in results["files"] if folder in (path := Path(file["path"])).parents or path == folder]
    names = {test for file in files for test in file["tests"]}
    counts = collections.Counter()
    for file in files:
        counts.update(file["counts"])
    return {
        "files": files,
        "tests": [test for test in results["tests"] if test["id"] in names],
        "counts": counts,
        "seconds": round(sum(file["wall"] for file in files)),
    }


def failures(results):
    """Return two sets of ids: failures for want of the hub or a package, and all others with tests that did not run."""
    failed = [test for test in results["tests"] if test["outcome"] in ("failed", "xfailed")]
    wanting = {
        test["id"] for test in failed if test.get("category") == "missing dependency" or HUB.search(test["message"])
    }
    not_run = {test for file in results["files"] for test in file["not_run"]}
    return wanting, {test["id"] for test in failed} - wanting | not_run


def skipped(results):
    """Return the set of ids of the tests that were skipped."""
    return {test["id"] for test in results["tests"] if test["outcome"] == "skipped"}


def folders_of(checkout, rest):
    """Return the folders that are swept, in a fixed random order: those of tests/models, or all others and files."""
    tests = checkout / "tests"
    if rest:
        inside = [path.relative_to(tests).parts for path in tests.rglob("test_*.py")]
        names = {parts[0] for parts in inside} - {"models"}
        found = sorted(tests / name for name in names if not name.endswith(("_common.py", "_mixin.py")))
    else:
        found = sorted({path.parent for path in tests.glob("models/*/test_*.py")})
    random.Random(2026).shuffle(found)
    return found


def lines_of(folders, checkout, real, limit, selection=()):
    """Run folders on both sides and return a line of the table for each."""
    ours = run(sys.executable, folders, checkout, selection, limit)
    if ours is None:
        head = [time.strftime("%Y-%m-%d"), commit(), "0"]
        return [[folder.name, *head, *"0000?", "the run gave no results"] for folder in folders]
    return compared(
        folders, ours, lambda whole, given: run(real, whole, checkout, ("--plain", *selection, *given), limit)
    )


def compared(folders, ours, ask):
    """Return a line of the table for each folder from the results here.

    ask(folders, options) runs folders on the real PyTorch: what fails or is skipped here.
    """
    parts = {folder: of_folder(ours, folder) for folder in folders}
    asked, whole = set(), []
    for folder, part in parts.items():
        part["asked"] = failures(part)[1] | skipped(part)
        asked |= part["asked"]
        if part["asked"] or broken_of(part):
            whole.append(folder)
    theirs = {"files": [], "tests": []}
    if whole:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as only:
            only.write("\n".join(sorted(asked)) + "\n")
            only.flush()
            theirs = ask(whole, ("--only", only.name) if asked else ())
    return [line_of(folder, part, theirs and of_folder(theirs, folder)) for folder, part in parts.items()]


def broken_of(part):
    """Return {file: why} of the files that did not run."""
    return {file["name"]: file["why"].split("\n")[0] for file in part["files"] if file["outcome"] != "ran"}


def line_of(folder, ours, theirs):
    """Return a folder's line of the table from its results on both sides."""
    broken, differ = broken_of(ours), set()
    (wanting, failed), asked = failures(ours), ours["asked"]
    if theirs is None:
        broken[folder.name] = "the real PyTorch gave no results"
    else:
        differ = {test["id"] for test in theirs["tests"] if test["outcome"] == "passed"} & asked
        for file in theirs["files"]:  # a file that cannot run there either is no difference
            if file["outcome"] != "ran":
                broken.pop(file["name"], None)
    both = len(failed - differ)
    counts = (ours["counts"]["passed"], ours["counts"]["skipped"], len(wanting), both, len(differ) + len(broken))
    return [
        folder.name,
        time.strftime("%Y-%m-%d"),
        commit(),
        str(ours["seconds"]),
        *map(str, counts),
        " | ".join([*sorted(name.split("::", 1)[-1] for name in differ), *map(": ".join, broken.items())]),
    ]


def main():
    """Sweep the folders that have no line yet; return 1 if a test differs from the real PyTorch in any line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--real", required=True, help="a Python with the real torch and the same packages")
    parser.add_argument("--shard", default="1/1", help="the i-th of n parts of the folders")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no folder after so many minutes")
    parser.add_argument("--limit", type=float, default=1200, help="seconds for a folder on one side")
    parser.add_argument("--together", type=int, default=6, help="folders in one run, whose files share their imports")
    parser.add_argument("--again", nargs="*", default=(), metavar="FOLDER")
    parser.add_argument("--rest", action="store_true", help="the folders and files of tests beside tests/models")
    parser.add_argument("--only-folders", nargs="*", default=(), metavar="FOLDER", help="sweep these alone")
    parser.add_argument("-k", dest="selection", metavar="EXPRESSION", help="run the tests whose names match")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    folders = folders_of(checkout, options.rest)
    if options.only_folders:
        folders = [folder for folder in folders if folder.name in options.only_folders]
    selection = ("-k", options.selection) if options.selection else ()
    known = {line[0]: line for line in read_table(options.table)}
    again, end = set(options.again), time.time() + 60 * options.minutes
    if "differs" in again:
        again |= {name for name, line in known.items() if line[8] != "0"}
    left = [
        folder
        for folder in part_of(folders, options.shard)
        if (folder.name in again if again else folder.name not in known)
    ]
    for start in range(0, len(left), options.together):
        if time.time() > end:
            break
        lines = lines_of(left[start : start + options.together], checkout, options.real, options.limit, selection)
        print(*map("\t".join, lines), sep="\n", flush=True)
        # another shard may have written meanwhile
        known = {line[0]: line for line in (*read_table(options.table), *lines)}
        write_table(options.table, COLUMNS, known.values())
    lines = read_table(options.table)
    passed, both, differ = (sum(int(line[k]) for line in lines if line[k] != "?") for k in (4, 7, 8))
    print(f"{len(lines)} of {len(folders)} folders: {passed} passed, {both} fail with both, {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
