"""Run libraries' own test suites, unmodified, here and on the real PyTorch, and keep a table of what differs.

    python tools/suites.py --real ORACLE/bin/python --folder CACHE [--only NAME...] [--table docs/suites.tsv]

tests/suites/suites.toml lists the libraries. The source of each, a distribution of the package registry or a commit of
a repository on GitHub, is put into --folder, and the library is installed beside it without dependencies, for both
sides. Its tests run by run_test_v2.py here and on the real PyTorch (--plain), so that a line of the table says how
many the real one passes, how many of these pass here, which do not, how long the tests that pass on both sides take,
and which take more than a second and ten times as long. A line is written as soon as a library is done; --only repeats
those that are named, and without it those that have a line already are left out. What each side said of the tests that
differ is kept in --folder/NAME.txt.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import upstream  # noqa: E402
from cliffs import slower  # noqa: E402
from sweeping import commit, read_table, write_table  # noqa: E402

SUITES = ROOT / "tests/suites/suites.toml"
COLUMNS = (
    "library",
    "version",
    "date",
    "commit",
    "real passes",
    "ours passes of these",
    "real's seconds",
    "ours",
    "slow tests",
    "tests that differ",
)
GITHUB = "https://github.com"
INDEX = "https://pypi.org/simple"


def read_suites():
    """Return {library: its entry in the table of suites}."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    return tomllib.loads(SUITES.read_text(encoding="utf-8"))


def source_of(name, version):
    """Return the address of a release's source distribution, as the registry's index has it."""
    index = os.environ.get("PIP_INDEX_URL", INDEX).rstrip("/")
    request = urllib.request.Request(f"{index}/{name}/", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        page = answer.read().decode()
    wanted = re.sub(r"[-_.]+", "[-_.]+", name) + "-" + re.escape(version) + r"\.tar\.gz"
    (address,) = {m[1] for m in re.finditer(rf'href="([^"#]*/{wanted})[#"]', page, re.IGNORECASE)}
    return urllib.parse.urljoin(request.full_url, address)


def cloned(suite, target, mirrors):
    """Check out a suite's commit in a folder, from a copy of the repository among `mirrors` or from GitHub.

    A copy may lack large files, which git then names.
    """
    copy = mirrors / suite["repository"].replace("/", "+") / "repo" if mirrors else None
    if copy and copy.exists():
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(copy), str(target)], check=True)
        subprocess.run(["git", "-C", str(target), "checkout", "-q", suite["commit"]])
        return
    subprocess.run(["git", "init", "-q", str(target)], check=True)
    for command in (
        ["fetch", "-q", "--depth", "1", f"{GITHUB}/{suite['repository']}", suite["commit"]],
        ["checkout", "-q", "FETCH_HEAD"],
    ):
        subprocess.run(["git", "-C", str(target), *command], check=True)


def source_folder(name, suite, folder):
    """Return where a library's source is put: under a name that a package may have, which some of them are."""
    return folder / re.sub(r"\W", "_", f"{name}-{suite['version']}")


def unpacked(name, suite, folder, mirrors=None):
    """Return the folder of a library's source, which is fetched unless it is there."""
    target = source_folder(name, suite, folder)
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            inside = Path(scratch, "checkout")
            if "repository" in suite:
                cloned(suite, inside, mirrors)
            else:
                with urllib.request.urlopen(source_of(name, suite["version"]), timeout=300) as answer:
                    with tarfile.open(fileobj=answer, mode="r|gz") as archive:
                        archive.extractall(scratch, filter="data")
                (inside,) = Path(scratch).iterdir()
            inside.rename(target)
    return target


def installed(name, suite, folder):
    """Return the folder with the library and what its tests need, installed without dependencies."""
    packages = folder / f"{name}-{suite['version']}-packages"
    if not packages.exists():
        release = f"{name}=={suite['version']}"
        library = str(source_folder(name, suite, folder)) if "repository" in suite else release
        command = [sys.executable, "-m", "pip", "install", "-qq", "--no-compile", "--no-deps", "--target", packages]
        subprocess.run([*map(str, command), library, *suite["requires"]], check=True)
    return packages


