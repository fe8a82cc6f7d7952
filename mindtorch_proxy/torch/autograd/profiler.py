"""torch.autograd.profiler: named ranges for the active profile, and a profiler without a schedule."""

import contextlib

import torch
from mindtorch_proxy.runtime.context import CONTEXT as _CONTEXT

from .profiler_util import EventList, FunctionEvent, MemRecordsAcc

recorders: list = []  # recorders of the active profiles, innermost last


def _watch(nodes, composites):
    """Enter nodes(node) around each backward node of this thread, composites(name, args) around composite operators.

    None for both ends it.
    """
    _CONTEXT.watch, _CONTEXT.composites = nodes, composites


def _recording():
    """Whether gradients are recorded above the operator that a mode is handling."""
    return _CONTEXT.recording


class record_function(contextlib.ContextDecorator):
    """A named range in a profile."""

    def __init__(self, name, args=None):
        self.name, self.args, self._recorder = name, args, None

    def _recreate_cm(self):  # a decorated function gets a new range for each call
        return type(self)(self.name, self.args)

    def __enter__(self):
        self._recorder = recorders[-1] if recorders else None
        if self._recorder is not None:
            self._recorder.begin(self.name)
        return self

    def __exit__(self, *exc):
        if self._recorder is not None:
            self._recorder.finish()


def _record_function_enter(name, args=None):
    """torch.ops.profiler._record_function_enter: begin a named range and return its handle."""
    return record_function(name, args).__enter__()


def _record_function_exit(handle):
    """torch.ops.profiler._record_function_exit: end a named range."""
    handle.__exit__(None, None, None)


for _name, _function in (
    ("enter", _record_function_enter),
    ("enter_new", _record_function_enter),
    ("exit", _record_function_exit),
):
    setattr(torch.ops.profiler, "_record_function_" + _name, _function)


class profile:
    """Records the operators and named ranges of a block on the CPU, with their times."""

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        activity_filters=None,
    ):
        self.enabled, self.entered, self.function_events = enabled, False, None
        if not enabled:
            return
        unknown = {
            "with_flops": with_flops,
            "with_modules": with_modules,
            "use_device": use_device or use_cuda,
            "use_cpu=False": not use_cpu,
        }
        for name, value in (
            unknown | {"experimental_config": experimental_config, "activity_filters": activity_filters}
        ).items():
            if value:
                raise NotImplementedError(f"torch.autograd.profiler.profile: {name}")
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.acc_events, self._kept, self._recorder = acc_events, [], None

    def __enter__(self):
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            if recorders:
                raise RuntimeError("Profiler is already enabled on this thread.")
            self.entered = True
            self._recorder = torch.profiler.profiler._Recorder(self.record_shapes, self.profile_memory, self.with_stack)
            self._recorder.__enter__()
            recorders.append(self._recorder)
            return self
        return None

    def __exit__(self, *exc):
        if not self.enabled:
            return False
        if self._recorder in recorders:  # unless it has already been ended elsewhere
            self._recorder.__exit__(None, None, None)
            recorders.remove(self._recorder)
        self._kept = [*self._kept, *self._recorder.events] if self.acc_events else self._recorder.events
        self.function_events = EventList(
            (e for e in self._kept if e.time_range.end),
            profile_memory=self.profile_memory,
            with_shapes=self.record_shapes,
            with_stack=self.with_stack,
        )
        return False

    def _events(self):
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def __repr__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self):
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    def table(self, *args, **kwargs):
        """Return the events as a text table; see EventList.table."""
        return self._events().table(*args, **kwargs)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Return the events averaged by name."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        """Return the total of all events."""
        return self._events().total_average()

    def export_chrome_trace(self, path):
        """Write the events to a file for Perfetto or chrome://tracing."""
        self._events()
        return torch.profiler.profiler.write_trace(path, self.function_events, self)

    @property
    def self_cpu_time_total(self):
        """The time of all events without that of nested events, in microseconds."""
        return self._events().self_cpu_time_total


class _Emit:
    """Base class of context managers that mark operators for an external profiler."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(
                f"{type(self).__name__.partition('_')[2].upper()} annotation context manager is not reentrant"
            )
        self._open()
        self.entered = True
        return self

    def __exit__(self, *exc):
        return False


class emit_nvtx(_Emit):
    """Marks each operator with an NVTX range. Needs CUDA, so it is not supported."""

    def _open(self):
        torch.cuda.synchronize()  # raises
        raise NotImplementedError("torch.autograd.profiler.emit_nvtx: operators are not marked for NVTX")


class emit_itt(_Emit):
    """Marks each operator with an ITT range. Not supported."""

    def _open(self):
        raise NotImplementedError("torch.autograd.profiler.emit_itt: operators are not marked for ITT")


def kineto_available():
    """Whether Kineto is available, which is always False."""
    return False


def load_nvprof(path):
    """Raise NotImplementedError: nvprof databases contain CUDA events and cannot be read."""
    raise NotImplementedError("torch.autograd.profiler.load_nvprof: files of nvprof are not read")


__all__ = [
    "profile",
    "record_function",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "EventList",
    "FunctionEvent",
    "MemRecordsAcc",
]
