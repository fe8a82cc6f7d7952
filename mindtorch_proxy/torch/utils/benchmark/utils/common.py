"""Measurements and descriptions of the measured tasks."""

import collections
import contextlib
import dataclasses
import math
import statistics
import textwrap

import numpy as np
import torch

__all__ = [
    "TaskSpec",
    "Measurement",
    "select_unit",
    "unit_to_english",
    "trim_sigfig",
    "ordered_unique",
    "set_torch_threads",
]
_UNITS = {"ns": (1e-9, "nanosecond"), "us": (1e-6, "microsecond"), "ms": (1e-3, "millisecond"), "s": (1, "second")}
_MOST_FIGURES, _LEAST_INTERVAL = 4, 25e-9  # figures of an estimate; the accuracy of the clock in seconds


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """The description of what was timed, by which results are grouped."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """The label, with the sublabel, or else the statement."""
        return (
            self.label + (f": {self.sub_label}" if self.sub_label else "")
            if self.label is not None
            else self._statement()
        )

    def _statement(self):
        if "\n" not in self.stmt:
            return self.stmt + (f": ({self.sub_label})" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self):
        """Return the setup as text, empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self):
        """Return the title, the description and the setup, one per line."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(s + "\n" if "\n" in s else s for s in parts if s)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times of several runs with `number_per_run` executions each.

    Statistics are in seconds per execution.
    """

    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict | None = None

    def __getattr__(self, name):
        if name != "task_spec" and hasattr(TaskSpec, name) or name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    times = property(
        lambda self: [t / self.number_per_run for t in self.raw_times], doc="The seconds of one call, for each run."
    )
    mean = property(lambda self: statistics.fmean(self.times), doc="The mean of the times.")
    median = property(lambda self: self._quantile(0.5), doc="The median of the times.")
    iqr = property(
        lambda self: self._quantile(0.75) - self._quantile(0.25),
        doc="The distance between the first and the third quartile.",
    )
    has_warnings = property(
        lambda self: bool(self._warning()), doc="Whether there are too few runs, or they differ too much."
    )

    def meets_confidence(self, threshold=0.1):
        """Whether the interquartile range is less than this fraction of the median."""
        return self.iqr / self.median < threshold

    def _quantile(self, q):
        return float(np.quantile(self.times, q))

    @property
    def significant_figures(self):
        """Return how many figures of the median are significant, 1 to 4, from the spread of the middle half."""
        times, n = sorted(self.times), len(self.raw_times)
        middle = times[n // 4 : math.ceil(3 * n / 4)]
        interval = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), _LEAST_INTERVAL)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_FIGURES)

    @property
    def as_row_name(self):
        """Return the name of the row in a comparison."""
        return self.sub_label or self.stmt or "[Unknown]"

    def _warning(self):
        relative = self.iqr / self.median * 100
        if len(self.raw_times) < 2 or relative < 10:
            return ""
        lead = f"  WARNING: Interquartile range is {relative:.1f}% of the median measurement.\n           "
        return lead + (
            "This suggests significant environmental influence."
            if relative > 25
            else "This could indicate system fluctuation."
        )

    def __repr__(self):
        n, (unit, scale) = len(self.raw_times), select_unit(self.median)
        lines = [
            f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>",
            self.task_spec.summarize(),
        ]
        lines.append(f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}")
        if n >= 4:
            lines.append(
                f"  IQR:    {self.iqr / scale:.2f} {unit} ({self._quantile(0.25) / scale:.2f} to "
                f"{self._quantile(0.75) / scale:.2f})"
            )
        runs = "per measurement," if n > 1 else ","
        threads = f"{self.num_threads} thread{'s' * (self.num_threads > 1)}"
        lines.append(f"  {n} measurement{'s' * (n > 1)}, {self.number_per_run} runs {runs} {threads}")
        return "\n".join([*lines, self._warning()]).strip()

    @staticmethod
    def merge(measurements):
        """Combine the measurements of each task into one."""
        groups = collections.defaultdict(list)
        for m in measurements:
            groups[m.task_spec].extend(m.times)
        return [Measurement(1, times, spec) for spec, times in groups.items()]


def select_unit(t):
    """Return (name, seconds) of the unit in which a time is between 1 and 1000."""
    name = {-3: "ns", -2: "us", -1: "ms"}.get(math.floor(math.log10(t) / 3), "s")
    return name, _UNITS[name][0]


def unit_to_english(u):
    """Return the full name of a unit, such as "microsecond" for "us"."""
    return _UNITS[u][1]


def trim_sigfig(x, n):
    """Round x to n significant figures."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10 ** (math.ceil(math.log10(x)) - int(n))
    return float(round(x / scale) * scale)


def ordered_unique(elements):
    """Return the elements without duplicates, in order of their first occurrence."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n):
    """Set the number of threads to ``n`` within the block."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n)
        yield
    finally:
        torch.set_num_threads(before)
