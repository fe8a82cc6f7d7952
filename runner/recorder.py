"""Runs pytest in a test file's own process, and writes each event to a file as it happens.

It is started as a script and imports nothing of this project. With --serve it imports the named modules once, and runs
each file in a copy of that process.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import re
import sys
import traceback


def is_named(nodeid, names):
    """Whether a test is among the names, which may begin at any folder of the test's path."""
    parts = nodeid.split("/")
    return any("/".join(parts[i:]) in names for i in range(len(parts)))


class Recorder:
    """A pytest plugin that records the events of a session."""

    def __init__(self, path, done, only):
        self.file, self.done, self.only = open(path, "a", encoding="utf-8", buffering=1), set(done), only and set(only)
        self.stopped = ""  # why the session ended before all tests ran
        self.left_out: list[str] = []  # tests that an option of pytest excludes

    def write(self, **event):
        self.file.write(json.dumps(event) + "\n")

    def wanted(self, nodeid):
        return nodeid not in self.done and (self.only is None or is_named(nodeid, self.only))

    def pytest_deselected(self, items):
        self.left_out += [item.nodeid for item in items]

    def pytest_collection_finish(self, session):
        # runs after every plugin has made its selection; tests that are removed here do not run
        session.items[:] = [item for item in session.items if self.wanted(item.nodeid)]
        session.testscollected = len(session.items)
        self.write(event="collected", ids=[item.nodeid for item in session.items], left_out=self.left_out)

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
        if not crash and report.failed:  # a collection error has only a text
            message = error_of(message)
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

    def pytest_keyboard_interrupt(self, excinfo):
        self.stopped = f"{excinfo.typename}: {excinfo.value}"

    def pytest_internalerror(self, excinfo):
        self.stopped = f"pytest's internal error: {excinfo.typename}: {excinfo.value}"

    def pytest_sessionfinish(self, session):
        self.stopped = self.stopped or str(session.shouldfail or session.shouldstop or "")


def error_of(text):
    """Return the lines of pytest's output that state the error.

    They begin with "E", or with "ERROR:" for usage errors.
    """
    return (
        "\n".join(re.findall(r"^E +(.*)", text, re.M))
        or "\n".join(re.findall(r"^ERROR: (?:usage: .*\n)?(.*)", text, re.M))
        or text.strip()
    )


class Lasting:
    """A standard stream whose reader may close it early, as with `| head`, or with `| cat` at Ctrl-C.

    What is written after that is discarded without an error.
    """

    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, text):
        return self.attempt(self.stream.write, text)

    def flush(self):
        self.attempt(self.stream.flush)

    def attempt(self, function, *arguments):
        try:
            return function(*arguments)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())  # for buffered text and the output of children
            os.close(nowhere)


class Tee(Lasting):
    """sys.stderr whose last 20,000 characters are kept: there pytest writes why it does not start."""

    kept = ""

    def write(self, text):
        self.kept = (self.kept + text)[-20_000:]
        return super().write(text)


def environment():
    """Return torch's version and the device that the tests choose, or None for each."""
    torch = sys.modules.get("torch")
    helpers = sys.modules.get("transformers.testing_utils")
    device = os.environ.get("TRANSFORMERS_TEST_DEVICE") or getattr(helpers, "torch_device", None)
    if device is None and torch is not None and hasattr(torch, "accelerator"):
        device = torch.accelerator.current_accelerator() or "cpu"
    return {"torch": getattr(torch, "__version__", None), "device": str(device) if device else None}


def main(path) -> int:
    """Run pytest as the JSON file at `path` orders, and return its exit status."""
    with open(path, encoding="utf-8") as file:
        order = json.load(file)
    if order["core"] is not None:
        os.sched_setaffinity(0, {order["core"]})
    sys.path[0] = os.getcwd()  # as with `python -m pytest`
    import pytest

    recorder = Recorder(order["events"], order["done"], order["only"])
    sys.stdout, sys.stderr = Lasting(sys.stdout), (tee := Tee(sys.stderr))
    status = int(pytest.main(order["arguments"], plugins=[recorder]))
    sys.stdout, sys.stderr = sys.stdout.stream, tee.stream
    why = recorder.stopped or (error_of(tee.kept) if status in (3, 4) else "")
    recorder.write(event="end", status=status, why=why, text=tee.kept if status in (3, 4) else "", **environment())
    return status


def serve(modules):
    """Import modules, or call MODULE:FUNCTION, then fork a child for each order that standard input gives, one a line.

    Standard output answers with a line "ready", then with the child's process id and its exit status, one line each.
    """
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the children print goes where errors go, unless an order names a file
    for module, _, function in (name.partition(":") for name in modules):
        found = importlib.import_module(module)
        if function:
            getattr(found, function)()
    answers.write("ready\n")
    for line in orders:
        order = json.loads(line)
        if not (child := os.fork()):
            orders.close()
            answers.close()
            os._exit(serve_one(order))
        answers.write(f"{child}\n")
        answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
    return 0


def serve_one(order):
    """Run an order in a session, a folder and with an output of its own, and return the exit status."""
    os.setsid()
    os.chdir(order["folder"] or ".")
    if order["output"]:
        output = os.open(order["output"], os.O_WRONLY | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
    try:
        return main(order["path"])
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        # os._exit runs no exit handlers: those registered since the fork and before it run here
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(serve(sys.argv[2:]) if sys.argv[1] == "--serve" else main(sys.argv[1]))
