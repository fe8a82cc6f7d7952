"""Shows the progress of a run: a line for each file that ends, and on a terminal a line that is updated."""

from __future__ import annotations

import sys
import threading
import time


def span(seconds):
    """Return a duration in seconds as readable text."""
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )


class Progress:
    """Progress of a run. The updated line is written to stderr, if that is a terminal and no file writes to it."""

    def __init__(self, runs, live):
        self.runs, self.ended, self.started = runs, [], time.monotonic()
        self.live = live and sys.stderr.isatty()
        self.talk, self.over = threading.Lock(), threading.Event()
        if self.live:
            threading.Thread(target=self.tick, daemon=True).start()

    def left(self):
        """Estimate the remaining time in seconds from the progress so far, or return None."""
        done = sum(len(run.results) for run in self.runs)
        begun = [run for run in self.runs if run.collected]
        if not done or not begun:
            return None
        share = sum(len(run.collected) for run in begun) / len(begun)
        total = sum(len(run.collected) or (0 if run in self.ended else share) for run in self.runs)
        return (time.monotonic() - self.started) / done * max(total - done, 0)

    def text(self):
        failed = sum(run.counts()["failed"] for run in self.runs)
        left = self.left()
        tests = sum(len(run.results) for run in self.runs)
        return f"{len(self.ended)} of {len(self.runs)} files, {tests} tests, {failed} failed" + (
            f", about {span(left)} left" if left else ""
        )

    def tick(self):
        while not self.over.wait(0.5):
            with self.talk:
                sys.stderr.write(f"\r\x1b[K{self.text()}")
                sys.stderr.flush()

    def file_ended(self, run):
        counts = run.counts()
        self.ended.append(run)
        if self.live:
            sys.stderr.write("\r\x1b[K")
        said = (
            ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "xfailed", "skipped") if counts[name])
            or "no test"
        )
        left = self.left()
        rest = f", about {span(left)} left" if left and len(self.ended) < len(self.runs) else ""
        why = f" ({run.why[:120]})" if run.why else ""
        print(
            f"[{len(self.ended)}/{len(self.runs)}] {run.name}: {run.outcome}{why}: {said} in {span(run.wall)}{rest}",
            flush=True,
        )

    def close(self):
        self.over.set()
        if self.live:
            with self.talk:
                sys.stderr.write("\r\x1b[K")
