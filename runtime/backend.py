"""What the runtime asks of a device, and the backends by device type.

They register when their device is first used; no name of one stands here.
"""

import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .device import device as Device
    from .dtypes import dtype as Dtype


# how a backend chooses among kernels: "primitives", MindSpore's first, or "fastest", what measured fastest, where a
# backend has a choice
CHOICE = os.environ.get("MINDTORCH_KERNELS") or "primitives"
if CHOICE not in ("primitives", "fastest"):
    raise ValueError(f"MINDTORCH_KERNELS={CHOICE}: expected 'primitives' or 'fastest'")


class OutOfMemoryError(RuntimeError):
    """A device has not the memory that was asked for."""

    __module__ = "torch"


class Plan(Protocol):
    """A kernel bound to an operator, a device and a dtype (backends/plan.py is the one that ours share)."""

    calls: int
    direct: bool  # later calls with tensors of its dtype may come without asking again
    limit: int | None  # elements from which run() takes another kernel, and the direct way is closed
    when: Callable | None  # of the arguments: whether they are for another kernel, which larger() is
    out: Any  # the dtype of its results, where it is known

    def run(self, result: Any, args: tuple) -> Any:
        """The operator on its arguments. result: (shape, dtype) or (shape, dtype, strides) of what is wanted, or a list
        of them for several tensors.

        A shape of None is the kernel's to find. Returns a fresh Tensor, or a tuple of them.
        """

    def elementwise(self, operands: list, attributes: list, shape: tuple, dtype: "Dtype") -> Any:
        """An elementwise operator on tensors and numbers that broadcast to `shape`.

        Returns a fresh contiguous Tensor.
        """


class Backend(Protocol):
    """Everything that operators, tensors, storages, random numbers, printing, serialization and autograd ask of a
    device.
    """

    host: bool  # tensors lie in the host's memory: array() works, and reading a value needs no copy
    plans: list  # the plans that were made, for report()

    def device_count(self) -> int:
        """How many devices of this type are usable; 0 where there are none. Never found out by trying a kernel."""

    def usable(self, device: "Device") -> "Device":
        """The device on which tensors are made when a program asks for `device`.

        RuntimeError where it cannot be used.
        """

    def plan(self, op: Any, dtype: "Dtype", device: "Device", args: Any) -> Plan:
        """The plan for an operator in a dtype; the same one for the same dtype. args: those of this call, which may be
        refused for what they are.

        Raises NotImplementedError with operator, dtype and device where there is no kernel.
        """

    def inplace(self, op: Any) -> Callable | None:
        """A callable that runs the operator on its arguments and leaves the result in the first one's memory.

        None: compute, then write.
        """

    def fused(self, name: str) -> Callable | None:
        """What computes a function over several operators as one kernel.

        Called with its arguments, it answers None where they do not fit.
        """

    def update(self, op: Any, dst: Any, args: tuple) -> bool:
        """Run an elementwise operator within dst's memory and answer True; False: compute, then write."""

    def empty(self, shape: tuple, dtype: "Dtype", device: "Device") -> Any:
        """Uninitialised contiguous memory as a Tensor."""

    def array(self, tensor: Any) -> Any:
        """The writable NumPy alias of a tensor; NotImplementedError where the memory is not the host's."""

    def mstensor(self, tensor: Any) -> Any:
        """The MindSpore tensor over a tensor's memory."""

    def storage(self, tensor: Any) -> Any:
        """The storage of a fresh tensor, over the same memory."""

    def new_storage(self, data: Any, device: "Device") -> Any:
        """A storage on the device with a copy of the bytes of a 1-d uint8 array."""

    def write(self, dst: Any, src: Any) -> None:
        """Copy src, on this device or in the host's memory, into dst's.

        The same shape after broadcasting, any dtype.
        """

    def cast(self, tensor: Any, dtype: "Dtype") -> Any:
        """A fresh contiguous tensor of another dtype."""

    def compact(self, tensor: Any) -> Any:
        """A fresh contiguous tensor with the same values."""

    def to_host(self, tensor: Any) -> Any:
        """A copy in the host's memory."""

    def moves(self) -> dict:
        """How many copies and casts were made, by name, for report()."""


_METHODS = tuple(name for name in vars(Backend) if name[0] != "_")
_by_type: dict = {}  # device type -> backend
_by_device: dict = {}  # device -> backend


def register(device_type, implementation):
    """Make `implementation` the backend of a device type. TypeError where it lacks something that Backend names."""
    lacking = [name for name in (*_METHODS, "host", "plans") if not hasattr(implementation, name)]
    if lacking:
        raise TypeError(f"the backend of device type '{device_type}' lacks {', '.join(lacking)}")
    _by_type[device_type] = implementation
    _by_device.clear()


def registered():
    """(device type, backend) of those in use."""
    return list(_by_type.items())


def backend(device):
    """The backend of a torch.device."""
    b = _by_device.get(device)
    if b is None:
        b = _by_device[device] = of_type(device.type)
    return b


def of_type(device_type):
    """The backend of a device type, loaded when first asked for; KeyError where there is none."""
    if device_type not in _by_type:
        importlib.import_module("..backends", __package__).load(device_type)
    return _by_type[device_type]


def exists(device_type):
    """Whether a device type has a backend."""
    return device_type in _by_type or importlib.import_module("..backends", __package__).exists(device_type)
