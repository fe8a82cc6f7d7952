#!/usr/bin/env python
"""Run HuggingFace transformers' own test files, or this project's model tests, on mindtorch_proxy.

    python run_test_v2.py CHECKOUT/tests/models/bert/test_modeling_bert.py -k attention --jobs 2 --junitxml report.xml
    python run_test_v2.py                        # this project's tests/models

Every file runs in a process of its own. A test that kills its process, or hangs, costs that test: results so far are kept, and the file
goes on behind it. Arguments that are not listed below are pytest's. The exit status is 0 if all went as it should, 1 if a test failed or
passed unexpectedly, 2 if the run could not start, 5 if there was no test.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
CATEGORIES = ("missing API", "wrong value", "dtype", "device", "crash", "time-out", "other")
TORCH_TYPE = r"torch\.(u?int|float|bfloat|complex|bool|half|double|long)\w*"
# the first rule that fits decides; each looks at "ExceptionType: message"
RULES = [
    ("time-out", r"Failed: Timeout|^TimeoutError|^subprocess\.TimeoutExpired"),
    (
        "missing API",
        r"^NotImplementedError|^(AttributeError|ImportError|ModuleNotFoundError)(?!: 'NoneType')|No module named|"
        r"has no attribute|cannot import name|not implemented",
    ),
    ("device", r"attribute 'device'|^(?!AssertionError).*(\bdevices?\b|\bcuda\b|\bnpu\b)|device\(type=.*(!=|==)"),
    (
        "dtype",
        rf"attribute 'dtype'|^(?!AssertionError).*(\bdtypes?\b|[sS]calar ?[tT]ype|{TORCH_TYPE})|{TORCH_TYPE} (!=|==) {TORCH_TYPE}|"
        rf"dtypes? (do|does) not match",
    ),
    ("wrong value", r"^AssertionError|^assert\b|not close"),
]


def category_of(message: str) -> str:
    return next((name for name, rule in RULES if re.search(rule, message[:600], re.S)), "other")


# ---------------------------------------------------------------------------------------------------------- in the file's own process
class Recorder:
    """A pytest plugin that writes each event to a file as it happens."""

    def __init__(self, path, done, only):
        self.file, self.done, self.only = open(path, "a", encoding="utf-8", buffering=1), set(done), only and set(only)

    def write(self, **event):
        self.file.write(json.dumps(event) + "\n")

    def wanted(self, nodeid):
        parts = nodeid.split("/")  # a list may name its tests from any folder on
        return nodeid not in self.done and (self.only is None or any("/".join(parts[i:]) in self.only for i in range(len(parts))))

    def pytest_collection_finish(self, session):
        # behind every plugin's choice; what is taken out here does not run
        session.items[:] = [item for item in session.items if self.wanted(item.nodeid)]
        session.testscollected = len(session.items)
        self.write(event="collected", ids=[item.nodeid for item in session.items])

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(event="start", id=report.nodeid)
            self.pytest_runtest_logreport(report)
            self.write(event="finish", id=report.nodeid)

    def pytest_runtest_logstart(self, nodeid):
        self.write(event="start", id=nodeid)

    def pytest_runtest_logreport(self, report):
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        message = getattr(report, "wasxfail", "") or reason or (crash.message if crash else report.longreprtext)
        if not crash and report.failed:  # a collection error has a text only, whose lines with E are the error's
            message = "\n".join(re.findall(r"^E +(.*)", message, re.M)) or message
        self.write(
            event="report",
            id=report.nodeid,
            when=report.when or "collect",
            outcome=report.outcome,
            message=message,
            text=report.longreprtext if report.failed else "",
            duration=getattr(report, "duration", 0.0),
            xfail=hasattr(report, "wasxfail"),
        )

    def pytest_runtest_logfinish(self, nodeid):
        self.write(event="finish", id=nodeid)


def child(request: str) -> int:
    """Run pytest on one file; `request` says how."""
    order = json.loads(request)
    if order["core"] is not None:
        os.sched_setaffinity(0, {order["core"]})
    sys.path[0] = os.getcwd()  # as `python -m pytest` has it
    import pytest

    status = int(pytest.main(order["arguments"], plugins=[recorder := Recorder(order["events"], order["done"], order["only"])]))
    recorder.write(event="end", status=status)
    return status


# ------------------------------------------------------------------------------------------------------------------ in the first process
class FileRun:
    """One test file: starts its process, watches it, starts another behind a test that took the process down."""

    def __init__(self, options, number, file, targets, root):
        self.options, self.file, self.targets, self.root = options, file, targets, root
        self.events = Path(options.folder, f"{number}.jsonl")
        self.number = number
        self.results: dict[str, dict] = {}  # test id -> result, in the order of execution
        self.unfinished: dict[str, dict] = {}
        self.collected: list[str] = []
        self.status = None  # pytest's exit status, once it ended by itself
        self.running = None  # the id of the test that runs
        self.since = 0.0  # when it, or the pause between two tests, began
        self.process: subprocess.Popen | None = None
        self.interrupted = False
        self.offset = 0

    def read(self):
        """Take in what the process has written since."""
        if not self.events.exists():
            return
        with open(self.events, encoding="utf-8") as file:
            file.seek(self.offset)
            text = file.read()
        text = text[: text.rfind("\n") + 1]
        self.offset += len(text.encode())
        for event in map(json.loads, text.splitlines()):
            match event.pop("event"):
                case "collected":
                    self.collected = self.collected or event["ids"]
                case "start":
                    self.running, self.since = event["id"], time.monotonic()
                case "report":
                    self.merge(event)
                case "finish":
                    self.running, self.since = None, time.monotonic()
                    self.results |= self.unfinished
                    self.unfinished.clear()
                case "end":
                    self.status = event["status"]

    def merge(self, report):
        """Setup, call and teardown make one result: the first that is not `passed` decides, but a failure always does."""
        new = {"id": report["id"], "outcome": "passed", "message": "", "text": "", "duration": 0.0}
        result = self.unfinished.setdefault(report["id"], new)
        result["duration"] += report["duration"]
        if report["outcome"] == "failed" or (report["outcome"] == "skipped" and result["outcome"] == "passed"):
            result.update(
                outcome="skipped" if report["outcome"] == "skipped" else "failed", message=report["message"], text=report["text"], when=report["when"]
            )
            if result["outcome"] == "failed":
                result["category"] = category_of(report["message"])

    def fail(self, test, category, message):
        self.results[test] = {"id": test, "duration": 0.0, "outcome": "failed", "category": category, "message": message, "text": message, "when": "call"}
        self.unfinished.clear()
        self.running = None

    def kill(self):
        """End the process and all it started; SIGABRT first, so that faulthandler shows where it hung."""
        assert self.process
        for number, patience in ((signal.SIGABRT, 5), (signal.SIGKILL, None)):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def attempt(self, index, core, deadline, output):
        """One process. True if it said all that it had to say."""
        options = self.options
        environment = os.environ | {"HF_HUB_OFFLINE": os.environ.get("HF_HUB_OFFLINE", "1")}
        if options.report:
            environment["MINDTORCH_REPORT"] = str(Path(options.folder, f"report-{self.number}-{index}.json"))
        arguments = [
            *([] if options.plain else ["-p", "mindtorch_proxy"]),
            f"--timeout={options.test_timeout}",
            "--timeout-method=signal",
            *([f"--rootdir={self.root}"] if self.root else []),
            *options.pytest,
            *self.targets,
        ]
        order = {"arguments": arguments, "events": str(self.events), "done": list(self.results), "only": options.only, "core": core}
        self.status = self.running = None
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child", json.dumps(order)],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output and subprocess.STDOUT,
            start_new_session=True,
        )
        self.since = time.monotonic()
        while self.process.poll() is None:
            try:
                self.process.wait(0.1)
            except subprocess.TimeoutExpired:
                self.read()
                now = time.monotonic()
                over = now > deadline
                # pytest-timeout ends a test that still runs Python; this ends one that does not
                if over or now - self.since > options.test_timeout * 1.2 + 10:
                    self.kill()
                    self.read()
                    what = f"the file's limit of {options.timeout:g} s" if over else f"the limit of {options.test_timeout:g} s a test"
                    self.fail(self.running or self.file, "time-out", f"Timeout: {what}; the process was killed")
                    return False
        self.read()
        code = self.process.returncode
        if self.status == code or self.interrupted:
            return True
        name = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        what = self.running or (f"{self.file}::(at exit)" if self.status is not None else self.file)
        self.fail(what, "crash", f"Crash: the process ended with {name}" + (" after the last test" if self.status is not None else ""))
        return self.status is not None or what == self.file

    def run(self, core, output=None):
        started = time.monotonic()
        deadline = started + self.options.timeout
        for index in range(1_000_000):
            if self.attempt(index, core, deadline, output):
                break
            rest = [test for test in self.collected if test not in self.results]
            if time.monotonic() > deadline:
                for test in rest:
                    self.fail(test, "time-out", f"Not run: the file's limit of {self.options.timeout:g} s was over")
            if not rest or time.monotonic() > deadline:
                break
        self.wall = time.monotonic() - started
        return self


def split_arguments(arguments):
    """(pytest's options, targets): what exists, or looks like a path or a test's id, and is not the value of an option."""
    from _pytest.config import get_config

    positional = get_config()._parser.parse_known_args([*arguments]).file_or_dir
    targets = [a for a in positional if "/" in a or "::" in a or a.endswith(".py") or os.path.exists(a)]
    options = list(arguments)
    for target in targets:
        options.remove(target)
    return options, targets


def files_of(targets):
    """{file: [targets in it]}, folders expanded as pytest would."""
    files: dict[str, list[str]] = {}
    for target in targets:
        path, _, inside = target.partition("::")
        if not os.path.exists(path):
            hint = ""
            if not path.startswith(str(HERE)):
                hint = (
                    f"\nUpstream's tests are not part of the installed package; a checkout has them:\n"
                    f"    git clone --depth 1 --branch v{version_of('transformers')} https://github.com/huggingface/transformers"
                )
            raise SystemExit(f"run_test_v2: no such file or folder: {path}{hint}")
        path = os.path.abspath(path)
        found = sorted(map(str, Path(path).rglob("test_*.py"))) if os.path.isdir(path) else [path]
        for file in found:
            files.setdefault(file, []).append(f"{file}::{inside}" if inside else file)
    return {file: [file] if file in inside else inside for file, inside in files.items()}


def checkout_of(file):
    """The root of the upstream checkout, or of this project, that a test file belongs to."""
    for folder in Path(file).parents:
        if (folder / "conftest.py").exists() and (folder / "tests").is_dir() or (folder / "pyproject.toml").exists():
            return folder
    return None


def version_of(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def check(options, roots):
    """Say what is missing, before anything runs."""
    needed = {"transformers": "transformers", "pytest-timeout": "pytest-timeout"}
    if not options.plain:
        needed |= {"mindspore": "'mindspore==2.7.2' (on Ascend: the version that fits your CANN)", "mindtorch_proxy": f"-e {HERE}"}
    for name, install in needed.items():
        if version_of(name) is None:
            raise SystemExit(f"run_test_v2: {name} is not installed for {sys.executable}\npip install {install}")
    installed = version_of("transformers")
    for root in roots:
        source = root and root / "src/transformers/__init__.py"
        if source and source.exists() and not options.any_version:
            found = re.search(r'^__version__ = "(.*)"', source.read_text(encoding="utf-8"), re.M)
            if found and found[1] != installed:
                raise SystemExit(
                    f"run_test_v2: the checkout {root} is transformers {found[1]}, but {installed} is installed.\n"
                    f"pip install 'transformers=={found[1]}', or check out v{installed}; --any-version runs them all the same"
                )


def load_ledger(path):
    """{test id: {category, reason}} of the failures that are known."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10, where pytest brings it
        import tomli as tomllib  # type: ignore[no-redef]
    ledger = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    for test, entry in ledger.items():
        if entry.get("category") not in (*CATEGORIES, "upstream") or not entry.get("reason"):
            raise SystemExit(f"run_test_v2: {path}: {test}: needs a reason, and a category out of {', '.join(CATEGORIES)}, upstream")
    return ledger


def apply_ledger(results, ledger):
    """A known failure is `xfailed`; a known failure that passes, or fails otherwise than known, fails."""
    for result in results:
        if entry := ledger.get(result["id"]):
            if result["outcome"] == "failed" and entry["category"] in (result["category"], "upstream"):
                result.update(outcome="xfailed", reason=entry["reason"])
            elif result["outcome"] == "failed":
                result["message"] = f"[the ledger expects: {entry['category']}] {result['message']}"
            elif result["outcome"] == "passed":
                result.update(
                    outcome="failed",
                    category="other",
                    when="call",
                    text="",
                    message=f"passed, but the ledger expects a failure ({entry['category']}: {entry['reason']}): strike it out",
                )


def write_junit(path, results, wall):
    from _pytest.junitxml import bin_xml_escape, mangle_test_address

    counts = collections.Counter("errors" if r["outcome"] == "failed" and r["when"] != "call" else r["outcome"] for r in results)
    suite = ET.Element(
        "testsuite",
        name="pytest",
        errors=str(counts["errors"]),
        failures=str(counts["failed"]),
        tests=str(len(results)),
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
                ET.SubElement(case, kind, type=result["category"], message=message).text = bin_xml_escape(result["text"])
    suites = ET.Element("testsuites", name="pytest tests")
    suites.append(suite)
    ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def merge_reports(folder, path):
    """One file of the processes' reports of kernels."""
    calls: collections.Counter = collections.Counter()
    fields = ("op", "device", "kind", "primitive", "role")
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
    print(f"{share:.1%} of {on + kinds['numpy']} compute calls ran on MindSpore's primitives" if on else "no compute calls")
    Path(path).write_text(json.dumps({"device": ", ".join(sorted(devices)), "share": share, "moves": moves, "kernels": kernels}, indent=1))


def summarise(runs, results):
    """Print what happened; the counts by outcome."""
    print("\n" + "=" * 40 + " failed " + "=" * 42)
    for result in results:
        if result["outcome"] in ("failed", "xfailed"):
            known = " (known)" if result["outcome"] == "xfailed" else ""
            print(f"{result['category'] + known:<20} {result['id']}\n    {(result['message'].splitlines() or [''])[0][:180]}")
    print("=" * 40 + " by file " + "=" * 41)
    for run in runs:
        counts = collections.Counter(r["outcome"] for r in run.results.values())
        print(
            f"{counts['passed']:5} passed {counts['failed']:4} failed {counts['xfailed']:4} known {counts['skipped']:5} skipped "
            f"{run.wall:7.1f} s  {os.path.relpath(run.file, run.root or '.')}"
        )
    by_category = collections.Counter((r["category"], r["outcome"]) for r in results if r["outcome"] in ("failed", "xfailed"))
    print("=" * 40 + " summary " + "=" * 41)
    for name in CATEGORIES:
        if total := by_category[name, "failed"] + by_category[name, "xfailed"]:
            known = f" ({by_category[name, 'xfailed']} of them known)" if by_category[name, "xfailed"] else ""
            print(f"{total:5} failed: {name}{known}")
    counts = collections.Counter(r["outcome"] for r in results)
    if counts["xfailed"]:
        print(f"{counts['xfailed']:5} failed as the ledger expects")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return counts


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="files side by side, on CPU each on a core of its own")
    parser.add_argument("--timeout", type=float, default=3600, metavar="S", help="limit for a file (default 3600)")
    parser.add_argument("--test-timeout", type=float, default=300, metavar="S", help="limit for a test (default 300)")
    parser.add_argument("--junitxml", metavar="FILE", help="write one JUnit file for all")
    parser.add_argument("--json", metavar="FILE", help="write all results with their categories")
    parser.add_argument("--report", metavar="FILE", help="write which operators ran on which kernels, and how often")
    parser.add_argument(
        "--ledger",
        metavar="FILE",
        default=str(HERE / "tests/ledger.toml"),
        help='the failures that are known: ["test id"] category = ..., reason = ... (default: tests/ledger.toml)',
    )
    parser.add_argument("--only", metavar="FILE", help="run only the tests that this file names, one a line")
    parser.add_argument("--any-version", action="store_true", help="run although checkout and installed transformers differ")
    parser.add_argument("--plain", action="store_true", help="without mindtorch_proxy: on the torch that is installed, to compare")
    return parser.parse_known_args(arguments)


def run_all(options, runs):
    """Run the files, `options.jobs` at once; (those that ran, whether the user stopped them)."""
    on_cpu = os.environ.get("TRANSFORMERS_TEST_DEVICE", "cpu") == "cpu"
    cores = sorted(os.sched_getaffinity(0)) if options.jobs > 1 and on_cpu else [None]
    free = [cores[i % len(cores)] for i in range(options.jobs)]
    talk = threading.Lock()

    def work(run):
        core = free.pop()
        with open(Path(options.folder, f"{run.number}.log"), "w+b") as log:
            try:
                return run.run(core, log if options.jobs > 1 else None)
            finally:
                free.append(core)
                with talk:
                    log.seek(0)
                    sys.stdout.write(log.read().decode(errors="replace"))
                    sys.stdout.flush()

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        list(pool.map(work, runs))
        return runs, False
    except KeyboardInterrupt:  # the files' processes have sessions of their own: nobody else ends them
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        pool.shutdown(wait=False, cancel_futures=True)
        for run in runs:
            run.interrupted = True
            if run.process is not None and run.process.poll() is None:
                run.kill()
        pool.shutdown()
        return [run for run in runs if hasattr(run, "wall")], True


def write_json(path, results, wall, counts):
    facts = {
        "versions": {name: version_of(name) for name in ("transformers", "mindspore", "torch", "pytest")},
        "python": sys.version.split()[0],
        "wall": round(wall, 3),
        "device": os.environ.get("TRANSFORMERS_TEST_DEVICE"),
        "counts": counts,
        "tests": results,
    }
    Path(path).write_text(json.dumps(facts, indent=1))


def exit_status(runs, results, counts, interrupted, collected_only):
    if interrupted:
        return 130
    if counts["failed"]:
        return 1
    if any(run.status not in (0, 1, 5) for run in runs):  # pytest's own "usage error" and "internal error"
        return 2
    return 0 if results or collected_only else 5


def main(arguments) -> int:
    if arguments[:1] == ["--child"]:
        return child(arguments[1])
    options, rest = parse(arguments)
    if version_of("pytest") is None:
        raise SystemExit(f"run_test_v2: pytest is not installed for {sys.executable}; pip install 'pytest<9' pytest-timeout")
    options.pytest, targets = split_arguments(rest)
    files = files_of(targets or [str(HERE / "tests/models")])
    roots = {file: checkout_of(file) for file in files}
    check(options, dict.fromkeys(roots.values()))
    ledger = load_ledger(options.ledger) if not options.plain and os.path.exists(options.ledger) else {}
    if options.only:
        options.only = [line for line in map(str.strip, Path(options.only).read_text().splitlines()) if line and line[0] != "#"]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="run_test_v2-") as options.folder:
        runs = [FileRun(options, i, file, inside, roots[file]) for i, (file, inside) in enumerate(files.items())]
        runs, interrupted = run_all(options, runs)
        if options.report:
            merge_reports(options.folder, options.report)
    wall = time.monotonic() - started
    results = [result for run in runs for result in run.results.values()]
    apply_ledger(results, ledger)
    counts = summarise(runs, results)
    if options.junitxml:
        write_junit(options.junitxml, results, wall)
    if options.json:
        write_json(options.json, results, wall, counts)
    return exit_status(runs, results, counts, interrupted, "--collect-only" in rest or "--co" in rest)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            sys.exit(2)
        raise
