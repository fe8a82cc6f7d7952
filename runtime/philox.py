"""The state of a generator whose numbers a device draws by itself: a seed, and how many numbers have been asked for.

Kernels of accelerators compute the numbers of a call from both (Philox, counter-based); the host keeps no stream.
"""

import numpy as np

STEP = 12  # numbers that a call may use for each thread: ten, in multiples of four, as torch_npu counts them
SIZE = 16


class Philox:
    """The engine of a device's generator; its state has 16 bytes, the seed and the offset."""

    __slots__ = ("seed", "offset")

    def __init__(self, seed):
        self.reseed(seed)

    def reseed(self, seed):
        self.seed, self.offset = seed, 0

    def advance(self):
        """Return (seed, offset) for one call of a kernel."""
        found = self.seed, self.offset
        self.offset += STEP
        return found

    def set_offset(self, offset):
        """Set how many numbers have been asked for; raise RuntimeError unless it is a multiple of four."""
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        self.offset = offset

    def get_state(self):
        """Return the 16 bytes of the state."""
        return np.array([self.seed, self.offset], np.uint64).view(np.uint8)

    def set_state(self, data):
        """Restore what get_state() returned; raise RuntimeError for another number of bytes."""
        if data.size != SIZE:
            raise RuntimeError("RNG state is wrong size")
        seed, offset = np.ascontiguousarray(data).view(np.uint64)
        self.reseed(int(seed))
        self.set_offset(int(offset))
