"""Arguments and results of collectives: reductions, options and works."""

import enum
import os
import threading
from datetime import timedelta

from torch.futures import Future, _wait

from .constants import _duration, _Timeout

_HOME = "torch._C._distributed_c10d"


class RedOpType(enum.IntEnum):
    """The kinds of reduction."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self):
        return f"RedOpType.{self.name}"

    def __eq__(self, other):  # in PyTorch, ReduceOp == RedOpType may hold while the reverse never does
        return type(other) is not ReduceOp and int.__eq__(self, other)

    def __ne__(self, other):
        return type(other) is ReduceOp or int.__ne__(self, other)

    __hash__ = int.__hash__


class _ReduceOpMeta(type):
    def __instancecheck__(cls, x):
        return isinstance(x, RedOpType) or type.__instancecheck__(cls, x)


class ReduceOp(metaclass=_ReduceOpMeta):
    """A reduction. Functions also accept ``ReduceOp.SUM`` and the other members."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM
    __members__ = RedOpType.__members__

    def __init__(self, op, factor=None):
        self.op, self._factor = RedOpType(getattr(op, "op", op)), factor

    def __eq__(self, other):
        return self.op == getattr(other, "op", other)

    def __hash__(self):
        return hash(self.op)

    def __repr__(self):
        return f"<torch.distributed.distributed_c10d.ReduceOp {self.op}>"

    def __reduce__(self):
        return ReduceOp, (self.op, self._factor)


def reduction(op):
    """Return the RedOpType of a reduction argument; raise TypeError for any other argument."""
    if type(op) is ReduceOp or type(op) is RedOpType and op is not RedOpType.PREMUL_SUM:  # PREMUL_SUM needs a factor
        return RedOpType(getattr(op, "op", op))
    raise TypeError(f"(): incompatible function arguments: op is a torch.distributed.ReduceOp, not {op!r}")


class DebugLevel(enum.IntEnum):
    """The debug levels of TORCH_DISTRIBUTED_DEBUG."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class BuiltinCommHookType(enum.IntEnum):
    """The built-in communication hooks of DistributedDataParallel."""

    ALLREDUCE = 1
    FP16_COMPRESS = 2


_level = None


def get_debug_level():
    """Return the debug level, from TORCH_DISTRIBUTED_DEBUG or set_debug_level."""
    if _level is None:
        set_debug_level_from_env()
    return _level


def set_debug_level(level):
    """Set the debug level."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env():
    """Set the debug level from TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper() or "OFF"
    if name not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[name])


class _Options:
    """Attributes with defaults, which the constructor can override by name."""

    _defaults: dict = {}
    timeout = _Timeout()

    def __init__(self, **values):
        for name, value in {"timeout": timedelta(milliseconds=-1), "asyncOp": True, **self._defaults, **values}.items():
            setattr(self, name, value)


def _options(name, **defaults):
    return type(
        name,
        (_Options,),
        {
            "_defaults": defaults,
            "__module__": _HOME,
            "__doc__": f"Options of a collective: {', '.join(defaults) or 'timeout'}.",
        },
    )


AllreduceOptions = _options("AllreduceOptions", reduceOp=ReduceOp.SUM)
AllreduceCoalescedOptions = _options("AllreduceCoalescedOptions", reduceOp=ReduceOp.SUM)
AllToAllOptions = _options("AllToAllOptions")
AllgatherOptions = _options("AllgatherOptions")
BarrierOptions = _options("BarrierOptions", device_ids=(), device=None)
BroadcastOptions = _options("BroadcastOptions", rootRank=0, rootTensor=0)
GatherOptions = _options("GatherOptions", rootRank=0)
ReduceOptions = _options("ReduceOptions", reduceOp=ReduceOp.SUM, rootRank=0, rootTensor=0)
ReduceScatterOptions = _options("ReduceScatterOptions", reduceOp=ReduceOp.SUM)
ScatterOptions = _options("ScatterOptions", rootRank=0)


class Work:
    """A collective that is in flight or completed; programs may subclass it."""

    def __init__(self):
        self._event, self._error, self._result, self._source = threading.Event(), None, [], -1
        self._future, self._lock = None, threading.Lock()

    def _finish(self, result=None, error=None):
        """Mark the collective as completed. Must be called only once."""
        with self._lock:
            self._error = error
            self._result = [] if result is None else result
            self._event.set()
            future = self._future
        if future is not None:
            self._resolve(future)

    def _resolve(self, future):
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(self._result)

    def is_completed(self):
        """Whether the collective is completed, with or without an error."""
        return self._event.is_set()

    def is_success(self):
        """Whether the collective is completed without an error."""
        return self._event.is_set() and self._error is None

    def exception(self):
        """Return the error, or None."""
        return self._error

    def wait(self, timeout=timedelta(0)):
        """Wait until the collective is completed, and raise its error if it failed."""
        seconds = _duration(timeout, "wait").total_seconds()
        if not _wait(self._event, seconds if seconds > 0 else None):
            raise RuntimeError("Operation timed out!")
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self):
        """Wait for the collective; there are no device streams to synchronize with."""
        self.wait()

    def block_current_stream(self):
        """Wait for the collective, because the CPU has no stream that could be blocked."""
        self.wait()

    def result(self):
        """Return the tensors that the collective filled."""
        return self._result

    def source_rank(self):
        """Return the rank that sent the received message."""
        if self._source < 0:
            raise RuntimeError(
                "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
            )
        return self._source

    _source_rank = source_rank

    def get_future(self):
        """Return a Future of the tensors that the collective fills."""
        with self._lock:
            if self._future is not None:
                return self._future
            future = self._future = Future()
            done = self._event.is_set()
        if done:
            self._resolve(future)
        return future

    def get_future_result(self):
        """Return a Future of whether the collective succeeded."""
        return self.get_future().then(lambda f: f.value() is not None)


for _cls in (ReduceOp, RedOpType, Work):
    _cls.__module__ = "torch.distributed.distributed_c10d"
for _cls in (DebugLevel, BuiltinCommHookType):
    _cls.__module__ = _HOME
