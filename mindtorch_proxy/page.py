"""Renders a test run or a report of kernels as one HTML page that needs no network. Standard library only."""

import html
import json
from pathlib import Path

KEPT = 20  # how many tests of each cause have their output on the page
LENGTH = 6000  # how many characters of it, from the end


def render(title, run=None, kernels=None, earlier=None):
    """Return the page as text.

    run, earlier: the contents of files that run_test_v2.py --json writes. kernels: the result of report().
    """
    data = {
        "title": title,
        "run": run and _shortened(run),
        "kernels": kernels,
        "earlier": earlier and _earlier(earlier),
    }
    text = json.dumps(data).replace("<", "\\u003c")  # so that no text can end the script element
    page = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    return page.replace("{{title}}", html.escape(title)).replace("{{data}}", text)


def _shortened(run):
    tests = {test["id"]: test for test in run["tests"]}
    causes = [
        group | {"texts": [[t, tests[t]["text"][-LENGTH:]] for t in group["tests"][:KEPT]]} for group in run["causes"]
    ]
    return {key: value for key, value in run.items() if key != "tests"} | {
        "causes": causes,
        "files": [
            {key: value for key, value in file.items() if key not in ("tests", "not_run")}
            | {"left": len(file["not_run"])}
            for file in run["files"]
        ],
    }


def _earlier(run):
    return {
        "counts": run["counts"],
        "wall": run["wall"],
        "files": {f["name"]: [f["counts"], f["wall"], f["outcome"]] for f in run["files"]},
    }
