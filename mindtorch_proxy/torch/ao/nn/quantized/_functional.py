"""Operations as modules, so that observers can be attached to them."""

import torch
from torch import nn

from ._arithmetic import Scaled

__all__ = ["FloatFunctional", "QFunctional"]


class FloatFunctional(nn.Module):
    """Floating point operations as a module.

    Results pass through ``activation_post_process``, which can be an observer.
    """

    def __init__(self):
        super().__init__()
        self.activation_post_process = nn.Identity()

    def forward(self, x):
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x, y):
        """Return x + y, observed."""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x, y):
        """Return x + y for a number y; the result is not observed."""
        return torch.add(x, y)

    def mul(self, x, y):
        """Return x * y, observed."""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x, y):
        """Return x * y for a number y; the result is not observed."""
        return torch.mul(x, y)

    def cat(self, x, dim=0):
        """Concatenate tensors along `dim`; the result is observed."""
        return self.activation_post_process(torch.cat(x, dim=dim))

    def add_relu(self, x, y):
        """Return relu(x + y), observed."""
        return self.activation_post_process(nn.functional.relu(torch.add(x, y)))

    def matmul(self, x, y):
        """Return x @ y, observed."""
        return self.activation_post_process(torch.matmul(x, y))


class QFunctional(Scaled):
    """The operations of FloatFunctional for quantized tensors.

    Results have the scale and zero point of this module. Operations with numbers raise NotImplementedError.
    """

    def __init__(self):
        super().__init__()
        self.activation_post_process = nn.Identity()

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Convert a FloatFunctional with an observer; another class raises AssertionError."""
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        new = cls()
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        new.scale, new.zero_point = float(scale), int(zero_point)
        return new

    def _get_name(self):
        return "QFunctional"

    def extra_repr(self):
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x):
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")

    def _quantized(self, x):
        return self.activation_post_process(torch.quantize_per_tensor(x, self.scale, self.zero_point, torch.quint8))

    def add(self, x, y):
        """Return x + y, quantized."""
        return self._quantized(x.dequantize() + y.dequantize())

    def mul(self, x, y):
        """Return x * y, quantized."""
        return self._quantized(x.dequantize() * y.dequantize())

    def cat(self, x, dim=0):
        """Concatenate tensors along `dim`; the result is quantized."""
        return self._quantized(torch.cat([t.dequantize() for t in x], dim=dim))

    def add_relu(self, x, y):
        """Return relu(x + y), quantized."""
        return self._quantized(nn.functional.relu(x.dequantize() + y.dequantize()))

    def matmul(self, x, y):
        """Return x @ y, quantized."""
        return self._quantized(x.dequantize() @ y.dequantize())

    def add_scalar(self, x, y):
        """Raise NotImplementedError: operations with numbers are not supported."""
        raise NotImplementedError(f"quantized::add_scalar: {x.dtype} on {x.device} is not supported")

    def mul_scalar(self, x, y):
        """Raise NotImplementedError: operations with numbers are not supported."""
        raise NotImplementedError(f"quantized::mul_scalar: {x.dtype} on {x.device} is not supported")
