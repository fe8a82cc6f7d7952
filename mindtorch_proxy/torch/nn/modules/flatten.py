"""Merging and splitting dimensions."""

from .utils import _layer

__all__ = ["Flatten", "Unflatten"]


def _check_size(self):
    size = self.unflattened_size
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}")
    for i, item in enumerate(size):
        if not isinstance(item, int):
            raise TypeError(f"unflattened_size must be tuple of ints, but found element of type {type(item).__name__} at pos {i}")


Flatten = _layer("Flatten(start_dim=1, end_dim=-1)", lambda self, input: input.flatten(self.start_dim, self.end_dim), "start_dim=, end_dim=")
Unflatten = _layer(
    "Unflatten(dim, unflattened_size)", lambda self, input: input.unflatten(self.dim, self.unflattened_size), "dim=, unflattened_size=", setup=_check_size
)
