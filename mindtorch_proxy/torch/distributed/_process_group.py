"""Process groups and the base class of backends.

``ProcessGroup`` passes a collective to the backend registered for the device of its tensors, through the operators
torch.ops.c10d, which _operators.py defines.
"""

import enum
from datetime import timedelta

import torch

from ._types import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from .constants import _duration, _Timeout, default_pg_timeout

# collective: the class of its options
COLLECTIVES = {
    "allreduce": AllreduceOptions,
    "allreduce_coalesced": AllreduceCoalescedOptions,
    "broadcast": BroadcastOptions,
    "reduce": ReduceOptions,
    "allgather": AllgatherOptions,
    "allgather_coalesced": AllgatherOptions,
    "allgather_into_tensor_coalesced": AllgatherOptions,
    "_allgather_base": AllgatherOptions,
    "gather": GatherOptions,
    "scatter": ScatterOptions,
    "reduce_scatter": ReduceScatterOptions,
    "reduce_scatter_tensor_coalesced": ReduceScatterOptions,
    "_reduce_scatter_base": ReduceScatterOptions,
    "alltoall": AllToAllOptions,
    "alltoall_base": AllToAllOptions,
    "barrier": BarrierOptions,
}
POINT_TO_POINT = ("send", "recv", "recv_anysource")


# collective: (the number of its list arguments for which a single tensor is accepted, the names of further arguments
# that set options)
_SHORT = {
    "allreduce": (1, ("reduceOp", "timeout")),
    "broadcast": (1, ("rootRank", "timeout")),
    "reduce": (1, ("rootRank", "reduceOp", "timeout")),
    "allgather": (2, ("timeout",)),
    "gather": (2, ("rootRank", "timeout")),
    "scatter": (2, ("rootRank", "timeout")),
    "reduce_scatter": (2, ("reduceOp", "timeout")),
    "alltoall": (2, ("timeout",)),
}
_SHORT_NAMES = {"root": "rootRank", "op": "reduceOp"}


def taking_short_forms(name, collective):
    """Wrap ``collective(self, *tensors, options)`` to also accept PyTorch's shorter overloads.

    The method may be called without options, with some option values as arguments, or with a tensor in place of a list
    of one tensor.
    """
    lists, short = _SHORT.get(name, (0, ()))
    options = COLLECTIVES[name]

    def method(self, *args, opts=None, **kwargs):
        args = list(args)
        if args and (args[-1] is None or isinstance(args[-1], options)):
            opts = args.pop()
        tensors, rest = (args[:lists], args[lists:]) if lists else (args, [])
        named = {_SHORT_NAMES.get(k, k): kwargs.pop(k) for k in list(kwargs) if _SHORT_NAMES.get(k, k) in short}
        tensors += kwargs.values()
        if lists and tensors:
            tensors = _as_lists(name, tensors)
        if opts is None:
            opts = options(**dict(zip(short, rest)), **named)
        return collective(self, *tensors, opts)

    method.__name__, method.__doc__ = (
        name,
        collective.__doc__ or f"The collective {name.strip('_')} of the backend of the tensors' device.",
    )
    return method


def _as_lists(name, tensors):
    """Wrap tensors in lists where a collective was called with single tensors."""
    single = tensors[1] if name in ("allgather", "gather") and len(tensors) > 1 else tensors[0]
    return [[t] for t in tensors] if isinstance(single, torch.Tensor) and name != "alltoall" else tensors


class _Options:
    """The options with which a backend is created."""

    _timeout = _Timeout()

    def __init__(self, backend="undefined", timeout=default_pg_timeout):
        self.backend, self._timeout, self.global_ranks_in_group, self.group_name = backend, timeout, [], ""


