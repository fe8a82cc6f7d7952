"""torch.ao.nn.quantized: operations as modules, for observers to stand behind. Modules over quantized tensors are absent: there are no such tensors."""

import torch
from torch.nn import MaxPool2d  # noqa: F401  PyTorch serves the module of floating point under this name too

__all__ = ["FloatFunctional", "MaxPool2d"]


class FloatFunctional(torch.nn.Module):
    """Operations of floating point as a module; what comes out passes ``activation_post_process``, where an observer may stand."""

    def __init__(self):
        super().__init__()
        self.activation_post_process = torch.nn.Identity()

    def forward(self, x):
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x, y):
        """x + y"""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x, y):
        """x + y, unobserved: y is a number."""
        return torch.add(x, y)

    def mul(self, x, y):
        """x * y"""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x, y):
        """x * y, unobserved: y is a number."""
        return torch.mul(x, y)

    def cat(self, x, dim=0):
        """Tensors one after the other."""
        return self.activation_post_process(torch.cat(x, dim=dim))

    def add_relu(self, x, y):
        """The positive part of x + y."""
        return self.activation_post_process(torch.nn.functional.relu(torch.add(x, y)))

    def matmul(self, x, y):
        """x @ y"""
        return self.activation_post_process(torch.matmul(x, y))
