"""torch.utils.benchmark: time statements."""

import contextlib
import statistics
import time
import timeit

import torch

__all__ = ["Measurement", "Timer", "timer", "set_torch_threads"]
timer = time.perf_counter


@contextlib.contextmanager
def set_torch_threads(n):
    """Run a block with ``n`` threads."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n)
        yield
    finally:
        torch.set_num_threads(before)


class Measurement:
    """Times of several runs of ``number_per_run`` executions each."""

    def __init__(self, number_per_run, raw_times, stmt, label=None, sub_label=None, description=None, num_threads=1):
        self.number_per_run, self.raw_times, self.stmt, self.num_threads = number_per_run, raw_times, stmt, num_threads
        self.label, self.sub_label, self.description = label, sub_label, description

    times = property(lambda self: [t / self.number_per_run for t in self.raw_times])
    mean = property(lambda self: statistics.fmean(self.times))
    median = property(lambda self: statistics.median(self.times))

    @property
    def iqr(self):
        """The difference of the upper and the lower quartile."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self):
        scale, unit = next(((s, u) for s, u in ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")) if self.median < 1000 * s), (1.0, "s"))
        kind = "Median" if len(self.times) > 1 else "Time"
        return (
            f"<torch.utils.benchmark.Measurement object>\n{self.label or self.stmt}\n  {kind}: {self.median / scale:.2f} {unit}\n"
            f"  {len(self.times)} measurement{'s' * (len(self.times) > 1)}, {self.number_per_run} runs per measurement, "
            f"{self.num_threads} thread{'s' * (self.num_threads > 1)}"
        )


class Timer:
    """Times a statement like timeit's, with a number of threads set."""

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language="python",
    ):
        if language not in ("python", "py"):
            raise NotImplementedError(f"torch.utils.benchmark.Timer: language {language!r}")
        self._timer = timeit.Timer(stmt, setup, timer, globals if globals is not None else {"torch": torch})
        self._about = {"stmt": stmt, "label": label, "sub_label": sub_label, "description": description, "num_threads": num_threads}

    def timeit(self, number=1000000):
        """One measurement of ``number`` executions, after a hundredth of them."""
        with set_torch_threads(self._about["num_threads"]):
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], **self._about)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measurements for ``min_run_time`` seconds, each long enough for the clock."""
        with set_torch_threads(self._about["num_threads"]):
            number = 1
            while (t := self._timer.timeit(number)) < min(min_run_time / 1000, 1e-3):
                number *= 10
            times = [t]
            while sum(times) < min_run_time:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, **self._about)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Measurements until their spread is below ``threshold`` of the median."""
        measurement = self.blocked_autorange(callback, min_run_time)
        while measurement.iqr > threshold * measurement.median and sum(measurement.raw_times) < max_run_time:
            more = self.blocked_autorange(callback, min_run_time)
            if more.number_per_run == measurement.number_per_run:
                measurement.raw_times += more.raw_times
        return measurement
