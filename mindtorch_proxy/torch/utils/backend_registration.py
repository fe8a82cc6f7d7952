"""torch.utils.backend_registration: the name of an out-of-tree device type, and methods with that name."""

import torch
from mindtorch_proxy.runtime.device import privateuse1_name as _name
from mindtorch_proxy.runtime.device import rename_privateuse1_backend  # noqa: F401


def _add(cls, name, value):
    if hasattr(cls, name):
        raise RuntimeError(
            f"The custom {cls.__name__} attribute of the device {_name()} has already been registered: {name}"
        )
    setattr(cls, name, value)


def _mover(name):
    def move(self, device=None, non_blocking=False, **kwargs):
        index = device.index if isinstance(device, torch.device) else device
        return self.to(
            torch.device(name) if index is None else torch.device(name, index), non_blocking=non_blocking, **kwargs
        )

    move.__name__ = name
    move.__doc__ = f"A copy on the device {name}; itself where it lies there."
    return move


def generate_methods_for_privateuse1_backend(
    for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=False, unsupported_dtype=None
):
    """Add methods and attributes with the name set by rename_privateuse1_backend.

    For the name foo they are ``x.foo()``, ``x.is_foo``, ``module.foo()``. RuntimeError if one exists already;
    NotImplementedError for storages.
    """
    name = _name()
    if for_storage:
        raise NotImplementedError(f"methods of storages for the device {name}")
    if for_tensor:
        _add(torch.Tensor, f"is_{name}", property(lambda self: self.device.type == name))
        _add(torch.Tensor, name, _mover(name))
    if for_module:
        _add(torch.nn.Module, name, lambda self, device=None: self._apply(lambda t: getattr(t, name)(device)))
    if for_packed_sequence:
        packed = torch.nn.utils.rnn.PackedSequence
        _add(packed, f"is_{name}", property(lambda self: self.data.device.type == name))
        _add(packed, name, lambda self, *args, **kwargs: self.to(name, *args, **kwargs))
