"""Groups of processes on one machine, with their output and errors."""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntFlag

from .errors import ProcessFailure, record

__all__ = [
    "DefaultLogsSpecs",
    "LogsDest",
    "LogsSpecs",
    "MultiprocessContext",
    "PContext",
    "RunProcsResult",
    "SignalException",
    "Std",
    "SubprocessContext",
]


class SignalException(Exception):
    """Raised when the launcher receives a signal that ends it."""

    def __init__(self, msg, sigval):
        super().__init__(msg)
        self.sigval = sigval


class Std(IntFlag):
    """The output streams."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm):
        """Parse ``3``, for all local ranks, or ``0:3,1:2``, for each local rank."""
        if re.fullmatch(r"\d", vm):
            return cls(int(vm))
        if re.fullmatch(r"(\d:[0123],)*\d:[0123],?", vm):
            return {int(rank): cls(int(value)) for rank, value in (pair.split(":") for pair in vm.split(",") if pair)}
        raise ValueError(f"{vm} does not match: <^\\d:[0123],[(\\d:[0123],)*$> or a digit")


def to_map(val_or_map, local_world_size):
    """Return a value for each local rank, from a single value or from the values of some ranks."""
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {i: val_or_map.get(i, Std.NONE) for i in range(local_world_size)}


@dataclass
class LogsDest:
    """The log files of one attempt, by local rank; '' means that a stream is not redirected."""

    stdouts: dict = field(default_factory=dict)
    stderrs: dict = field(default_factory=dict)
    tee_stdouts: dict = field(default_factory=dict)
    tee_stderrs: dict = field(default_factory=dict)
    error_files: dict = field(default_factory=dict)


class LogsSpecs(ABC):
    """Base class that decides where output goes."""

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        self._root_log_dir, self._redirects, self._tee, self._local_ranks_filter = (
            log_dir,
            redirects,
            tee,
            local_ranks_filter,
        )

    @abstractmethod
    def reify(self, envs):
        """Return the files of an attempt; ``envs`` has the environment of each local rank."""

    @property
    @abstractmethod
    def root_log_dir(self):
        """The log folder."""


class DefaultLogsSpecs(LogsSpecs):
    """Logs to FOLDER/RUN_.../attempt_N/LOCAL_RANK/stdout.log, stderr.log, error.json."""

    def __init__(self, log_dir=None, redirects=Std.NONE, tee=Std.NONE, local_ranks_filter=None):
        if log_dir is not None:
            if os.path.exists(log_dir) and not os.path.isdir(log_dir):
                raise NotADirectoryError(f"log_dir: {log_dir} is a file")
            os.makedirs(log_dir, exist_ok=True)
        super().__init__(log_dir, redirects, tee, local_ranks_filter)
        self._run_log_dir = None

    @property
    def root_log_dir(self):
        """The log folder."""
        return str(self._root_log_dir)

    def reify(self, envs):
        """Create the folders of an attempt and return its files."""
        if not envs:
            return LogsDest()
        run_id, attempt = envs[0]["TORCHELASTIC_RUN_ID"], envs[0].get("TORCHELASTIC_RESTART_COUNT", "0")
        if self._run_log_dir is None:
            self._temporary = self._root_log_dir is None
            root = self._root_log_dir or tempfile.mkdtemp(prefix="torchelastic_")
            self._run_log_dir = tempfile.mkdtemp(prefix=f"{run_id}_", dir=root)
        folder = os.path.join(self._run_log_dir, f"attempt_{attempt}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        redirects, tees = to_map(self._redirects, len(envs)), to_map(self._tee, len(envs))
        shown = self._local_ranks_filter
        found = LogsDest()
        for rank in range(len(envs)):
            mine = os.path.join(folder, str(rank))
            os.makedirs(mine)
            hidden = shown is not None and rank not in shown
            for stream, name, files, copies in (
                (Std.OUT, "stdout", found.stdouts, found.tee_stdouts),
                (Std.ERR, "stderr", found.stderrs, found.tee_stderrs),
            ):
                path = os.path.join(mine, f"{name}.log")
                files[rank] = path if (redirects[rank] | tees[rank]) & stream else os.devnull if hidden else ""
                if tees[rank] & stream and not hidden:
                    copies[rank] = path
            found.error_files[rank] = os.path.join(mine, "error.json")
        return found

    def __del__(self):
        if self._run_log_dir is None or not self._temporary:
            return
        if not any(
            "error.json" in files for _, _, files in os.walk(self._run_log_dir)
        ):  # the folder is temporary, and no error message refers to it
            shutil.rmtree(os.path.dirname(self._run_log_dir), ignore_errors=True)


@dataclass
class RunProcsResult:
    """The results of processes, by local rank; ``failures`` is empty if all succeeded."""

    return_values: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)
    stdouts: dict = field(default_factory=dict)
    stderrs: dict = field(default_factory=dict)

    def is_failed(self):
        """Whether a process failed."""
        return len(self.failures) > 0


class _Tail:
    """Copies lines appended to files to a stream, with each rank's prefix."""

    def __init__(self, files, stream, prefixes):
        self.ended = threading.Event()
        self.threads = [
            threading.Thread(target=self._copy, args=(path, stream, prefixes.get(rank, "")), daemon=True)
            for rank, path in files.items()
        ]
        for t in self.threads:
            t.start()

    def _copy(self, path, stream, prefix):
        while not os.path.exists(path):
            if self.ended.wait(0.05):
                return
        with open(path, errors="replace") as file:
            rest = ""
            while True:
                last = self.ended.is_set()
                lines = (rest + file.read()).split("\n")
                rest = lines.pop()
                for line in lines:
                    stream.write(f"{prefix}{line}\n")
                if last:
                    if rest:
                        stream.write(f"{prefix}{rest}\n")
                    stream.flush()
                    return
                stream.flush()
                self.ended.wait(0.1)

    def stop(self):
        """Copy the remaining output and stop."""
        self.ended.set()
        for t in self.threads:
            t.join()


