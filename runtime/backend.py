"""Backends register themselves here when their device is first used; the runtime names none of them."""

import importlib

_backends = {}


class Backend:
    """What the operator loop asks of a device. A backend implements all of it."""

    def run(self, op, spec, args):
        """Run an operator's kernel. spec: (shape, dtype) or a list of them. Returns a Tensor or a tuple of Tensors."""
        raise NotImplementedError

    def pointwise(self, op, operands, attrs, compute, out_dtype, shape):
        """Run an elementwise kernel over operands already promoted to dtype `compute`; returns a contiguous Tensor."""
        raise NotImplementedError

    def empty(self, shape, dtype, device):
        raise NotImplementedError

    def write(self, dst, src):
        """Copy src into dst's memory; same shape after broadcasting, any dtype."""
        raise NotImplementedError

    def inplace(self, op):
        """A callable that runs the operator on its arguments and leaves the result in the first, or None: compute, then write."""
        return None

    def update(self, op, dst, args):
        """Run an elementwise operator within dst's memory and answer True, or False: compute, then write."""
        return False

    def cast(self, tensor, dtype):
        """A fresh contiguous tensor of another dtype."""
        raise NotImplementedError

    def compact(self, tensor):
        """A fresh contiguous tensor with the same values."""
        raise NotImplementedError


def register(device_type, backend):
    _backends[device_type] = backend


def get(device_type):
    b = _backends.get(device_type)
    if b is None:
        importlib.import_module("..backends", __package__).load(device_type)
        b = _backends[device_type]
    return b


def require_accelerator(d):
    return importlib.import_module("..backends", __package__).require_accelerator(d)


def accelerator_count():
    return importlib.import_module("..backends", __package__).accelerator_count()
