"""Starts several processes that run one function; an error in one of them ends all."""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "spawn",
    "SpawnContext",
    "start_processes",
]
ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):
    """The error for a failed process."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The error for a process in which the function raised an exception."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """The error for a process that was killed or exited with a nonzero code."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _wrap(fn, i, args, error_file):
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent handles it
    except Exception:
        with open(error_file, "wb") as f:
            pickle.dump(traceback.format_exc(), f)
        sys.exit(1)


class ProcessContext:
    """The started processes."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self):
        """Return the process ids."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait until at least one process ends; return whether all have ended.

        If one failed, terminate the others and raise its error.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels, timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        deadline = time.monotonic() + (grace_period or 0)
        for p in self.processes:
            p.join(max(0, deadline - time.monotonic()) if grace_period else 0)
            if p.is_alive():
                p.terminate()
        for p in self.processes:
            p.join()
        p = self.processes[failed]
        if os.path.getsize(self.error_files[failed]):
            with open(self.error_files[failed], "rb") as f:
                text = pickle.load(f)
            raise ProcessRaisedException(
                f"\n\n-- Process {failed} terminated with the following error:\n{text}", failed, p.pid
            )
        if p.exitcode < 0:
            try:
                name = signal.Signals(-p.exitcode).name
            except ValueError:
                name = f"<Unknown signal {-p.exitcode}>"
            raise ProcessExitedException(
                f"process {failed} terminated with signal {name}", failed, p.pid, p.exitcode, name
            )
        raise ProcessExitedException(
            f"process {failed} terminated with exit code {p.exitcode}", failed, p.pid, p.exitcode
        )


class SpawnContext(ProcessContext):
    """The processes started by spawn."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run ``fn(i, *args)`` in ``nprocs`` processes; with ``join``, wait for them, else return a ProcessContext."""
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []

    def start(i):
        handle, path = tempfile.mkstemp(prefix="pytorch-errorfile-", suffix=".pickle")
        os.close(handle)
        process = context.Process(target=_wrap, args=(fn, i, args, path), daemon=daemon)
        process.start()
        return process, path

    parallel = start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1"
    with ThreadPoolExecutor(max_workers=nprocs if parallel else 1) as pool:
        for process, path in pool.map(start, range(nprocs)) if parallel else map(start, range(nprocs)):
            processes.append(process)
            error_files.append(path)
    started = SpawnContext(processes, error_files)
    if not join:
        return started
    try:
        while not started.join():
            pass
    finally:
        for path in error_files:
            os.unlink(path)
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Call ``start_processes`` with the start method "spawn"."""
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
