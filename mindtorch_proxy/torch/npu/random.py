"""torch.npu.random: random numbers for NPUs are drawn on the host, from the one default generator, so that they are
PyTorch's own numbers.
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
    """The generator's state as a ByteTensor."""
    devices().check(number(device))
    return torch.get_rng_state()


def get_rng_state_all():
    """The states of all NPUs' generators: of the one that serves them."""
    return [torch.get_rng_state() for _ in range(available())]


def set_rng_state(new_state, device="npu"):
    """Restore a state of get_rng_state()."""
    devices().check(number(device))
    torch.set_rng_state(new_state)


def set_rng_state_all(new_states):
    """Restore states of get_rng_state_all()."""
    for state in list(new_states)[:1]:
        torch.set_rng_state(state)


def manual_seed(seed):
    """Seed the generator; without an NPU nothing is seeded."""
    if available():
        torch.manual_seed(seed)


def seed():
    """Seed from the operating system; without an NPU nothing is seeded."""
    if available():
        torch.seed()


manual_seed_all, seed_all = manual_seed, seed


def initial_seed():
    """The seed of the generator."""
    devices()
    return torch.initial_seed()
