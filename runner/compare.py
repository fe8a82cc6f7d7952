"""Compare two runs of run_test_v2.py, file by file: python -m runner.compare BEFORE... --with AFTER...

A run is a file that --json has written, or a list of the ids that passed, one per line. Several files are taken as one
run. The exit status is 1 if a test that passed before does not pass after. With a run on the real torch (--plain) as
BEFORE, the comparison shows what mindtorch_proxy lacks, and how much longer it takes.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from pathlib import Path


def load(paths):
    """Read files of --json, or lists of the ids that passed (one per line), and return {(file, test): result}.

    Only a test file's name and its folder count, so that checkouts in different places can be compared.
    """
    tests: list = []
    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        tests += (
            json.loads(text)["tests"]
            if text.startswith("{")
            else [
                {"id": line, "outcome": "passed"}
                for line in map(str.strip, text.splitlines())
                if line and line[0] != "#"
            ]
        )
    return by_name(tests)


def short(file):
    """Return the last folder and the name of a file."""
    return "/".join(file.split("/")[-2:])


def by_name(tests):
    results = {}
    for test in tests:
        file, _, name = test["id"].partition("::")
        results[short(file), name] = test
    return results


def compare(before, after):
    """Return {file: counts}, and [(file, name, description)] of the tests whose outcome changed."""
    files: dict = collections.defaultdict(collections.Counter)
    changed = []
    for file, name in before | after:
        then, now = (run.get((file, name), {}) for run in (before, after))
        passed, passes = (result.get("outcome") == "passed" for result in (then, now))
        files[file].update(
            expected=passed,
            passed=passed and passes,
            newly_failing=passed and not passes,
            newly_passing=passes and not passed,
        )
        if passed and passes and then.get("duration") and now.get("duration"):
            files[file].update(before=then["duration"], after=now["duration"])
        if passed is not passes and (then or passed):
            message = (now.get("message") or "").partition("\n")[0][:160]
            what = (
                "newly passing"
                if passes
                else f"newly failing: {now.get('category') or now.get('outcome', 'not run')}: {message}"
            )
            changed.append((file, name, what))
    return files, changed


def show(files, changed):
    """Print the comparison. Return whether a test that passed before does not pass now."""
    for change in changed:
        print("{}::{}\n    {}".format(*change))
    for file, n in sorted(files.items()):
        wall = f"  {n['after'] / n['before']:5.2f} times as long" if n["before"] else ""
        print(
            f"{n['passed']:5} of {n['expected']:5}  {n['newly_failing']:4} newly failing {n['newly_passing']:4} "
            f"newly passing{wall}  {file}"
        )
    return any(n["newly_failing"] for n in files.values())


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="+")
    parser.add_argument("--with", dest="after", nargs="+", required=True)
    options = parser.parse_args(arguments)
    return show(*compare(load(options.before), load(options.after)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