def files_of(source, suite):
    """Return the files that a suite's entry names: of a folder, those that are called as pytest wants them."""
    found = [
        file
        for test in suite["tests"]
        for pattern in suite.get("patterns", ["test_*.py", "*_test.py"])
        for file in ([source / test] if (source / test).is_file() else sorted((source / test).rglob(pattern)))
    ]
    left_out = {source / file for file in suite.get("left_out", {})}
    return [file for file in dict.fromkeys(found) if file not in left_out]


def passed_in(results):
    """Return {test: seconds} of the tests that passed."""
    return {test["id"]: test["duration"] for test in results["tests"] if test["outcome"] == "passed"}


def messages_of(tests, results):
    """Return what a side says of some tests: the end of each failure, or what became of its file."""
    said = {test["id"]: test["text"][-3000:] or test["message"] for test in results["tests"]}
    said |= {test: file["outcome"] + ": " + file["why"] for file in results["files"] for test in file["not_run"]}
    ended = [f"{file['name']}: {file['why']}\n" for file in results["files"] if file["outcome"] != "ran"]
    return "".join([*ended, *(f"======== {test}\n{said.get(test, 'did not run')}\n" for test in tests)])


def line_of(name, suite, folder, real, limit, mirrors=None):
    """Return a library's line of the table."""
    source, packages = unpacked(name, suite, folder, mirrors), installed(name, suite, folder)
    files = files_of(source, suite)
    options = ["--any-version", "--timeout", limit, "--test-timeout", limit / 4]

    def run(python, preloaded, *more):
        given = [*options, "--preload", ",".join(preloaded), *more]
        seconds = limit * (1 + len(files))
        return upstream.run_tests(python, files, given, seconds, [packages, source], **suite.get("variables", {}))

    head = [name, suite["version"], time.strftime("%Y-%m-%d"), commit()]
    ours, theirs = run(sys.executable, ["torch"]), run(real, ["torch"], "--plain")
    if ours is None or theirs is None:
        return [*head, "?", "?", "?", "?", "", f"no results {'here' if ours is None else 'on the real PyTorch'}"]
    ours_passed, real_passed = passed_in(ours), passed_in(theirs)
    both, differ = ours_passed.keys() & real_passed.keys(), sorted(real_passed.keys() - ours_passed.keys())
    (folder / f"{name}.txt").write_text(messages_of(differ, ours))
    (folder / f"{name}-real.txt").write_text(messages_of([], theirs))
    totals = [f"{sum(passed[test] for test in both):.1f}" for passed in (real_passed, ours_passed)]
    slow = [f"{test} {ratio:.0f}" for ratio, _, _, test in slower(ours_passed, real_passed, 10, 1)]
    counts = [str(len(real_passed)), str(len(both))]
    return [*head, *counts, *totals, *(" | ".join(text.split("::", 1)[-1] for text in each) for each in (slow, differ))]


def main():
    """Measure the suites; return 1 if a test that the real PyTorch passes does not pass here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", required=True, help="a Python with the real torch and the same packages")
    parser.add_argument("--folder", type=Path, required=True, help="where source distributions and packages are kept")
    parser.add_argument("--table", type=Path, default=ROOT / "docs/suites.tsv")
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME")
    parser.add_argument("--mirrors", type=Path, help="a folder with copies of repositories, OWNER+NAME/repo")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no suite after so many minutes")
    parser.add_argument("--limit", type=float, default=900, help="seconds for a file on one side")
    options = parser.parse_args()
    suites, end = read_suites(), time.time() + 60 * options.minutes
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = options.folder.resolve()
    lines = {line[0]: line for line in read_table(options.table)}
    for name in options.only or [name for name in suites if name not in lines]:
        if time.time() > end:
            break
        try:
            unpacked(name, suites[name], folder, options.mirrors)
            installed(name, suites[name], folder)
        except subprocess.CalledProcessError as error:
            print(f"{name} cannot be had: {error}", file=sys.stderr)
            continue
        lines[name] = line_of(name, suites[name], folder, options.real, options.limit, options.mirrors)
        print("\t".join(lines[name]), flush=True)
        write_table(options.table, COLUMNS, [lines[name] for name in sorted(lines)])
    known = [line for line in lines.values() if line[4] != "?"]
    real, ours = (sum(int(line[column]) for line in known) for column in (4, 5))
    print(f"{len(lines)} of {len(suites)} suites: {ours} of the {real} tests that the real PyTorch passes")
    return int(ours < real or len(known) < len(lines))


if __name__ == "__main__":
    sys.exit(main())
