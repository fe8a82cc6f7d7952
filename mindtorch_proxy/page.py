"""One HTML page without the network, from what a run or a report of kernels knows. Standard library only."""

import html
import json
from pathlib import Path

KEPT = 20  # tests of one cause whose texts are on the page
LENGTH = 6000  # of each text, its end


def render(title, run=None, kernels=None, earlier=None):
    """The page as text. run, earlier: what run_test_v2.py --json writes; kernels: what report() knows."""
    data = {
        "title": title,
        "run": run and _shortened(run),
        "kernels": kernels,
        "earlier": earlier and _earlier(earlier),
    }
    text = json.dumps(data).replace("<", "\\u003c")  # no text ends the script
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
