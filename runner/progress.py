"""Shows the progress of a run: a line for each file that ends, and on a terminal a line that is updated."""

from __future__ import annotations

import time
from contextlib import ExitStack

from mindtorch_proxy.progress import bar, say, span, ticking


class Progress:
    """Progress of a run. live: whether a line is updated, which needs that no file writes to the terminal."""

    def __init__(self, runs, live):
        self.runs, self.ended, self.started = runs, [], time.monotonic()
        self.line = ExitStack()
        if live:
            self.line.enter_context(ticking(lambda seconds: self.text()))

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
        share = len(self.ended) / len(self.runs)
        return f"{bar(share)} {len(self.ended)} of {len(self.runs)} files, {tests} tests, {failed} failed" + (
            f", about {span(left)} left" if left else ""
        )

    def file_ended(self, run, log=""):
        """Print what a file has written, and a line about it."""
        counts = run.counts()
        self.ended.append(run)
        said = (
            ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "xfailed", "skipped") if counts[name])
            or "no test"
        )
        left = self.left()
        rest = f", about {span(left)} left" if left and len(self.ended) < len(self.runs) else ""
        why = f" ({run.why[:120]})" if run.why else ""
        number = f"[{len(self.ended)}/{len(self.runs)}]"
        say(f"{log}{number} {run.name}: {run.outcome}{why}: {said} in {span(run.wall)}{rest}")

    def close(self):
        self.line.close()
