"""torch.random: the default generator, its state, and forks of it."""

import contextlib as _contextlib
from collections.abc import Generator  # noqa: F401  (PyTorch's module has it too, for its annotations)

from mindtorch_proxy.runtime.generator import default_generator, manual_seed as _manual_seed
from mindtorch_proxy.runtime.tensor import Tensor as _Tensor


def manual_seed(seed):
    """Seed the default generators of all devices, and return that of the CPU."""
    return _manual_seed(int(seed))


def seed():
    """Seed the default generators with a random number from the operating system; return the seed."""
    return _manual_seed(default_generator.seed()).initial_seed()


def initial_seed():
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state():
    """Return the state of the default generator as a ByteTensor."""
    return default_generator.get_state()


def set_rng_state(new_state: _Tensor):
    """Set the state of the default generator to one from get_rng_state()."""
    default_generator.set_state(new_state)


@_contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """Restore the random state of the CPU and of `devices` (all by default) at the end of the block."""
    import torch

    kind = (
        (torch.accelerator.current_accelerator() or torch.device("cuda")).type
        if device_type is None
        else torch.device(device_type).type
    )
    if not enabled or kind == "meta":
        yield
        return
    module = getattr(torch, kind, None)
    if module is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    state = get_rng_state()
    states = {n: module.get_rng_state(n) for n in (range(module.device_count()) if devices is None else devices)}
    try:
        yield
    finally:
        for device, there in states.items():
            module.set_rng_state(there, device)
        set_rng_state(state)  # last: a device that draws on the host has the same generator


def thread_safe_generator():
    """Return the generator of a DataLoader worker thread; always None, which means the default one."""
    return None


__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state", "thread_safe_generator"]
