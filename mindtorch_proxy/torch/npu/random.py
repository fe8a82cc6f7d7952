"""torch.npu.random: functions for the random generator of NPUs.

By default their random numbers are drawn on the host with the CPU's default generator, so that they equal PyTorch's
numbers on the CPU. With MINDTORCH_NPU_RANDOM=device the device draws them, from a seed and an offset.
"""

import torch
from mindtorch_proxy.runtime.generator import default_of

from ._device import available, devices, number

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def _generator():
    return default_of(torch.device("npu"))


def get_rng_state(device="npu"):
    """Return the state of an NPU's generator as a ByteTensor."""
    devices().check(number(device))
    return _generator().get_state()


def get_rng_state_all():
    """Return a list with the state of the generator for each NPU; all NPUs of a process use the same generator."""
    return [_generator().get_state() for _ in range(available())]


def set_rng_state(new_state, device="npu"):
    """Set the state of an NPU's generator to one from get_rng_state()."""
    devices().check(number(device))
    _generator().set_state(new_state)


def set_rng_state_all(new_states):
    """Set the state of the generator to the first of those from get_rng_state_all()."""
    for state in list(new_states)[:1]:
        _generator().set_state(state)


def manual_seed(seed):
    """Seed the NPU's generator; without an NPU, do nothing."""
    if available():
        _generator().manual_seed(int(seed))


def seed():
    """Seed the NPU's generator with a random number from the operating system; without an NPU, do nothing."""
    if available():
        _generator().seed()


manual_seed_all, seed_all = manual_seed, seed


def initial_seed():
    """Return the seed of the NPU's generator."""
    devices()
    return _generator().initial_seed()
