"""Modules on another worker."""

import torch
from torch import nn

from ... import rpc
from ...remote_device import _remote_device

__all__ = ["RemoteModule"]


def _create_module(module_cls, args, kwargs, device):
    module = module_cls(*args, **kwargs)
    if not isinstance(module, nn.Module):
        expected = (
            "Expect `module_cls(*args, **kwargs)` returns an instance of <class nn.Module>, but it returns an instance "
            "of"
        )
        raise ValueError(f"{expected} {type(module)}.")
    return module.to(device)


def _remote_forward(module_rref, args, kwargs):
    return module_rref.local_value()(*args, **kwargs)


def _param_rrefs(module_rref, recurse):
    return [rpc.RRef(parameter) for parameter in module_rref.local_value().parameters(recurse)]


class RemoteModule(nn.Module):
    """A module that is created on another worker and runs there.

    ``forward`` waits for the result, ``forward_async`` returns a Future of it. Arguments and results are copied without
    their autograd graph, so gradients do not flow through the module.

    Args:
        remote_device: ``worker/device`` or ``rank:N/device``; the default device is "cpu".
        module_cls, args, kwargs: the module is created there as ``module_cls(*args, **kwargs)``.

    Raises:
        AssertionError: this process is not a worker.
        ValueError: for module methods that would need the data on the other worker.
    """

    def __init__(self, remote_device, module_cls, args=None, kwargs=None, _module_interface_cls=None):
        if _module_interface_cls is not None:
            raise NotImplementedError(
                "torch.distributed.nn.RemoteModule: modules of TorchScript are not supported (any dtype, any device)"
            )
        super().__init__()
        if not rpc._workers.is_set():
            raise AssertionError("RemoteModule only works in RPC.")
        place = _remote_device(remote_device)
        self.on = place.rank() if place.worker_name() is None else place.worker_name()
        self.device, self.is_device_map_set, self.is_scriptable = str(place.device()), False, False
        self.module_rref = rpc.remote(self.on, _create_module, (module_cls, args or (), kwargs or {}, self.device))

    def forward(self, *args, **kwargs):
        """Run the module on these arguments and return its result."""
        return rpc.rpc_sync(self.module_rref.owner(), _remote_forward, (self.module_rref, args, kwargs))

    def forward_async(self, *args, **kwargs):
        """Run the module on these arguments and return a Future of its result."""
        return rpc.rpc_async(self.module_rref.owner(), _remote_forward, (self.module_rref, args, kwargs))

    def remote_parameters(self, recurse=True):
        """Return references to the module's parameters."""
        return rpc.rpc_sync(self.on, _param_rrefs, args=(self.module_rref, recurse))

    def get_module_rref(self):
        """Return a reference to the module."""
        return self.module_rref

    def train(self, mode=True):
        """Set the remote module to training mode."""
        return self.module_rref.rpc_sync().train()

    def eval(self):
        """Set the remote module to evaluation mode."""
        return self.module_rref.rpc_sync().eval()

    def parameters(self, recurse=True):
        """Raise ValueError, because the parameters are on the other worker; use ``remote_parameters``."""
        raise ValueError(
            "Method ``parameters`` not supported for RemoteModule. Please use ``remote_parameters`` instead."
        )

    def __getstate__(self):
        raise RuntimeError(
            "Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using RPC"
        )


def _not_supported(name):
    def method(self, *args, **kwargs):
        raise ValueError(f"Method ``{name}`` not supported for RemoteModule")

    method.__name__, method.__qualname__ = name, f"RemoteModule.{name}"
    method.__doc__ = "ValueError: what it concerns lies on the other worker."
    return method


for _name in """add_module apply bfloat16 buffers children cpu cuda double extra_repr float half ipu load_state_dict
    modules named_buffers named_children named_modules named_parameters register_backward_hook register_buffer
    register_forward_hook register_forward_pre_hook register_parameter requires_grad_ share_memory state_dict to type
    xpu zero_grad""".split():
    setattr(RemoteModule, _name, _not_supported(_name))
