"""Runs one test file: starts its process, watches it, and starts another one after a test that ended the process."""

from __future__ import annotations

import collections
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from .causes import category_of
from .recorder import is_named

RECORDER = Path(__file__).with_name("recorder.py")
RAN, NOT_STARTED, INTERRUPTED, TIMED_OUT, CRASHED = OUTCOMES = (
    "ran",
    "could not start",
    "interrupted",
    "timed out",
    "crashed",
)


class Preloaded:
    """A process that has imported modules once, and that forks the processes of files, one after the other.

    It has what a file's run asks of a subprocess.Popen: pid, poll and wait tell of the child that was started last.
    """

    def __init__(self, modules, environment, root):
        self.server = subprocess.Popen(
            [sys.executable, str(RECORDER), "--serve", *modules],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # or a second answer that has come would wait where select() does not see it
            start_new_session=True,
        )
        assert self.server.stdin and self.server.stdout
        self.orders, self.answers = self.server.stdin, self.server.stdout
        self.pid, self.returncode = 0, None
        if self.answer() != "ready":
            raise SystemExit(f"run_test_v2: --preload {','.join(modules)}: could not be imported")

    def answer(self, timeout=None):
        """Return the next line of the server, "" where it has ended, or None where none came within the time."""
        readable, _, _ = select.select([self.answers], [], [], timeout)
        return self.answers.readline().decode().strip() if readable else None

    def start(self, path, folder, output):
        """Start the process for the order at a path, in a folder, and return this object."""
        order = {"path": str(path), "folder": folder and str(folder), "output": output and output.name}
        self.orders.write(json.dumps(order).encode() + b"\n")
        self.orders.flush()
        self.pid, self.returncode = int(self.answer() or 0), None
        return self

    def wait(self, timeout=None):
        """Wait for the child and return its exit status; raise subprocess.TimeoutExpired where it runs on."""
        if self.returncode is None:
            status = self.answer(timeout)
            if status is None:
                raise subprocess.TimeoutExpired(self.server.args, timeout)
            self.returncode = int(status or -signal.SIGKILL)
        return self.returncode

    def poll(self):
        """Return the child's exit status, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def close(self):
        """End the server; its last child has ended before."""
        self.orders.close()
        self.server.wait()
        self.answers.close()


class FileRun:
    """The run of a test file: the results of its tests, and the `outcome` of the file itself with its reason `why`."""

    def __init__(self, options, number, file, targets, root, only=None):
        self.options, self.file, self.targets, self.root = options, file, targets, root
        self.name = os.path.relpath(file, root or ".")
        self.only = options.only if only is None else only
        self.events = Path(options.folder, f"{number}.jsonl")
        self.number = number
        self.results: dict[str, dict] = {}  # test id -> result, in the order of execution
        self.unfinished: dict[str, dict] = {}
        self.collected: list[str] = []
        self.left_out: set[str] = set()  # the tests that an option of pytest such as -k excludes
        # what the process reports when it ends by itself: pytest's exit status and its reason, torch, device
        self.end: dict = {}
        self.running = None  # the id of the running test
        self.since = 0.0  # when it, or the pause between two tests, began
        self.process: subprocess.Popen | Preloaded | None = None
        self.interrupted = False  # whether the user stops the whole run
        self.outcome, self.why, self.text = INTERRUPTED, "not started", ""
        self.offset = 0
        self.wall = 0.0

    def read(self):
        """Read the events that the process has written since the last call."""
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
                    self.left_out |= set(event["left_out"])
                case "start":
                    self.running, self.since = event["id"], time.monotonic()
                case "report":
                    self.merge(event)
                case "finish":
                    self.running, self.since = None, time.monotonic()
                    self.results |= self.unfinished
                    self.unfinished.clear()
                case "end":
                    self.end = event

    def merge(self, report):
        """Merge the reports of setup, call and teardown into one result.

        A failure always decides the outcome; without one, a skip does.
        """
        new = {"id": report["id"], "outcome": "passed", "message": "", "text": "", "duration": 0.0}
        result = self.unfinished.setdefault(report["id"], new)
        result["duration"] += report["duration"]
        if report["outcome"] == "failed" or (report["outcome"] == "skipped" and result["outcome"] == "passed"):
            result.update(
                outcome="skipped" if report["outcome"] == "skipped" else "failed",
                message=report["message"],
                text=report["text"],
                when=report["when"],
            )
            if result["outcome"] == "failed":
                result["category"] = category_of(report["message"])

    def fail(self, test, category, message, text="", when="call"):
        self.results[test] = {
            "id": test,
            "duration": 0.0,
            "outcome": "failed",
            "category": category,
            "message": message,
            "text": text or message,
            "when": when,
        }
        self.unfinished.clear()
        self.running = None

    def left(self):
        """Return the tests that were collected and have no result."""
        return [test for test in self.collected if test not in self.results]

    def selects(self, inside):
        """Whether this run was to run a test of the file: no list, target or option excludes it."""
        test = f"{self.name}::{inside}"
        if test in self.left_out or self.only is not None and not is_named(test, self.only):
            return False
        targets = [target.partition("::")[2] for target in self.targets]
        named = (inside == target or inside.startswith((f"{target}::", f"{target}[")) for target in targets)
        return "" in targets or any(named)

    def counts(self):
        return collections.Counter(r["outcome"] for r in self.results.values())

    def is_(self, outcome, why=""):
        self.outcome, self.why = outcome, why.partition("\n")[0]

    def kill(self):
        """Kill the process and its children.

        A process that hangs first gets SIGABRT, so that faulthandler shows where it hangs.
        """
        assert self.process
        for number, patience in ((signal.SIGABRT, 5), (signal.SIGKILL, None))[self.interrupted :]:
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def environment(self):
        """Return the environment variables of the file's process."""
        environment = os.environ | {"HF_HUB_OFFLINE": os.environ.get("HF_HUB_OFFLINE", "1")}
        if path := environment.get("PYTHONPATH"):  # relative to the current folder; the process runs in the checkout
            environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, path.split(os.pathsep)))
        return environment

    def arguments(self):
        """Return the arguments for pytest."""
        return [
            *([] if self.options.plain else ["-p", "mindtorch_proxy"]),
            f"--timeout={self.options.test_timeout}",
            "--timeout-method=signal",
            *([f"--rootdir={self.root}"] if self.root else []),
            *self.options.pytest,
            *self.targets,
        ]

    def start(self, index, core, output, server):
        options = self.options
        environment = self.environment()
        if options.kernels:
            environment["MINDTORCH_REPORT"] = str(Path(options.folder, f"report-{self.number}-{index}.json"))
        order = {
            "arguments": self.arguments(),
            "events": str(self.events),
            "done": list(self.results),
            "only": None if self.only is None else list(self.only),
            "core": core,
        }
        # a file, because a list of tests can exceed the maximum length of an argument
        order_file = Path(options.folder, f"order-{self.number}-{index}.json")
        order_file.write_text(json.dumps(order))
        self.end, self.running = {}, None
        self.since = time.monotonic()
        if server:
            self.process = server.start(order_file, self.root, output)
            return self.process
        process = self.process = subprocess.Popen(
            [sys.executable, str(RECORDER), str(order_file)],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output and subprocess.STDOUT,
            start_new_session=True,
        )
        return process

    def attempt(self, index, core, deadline, output, server):
        """Run one process. Return whether the file is done, so that no further process is needed."""
        options = self.options
        process = self.start(index, core, output, server)
        while process.poll() is None:
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                self.read()
                now = time.monotonic()
                over = now > deadline
                # pytest-timeout ends tests that still run Python code; this ends those that do not
                if over or now - self.since > options.test_timeout * 1.2 + 10:
                    self.kill()
                    self.read()
                    what = (
                        f"the file's limit of {options.timeout:g} s"
                        if over
                        else f"the limit of {options.test_timeout:g} s a test"
                    )
                    if over or not self.running:
                        self.is_(TIMED_OUT, what + ("" if self.running else ", outside of any test"))
                    self.fail(self.running or self.name, "time-out", f"Timeout: {what}; the process was killed")
                    return False
        self.read()
        if self.interrupted:
            self.is_(
                INTERRUPTED,
                f"{len(self.left())} of {len(self.collected)} tests were not run"
                if self.collected
                else "while collecting",
            )
            return True
        code = process.returncode
        if self.end.get("status") == code:
            self.finished(code)
            return True
        return self.died(code)

    def died(self, code):
        """Record that the process ended unexpectedly. Return whether no further process can continue the file."""
        name = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        after = bool(self.end)
        what = self.running or (f"{self.name}::(at exit)" if after else self.name)
        if not self.running:
            self.is_(CRASHED, f"{name}, " + ("after the last test" if after else "outside of any test"))
        self.fail(what, "crash", f"Crash: the process ended with {name}" + (" after the last test" if after else ""))
        return after or what == self.name

    def finished(self, status):
        """Set the outcome of the file from pytest's exit status, after pytest has ended by itself."""
        why, broken = (
            self.end["why"],
            [r for r in self.results.values() if r.get("when") == "collect" and r["outcome"] == "failed"],
        )
        if self.outcome in (TIMED_OUT, CRASHED):
            return
        if status == 3:
            self.is_(CRASHED, why)
        elif status == 4:
            self.is_(NOT_STARTED, why)
        elif broken:
            self.is_(NOT_STARTED, broken[0]["message"])
        elif status == 2 or self.left() and not self.options.collect_only:
            self.is_(INTERRUPTED, f"{why or 'stopped'}; {len(self.left())} of {len(self.collected)} tests were not run")
        else:
            self.is_(RAN)
        if self.outcome in (NOT_STARTED, CRASHED) and not broken:
            self.fail(self.name, category_of(why), why, self.end["text"], "collect")

    def run(self, core, output=None, server=None):
        started = time.monotonic()
        deadline = started + self.options.timeout
        self.is_(RAN)
        for index in range(1_000_000):
            if self.attempt(index, core, deadline, output, server):
                break
            if time.monotonic() > deadline:
                for test in self.left():
                    self.fail(test, "time-out", f"Not run: the file's limit of {self.options.timeout:g} s was over")
            if not self.left():
                break
        self.wall = time.monotonic() - started
        return self


def refuses(run):
    """Whether pytest, with the plugins and the conftest.py of a file, rejects one of the options.

    This takes as long as importing them.
    """
    command = [sys.executable, "-m", "pytest", *run.arguments(), "--markers"]
    done = subprocess.run(command, cwd=run.root, env=run.environment(), capture_output=True, text=True)
    return "unrecognized arguments" in done.stderr
