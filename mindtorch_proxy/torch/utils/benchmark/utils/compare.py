"""Compares measurements in tables: one table per label, one row per statement, one column per description."""

import enum
import math
import operator

from . import common

__all__ = ["Colorize", "Compare"]
_END, _BOLD, _BAD, _WORST, _GREEN, _BRIGHT_GREEN = (
    "\033[0m",
    "\033[1m",
    "\033[2m\033[91m",
    "\033[31m",
    "\033[34m",
    "\033[92m",
)


class Colorize(enum.Enum):
    """Whether to highlight the best of each column, or of each row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class _Column:
    """The number format of a column."""

    def __init__(self, results, scale, trim, warn):
        self.scale, self.trim, self.warn = scale, trim, warn and any(m.has_warnings for m in results)
        digits = [math.ceil(math.log10(m.median / scale)) for m in results]
        self.decimals = min(max(m.significant_figures - d, 0) for d, m in zip(digits, results)) if trim else 1
        self.width = max(digits) + self.decimals + (self.decimals > 0)

    def text(self, m):
        if m is None:
            return " " * len(self._write(1, ""))
        value, spread = (
            m.median / self.scale,
            f" (! {m.iqr / m.median * 100:.0f}%)" if self.warn and m.has_warnings else "",
        )
        return self._write(common.trim_sigfig(value, m.significant_figures) if self.trim else value, spread)

    def _write(self, value, spread):
        return f"{value:>{self.width}.{self.decimals}f}{spread:>{7 if self.warn else 0}}"


def _colored(text, value, best):
    if value <= best * 1.01 or value <= best + 100e-9:
        return _BRIGHT_GREEN + _BOLD + text + _END * 2
    if value <= best * 1.1:
        return _GREEN + _BOLD + text + _END * 2
    if value >= best * 5:
        return _WORST + _BOLD + text + _END * 2
    return _BAD + text + _END * 2 if value >= best * 2 else text


class _Table:
    """The table of one label."""

    def __init__(self, results, colorize, trim, warn):
        self.results, self.colorize, self.warn = results, colorize, warn
        self.unit, scale = common.select_unit(min(m.median for m in results))
        self.rows = sorted(
            common.ordered_unique((m.num_threads, m.env, m.as_row_name) for m in results), key=operator.itemgetter(0, 1)
        )
        self.names = common.ordered_unique(m.description for m in results)
        self.cells = {((m.num_threads, m.env, m.as_row_name), m.description): m for m in results}
        self.columns = [
            _Column([m for m in results if m.description == name], scale, trim, warn) for name in self.names
        ]

    def _titles(self):
        """Yield the title of each row: its environment, if there are several, and its name."""
        several = len({m.env for m in self.results}) > 1
        width, last = max(len(str(m.env)) for m in self.results) + 4 if several else 4, None
        for threads, env, name in self.rows:
            shown = f"({env})" if several and (threads, env) != last else ""
            last = threads, env
            yield "  " + shown.ljust(width) + name

    def _best(self, row, name):
        group = [
            m
            for (r, n), m in self.cells.items()
            if (r == row if self.colorize is Colorize.ROWWISE else r[0] == row[0] and n == name)
        ]
        return min(m.median for m in group)

    def render(self):
        texts = [
            [title, *(c.text(self.cells.get((row, n))) for c, n in zip(self.columns, self.names))]
            for title, row in zip(self._titles(), self.rows)
        ]
        widths = [max(map(len, column)) for column in zip(["", *self.names], *texts)]
        lines, threads = ["  |  ".join(n.center(w) for n, w in zip(["", *self.names], widths))], None
        for row, (title, *cells) in zip(self.rows, texts):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(len(lines[0]), "-"))
            line = [title.ljust(widths[0])]
            for name, cell, w in zip(self.names, cells, widths[1:]):
                cell, m = cell.center(w), self.cells.get((row, name))
                line.append(
                    cell
                    if m is None or self.colorize is Colorize.NONE
                    else _colored(cell, m.median, self._best(row, name))
                )
            lines.append("  |  ".join(line))
        head = f"[{f' {self.results[0].label or str()} '.center(len(lines[0]) - 2, '-')}]"
        note = (
            "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
            if self.warn and any(m.has_warnings for m in self.results)
            else ""
        )
        return (
            "\n".join([head, *lines]) + f"\n\nTimes are in {common.unit_to_english(self.unit)}s ({self.unit}).\n{note}"
        )


class Compare:
    """Formats measurements as tables, with str() or print()."""

    def __init__(self, results):
        self._results, self._trim, self._colorize, self._warn = [], False, Colorize.NONE, False
        self.extend_results(results)

    def extend_results(self, results):
        """Add measurements."""
        for r in results:
            if not isinstance(r, common.Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show only significant figures."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Highlight the best of each column, or of each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Show the spread of measurements for which it is large."""
        self._warn = True

    def print(self):
        """Print the tables."""
        print(str(self))

    def __str__(self):
        groups: dict = {}
        for m in common.Measurement.merge(self._results):
            groups.setdefault(m.label, []).append(m)
        return "\n".join(_Table(g, self._colorize, self._trim, self._warn).render() for g in groups.values())