class Backend:
    """Base class of backends; subclasses implement the collectives as methods."""

    Options = _Options

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in COLLECTIVES.keys() & vars(cls).keys():
            setattr(cls, name, taking_short_forms(name, vars(cls)[name]))

    def __init__(self, rank, size):
        self._rank, self._size, self._sequence = rank, size, 0
        self._timeout = default_pg_timeout

    def rank(self):
        """Return this process's rank in the group."""
        return self._rank

    def size(self):
        """Return the size of the group."""
        return self._size

    def name(self):
        """Return the backend's name."""
        return self._get_backend_name()

    def _splits(self, tensor, sizes):
        """Return how many rows of a tensor belong to each rank: sizes, or where there are none equal shares."""
        if not sizes:
            if tensor.shape[0] % self._size:
                raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
            return [tensor.shape[0] // self._size] * self._size
        if len(sizes) != self._size:
            raise RuntimeError("Number of tensor splits not equal to group size")
        if sum(sizes) != tensor.shape[0]:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        return list(sizes)

    def _get_backend_name(self):
        return type(self).__name__

    @property
    def options(self):
        """The options with which the backend was created."""
        return self._options

    def set_timeout(self, timeout):
        """Set the timeout of collectives."""
        self._timeout = _duration(timeout, "set_timeout")

    _set_default_timeout = set_timeout
    supports_splitting = supports_coalescing = supports_shrinking = supports_time_estimate = supports_tensor_alloc = (
        False
    )

    def _get_sequence_number_for_group(self):
        return self._sequence

    def _set_sequence_number_for_group(self):
        """Do nothing: sequence numbers start at 0 on every rank."""

    def _start_coalescing(self):
        raise RuntimeError(f"Backend {self.name()} does not support coalescing")

    def _end_coalescing(self):
        raise RuntimeError(f"Backend {self.name()} does not support coalescing")

    def shutdown(self):
        """Release the backend's resources."""

    abort = shutdown

    def _lacks(self, name):
        raise RuntimeError(f"Backend {self.name()} does not support {name}")


def _lacking(name):
    def method(self, *args, **kwargs):
        self._lacks(name)

    method.__name__ = name
    return method


for _name in (*COLLECTIVES, *POINT_TO_POINT, "monitored_barrier"):
    setattr(Backend, _name, _lacking(_name))
Backend.__module__ = "torch._C._distributed_c10d"


class BackendType(enum.IntEnum):
    """The backend types of ProcessGroup."""

    UNDEFINED = 0
    GLOO = 1
    NCCL = 2
    UCC = 3
    MPI = 4
    XCCL = 5
    CUSTOM = 6


def _first_tensor(args):
    for a in args:
        if isinstance(a, torch.Tensor):
            return a
        if isinstance(a, (list, tuple)) and (found := _first_tensor(a)) is not None:
            return found
    return None


class ProcessGroup:
    """A group of processes that communicate.

    ``ProcessGroup(store, rank, size)``, or ``ProcessGroup(rank, size)`` for a subclass that implements the collectives.
    """

    BackendType = BackendType
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, CUSTOM = BackendType

    def __init__(self, *args):
        self._store, (self._rank, self._size) = (None, args) if len(args) == 2 else (args[0], args[1:3])
        self._backends, self._default = {}, None
        self._name, self._description, self.bound_device_id = "", "", None

    def rank(self):
        """Return this process's rank in the group."""
        return self._rank

    def size(self):
        """Return the size of the group."""
        return self._size

    def name(self):
        """Return the name of the default backend, or the name that a subclass defines."""
        return self.getBackendName()

    _get_backend_name = name

    def getBackendName(self):
        """Return the name of the default backend."""
        return self._default.name() if self._default is not None else "undefined"

    def get_group_store(self):
        """Return the store through which the group's processes found each other."""
        return self._store

    @property
    def group_name(self):
        """The group's name, which is the same in all its processes."""
        return self._name

    @property
    def group_desc(self):
        """The group's description."""
        return self._description

    def _set_group_name(self, name):
        self._name = name

    def _set_group_desc(self, description):
        self._description = description

    def _set_default_backend(self, backend_type):
        self._default_type = backend_type

    def _register_backend(self, device, backend_type, backend=None):
        self._backends[torch.device(device).type] = backend
        if self._default is None and backend is not None:
            self._default = backend

    def _get_backend(self, device):
        device = torch.device(device)
        backend = self._backends.get(device.type)
        if backend is None:
            raise RuntimeError(f"No backend type associated with device type {device.type}")
        return backend

    @property
    def _device_types(self):
        return [torch.device(d) for d in self._backends]

    def _default_device(self):
        """Return the device of the group's own small tensors: the CPU, unless it serves the accelerator alone."""
        accelerator = torch.accelerator.current_accelerator()
        alone = accelerator is not None and accelerator.type in self._backends and "cpu" not in self._backends
        return torch.device(accelerator.type if alone else "cpu")

    def _backend_id(self, backend_type):
        return 0

    def _id(self):
        return id(self)

    def _has_hooks(self):
        return False

    def _for(self, args):
        tensor = _first_tensor(args)
        if tensor is None:
            if self._default is None:
                raise RuntimeError("Could not find the default backend type 0 for Process Group with name undefined.")
            return self._default
        return self._get_backend(tensor.device)

    def _each(self, name, *args):
        return [getattr(b, name)(*args) for b in dict.fromkeys(self._backends.values())]

    def set_timeout(self, timeout):
        """Set the timeout of collectives."""
        self._each("set_timeout", timeout)

    def shutdown(self):
        """Release the backends' resources."""
        self._each("shutdown")

    def abort(self):
        """Abort collectives in flight; they fail with errors."""
        self._each("abort")

    def _get_sequence_number_for_group(self):
        return self._for(())._get_sequence_number_for_group()

    def _set_sequence_number_for_group(self):
        self._each("_set_sequence_number_for_group")

    def _start_coalescing(self, device):
        self._get_backend(device)._start_coalescing()

    def _end_coalescing(self, device):
        return self._get_backend(device)._end_coalescing()

    def _wait_for_pending_works(self):
        self._each("_wait_for_pending_works")

    def _enable_collectives_timing(self):
        """Do nothing: collectives are not timed."""

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """Wait for all ranks; the error on a time-out names the ranks that did not arrive."""
        return self._for(()).monitored_barrier(timeout, wait_all_ranks)

    # overloads that take a single tensor, as in PyTorch
    def all_gather_single(self, output, input, opts=None):
        """Gather the inputs of all ranks into one tensor."""
        return self._allgather_base(output, input, opts)

    def reduce_scatter_single(self, output, input, opts=None):
        """Reduce the inputs of all ranks; each rank gets its own chunk."""
        return self._reduce_scatter_base(output, input, opts)

    def all_to_all_single(self, output, input, output_split_sizes=(), input_split_sizes=(), opts=None):
        """Send a piece of each rank's input to every rank."""
        return self.alltoall_base(output, input, list(output_split_sizes), list(input_split_sizes), opts)


for _cls in (ProcessGroup, BackendType):
    _cls.__module__ = "torch.distributed.distributed_c10d"
NO_TIMEOUT = timedelta(milliseconds=-1)
