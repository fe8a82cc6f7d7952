"""Shows on a terminal how far something long has come. Standard library only.

The text stands after the cursor, which stays where it is: what is printed meanwhile begins where it would have begun
without it. Nothing is written where standard error is not a terminal, so pipes and logs stay as they are.
"""

import os
import sys
import threading
import time
from contextlib import contextmanager

WIDTH = 20  # of a bar, in characters
LOCK = threading.Lock()


def on_terminal():
    """Whether standard error is a terminal that can move its cursor."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def show(text):
    """Show text in place of the last one; an empty text removes it."""
    if on_terminal():
        with LOCK:
            _put(text)


def _put(text):
    # keep the cursor, write without wrapping at the margin (a new line would scroll), delete the rest, return
    sys.stderr.write(f"\x1b7\x1b[?7l{text}\x1b[K\x1b[?7h\x1b8")
    sys.stderr.flush()


def say(line):
    """Print a line to standard output, where the text of show() stands."""
    with LOCK:
        if on_terminal():
            _put("")
        print(line, flush=True)


def note(line):
    """Print a line to standard error that stays, on a terminal only."""
    if on_terminal():
        with LOCK:
            _put("")
            print(line, file=sys.stderr, flush=True)


@contextmanager
def ticking(text):
    """During the block, show twice a second what text(seconds since its beginning) returns; at its end, remove it."""
    if not on_terminal():
        yield
        return
    over, started = threading.Event(), time.monotonic()

    def tick():
        while not over.wait(0.5):
            show(text(time.monotonic() - started))

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        show("")


def span(seconds):
    """Return a duration in seconds as readable text."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def bar(share):
    """Return a bar of which a share from 0 to 1 is filled, in ASCII for every locale."""
    filled = round(WIDTH * min(max(share, 0), 1))
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}]"


def counted(done, total, what, seconds=None):
    """Return a bar with numbers and a name; with the seconds that have passed, also an estimate of what is left."""
    left = f", about {span(seconds / done * (total - done))} left" if seconds is not None and done else ""
    return f"{bar(done / total)} {done} of {total}{left}: {what}"
