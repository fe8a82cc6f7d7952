"""Reductions of masked tensors, computed by the functions of torch.masked.

An element of the result is masked out if all its inputs are.
"""

import warnings

import torch

from .core import FUNCTIONS, OPERATORS, on
from .creation import as_masked_tensor, masked_tensor

REDUCE_NAMES = "sum mean amin amax argmin argmax prod all norm var std".split()


def _all(data, *args, mask, **kwargs):
    return data.masked_fill(~mask, True).all(*args, **kwargs)


def _position(self, name):
    """Return the flat index of the extremum of a sparse COO tensor."""
    at = getattr(torch.masked, name)(self.get_data().values(), mask=self.get_mask().values())
    index = self.get_data().indices()[:, at.to(torch.int64)]
    flat = index.new_zeros(())
    for i, n in zip(index, self.shape):
        flat = flat * n + i
    return flat.to(torch.get_default_dtype())


def _over_all(name, self):
    mask = self.get_mask().values() if self.is_sparse else self.get_mask()
    if name == "all":
        data = self.get_data()
        result = _all(data.values() if self.is_sparse else data, mask=mask)
    elif name in ("argmin", "argmax") and self.is_sparse_coo():
        result = _position(self, name)
    elif self.is_sparse:
        result = getattr(torch.masked, name)(masked_tensor(self.get_data().values(), mask))
    else:
        result = getattr(torch.masked, name)(self, mask=mask)
    return as_masked_tensor(result, mask.any())


def _over(name, self, dim, keepdim=False, dtype=None):
    if self.is_sparse:
        warnings.warn(f"The sparse version of {name} is not implemented in reductions.", stacklevel=2)
        return NotImplemented
    mask = self.get_mask()
    if name == "all":
        result = _all(self.get_data(), dim=dim, keepdim=keepdim, mask=mask)
    else:
        result = getattr(torch.masked, name)(self, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return as_masked_tensor(result, mask.any(dim=dim, keepdim=keepdim))


def _reduction(name):
    def reduce(fn, self, *args, **kwargs):
        return _over(name, self, *args, **kwargs) if args or kwargs else _over_all(name, self)

    on(OPERATORS, getattr(torch.ops.aten, name))(reduce)
    on(FUNCTIONS, getattr(torch, name), getattr(torch.Tensor, name))(reduce)


for _name in REDUCE_NAMES:
    _reduction(_name)
