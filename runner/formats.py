"""Output files of a run: JUnit, JSON (described by results.schema.json), and the merged reports of kernels."""

from __future__ import annotations

import collections
import json
import os
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from mindtorch_proxy.finder import TORCH_VERSION

from .causes import groups
from .installed import upstream_version, version_of
from .process import RAN


def file_errors(runs):
    """Return [(run, message)] of the files that did not run completely and have no result that says so."""
    return [
        (run, f"{run.outcome}: {run.why}")
        for run in runs
        if run.outcome != RAN and not any(says_so(run, r) for r in run.results.values())
    ]


def says_so(run, result):
    return result["outcome"] != "passed" and (
        result["id"] == run.name or result.get("when") == "collect" or result["id"].endswith("::(at exit)")
    )


def write_junit(path, runs, results, wall):
    from _pytest.junitxml import bin_xml_escape, mangle_test_address

    counts = collections.Counter(
        "errors" if r["outcome"] == "failed" and r["when"] != "call" else r["outcome"] for r in results
    )
    extra = file_errors(runs)
    suite = ET.Element(
        "testsuite",
        name="pytest",
        errors=str(counts["errors"] + len(extra)),
        failures=str(counts["failed"]),
        tests=str(len(results) + len(extra)),
        skipped=str(counts["skipped"] + counts["xfailed"]),
        time=f"{wall:.3f}",
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%S"),
    )
    for result in results:
        *names, name = mangle_test_address(result["id"])
        case = ET.SubElement(suite, "testcase", classname=".".join(names), name=name, time=f"{result['duration']:.3f}")
        message = bin_xml_escape(result["message"])
        match result["outcome"]:
            case "skipped":
                ET.SubElement(case, "skipped", type="pytest.skip", message=message)
            case "xfailed":
                ET.SubElement(case, "skipped", type="pytest.xfail", message=f"{result['category']}: {result['reason']}")
            case "failed":
                kind = "failure" if result["when"] == "call" else "error"
                ET.SubElement(case, kind, type=result["category"], message=message).text = bin_xml_escape(
                    result["text"]
                )
    for run, message in extra:
        *names, name = mangle_test_address(run.name)
        case = ET.SubElement(suite, "testcase", classname=".".join(names), name=name, time=f"{run.wall:.3f}")
        ET.SubElement(case, "error", type=run.outcome, message=bin_xml_escape(message)).text = bin_xml_escape(message)
    suites = ET.Element("testsuites", name="pytest tests")
    suites.append(suite)
    ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def facts(options, runs, results, wall, counts, interrupted):
    """Return everything known about a run, as --json writes it."""
    ended = [run.end for run in runs if run.end]
    torch = next((end["torch"] for end in ended if end["torch"]), None) or (
        version_of("torch") if options.plain else TORCH_VERSION
    )
    device = next((end["device"] for end in ended if end["device"]), None) or os.environ.get("TRANSFORMERS_TEST_DEVICE")
    versions = {"transformers": upstream_version(), "torch": torch}
    versions |= {name: version_of(name) for name in ("mindspore", "pytest")}
    return {
        "versions": {name: version or "not installed" for name, version in versions.items()},
        "python": sys.version.split()[0],
        "wall": round(wall, 3),
        "device": device or "unknown: no file came to import torch",
        "interrupted": interrupted,
        "counts": {name: counts[name] for name in ("passed", "failed", "skipped", "xfailed") if counts[name]},
        "files": [
            {
                "name": run.name,
                "path": run.file,
                "outcome": run.outcome,
                "why": run.why,
                "wall": round(run.wall, 3),
                "counts": dict(run.counts()),
                "tests": list(run.results),
                "not_run": run.left(),
            }
            for run in runs
        ],
        "causes": groups(results),
        "tests": results,
    }


def merge_kernels(folder):
    """Merge the kernel reports of all processes into {device, share, moves, kernels}, and print the share."""
    fields = ("op", "device", "dtype", "kind", "primitive", "role", "why")
    calls: collections.Counter = collections.Counter()
    moves: collections.Counter = collections.Counter()
    devices = set()
    for file in sorted(Path(folder).glob("report-*.json*")):
        report = json.loads(file.read_text())
        devices |= {report["device"]} - {""}  # empty where no kernel ran
        for kernel in report["kernels"]:
            calls[tuple(kernel[f] for f in fields)] += kernel["calls"]
        moves.update(report["moves"])
    kernels = [dict(zip(fields, key), calls=n) for key, n in calls.most_common()]
    kinds: collections.Counter = collections.Counter()
    for kernel in kernels:
        if kernel["role"] == "compute":
            kinds[kernel["kind"]] += kernel["calls"]
    on = kinds["pyboost"] + kinds["legacy"]
    share = on / (on + kinds["numpy"]) if on else None
    print(
        f"{share:.1%} of {on + kinds['numpy']} compute calls ran on MindSpore's primitives"
        if on
        else "no compute calls"
    )
    return {"device": ", ".join(sorted(devices)), "share": share, "moves": moves, "kernels": kernels}
