"""torch.quasirandom: Sobol' sequences, with the direction numbers of Joe and Kuo from SciPy."""

import numpy as np
import torch
from scipy.stats import qmc

__all__ = ["SobolEngine"]


class SobolEngine:
    """Generates points of a scrambled or plain Sobol' sequence in [0, 1)**dimension, in Gray code order.

    dimension: 1 to 21201; others raise ValueError.
    scramble: whether to apply linear matrix scrambling and a digital shift, drawn with a separate generator.
    seed: the seed of that generator.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        # a private attribute of SciPy: there is no public one, and recovering the numbers from drawn points would take
        # 2**30 steps
        self.sobolstate = torch.from_numpy(qmc.Sobol(dimension, scramble=False)._sv.astype(np.int64))
        self.shift = torch.zeros(dimension, dtype=torch.int64)
        if scramble:
            self._scramble()
        self.reset()

    def _scramble(self):
        g, bits = torch.Generator(), self.MAXBIT
        g.seed() if self.seed is None else g.manual_seed(self.seed)
        weights = 2 ** torch.arange(bits)
        self.shift = (torch.randint(2, (self.dimension, bits), generator=g) * weights).sum(1)
        matrices = torch.randint(2, (self.dimension, bits, bits), generator=g).tril()
        matrices.diagonal(dim1=1, dim2=2).fill_(1)
        digits = (
            self.sobolstate[:, None, :] // weights.flip(0)[:, None] % 2
        )  # (dimension, digit from the highest, direction)
        self.sobolstate = ((matrices[:, :, :, None] * digits[:, None]).sum(2) % 2 * weights.flip(0)[:, None]).sum(1)

    def reset(self):
        """Restart the sequence; return the engine."""
        self.num_generated, self.quasi = 0, self.shift.clone()
        return self

    def _points(self, first, n):
        """Return the n points of the sequence from index `first` on, as integers below 2**MAXBIT."""
        index = torch.arange(first, first + n)
        gray, points = (index ^ index >> 1)[:, None], self.shift.expand(n, -1).clone()
        for k in range((first + n).bit_length()):
            points ^= (gray >> k & 1) * self.sobolstate[:, k]
        return points

    def draw(self, n=1, out=None, dtype=None):
        """Return the next n points as a tensor of shape (n, dimension), by default of the default dtype."""
        if n < (self.num_generated == 0):
            rest = n - (self.num_generated == 0)
            raise RuntimeError(f"Trying to create tensor with negative dimension {rest}: [{rest}, {self.dimension}]")
        points = self._points(self.num_generated, n)
        result = (points * 2.0**-self.MAXBIT).to(dtype or torch.get_default_dtype())
        if n:
            self.quasi = points[-1].clone()
        self.num_generated += n
        return result if out is None else out.resize_(result.shape).copy_(result)

    def draw_base2(self, m, out=None, dtype=None):
        """Return the next 2**m points; raise ValueError if the total number of points drawn is not a power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def fast_forward(self, n):
        """Skip n points; return the engine."""
        self.num_generated += n
        self.quasi = self._points(self.num_generated - 1, 1)[0] if self.num_generated else self.quasi
        return self

    def __repr__(self):
        options = (
            [f"dimension={self.dimension}"]
            + ["scramble=True"] * bool(self.scramble)
            + ([] if self.seed is None else [f"seed={self.seed}"])
        )
        return f"{type(self).__name__}({', '.join(options)})"
