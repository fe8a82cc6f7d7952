"""Run libraries' own test suites, unmodified, here and on the real PyTorch, and keep a table of what differs.

    python tools/suites.py --real ORACLE/bin/python --folder CACHE [--only NAME...] [--table docs/suites.tsv]

tests/suites/suites.toml lists the libraries. The source distribution of each is fetched from the package registry and
unpacked in --folder, and the library is installed beside it without dependencies, for both sides. Its tests run here
by run_test_v2.py; what fails or is skipped runs once more on the real PyTorch (--plain). A line of the table is
written as soon as a library is done; --only repeats those that are named, and without it those that have a line
already are left out.
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
from sweeping import read_table, write_table  # noqa: E402

SUITES = ROOT / "tests/suites/suites.toml"
COLUMNS = ("library", "version", *upstream.COLUMNS[1:])
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


def unpacked(name, version, folder):
    """Return the folder of a library's source distribution, which is fetched unless it is there."""
    target = folder / f"{name}-{version}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            with urllib.request.urlopen(source_of(name, version), timeout=300) as answer:
                with tarfile.open(fileobj=answer, mode="r|gz") as archive:
                    archive.extractall(scratch, filter="data")
            (inside,) = Path(scratch).iterdir()
            inside.rename(target)
    return target


def installed(name, suite, folder):
    """Return the folder with the library and what its tests need, installed without dependencies."""
    packages = folder / f"{name}-{suite['version']}-packages"
    if not packages.exists():
        wanted = [f"{name}=={suite['version']}", *suite["requires"]]
        command = [sys.executable, "-m", "pip", "install", "-qq", "--no-compile", "--no-deps", "--target", packages]
        subprocess.run([*map(str, command), *wanted], check=True)
    return packages


def line_of(name, suite, folder, real, limit):
    """Return a library's line of the table."""
    source, packages = unpacked(name, suite["version"], folder), installed(name, suite, folder)
    options = ["--any-version", "--timeout", limit, "--test-timeout", limit / 4]
    for file in suite.get("left_out", {}):
        options += ["--deselect", source / file]

    def run(python, more=()):
        files, paths = [source / test for test in suite["tests"]], [packages, source]
        return upstream.run_tests(python, files, [*options, *more], limit * 4, paths, **suite.get("variables", {}))

    ours = run(sys.executable)
    if ours is None:
        return [name, suite["version"], time.strftime("%Y-%m-%d"), upstream.commit(), "0", *"0000?", "no results"]
    (line,) = upstream.compared([source], ours, lambda _, given: run(real, ("--plain", *given)))
    return [name, suite["version"], *line[1:]]


def main():
    """Measure the suites; return 1 if a test differs from the real PyTorch in any line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", required=True, help="a Python with the real torch and the same packages")
    parser.add_argument("--folder", type=Path, required=True, help="where source distributions and packages are kept")
    parser.add_argument("--table", type=Path, default=ROOT / "docs/suites.tsv")
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME")
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
        lines[name] = line_of(name, suites[name], folder, options.real, options.limit)
        print("\t".join(lines[name]), flush=True)
        write_table(options.table, COLUMNS, [lines[name] for name in sorted(lines)])
    differ = sum(line[9] not in ("0",) for line in lines.values())
    print(f"{len(lines)} of {len(suites)} suites, {differ} with differences")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
