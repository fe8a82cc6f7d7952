"""Detection of worker processes that died, and their crash reports."""

import faulthandler
import os
import signal
import threading

_workers = {}  # {id of the loader's iterator: process ids}
_handled = False


def _set_worker_pids(loader_id, pids):
    """Start watching these processes."""
    if loader_id in _workers:
        raise ValueError("_set_worker_pids should be called only once for each _BaseDataLoaderIter.")
    _workers[loader_id] = tuple(pids)


def _remove_worker_pids(loader_id):
    """Stop watching the processes of this iterator."""
    if _workers.pop(loader_id, None) is None:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {loader_id}")


def _error_if_any_worker_fails():
    """Raise RuntimeError if a watched process was killed or exited with an error."""
    for key, pids in list(_workers.items()):
        for pid in pids:
            try:
                found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # other code has already waited for it
                continue
            if found is None:
                continue
            killed = found.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
            if killed or found.si_code == os.CLD_EXITED and found.si_status:
                _workers[key] = ()
                how = (
                    f"is killed by signal: {signal.strsignal(found.si_status)}. "
                    if killed
                    else f"exited unexpectedly with exit code {found.si_status}. "
                )
                hint = (
                    ""
                    if killed
                    else "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better "
                    "error trace."
                )
                raise RuntimeError(f"DataLoader worker (pid {pid}) {how}{hint}")


def _set_SIGCHLD_handler():
    """Check the watched processes whenever a child ends, and then call the previous handler."""
    global _handled
    if _handled or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)

    def handler(number, frame):
        _error_if_any_worker_fails()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCHLD, handler)
    _handled = True


def _set_worker_signal_handlers():
    """In a worker, print the traceback on stderr when it crashes."""
    faulthandler.enable()
