"""Prints the summary at the end of a run."""

from __future__ import annotations

import collections
import os
import shlex
import sys

from .causes import CATEGORIES, groups


def rule(title):
    print(f"{f' {title} ':=^90}")


def rerun(run, test):
    """Return the command that runs one test again."""
    path = os.path.relpath(run.file)
    inside = test.partition("::")[2]
    inside = "" if inside == "(at exit)" else inside
    return (
        f"{shlex.join([os.path.basename(sys.executable), os.path.relpath(sys.argv[0])])} "
        f"{shlex.quote(f'{path}::{inside}' if inside else path)}"
    )


def by_file(runs):
    rule("by file")
    for run in runs:
        counts = run.counts()
        print(
            f"{run.outcome:<15} {counts['passed']:5} passed {counts['failed']:4} failed {counts['xfailed']:4} known "
            f"{counts['skipped']:5} skipped "
            f"{run.wall:7.1f} s  {run.name}" + (f"\n    {run.why[:180]}" if run.why else "")
        )


def by_cause(runs, found):
    """Print each cause once, with the command that reruns one of its tests."""
    of = {test: run for run in runs for test in run.results}
    for group in found:
        known = f" ({group['known']} of them known)" if group["known"] else ""
        print(f"{group['count']:5} {group['category']}{known}: {group['cause']}")
        if group["package"]:
            print(f"      pip install {group['package']}")
        print(f"      {rerun(of[group['tests'][0]], group['tests'][0])}")


def summarise(runs, results, counts):
    """Print the summary. `counts`: the number of tests with each outcome."""
    print()
    by_file(runs)
    found = groups(results)
    if found:
        rule("failures by cause")
        by_cause(runs, found)
    by_category = collections.Counter(
        (r["category"], r["outcome"]) for r in results if r["outcome"] in ("failed", "xfailed")
    )
    rule("summary")
    for name in CATEGORIES:
        if total := by_category[name, "failed"] + by_category[name, "xfailed"]:
            known = f" ({by_category[name, 'xfailed']} of them known)" if by_category[name, "xfailed"] else ""
            print(f"{total:5} failed: {name}{known}")
    if packages := sorted({group["package"] for group in found if group["package"]}):
        print(
            f"      pip install {' '.join(packages)}   # if one of them requires torch: mindtorch-activate --install "
            f"--with-metadata first"
        )
    if counts["xfailed"]:
        print(f"{counts['xfailed']:5} failed as the ledger expects")
    fates = collections.Counter(run.outcome for run in runs)
    print(f"{len(runs)} files: " + ", ".join(f"{n} {name}" for name, n in fates.items()))
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
