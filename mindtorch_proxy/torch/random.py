"""torch.random: the default generator, its state, and forks of it."""

import contextlib as _contextlib
from collections.abc import Generator  # noqa: F401  (PyTorch's module has it too, for its annotations)

from mindtorch_proxy.runtime.generator import default_generator
from mindtorch_proxy.runtime.tensor import Tensor as _Tensor


def manual_seed(seed):
    """Seed every generator; returns the CPU's."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Seed from the operating system; returns the seed."""
    return default_generator.seed()


def initial_seed():
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state as a ByteTensor."""
    return default_generator.get_state()


def set_rng_state(new_state: _Tensor):
    """Restore a state of get_rng_state()."""
    default_generator.set_state(new_state)


@_contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """Restore the random state on leaving. There is one generator on the host, which draws for every device."""
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
    for device in range(module.device_count()) if devices is None else devices:
        module.get_rng_state(device)  # the state of the one generator, or an error
    try:
        yield
    finally:
        set_rng_state(state)


def thread_safe_generator():
    """The generator of a data loader's worker thread, or None for the default one."""
    return None


__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state", "thread_safe_generator"]
