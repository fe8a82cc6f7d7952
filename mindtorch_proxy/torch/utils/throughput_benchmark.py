"""torch.utils.throughput_benchmark: a module under the load of a server, by threads that call it over and over."""

import random
import threading
import time
from dataclasses import dataclass

import torch

__all__ = ["ExecutionStats", "ThroughputBenchmark", "format_time"]


def format_time(time_us=None, time_ms=None, time_s=None):
    """A time in the unit that suits it, given in just one of microseconds, milliseconds and seconds."""
    given = [(value, scale) for value, scale in ((time_us, 1), (time_ms, 1e3), (time_s, 1e6)) if value is not None]
    if len(given) != 1:
        raise AssertionError("Expected only one of time_us, time_ms, time_s is given.")
    us = given[0][0] * given[0][1]
    unit, scale = ("s", 1e6) if us >= 1e6 else ("ms", 1e3) if us >= 1e3 else ("us", 1)
    return f"{us / scale:.3f}{unit}"


@dataclass
class ExecutionStats:
    """What a run measured: the mean time of a call in milliseconds, and how many calls there were, of how many threads."""

    latency_avg_ms: float
    num_iters: int
    num_calling_threads: int

    @property
    def total_time_seconds(self):
        """The time that each of the threads took."""
        return self.num_iters * self.latency_avg_ms / 1000 / self.num_calling_threads

    @property
    def iters_per_second(self):
        """Calls a second, of all threads together."""
        return self.num_iters / self.total_time_seconds

    def __str__(self):
        lines = (
            f"Average latency per example: {format_time(time_ms=self.latency_avg_ms)}",
            f"Total number of iterations: {self.num_iters}",
            f"Total number of iterations per second (across all threads): {self.iters_per_second:.2f}",
            f"Total time: {format_time(time_s=self.total_time_seconds)}",
        )
        return "\n".join(lines)


class ThroughputBenchmark:
    """Calls a module from several threads, with inputs that were added before, drawn at random. Python runs one thread at a time between kernels."""

    def __init__(self, module):
        self._module, self._inputs = module, []

    def run_once(self, *args, **kwargs):
        """The module's result for one input."""
        return self._module(*args, **kwargs)

    def add_input(self, *args, **kwargs):
        """Keep an input for the threads to draw."""
        self._inputs.append((args, kwargs))

    def benchmark(self, num_calling_threads=1, num_warmup_iters=10, num_iters=100, profiler_output_path=""):
        """ExecutionStats of num_iters calls (shared by the threads; a call that has begun is counted) after num_warmup_iters calls in each thread.

        profiler_output_path: a file for the trace of the calls that are measured, as torch.autograd.profiler writes it. RuntimeError without inputs.
        """
        if not self._inputs:
            raise RuntimeError("Please provide benchmark inputs.Did you forget to call add_input()? ")
        ready, lock = threading.Barrier(num_calling_threads + 1), threading.Lock()
        times, errors, left = [], [], [num_iters]

        def take():
            with lock:
                left[0] -= 1
                return left[0] >= 0

        def calls():
            try:
                drawn = random.Random()
                for _ in range(num_warmup_iters):
                    self._call(drawn)
                ready.wait()
                while take():
                    started = time.perf_counter()
                    self._call(drawn)
                    times.append(time.perf_counter() - started)
            except BaseException as error:
                errors.append(error)
                ready.abort()

        threads = [threading.Thread(target=calls) for _ in range(num_calling_threads)]
        for thread in threads:
            thread.start()
        with torch.autograd.profiler.profile(enabled=bool(profiler_output_path)) as profile:
            try:
                ready.wait()
            except threading.BrokenBarrierError:
                pass  # the error that broke it is raised below
            for thread in threads:
                thread.join()
        if errors:
            raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
        if profiler_output_path:
            profile.export_chrome_trace(profiler_output_path)
        return ExecutionStats(1000 * sum(times) / len(times) if times else 0.0, len(times), num_calling_threads)

    def _call(self, drawn):
        args, kwargs = drawn.choice(self._inputs)
        self.run_once(*args, **kwargs)
