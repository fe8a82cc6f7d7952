"""The events of a profile, their averages, and the table of them."""

import bisect
import time
from dataclasses import dataclass, field

__all__ = ["EventList", "FormattedTimesMixin", "Interval", "FunctionEvent", "FunctionEventAvg", "MemRecordsAcc"]

UNITS = ((1e6, "s"), (1e3, "ms"), (1, "us"))
DEVICE_NAMES = ("cuda", "xpu", "privateuse1")


def _format_time(us):
    """Format a time in microseconds with a suitable unit."""
    size, unit = next(((size, unit) for size, unit in UNITS if abs(us) >= size), UNITS[-1])
    return f"{us / size:.3f}{unit}"


def _format_memory(n):
    """Format a number of bytes with a suitable unit."""
    size, unit = next(
        ((size, unit) for size, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")) if abs(n) >= size), (1, "B")
    )
    return f"{n / size:.2f} {unit}" if size > 1 else f"{n} B"


class FormattedTimesMixin:
    """PyTorch's attributes derived from times. Times of accelerators are not recorded."""

    cpu_time_str = property(lambda self: _format_time(self.cpu_time), doc="The mean time of a call, with its unit.")
    cpu_time_total_str = property(
        lambda self: _format_time(self.cpu_time_total), doc="The time of all calls, with its unit."
    )
    self_cpu_time_total_str = property(
        lambda self: _format_time(self.self_cpu_time_total), doc="The same without what they called."
    )
    device_time = device_time_total = self_device_time_total = device_memory_usage = self_device_memory_usage = (
        property(lambda self: 0, doc="0: an accelerator's own times and memory are not recorded.")
    )


class Interval:
    """A time interval in microseconds."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """Return the length of the interval."""
        return self.end - self.start


class MemRecordsAcc:
    """Memory records [(record, whether it was claimed)], searchable by record.start_ns()."""

    def __init__(self, mem_records):
        self._mem_records = mem_records
        order = sorted((r[0].start_ns(), i) for i, r in enumerate(mem_records))
        self._start_nses, self._indices = [t for t, _ in order], [i for _, i in order]

    def in_interval(self, start_us, end_us):
        """Yield the records between two times."""
        first = bisect.bisect_left(self._start_nses, start_us * 1000)
        for i in self._indices[first : bisect.bisect_right(self._start_nses, end_us * 1000)]:
            yield self._mem_records[i]


class FunctionEvent(FormattedTimesMixin):
    """A call of an operator or a named range, with times in microseconds and memory in bytes."""

    count = 1

    def __init__(
        self,
        id,
        name,
        thread,
        start_us,
        end_us,
        overload_name=None,
        fwd_thread=None,
        input_shapes=None,
        stack=None,
        scope=0,
        use_device=None,
        cpu_memory_usage=0,
        device_memory_usage=0,
        is_async=False,
        is_remote=False,
        sequence_nr=-1,
        node_id=-1,
        *,
        is_user_annotation=False,
    ):
        self.id, self.name, self.thread, self.overload_name, self.node_id = id, name, thread, overload_name, node_id
        self.time_range = Interval(start_us, end_us)
        self.fwd_thread, self.sequence_nr = (
            fwd_thread,
            sequence_nr,
        )  # for a backward node, those of the operator that created it
        self.input_shapes, self.stack, self.scope = input_shapes or [], stack or [], scope
        self.use_device, self.cpu_memory_usage = use_device, cpu_memory_usage
        self.is_async, self.is_remote = (is_async, is_remote)  # runs on another thread or process, such as a collective
        self.is_user_annotation = is_user_annotation
        self.cpu_parent, self.cpu_children = None, []

    def end_now(self):
        """Set the end of the event to now."""
        self.time_range.end = time.perf_counter_ns() / 1000

    def append_cpu_child(self, child):
        """Add a CPU event that this one has called."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent):
        """Set the CPU event that has called this one."""
        self.cpu_parent = parent

    key = property(lambda self: self.name, doc="The name under which events are averaged.")
    cpu_time_total = property(
        lambda self: self.time_range.elapsed_us(), doc="The microseconds from the event's beginning to its end."
    )
    cpu_time = cpu_time_total
    self_cpu_time_total = property(
        lambda self: self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children),
        doc="The microseconds of the event, without those of events inside it.",
    )
    self_cpu_memory_usage = property(
        lambda self: self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children),
        doc="The bytes that the event has allocated, without those of events inside it.",
    )

    def __repr__(self):
        return (
            f"<FunctionEvent id={self.id} name={self.name} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"cpu_start={self.time_range.start} cpu_end={self.time_range.end} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr}>"
        )


