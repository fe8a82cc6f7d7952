"""Find out what an NPU computes, and write it down.

python -m mindtorch_proxy npu-report [--full] [--only NAME ...] [--out FILE]

Each probe runs in a process of its own with a time limit, so that one that crashes or hangs costs its own result alone.
--full adds every elementwise operator in every dtype that CANN states for it. The summary can be pasted into an issue;
FILE (npu-report.json in the current folder) holds everything, also what the machine says of itself. Exit status: 77
without an NPU, 1 where something differs or fails, else 0.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import time

from . import __version__, installation, npu_facts
from .progress import counted, show, span, ticking

MODULE = "mindtorch_proxy.npu_probes"
LIMIT, GROUP = 180, 12  # seconds for a probe; how many operators share a process
BAD = ("differs", "refused", "crashed", "hung")


def child(*arguments, limit=LIMIT, **variables):
    """Run a probe and return (what it printed as JSON or None, how it failed, its last words)."""
    command = [sys.executable, "-m", "mindtorch_proxy", "-m", MODULE, *arguments]
    environment = os.environ | variables
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=environment, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return None, "hung", f"did not end within {limit} s"
    found = [line[6:] for line in done.stdout.splitlines() if line.startswith("PROBE ")]
    if done.returncode == 0 and found:
        return json.loads(found[-1]), "", ""
    words = [line for line in done.stderr.splitlines() if line.strip()] or ["no output"]
    return None, "crashed", f"status {done.returncode}: {words[-1][:300]}"


def probed(name, **variables):
    """Return the row of a probe."""
    started = time.monotonic()
    found, failed, words = child(name, **variables)
    row = found or {"result": failed, "what": words}
    return row | {"seconds": round(time.monotonic() - started, 1)}


def measured(names):
    """Return {probe: row}; the cost of launches is measured with and without waiting."""
    rows = {}
    for i, name in enumerate(names):
        with ticking(lambda seconds: f"{counted(i, len(names), name)}, {span(seconds)}"):
            rows[name] = probed(name, ASCEND_LAUNCH_BLOCKING="0" if name == "launches" else "1")
            if name == "launches":
                rows["launches that wait"] = probed(name, ASCEND_LAUNCH_BLOCKING="1")
    return rows


def operators(names):
    """Return {operator: {"primitive", "dtypes": {dtype: [result, what]}}}, one by one where a process ends early."""
    rows, began = {}, time.monotonic()
    for start in range(0, len(names), GROUP):
        group = names[start : start + GROUP]
        show(counted(start, len(names), "operators", time.monotonic() - began))
        found, _, _ = child("operators", *group, ASCEND_LAUNCH_BLOCKING="1")
        if found is None:  # one of them ends the process: each alone
            found = {}
            for name in group:
                one, failed, words = child("operators", name, ASCEND_LAUNCH_BLOCKING="1")
                found |= one or {name: {"primitive": "", "dtypes": {"all": [failed, words]}}}
        rows |= found
    return rows


def summary(report):
    """Return the lines that a person reads first, and may paste."""
    facts = report["machine"]
    known = facts["CANN"] or "unknown", ", ".join(facts["CANN that fits MindSpore"]) or "unknown"
    lines = [
        f"mindtorch_proxy {report['mindtorch_proxy']} on {report['chip']}",
        f"driver {facts['driver'] or 'unknown'}, firmware {facts['firmware'] or 'unknown'}, CANN {known[0]} "
        f"(MindSpore {report['mindspore']} states {known[1]}), {facts['machine']}, {report['date']}",
        "",
    ]
    if report["emulated"]:
        lines.insert(0, "THIS IS THE EMULATED NPU: nothing below was seen on hardware")
    lines += [f"WRONG: {what}\n  what helps: {remedy}" for what, remedy in report["problems"]]
    for name, row in report["probes"].items():
        what = f": {row['what']}" if row["what"] else ""
        lines.append(f"{row['result']:8} {name.replace('_', ' ')}{what}")
    if report["operators"]:
        results = [r for row in report["operators"].values() for r, _ in row["dtypes"].values()]
        counts = ", ".join(f"{results.count(r)} {r}" for r in sorted(set(results)))
        lines.append(
            f"\n{len(report['operators'])} elementwise operators, each in every dtype that CANN states: {counts}"
        )
        for name, row in report["operators"].items():
            bad = [f"{d} {r}: {what}" for d, (r, what) in row["dtypes"].items() if r in BAD]
            lines += [f"{'':8} {name} ({row['primitive']}) {text}" for text in bad]
    bad = failures(report)
    lines += ["", f"{bad} results differ or fail" if bad else "nothing differs or fails"]
    return "\n".join(lines)


def failures(report):
    """Return how many results differ from what the product expects, or failed."""
    rows = [row["result"] for row in report["probes"].values()]
    rows += [result for row in report["operators"].values() for result, _ in row["dtypes"].values()]
    return sum(result in BAD for result in rows)


def main(argv):
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_proxy npu-report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--full", action="store_true", help="every elementwise operator as well")
    parser.add_argument("--only", nargs="*", default=None, metavar="NAME", help="these probes alone")
    parser.add_argument("--out", default="npu-report.json", metavar="FILE", help="where everything is written")
    options = parser.parse_args(argv)
    emulated = os.environ.get("MINDTORCH_NPU", "").lower() == "emulated"
    if not emulated and not npu_facts.devices():
        print("skipped: no NPU: there is no /dev/davinci*")
        return 77
    show("looking for the NPU")
    names, failed, words = child("names", limit=600)
    if names is None:
        for what, remedy in npu_facts.problems():
            print(f"WRONG: {what}\n  what helps: {remedy}")
        print(f"the NPU cannot be used: {failed}, {words}")
        return 1
    chosen = names["probes"] if options.only is None else [n for n in names["probes"] if n in options.only]
    report = {
        "mindtorch_proxy": __version__,
        "mindspore": installation.version_of("mindspore") or "not installed",
        "date": datetime.date.today().isoformat(),
        "emulated": emulated,
        "chip": names["chip"],
        "machine": npu_facts.facts(),
        "problems": npu_facts.problems(),
        "probes": measured(chosen),
        "operators": operators(names["operators"]) if options.full else {},
    }
    show("")
    with open(options.out, "w") as f:
        json.dump(report, f, indent=1)
    print(summary(report))
    print(f"everything is in {options.out}: please attach it to an issue")
    return int(failures(report) > 0)
