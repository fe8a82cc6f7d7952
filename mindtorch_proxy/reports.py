"""What `mindtorch_proxy.report()` returns: a table to look at, and the same as HTML or JSON.

Standard library; rich where it is installed.
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


class Report(dict):
    """The kernels of this process: {"device", "kernels", "moves", "share", "times"}.

    Prints as a table, the most expensive operators first.
    """

    def rows(self):
        """[(operator, kind, primitive, dtypes, calls, milliseconds or "", why)], operators' dtypes together."""
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
            seconds = times.pop(op, None)  # an operator's time stands at its first kind
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
        """What the table ends with."""
        calls = sum(kernel["calls"] for kernel in self["kernels"])
        moves = ", ".join(f"{name} {n}" for name, n in self["moves"].items() if n) or "none"
        rest = max(len(self.rows()) - ROWS, 0)
        lines = [f"{rest} more operators: .rows(), .html(file), .json(file)"] * bool(rest)
        return "\n".join(
            [
                *lines,
                f"{calls} calls of kernels, {self['share']:.1%} of the computing ones on MindSpore's primitives; "
                f"copies and casts: {moves}",
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
        """The table as plain lines."""
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
        out = io.StringIO()
        Console(file=out, width=160).print(self)
        return out.getvalue().rstrip()

    def _repr_html_(self):
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for cells in self._cells()
        )
        head = "".join(f"<th>{name}</th>" for name in HEADS)
        return f"<table><tr>{head}</tr>{rows}</table><p>{html.escape(self.summary())}</p>"

    def html(self, path):
        """Write one page without the network."""
        seconds = dict(self["times"])
        kernels = [kernel | {"seconds": seconds.pop(kernel["op"], 0)} for kernel in self["kernels"]]
        with open(path, "w", encoding="utf-8") as file:
            file.write(page.render("Kernels", kernels=self | {"kernels": kernels}))

    def json(self, path):
        """Write everything."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self, file, indent=1)


def write(report, path):
    """To a file by its ending, or as a table to the standard error for "-"; %p is the process."""
    if path == "-":
        print(report, file=sys.stderr)
    else:
        path = path.replace("%p", str(os.getpid()))
        (report.html if path.endswith(".html") else report.json)(path)


def as_asked(runtime):
    """What the variables ask for.

    MINDTORCH_REPORT a file at the process's end, MINDTORCH_TIMES the operators' times in it.
    """
    if os.environ.get("MINDTORCH_TIMES", "0") != "0":
        runtime.time_operators()
    if path := os.environ.get("MINDTORCH_REPORT"):
        atexit.register(lambda: write(Report(runtime.report()), path))
