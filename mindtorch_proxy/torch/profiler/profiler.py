"""The profiler, its schedule and its files.

Operators are recorded below autograd, also in the backward, under PyTorch's names. Times are those of the calls on the
CPU, which include MindSpore's CPU kernels. On a device that computes asynchronously, the time of a call is that of its
launch.
"""

import contextlib
import enum
import functools
import gzip
import json
import os
import socket
import sys
import threading
import time
import warnings
from collections import defaultdict

import torch
from torch.autograd.profiler import _recording, _watch, kineto_available, record_function, recorders  # noqa: F401
from torch.autograd.profiler_util import EventList, FunctionEvent
from torch.utils._python_dispatch import TorchDispatchMode


class ProfilerActivity(enum.Enum):
    """The kinds of activities; only those of the CPU are recorded here."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What the profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities():
    """Return the kinds of activities that this profiler records."""
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Return a function from the step to the action.

    After ``skip_first`` steps, it cycles through waiting, warming up and recording.
    """
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


def _default_schedule_fn(_):
    """Record every step; the default schedule."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """Return a handler that writes each trace to a file in a folder."""

    def handler(prof):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}"))

    return handler


def _tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


@functools.cache
def _own_folders():
    """Return the folders of this package, whose frames are left out of the stacks of a program."""
    package = os.path.dirname(torch.__file__)
    root = os.path.dirname(
        os.path.dirname(package)
    )  # the folder of the package mindtorch_proxy, and in a checkout also of the others below
    return tuple(os.path.join(root, name) + os.sep for name in ("mindtorch_proxy", "runtime", "backends", "stubs"))


class _Recorder(TorchDispatchMode):
    """Records each operator and range with its start and its end."""

    def __init__(self, record_shapes, profile_memory, with_stack):
        super().__init__()
        self.events, self.stacks = [], defaultdict(list)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack

    def begin(self, name, args=(), is_user_annotation=True):
        thread = threading.get_ident()
        open_events = self.stacks[thread]
        event = FunctionEvent(
            len(self.events), name, thread, 0.0, 0.0, fwd_thread=0, is_user_annotation=is_user_annotation
        )
        event.cpu_parent = open_events[-1] if open_events else None
        if self.record_shapes:
            event.input_shapes = [list(a.shape) if isinstance(a, torch.Tensor) else [] for a in args]
        if self.with_stack:
            event.stack = self.stack()
        open_events.append(event)
        self.events.append(event)
        event.time_range.start = time.perf_counter_ns() / 1000
        return event

    @contextlib.contextmanager
    def around(self, node):
        """Record the events of a backward node, with the sequence number of the operator that created it."""
        name, number = node.name(), node._sequence_nr()
        for event in (
            self.begin("autograd::engine::evaluate_function: " + name, (), False),
            self.begin(name, (), False),
        ):
            if name != "torch::autograd::AccumulateGrad":
                event.sequence_nr, event.fwd_thread = number, event.thread
        try:
            yield
        finally:
            self.finish()
            self.finish()

    @contextlib.contextmanager
    def within(self, name, args):
        """Record the event of a composite operator, unless it is directly within an event with the same name."""
        open_events = self.stacks[threading.get_ident()]
        if open_events and open_events[-1].name == name:
            yield
            return
        self.begin(name, args, is_user_annotation=False)
        try:
            yield
        finally:
            self.finish()

    def __enter__(self):
        _watch(self.around, self.within)
        return super().__enter__()

    def __exit__(self, *error):
        _watch(None, None)
        return super().__exit__(*error)

    def finish(self):
        end = time.perf_counter_ns() / 1000
        event = self.stacks[threading.get_ident()].pop()
        event.time_range.end = end
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_children.append(event)
            event.cpu_parent.cpu_memory_usage += event.cpu_memory_usage
        return event

    def begin_async(self, name, tensors):
        """Start an asynchronous event; the caller ends it later with ``end_now``."""
        event = FunctionEvent(
            len(self.events), name, threading.get_ident(), time.perf_counter_ns() / 1000, 0.0, is_async=True
        )
        if self.record_shapes:
            event.input_shapes = [list(t.shape) for t in tensors]
        self.events.append(event)
        return event

    def stack(self):
        """Return "file(line): function" for each frame of the program, the innermost first."""
        frame, lines, own = sys._getframe(2), [], _own_folders()
        while frame is not None:
            code = frame.f_code
            if code.co_filename[:1] != "<" and not code.co_filename.startswith(own):
                lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
            frame = frame.f_back
        return lines

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        event = self.begin("aten::" + str(func).removeprefix("aten.").partition(".")[0], args, is_user_annotation=False)
        if _recording() and any(t.requires_grad for t in _tensors(args)):
            event.sequence_nr = torch.autograd._get_sequence_nr()
        try:
            result = func(*args, **(kwargs or {}))
            if self.profile_memory:  # the allocated memory: that of results which share none with an argument
                given = {t.untyped_storage().data_ptr() for t in _tensors((*args, *(kwargs or {}).values()))}
                fresh = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in _tensors((result,))}
                event.cpu_memory_usage += sum(n for pointer, n in fresh.items() if pointer not in given)
            return result
        finally:
            self.finish()


def write_trace(path, events, wanted, metadata=()):
    """Write events to a trace for Perfetto or chrome://tracing.

    `wanted` is the profile, whose options select the fields. A file whose name ends with .gz is compressed.
    """
    process = os.getpid()
    lines = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": process,
            "tid": 0,
            "ts": 0,
            "args": {"name": os.path.basename(sys.executable)},
        }
    ]
    for e in events:
        args = {"Input Dims": e.input_shapes} if wanted.record_shapes else {}
        args |= {"Call stack": ";".join(e.stack)} if wanted.with_stack else {}
        args |= {"Bytes": e.cpu_memory_usage} if wanted.profile_memory else {}
        category = "user_annotation" if e.is_user_annotation else "cpu_op"
        lines.append(
            {
                "ph": "X",
                "cat": category,
                "name": e.name,
                "pid": process,
                "tid": e.thread,
                "ts": e.time_range.start,
                "dur": e.cpu_time_total,
                "args": args,
            }
        )
    with (gzip.open if str(path).endswith(".gz") else open)(path, "wt") as f:
        json.dump(
            {
                "schemaVersion": 1,
                "deviceProperties": [],
                **dict(metadata),
                "displayTimeUnit": "ms",
                "traceEvents": lines,
            },
            f,
        )


class profile:
    """Records the operators that a block calls.

    With a ``schedule``, the program calls ``step()`` after each step, and ``on_trace_ready`` gets each recording.
    """

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
        wanted = {"with_flops": with_flops, "with_modules": with_modules, "experimental_config": experimental_config}
        for name, value in (
            wanted
            | {
                "execution_trace_observer": execution_trace_observer,
                "custom_trace_id_callback": custom_trace_id_callback,
            }
        ).items():
            if value:
                raise NotImplementedError(f"torch.profiler.profile: {name}")
        self.activities = set(activities) if activities else supported_activities()
        if use_cuda or self.activities - supported_activities():
            names = sorted(a.name for a in self.activities - supported_activities()) or ["CUDA"]
            warnings.warn(f"{', '.join(names)} is not recorded: the times of the calls on the CPU are")
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.step_num, self.current_action = 0, ProfilerAction.NONE
        self._recorder, self._step, self._kept, self._metadata = None, None, [], {}

    def _switch(self, action):
        """Switch from the current action to the next one."""
        before, self.current_action = self.current_action, action
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None
        if before in RECORDING and (before is ProfilerAction.RECORD_AND_SAVE or action not in RECORDING):
            self._recorder.__exit__(None, None, None)
            recorders.remove(self._recorder)
            self._kept += self._recorder.events if self.acc_events else []
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
            before = ProfilerAction.NONE
        if action in RECORDING:
            if before not in RECORDING:
                self._recorder = _Recorder(self.record_shapes, self.profile_memory, self.with_stack)
                self._recorder.__enter__()
                recorders.append(self._recorder)
            if self.record_steps:
                self._step = record_function(f"ProfilerStep#{self.step_num}")
                self._step.__enter__()

    def start(self):
        """Start with the first step of the schedule."""
        self._switch(self.schedule(self.step_num))

    def stop(self):
        """Stop, and pass what was recorded to ``on_trace_ready``."""
        self._switch(ProfilerAction.NONE)

    def step(self):
        """Start the next step."""
        self.step_num += 1
        self._switch(self.schedule(self.step_num))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def events(self):
        """Return the calls of the last recording (with ``acc_events``, of all), in the order of their starts."""
        if self._recorder is None:
            raise AssertionError("Profiler didn't finish running")
        events = self._kept if self.acc_events and self.current_action not in RECORDING else self._recorder.events
        return EventList(
            (e for e in events if e.time_range.end),
            profile_memory=self.profile_memory,
            with_shapes=self.record_shapes,
            with_stack=self.with_stack,
        )

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Return the calls grouped by name."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def add_metadata(self, key, value):
        """Add a text to the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key, value):
        """Add a JSON value to the trace."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def export_chrome_trace(self, path):
        """Write a trace for Perfetto or chrome://tracing; a file whose name ends with .gz is compressed."""
        write_trace(path, self.events(), self, self._metadata)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write the stacks with their times, in the format for flame graphs."""
        if not self.with_stack:
            raise ValueError("export_stacks() needs profile(with_stack=True)")
        if metric != "self_cpu_time_total":
            raise ValueError(f"metric should be self_cpu_time_total, got {metric}: no device's own times are recorded")
        with open(path, "w", encoding="utf-8") as f:
            for e in self.events():
                if e.stack and (time_us := int(e.self_cpu_time_total)) > 0:
                    f.write(
                        ";".join([*(line.replace(" ", "_") for line in reversed(e.stack)), e.name]) + f" {time_us}\n"
                    )

    def toggle_collection_dynamic(self, enable, activities):
        """Switch recording on or off; raises NotImplementedError, since only steps can do this."""
        raise NotImplementedError("torch.profiler.profile.toggle_collection_dynamic")

    def export_memory_timeline(self, path, device=None):
        """Write a memory timeline; raises NotImplementedError, since the times of freeing memory are not recorded."""
        raise NotImplementedError("torch.profiler.profile.export_memory_timeline")
