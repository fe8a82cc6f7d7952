"""What a profile records, and its averages as a table."""

import bisect
import time
from dataclasses import dataclass, field

__all__ = ["EventList", "FormattedTimesMixin", "Interval", "FunctionEvent", "FunctionEventAvg", "MemRecordsAcc"]

UNITS = ((1e6, "s"), (1e3, "ms"), (1, "us"))
DEVICE_NAMES = ("cuda", "xpu", "privateuse1")


def spoken_time(us):
    """Microseconds with the unit that fits."""
    size, unit = next(((size, unit) for size, unit in UNITS if abs(us) >= size), UNITS[-1])
    return f"{us / size:.3f}{unit}"


def spoken_memory(n):
    """Bytes with the unit that fits."""
    size, unit = next(((size, unit) for size, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")) if abs(n) >= size), (1, "B"))
    return f"{n / size:.2f} {unit}" if size > 1 else f"{n} B"


class FormattedTimesMixin:
    """Names that PyTorch derives from the times; no device's own are recorded."""

    cpu_time_str = property(lambda self: spoken_time(self.cpu_time), doc="The mean time of a call, with its unit.")
    cpu_time_total_str = property(lambda self: spoken_time(self.cpu_time_total), doc="The time of all calls, with its unit.")
    self_cpu_time_total_str = property(lambda self: spoken_time(self.self_cpu_time_total), doc="The time of all calls without what they called, with its unit.")
    device_time = device_time_total = self_device_time_total = device_memory_usage = self_device_memory_usage = property(
        lambda self: 0, doc="0: an accelerator's own times and memory are not recorded."
    )


class Interval:
    """From one time to another, in microseconds."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """How long it is."""
        return self.end - self.start


class MemRecordsAcc:
    """Records of memory, [(record, whether it has been claimed)], found by time: record.start_ns()."""

    def __init__(self, mem_records):
        self._mem_records = mem_records
        order = sorted((r[0].start_ns(), i) for i, r in enumerate(mem_records))
        self._start_nses, self._indices = [t for t, _ in order], [i for _, i in order]

    def in_interval(self, start_us, end_us):
        """The records between two times."""
        first = bisect.bisect_left(self._start_nses, start_us * 1000)
        for i in self._indices[first : bisect.bisect_right(self._start_nses, end_us * 1000)]:
            yield self._mem_records[i]


@dataclass(eq=False)
class FunctionEvent(FormattedTimesMixin):
    """One call of an operator, or a named range: times in microseconds, memory in bytes."""

    name: str
    start: float
    thread: int
    is_user_annotation: bool = False
    input_shapes: list = field(default_factory=list)
    stack: list = field(default_factory=list)
    end: float = 0.0
    cpu_memory_usage: int = 0
    cpu_parent: "FunctionEvent | None" = None
    cpu_children: list = field(default_factory=list, repr=False)
    is_async: bool = False  # what other threads or processes do meanwhile, as a collective
    count = 1

    def end_now(self):
        """The event ends."""
        self.end = time.perf_counter_ns() / 1000

    key = property(lambda self: self.name, doc="The name under which events are averaged.")
    time_range = property(lambda self: Interval(self.start, self.end), doc="From the event's beginning to its end.")
    cpu_time_total = property(lambda self: self.end - self.start, doc="The microseconds from the event's beginning to its end.")
    cpu_time = cpu_time_total
    self_cpu_time_total = property(
        lambda self: self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children),
        doc="The microseconds of the event, without those of events inside it.",
    )
    self_cpu_memory_usage = property(
        lambda self: self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children),
        doc="The bytes that the event has allocated, without those of events inside it.",
    )


@dataclass(eq=False)
class FunctionEventAvg(FormattedTimesMixin):
    """The calls of one name together."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    input_shapes: list = field(default_factory=list)
    stack: list = field(default_factory=list)
    is_user_annotation: bool = False
    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0, doc="The mean microseconds of a call.")

    def add(self, other):
        """Take another event, or average, in."""
        self.count += other.count
        for name in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


class EventList(list):
    """Events or averages, to sort and to print."""

    def __init__(self, *args, profile_memory=False, with_shapes=False, with_stack=False):
        super().__init__(*args)
        self.profile_memory, self.with_shapes, self.with_stack = profile_memory, with_shapes, with_stack

    @property
    def self_cpu_time_total(self):
        """The microseconds of all events on the CPU, without those of events inside them."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """The calls of each name together; by shapes and innermost lines of the stack too, if so."""
        groups: dict = {}
        for event in self:
            shapes, stack = event.input_shapes if group_by_input_shapes else [], event.stack[:group_by_stack_n]
            key = event.name, str(shapes), tuple(stack)
            if key not in groups:
                groups[key] = FunctionEventAvg(event.name, input_shapes=shapes, stack=stack, is_user_annotation=event.is_user_annotation)
            groups[key].add(event)
        return EventList(groups.values(), profile_memory=self.profile_memory, with_shapes=group_by_input_shapes, with_stack=group_by_stack_n > 0)

    def total_average(self):
        """All of them as one."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def columns(self, total):
        """[(title, width, value of an event)]."""
        part = lambda n: f"{100 * n / total if total else 0:.2f}%"
        columns = [
            ("Self CPU %", 12, lambda e: part(e.self_cpu_time_total)),
            ("Self CPU", 12, lambda e: e.self_cpu_time_total_str),
            ("CPU total %", 12, lambda e: part(e.cpu_time_total)),
            ("CPU total", 12, lambda e: e.cpu_time_total_str),
            ("CPU time avg", 12, lambda e: e.cpu_time_str),
        ]
        if self.profile_memory:
            columns += [("CPU Mem", 12, lambda e: spoken_memory(e.cpu_memory_usage)), ("Self CPU Mem", 12, lambda e: spoken_memory(e.self_cpu_memory_usage))]
        columns.append(("# of Calls", 12, lambda e: str(e.count)))
        if self.with_shapes:
            columns.append(("Input Shapes", 40, lambda e: str(e.input_shapes)[:40]))
        return columns

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """The rows as text, the largest first by the attribute that sort_by names."""
        for name in DEVICE_NAMES if sort_by else ():
            sort_by = sort_by.replace(name, "device")
        rows = sorted(self, key=lambda e: getattr(e, sort_by), reverse=True) if sort_by else list(self)
        if top_level_events_only:
            rows = [e for e in rows if getattr(e, "cpu_parent", None) is None]
        rows = rows[: row_limit if row_limit >= 0 else None]
        total = self.self_cpu_time_total
        columns = self.columns(total)
        width = min(max([len(e.key) for e in rows] + [len("Name")]) + 4, max_name_column_width)
        rule = "  ".join("-" * w for w in (width, *(w for _, w, _ in columns))) + "  "
        lines = [header] * bool(header)
        lines += [rule, "  ".join([f"{'Name':>{width}}", *(f"{title:>{w}}" for title, w, _ in columns)]) + "  ", rule]
        for e in rows:
            name = e.key if len(e.key) <= width else e.key[: width - 3] + "..."
            lines.append("  ".join([f"{name:>{width}}", *(f"{value(e):>{w}}" for _, w, value in columns)]) + "  ")
            lines += [f"{'':>{width}}  {line[:max_src_column_width]}" for line in e.stack * self.with_stack]
        return "\n".join([*lines, rule, f"Self CPU time total: {spoken_time(total)}", ""])

    def __str__(self):
        return self.table()
