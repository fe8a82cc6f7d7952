"""BatchedTensor, which represents a batch of samples inside vmap, and helpers for batching rules."""

import textwrap

import torch
from torch import Tensor
from torch.autograd.function import _for_each

from ..utils._pytree import tree_map
from ._refused import Refusing


class BatchedTensor(Refusing, torch.Tensor):
    """A tensor with the shape of one sample; ``_value`` holds the values of all samples, batch first."""

    _below_autograd = True
    _dispatch = None  # handles calls with batched tensors; set by vmap, which has the rules

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls._dispatch(func, args, kwargs or {})

    def detach(self):
        return _wrap(self._value.detach(), self._level)

    def __repr__(self, *, tensor_contents=None):
        """Return a text with the values of all samples and the level of vmap."""
        return f"BatchedTensor(lvl={self._level}, bdim=0, value=\n{textwrap.indent(repr(self._value), '    ')}\n)"

    def _of_one_sample(self):
        raise _for_each(
            NotImplementedError("vmap: this reads a sample's memory, and there is no rule for a batch of them")
        )

    _array = _mstensor = _get_storage = _of_one_sample

    def is_conj(self):
        return self._value.is_conj()

    def is_neg(self):
        return self._value.is_neg()

    @property
    def data(self):
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value):
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")


def _wrap(value, level):
    base, depth = value, 1
    with torch._C.DisableTorchFunction():
        while isinstance(base, BatchedTensor):
            base, depth = base._value, depth + 1
        empty = 0 in base.shape[:depth]
        sample = base.new_empty(base.shape[depth:]) if empty else base[(0,) * depth]
        if type(sample).__torch_dispatch__ is not Tensor.__torch_dispatch__:  # a wrapper subclass
            sample = torch.empty_strided(
                sample.shape,
                sample.stride(),
                dtype=sample.dtype,
                device=sample.device,
                requires_grad=sample.requires_grad,
            )
        t = sample.as_subclass(BatchedTensor)
    t._ms = t._np = t._storage = None  # reading the memory of a single sample must fail
    t._value, t._level = value, level
    return t


def _is_batched(x, level):
    return isinstance(x, BatchedTensor) and x._level == level


def _wrap_tree(result, level):
    return tree_map(lambda x: _wrap(x, level) if isinstance(x, torch.Tensor) else x, result)


def _value(x, level, size):
    """Return the values of all samples; a tensor that is not batched is expanded."""
    return x._value if _is_batched(x, level) else x if x is None else x.expand(size, *x.shape)


def _align(x, n, level):
    """Insert dimensions of size 1 after the batch dimension, so that a sample has ``n`` dimensions."""
    if not _is_batched(x, level):
        return x
    v = x._value
    for _ in range(n - x.dim()):
        v = v.unsqueeze(1)
    return v


def _shift(d, n):
    """Convert a dimension of a sample to a dimension of the batched values."""
    if not -max(n, 1) <= d < max(n, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(n, 1)}, {max(n, 1) - 1}], but got {d})"
        )
    return d + 1 if d >= 0 else d + n + 1


def _shift_all(dims, n):
    """Apply ``_shift`` to one dimension or several."""
    return tree_map(lambda d: _shift(d, n), tuple(dims) if isinstance(dims, range) else dims)
