"""torch.npu.random: functions for the random generator.

Random numbers for NPUs are drawn on the host with the default generator, so that they equal PyTorch's numbers.
"""

import torch

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


def get_rng_state(device="npu"):
    """Return the state of the generator as a ByteTensor."""
    devices().check(number(device))
    return torch.get_rng_state()


def get_rng_state_all():
    """Return a list with the state of the generator for each NPU; all NPUs use the same generator."""
    return [torch.get_rng_state() for _ in range(available())]


def set_rng_state(new_state, device="npu"):
    """Set the state of the generator to one from get_rng_state()."""
    devices().check(number(device))
    torch.set_rng_state(new_state)


def set_rng_state_all(new_states):
    """Set the state of the generator to the first of those from get_rng_state_all()."""
    for state in list(new_states)[:1]:
        torch.set_rng_state(state)


def manual_seed(seed):
    """Seed the generator; without an NPU, do nothing."""
    if available():
        torch.manual_seed(seed)


def seed():
    """Seed the generator with a random number from the operating system; without an NPU, do nothing."""
    if available():
        torch.seed()


manual_seed_all, seed_all = manual_seed, seed


def initial_seed():
    """Return the seed of the generator."""
    devices()
    return torch.initial_seed()