@dataclass(eq=False)
class FunctionEventAvg(FormattedTimesMixin):
    """The sum of the events of one name."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    input_shapes: list = field(default_factory=list)
    stack: list = field(default_factory=list)
    is_user_annotation: bool = False
    cpu_time = property(
        lambda self: self.cpu_time_total / self.count if self.count else 0.0, doc="The mean microseconds of a call."
    )

    def add(self, other):
        """Add another event or average."""
        self.count += other.count
        for name in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


class EventList(list):
    """A list of events or averages, which can be printed as a table."""

    def __init__(self, *args, profile_memory=False, with_shapes=False, with_stack=False):
        super().__init__(*args)
        self.profile_memory, self.with_shapes, self.with_stack = profile_memory, with_shapes, with_stack

    def _populate_cpu_children(self):
        """Determine parents and children from the times of the events of each thread."""
        within: dict = {}
        for event in sorted((e for e in self if not e.is_async), key=lambda e: (e.time_range.start, -e.time_range.end)):
            open_events = within.setdefault((event.thread, event.node_id), [])
            while open_events and (
                event.time_range.start >= open_events[-1].time_range.end
                or event.time_range.end > open_events[-1].time_range.end
            ):
                open_events.pop()
            if open_events:
                open_events[-1].append_cpu_child(event)
                event.set_cpu_parent(open_events[-1])
            open_events.append(event)

    @property
    def self_cpu_time_total(self):
        """The time of all CPU events without that of nested events, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """Return the events summed by name, and optionally by input shapes and innermost stack frames."""
        groups: dict = {}
        for event in self:
            shapes, stack = event.input_shapes if group_by_input_shapes else [], event.stack[:group_by_stack_n]
            key = event.name, str(shapes), tuple(stack)
            if key not in groups:
                groups[key] = FunctionEventAvg(
                    event.name, input_shapes=shapes, stack=stack, is_user_annotation=event.is_user_annotation
                )
            groups[key].add(event)
        return EventList(
            groups.values(),
            profile_memory=self.profile_memory,
            with_shapes=group_by_input_shapes,
            with_stack=group_by_stack_n > 0,
        )

    def total_average(self):
        """Return the total of all events."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def columns(self, total):
        """Return [(title, width, function that formats an event)]."""
        part = lambda n: f"{100 * n / total if total else 0:.2f}%"
        columns = [
            ("Self CPU %", 12, lambda e: part(e.self_cpu_time_total)),
            ("Self CPU", 12, lambda e: e.self_cpu_time_total_str),
            ("CPU total %", 12, lambda e: part(e.cpu_time_total)),
            ("CPU total", 12, lambda e: e.cpu_time_total_str),
            ("CPU time avg", 12, lambda e: e.cpu_time_str),
        ]
        if self.profile_memory:
            columns += [
                ("CPU Mem", 12, lambda e: _format_memory(e.cpu_memory_usage)),
                ("Self CPU Mem", 12, lambda e: _format_memory(e.self_cpu_memory_usage)),
            ]
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
        """Return the rows as text, sorted in descending order by the attribute ``sort_by``."""
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
        return "\n".join([*lines, rule, f"Self CPU time total: {_format_time(total)}", ""])

    def __str__(self):
        return self.table()
