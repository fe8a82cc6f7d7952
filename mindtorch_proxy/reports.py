"""The result of `mindtorch_proxy.report()`: a table, also as HTML or JSON.

It uses the standard library, and rich if that is installed.
"""

import atexit
import html
import io
import json
import os
import sys

from . import page

ROWS = 40
HEADS = ("operator", "kind", "primitive", "dtypes", "calls", "ms", "why a later kind")


def _writes_lines():
    """Whether standard output can write the lines of rich's tables, which it cannot in the locale C."""
    try:
        "\u2500\u2026".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
        return True
    except UnicodeEncodeError:
        return False


class Report(dict):
    """The kernels that this process has used: {"device", "choice", "kernels", "moves", "share", "times", "compiled"}.

    It prints as a table with the most expensive operators first.
    """

    def rows(self):
        """Return [(operator, kind, primitive, dtypes, calls, milliseconds or "", why)], with one row for all dtypes."""
        found: dict = {}
        for kernel in self["kernels"]:
            entry = found.setdefault(
                (kernel["op"], kernel["kind"], kernel["primitive"] or ""), {"dtypes": [], "calls": 0, "why": ""}
            )
            entry["dtypes"].append(kernel["dtype"])
            entry["calls"] += kernel["calls"]
            entry["why"] = entry["why"] or kernel["why"]
        times = dict(self["times"])
        rows = []
        for (op, kind, primitive), entry in found.items():
            seconds = times.pop(op, None)  # an operator's time is shown in its first row
            rows.append(
                (
                    op,
                    kind,
                    primitive,
                    ", ".join(sorted(set(entry["dtypes"]))),
                    entry["calls"],
                    "" if seconds is None else seconds * 1000,
                    entry["why"],
                )
            )
        return sorted(rows, key=lambda row: (-(row[5] or 0), -row[4]))

    def summary(self):
        """Return the lines below the table."""
        calls = sum(kernel["calls"] for kernel in self["kernels"])
        moves = ", ".join(f"{name} {n}" for name, n in self["moves"].items() if n) or "none"
        rest = max(len(self.rows()) - ROWS, 0)
        lines = [f"{rest} more operators: .rows(), .html(file), .json(file)"] * bool(rest)
        return "\n".join(
            [
                *lines,
                f"{calls} calls of kernels in mode {self['choice']}, {self['share']:.1%} of the computing ones on "
                f"MindSpore's primitives; copies and casts: {moves}",
            ]
        )

    def _cells(self):
        return [[f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row] for row in self.rows()[:ROWS]]

    def __rich__(self):
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, caption=self.summary(), caption_justify="left")
        for head in HEADS:
            table.add_column(head, justify="right" if head in ("calls", "ms") else "left")
        for cells in self._cells():
            table.add_row(*cells)
        return table

    def text(self):
        """Return the table as plain text."""
        lines = [HEADS, *self._cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
        return "\n".join(
            ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
            + [self.summary()]
        )

    def __repr__(self):
        try:
            from rich.console import Console
        except ImportError:
            return self.text()
        if not _writes_lines():
            return self.text()
        out = io.StringIO()
        Console(file=out, width=160, force_jupyter=False).print(self)  # in a notebook it would display the table
        return out.getvalue().rstrip()

    def _repr_html_(self):
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for cells in self._cells()
        )
        head = "".join(f"<th>{name}</th>" for name in HEADS)
        return f"<table><tr>{head}</tr>{rows}</table><p>{html.escape(self.summary())}</p>"

    def html(self, path):
        """Write one HTML page that needs no network."""
        seconds = dict(self["times"])
        kernels = [kernel | {"seconds": seconds.pop(kernel["op"], 0)} for kernel in self["kernels"]]
        with open(path, "w", encoding="utf-8") as file:
            file.write(page.render("Kernels", kernels=self | {"kernels": kernels}))

    def json(self, path):
        """Write the whole report as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self, file, indent=1)


def write(report, path):
    """Write a report to a file, as HTML or JSON by its ending, or as a table to standard error for "-".

    %p in the path is replaced by the process id.
    """
    if path == "-":
        print(report, file=sys.stderr)
    else:
        path = path.replace("%p", str(os.getpid()))
        (report.html if path.endswith(".html") else report.json)(path)


def as_asked(runtime):
    """Set up what the environment variables request.

    MINDTORCH_REPORT names a file to write at the end of the process; MINDTORCH_TIMES adds the times of operators.
    """
    if os.environ.get("MINDTORCH_TIMES", "0") != "0":
        runtime.time_operators()
    if path := os.environ.get("MINDTORCH_REPORT"):
        atexit.register(lambda: write(Report(runtime.report()), path))