class PContext(ABC):
    """Base class of groups of running processes."""

    def __init__(self, name, entrypoint, args, envs, logs_specs, log_line_prefixes=None, start_method="spawn"):
        self.name, self.entrypoint, self.args, self.envs, self.nprocs = name, entrypoint, args, envs, len(envs)
        self.start_method, self._prefixes = start_method, log_line_prefixes
        self.logs = logs_specs.reify(envs)
        self._logs_specs, self._tails, self._result = logs_specs, [], None

    def _prefix(self, rank):
        given = (self._prefixes or {}).get(rank)
        return given if given is not None else f"[{self.name}{self.envs[rank].get('RANK', rank)}]:"

    def start(self):
        """Start all processes."""
        prefixes = {rank: self._prefix(rank) for rank in self.envs}
        self._tails = [
            _Tail(self.logs.tee_stdouts, sys.stdout, prefixes),
            _Tail(self.logs.tee_stderrs, sys.stderr, prefixes),
        ]
        self._start()

    def _environment(self, rank):
        return {**os.environ, **self.envs[rank], "TORCHELASTIC_ERROR_FILE": self.logs.error_files[rank]}

    @abstractmethod
    def _start(self): ...

    @abstractmethod
    def _status(self):
        """Return {local rank: exit status, or None while it runs}."""

    @abstractmethod
    def pids(self):
        """Return {local rank: process id}."""

    def _return_values(self):
        return dict.fromkeys(range(self.nprocs))

    def wait(self, timeout=-1, period=0.1):
        """Wait until all processes have ended or one has failed, and return the result.

        Return None on a time-out; a negative timeout means no limit.
        """
        deadline = None if timeout < 0 else time.monotonic() + timeout
        while self._result is None:
            status = self._status()
            if any(status.values()) or all(s is not None for s in status.values()):
                self._result = self._make_result(status)
                break
            if deadline is not None and time.monotonic() >= deadline:
                return None
            time.sleep(period)
        return self._result

    def _make_result(self, status):
        failures = {r: ProcessFailure(r, self.pids()[r], s, self.logs.error_files[r]) for r, s in status.items() if s}
        if failures:  # processes that fail as a consequence later are not reported as failures
            self.close()
        return RunProcsResult({} if failures else self._return_values(), failures, self.logs.stdouts, self.logs.stderrs)

    def close(self, death_sig=None, timeout=30):
        """End running processes with a signal, and with SIGKILL after a timeout in seconds."""
        deadline = time.monotonic() + timeout
        self._signal(death_sig or signal.SIGTERM)
        while any(s is None for s in self._status().values()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._signal(signal.SIGKILL)
        while any(s is None for s in self._status().values()):
            time.sleep(0.02)
        for tail in self._tails:
            tail.stop()
        self._tails = []

    def _signal(self, number):
        for rank, pid in self.pids().items():
            if self._status()[rank] is None:
                try:
                    (os.killpg if self._own_group else os.kill)(pid, number)
                except ProcessLookupError:
                    pass  # the process has just ended

    _own_group = False


def _open(path, stack):
    if not path:
        return None
    file = open(path, "w")
    stack.append(file)
    return file


class SubprocessContext(PContext):
    """Processes that run a command.

    Each has its own process group, so that its child processes are ended with it.
    """

    _own_group = True

    def _start(self):
        self.processes = {}
        for rank in range(self.nprocs):
            files = []
            out, err = _open(self.logs.stdouts.get(rank), files), _open(self.logs.stderrs.get(rank), files)
            command = [self.entrypoint, *map(str, self.args[rank])]
            self.processes[rank] = subprocess.Popen(
                command, env=self._environment(rank), stdout=out, stderr=err, start_new_session=True
            )
            for file in files:
                file.close()

    def _status(self):
        return {rank: p.poll() for rank, p in self.processes.items()}

    def pids(self):
        """Return {local rank: process id}."""
        return {rank: p.pid for rank, p in self.processes.items()}


def _run_function(function, args, environment, out, err, connection):
    os.environ.update(environment)
    for path, stream in ((out, 1), (err, 2)):
        if path:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(number, stream)
            os.close(number)
    try:
        connection.send(record(function)(*args))
    except Exception:
        traceback.print_exc()
        sys.exit(1)


class MultiprocessContext(PContext):
    """Processes that run a function and send back its return value."""

    def _start(self):
        context = multiprocessing.get_context(self.start_method)
        self.processes, self.connections, self.values = {}, {}, {}
        for rank in range(self.nprocs):
            self.connections[rank], theirs = context.Pipe(duplex=False)
            mine = {**self.envs[rank], "TORCHELASTIC_ERROR_FILE": self.logs.error_files[rank]}
            args = (
                self.entrypoint,
                self.args[rank],
                mine,
                self.logs.stdouts.get(rank),
                self.logs.stderrs.get(rank),
                theirs,
            )
            self.processes[rank] = context.Process(target=_run_function, args=args)
            self.processes[rank].start()
            theirs.close()

    def _status(self):
        for rank, connection in self.connections.items():
            if rank not in self.values:
                try:
                    if connection.poll():
                        self.values[rank] = connection.recv()
                except (EOFError, OSError):
                    self.values[rank] = None
        return {rank: p.exitcode for rank, p in self.processes.items()}

    def _return_values(self):
        self._status()
        return {rank: self.values.get(rank) for rank in range(self.nprocs)}

    def pids(self):
        """Return {local rank: process id}."""
        return {rank: p.pid for rank, p in self.processes.items()}
