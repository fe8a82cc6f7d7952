"""PyTorch's MT19937 engine: raw words come from NumPy's engine, the state has PyTorch's 5056-byte layout."""

import numpy as np

from . import forks

N = 624
# at::CPUGeneratorImplState. The words are stored as 64 bits each; x, y, rho belong to the cached normal sample.
STATE = np.dtype(
    [
        ("seed", "u8"),
        ("left", "i4"),
        ("seeded", "i4"),
        ("next", "u8"),
        ("words", "u8", N),
        ("x", "f8"),
        ("y", "f8"),
        ("rho", "f8"),
        ("y_valid", "i4"),
        ("_pad0", "u4"),
        ("float_sample", "f4"),
        ("float_valid", "u1"),
        ("_pad1", "u1", 3),
    ]
)


_UNUSED: list = []  # NumPy's engines of generators that are gone: a new one takes 150 us, seeding it anew 2
MOST_UNUSED = 64


class MT19937:
    """The engine, and the second sample of the last Box-Muller pair (`cached`, or None)."""

    def __init__(self, seed):
        try:
            self._bits, self._draw = _UNUSED.pop()
        except IndexError:
            self._bits = np.random.MT19937(0)
            forks.free_in_children(self._bits.lock)
            self._draw = np.random.Generator(self._bits).integers
        self.reseed(seed)

    def __del__(self):
        if _UNUSED is not None and len(_UNUSED) < MOST_UNUSED:  # the interpreter may be ending
            _UNUSED.append((self._bits, self._draw))

    def reseed(self, seed):
        self.seed, self.cached, self._float_sample = seed, None, None
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)
        self._fresh = True

    def words(self, n, bits=32):
        """Return n unsigned integers of 32 bits, or of 64 bits (two draws each, the first one is the high half)."""
        self._fresh = self._fresh and n == 0
        if n * bits <= 1 << 18:  # integers() has more overhead than random_raw(), but is faster per number
            r = self._bits.random_raw(n * bits // 32)
            return r.astype(np.uint32) if bits == 32 else r[::2] << np.uint64(32) | r[1::2]
        return self._draw(0, (1 << bits) - 1, n, np.uint64 if bits == 64 else np.uint32, True)

    def mark(self):
        return self._bits.state, self._fresh

    def rewind(self, mark, used):
        """Return to `mark`, then skip `used` 32-bit draws: for samplers that do not know how much they will draw."""
        self._bits.state, self._fresh = mark
        if used:
            self._bits.random_raw(used, False)
            self._fresh = False

    def get_state(self):
        """Return the state as a new uint8 array."""
        out = np.zeros((), STATE)
        inner = self._bits.state["state"]
        # Before the first draw PyTorch has left=1, next=0. NumPy's position is 624 then, the same as after 624 draws.
        at = 0 if self._fresh else inner["pos"]
        out["seed"], out["seeded"], out["words"] = self.seed, 1, inner["key"]
        out["next"], out["left"] = at, 1 if self._fresh else N + 1 - at
        if self.cached is not None:
            out["y"], out["y_valid"] = self.cached, 1
        if self._float_sample is not None:
            out["float_sample"], out["float_valid"] = self._float_sample, 1
        return np.frombuffer(bytearray(out.tobytes()), np.uint8)

    def set_state(self, data):
        """Restore a state from PyTorch or from get_state()."""
        if data.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input RNG state size to be "
                f"{data.size}"
            )
        s = np.ascontiguousarray(data).view(STATE)[0]
        left, at = int(s["left"]), int(s["next"])
        if not (s["seeded"] and 0 < left <= N and at <= N and (left == 1 or at == N + 1 - left)):
            raise RuntimeError("Invalid mt19937 state")
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": s["words"].astype(np.uint32), "pos": N if left == 1 else at},
        }
        self.seed, self._fresh = int(s["seed"]), at == 0
        self.cached = float(s["y"]) if s["y_valid"] else None
        self._float_sample = float(s["float_sample"]) if s["float_valid"] else None
