"""The interface that a backend implements, and the registry of backends by device type.

A backend registers itself when its device is first used. This module names none of them.
"""

import importlib
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .device import device as Device
    from .dtypes import dtype as Dtype


MODES = "pyboost", "balanced", "fastest"


def _choice():
    """Return the mode that MINDTORCH_KERNELS names, by which a backend chooses among several kernels.

    "pyboost" takes MindSpore's wherever it is there and right, "balanced" leaves those that are much slower, and
    "fastest" takes the one that was measured as the fastest.
    """
    name = os.environ.get("MINDTORCH_KERNELS") or "balanced"
    if name == "primitives":
        warnings.warn(
            "MINDTORCH_KERNELS=primitives is called balanced now, and the old name goes with the next version; "
            "pyboost prefers MindSpore's kernels also where they are slow.",
            FutureWarning,
            stacklevel=2,
        )
        return "balanced"
    if name not in MODES:
        raise ValueError(f"MINDTORCH_KERNELS={name}: expected 'pyboost', 'balanced' or 'fastest'")
    return name


CHOICE = _choice()


class OutOfMemoryError(RuntimeError):
    """Raised when a device cannot allocate the requested memory."""

    __module__ = "torch"


class AcceleratorError(RuntimeError):
    """The error of a failed call of an accelerator; ``error_code`` is its number."""

    __module__ = "torch"

    def __init__(self, *args, error_code=None):
        super().__init__(*args)
        self.error_code = error_code


class Plan(Protocol):
    """A kernel bound to an operator, a device and a dtype. backends/plan.py implements it for the backends here."""

    calls: int
    direct: bool  # later calls with tensors of its dtype may reuse the plan without asking the backend again
    limit: int | None  # number of elements from which run() uses another kernel and the direct call path is not taken
    when: Callable | None  # when(arguments) -> whether they need the other kernel, larger()
    out: Any  # the dtype of the results, where it is known

    def run(self, result: Any, args: tuple) -> Any:
        """Run the operator on its arguments and return a fresh Tensor, or a tuple of them.

        result: (shape, dtype) or (shape, dtype, strides) of the result, or a list of these for several tensors. Where
        the shape is None, the kernel determines it.
        """

    def elementwise(self, operands: list, attributes: list, shape: tuple, dtype: "Dtype") -> Any:
        """Run an elementwise operator on tensors and numbers that broadcast to `shape`.

        Return a fresh contiguous Tensor.
        """


class Backend(Protocol):
    """Everything that the runtime needs from a device.

    It serves operators, tensors, storages, random numbers, printing, serialization and autograd.
    """

    host: bool  # tensors are in the host's memory: array() works, and reading a value needs no copy
    plans: list  # the plans made so far, for report()

    def device_count(self) -> int:
        """Return the number of usable devices of this type. Must not launch a kernel."""

    def usable(self, device: "Device") -> "Device":
        """Return the device on which tensors are made when a program asks for `device`.

        Raise RuntimeError where it cannot be used.
        """

    def plan(self, op: Any, dtype: "Dtype", device: "Device", args: Any) -> Plan:
        """Return the plan for an operator in a dtype: always the same one for the same dtype.

        args: the arguments of this call, because a kernel may reject some values. Raise NotImplementedError, naming
        operator, dtype and device, where there is no kernel.
        """

    def inplace(self, op: Any) -> Callable | None:
        """Return a callable that runs the operator and writes the result into the first argument's memory.

        Return None where the result has to be computed first and then copied.
        """

    def fused(self, name: str) -> Callable | None:
        """Return a callable that computes a composite operator with one kernel, or None.

        The callable returns None for arguments that the kernel does not support.
        """

    def update(self, op: Any, dst: Any, args: tuple) -> bool:
        """Run an elementwise operator in dst's memory and return True, or return False: compute, then copy."""

    def empty(self, shape: tuple, dtype: "Dtype", device: "Device") -> Any:
        """Return a contiguous Tensor with uninitialised memory."""

    def array(self, tensor: Any) -> Any:
        """Return a writable NumPy array over a tensor's memory.

        Raise NotImplementedError where that is not the host's memory.
        """

    def mstensor(self, tensor: Any) -> Any:
        """Return the MindSpore tensor over a tensor's memory."""

    def storage(self, tensor: Any) -> Any:
        """Return a storage over the memory of a fresh tensor."""

    def new_storage(self, data: Any, device: "Device") -> Any:
        """Return a storage on the device with a copy of the bytes of a 1-d uint8 array."""

    def write(self, dst: Any, src: Any) -> None:
        """Copy src, which is on this device or in the host's memory, into dst.

        src may have any dtype and any shape that broadcasts to dst's.
        """

    def cast(self, tensor: Any, dtype: "Dtype") -> Any:
        """Return a fresh contiguous tensor of another dtype."""

    def compact(self, tensor: Any) -> Any:
        """Return a fresh contiguous tensor with the same values."""

    def to_host(self, tensor: Any) -> Any:
        """Return a copy in the host's memory."""

    def draws(self, kind: str) -> bool:
        """Whether the device's own kernels draw a distribution; otherwise it is drawn on the host and copied."""

    def moves(self) -> dict:
        """Return the number of copies and casts made so far, by name, for report()."""


_METHODS = tuple(name for name in vars(Backend) if name[0] != "_")
_by_type: dict = {}  # device type -> backend
_by_device: dict = {}  # device -> backend


def register(device_type, implementation):
    """Make `implementation` the backend of a device type.

    Raise TypeError where it lacks a member of the Backend protocol.
    """
    lacking = [name for name in (*_METHODS, "host", "plans") if not hasattr(implementation, name)]
    if lacking:
        raise TypeError(f"the backend of device type '{device_type}' lacks {', '.join(lacking)}")
    _by_type[device_type] = implementation
    _by_device.clear()


def registered():
    """Return (device type, backend) of the registered backends."""
    return list(_by_type.items())


def backend(device):
    """Return the backend of a torch.device."""
    b = _by_device.get(device)
    if b is None:
        b = _by_device[device] = of_type(device.type)
    return b


def of_type(device_type):
    """Return the backend of a device type, loading it on first use. Raise KeyError where there is none."""
    if device_type not in _by_type:
        importlib.import_module("..backends", __package__).load(device_type)
    return _by_type[device_type]


def exists(device_type):
    """Whether a device type has a backend."""
    return device_type in _by_type or importlib.import_module("..backends", __package__).exists(device_type)
