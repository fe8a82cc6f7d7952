"""torch.profiler: public functions of torch and named ranges with their times, as a table or a Chrome trace.

Times are those of the calls on the CPU; MindSpore's kernels run inside them and are not seen one by one.
"""

import contextlib
import enum
import json
import os
import socket
import threading
import time
from dataclasses import dataclass, field

import torch
from torch.overrides import TorchFunctionMode

__all__ = [
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "record_function",
]


class ProfilerActivity(enum.Enum):
    """What can be recorded: here the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What to do in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    return {ProfilerActivity.CPU}


def kineto_available():
    """Whether Kineto records the kernels: no."""
    return False


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the step to the action: after ``skip_first`` steps, cycles of waiting, warming up and recording."""
    if active <= 0:
        raise AssertionError("Invalid profiler schedule arguments: active must be positive")

    def action(step):
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        cycle, at = divmod(step, wait + warmup + active)
        if repeat > 0 and cycle >= repeat or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < wait + warmup + active - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """A handler that writes each trace as a file into a folder."""

    def handler(prof):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}"))

    return handler


@dataclass
class FunctionEvent:
    """One call."""

    name: str
    start: float
    depth: int
    thread: int
    input_shapes: list = field(default_factory=list)
    end: float = 0.0
    children_time: float = 0.0
    cpu_time_total = property(lambda self: self.end - self.start)
    self_cpu_time_total = property(lambda self: self.end - self.start - self.children_time)


@dataclass
class FunctionEventAvg:
    """The calls of one name: times in microseconds."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    input_shapes: tuple = ()
    cpu_time = property(lambda self: self.cpu_time_total / self.count)


class EventList(list):
    """Averages, to sort and to print."""

    def table(self, sort_by=None, row_limit=100, max_name_column_width=55, **kwargs):
        """The averages as text."""
        rows = sorted(self, key=lambda e: getattr(e, sort_by), reverse=True) if sort_by else self
        total = sum(e.self_cpu_time_total for e in self) or 1.0
        head = ("Self CPU", "CPU total", "CPU time avg")
        lines = [f"{'Name':<{max_name_column_width}}{'Self CPU %':>12}{''.join(f'{h:>14}' for h in head)}{'# of Calls':>12}"]
        for e in rows[: row_limit if row_limit >= 0 else None]:
            lines.append(
                f"{e.key[: max_name_column_width - 1]:<{max_name_column_width}}{100 * e.self_cpu_time_total / total:>11.2f}%"
                f"{e.self_cpu_time_total:>12.3f}us{e.cpu_time_total:>12.3f}us{e.cpu_time:>12.3f}us{e.count:>12}"
            )
        return "\n".join([*lines, f"Self CPU time total: {total:.3f}us"])

    __str__ = table


class _Recorder(TorchFunctionMode):
    def __init__(self, record_shapes):
        super().__init__()
        self.events, self.stack, self.record_shapes = [], [], record_shapes

    def begin(self, name, args=()):
        shapes = [list(a.shape) if isinstance(a, torch.Tensor) else [] for a in args] if self.record_shapes else []
        event = FunctionEvent(name, time.perf_counter_ns() / 1000, len(self.stack), threading.get_ident(), shapes)
        self.stack.append(event)

    def finish(self):
        event = self.stack.pop()
        event.end = time.perf_counter_ns() / 1000
        if self.stack:
            self.stack[-1].children_time += event.cpu_time_total
        self.events.append(event)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", str(func))
        if name == "__get__":
            return func(*args, **(kwargs or {}))
        self.begin(f"aten::{name}", args)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.finish()


_active = []


class record_function(contextlib.ContextDecorator):
    """A named range within a profile."""

    def __init__(self, name, args=None):
        self.name, self.recorder = name, None

    def __enter__(self):
        self.recorder = _active[-1] if _active else None
        if self.recorder is not None:
            self.recorder.begin(self.name)
        return self

    def __exit__(self, *exc):
        if self.recorder is not None:
            self.recorder.finish()


class profile:
    """Record what a block calls. With a ``schedule``, ``step()`` tells the steps apart and ``on_trace_ready`` gets each recording."""

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
    ):
        for name, wanted in (("profile_memory", profile_memory), ("with_stack", with_stack), ("with_flops", with_flops)):
            if wanted:
                raise NotImplementedError(f"torch.profiler.profile: {name}")
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready, self.record_shapes = on_trace_ready, record_shapes
        self.step_num, self.recorder, self.current_action = 0, None, ProfilerAction.NONE

    def _switch(self, action):
        """From the action of one step to that of the next."""
        before, self.current_action = self.current_action, action
        recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if before in recording and (before is ProfilerAction.RECORD_AND_SAVE or action not in recording):
            self.recorder.__exit__(None, None, None)
            _active.remove(self.recorder)
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
            before = ProfilerAction.NONE
        if action in recording and before not in recording:
            self.recorder = _Recorder(self.record_shapes)
            self.recorder.__enter__()
            _active.append(self.recorder)

    def start(self):
        self._switch(self.schedule(self.step_num))

    def stop(self):
        self._switch(ProfilerAction.NONE)

    def step(self):
        """The next step begins."""
        self.step_num += 1
        self._switch(self.schedule(self.step_num))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def events(self):
        """The calls, in the order of their ends."""
        if self.recorder is None:
            raise AssertionError("Profiler didn't finish running")
        return self.recorder.events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The calls of each name together."""
        groups = {}
        for e in self.events():
            shapes = tuple(map(tuple, e.input_shapes)) if group_by_input_shape else ()
            avg = groups.setdefault((e.name, shapes), FunctionEventAvg(e.name, input_shapes=shapes))
            avg.count += 1
            avg.cpu_time_total += e.cpu_time_total
            avg.self_cpu_time_total += e.self_cpu_time_total
        return EventList(groups.values())

    def export_chrome_trace(self, path):
        """Write the calls for chrome://tracing."""
        import gzip

        events = [
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": e.name,
                "pid": os.getpid(),
                "tid": e.thread,
                "ts": e.start,
                "dur": e.cpu_time_total,
                "args": {"Input Dims": e.input_shapes},
            }
            for e in self.events()
        ]
        with (gzip.open if str(path).endswith(".gz") else open)(path, "wt") as f:
            json.dump({"traceEvents": events}, f)
