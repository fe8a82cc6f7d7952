"""Timing of statements."""

import time
import timeit

import torch

from .common import Measurement, TaskSpec, set_torch_threads

__all__ = ["Timer", "timer"]
timer = time.perf_counter


class Timer:
    """Times a statement, as timeit does, with a given number of threads."""

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
            if language not in ("c++", "cpp"):
                raise ValueError(f"Invalid language `{language}`.")
            raise NotImplementedError(f"torch.utils.benchmark.Timer: language {language!r}")
        self._timer = timeit.Timer(stmt, setup, timer, globals if globals is not None else {"torch": torch})
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def timeit(self, number=1000000):
        """Measure ``number`` executions as one run, after a warm-up with a hundredth of them (at least two)."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def _calibrated(self, min_run_time):
        """Return how many executions per run take long enough to be measured.

        The times of this calibration are not used, since the first execution may load and compile.
        """
        number = 1
        self._timer.timeit(number)
        while self._timer.timeit(number) < min(min_run_time / 1000, 1e-3):
            number *= 10
        return number

    def _blocks(self, number, min_run_time, callback):
        """Return the times of runs with ``number`` executions each, of at least ``min_run_time`` seconds in total."""
        times = []
        while sum(times) < min_run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return times

    def repeat(self, repeat=-1, number=-1):
        """Raise NotImplementedError, as in PyTorch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback=None):
        """Raise NotImplementedError, as in PyTorch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measure for at least ``min_run_time`` seconds, in runs that are long enough for the clock."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._calibrated(min_run_time)
            return Measurement(number, self._blocks(number, min_run_time, callback), self._task_spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Measure until the interquartile range is at most ``threshold`` of the median, or for max_run_time seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._calibrated(min_run_time)
            times = self._blocks(number, min_run_time, callback)
            while sum(times) < max_run_time:
                measurement = Measurement(number, list(times), self._task_spec)
                if len(times) > 1 and measurement.iqr <= threshold * measurement.median:
                    break
                times += self._blocks(number, min_run_time, callback)
        return Measurement(number, times, self._task_spec)
