"""map: applies a function to slices, one after the other."""

import torch
import torch.utils._pytree as pytree

__all__ = ["map"]


def _unstack_pytree(xs):
    """Split a pytree of tensors along their first dimension into a list of pytrees."""
    leaves, spec = pytree.tree_flatten(xs)
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        raise RuntimeError(f"Leaves of xs must be Tensor {leaves}")
    if not all(x.shape[0] == leaves[0].shape[0] for x in leaves):
        raise RuntimeError(f"Leaves of xs must have same leading dimension size {[x.shape for x in leaves]}")
    return [pytree.tree_unflatten(row, spec) for row in zip(*leaves)]


def _stack_pytree(pytrees):
    """Stack pytrees of tensors along a new first dimension."""
    return pytree.tree_map(lambda *rows: None if rows[0] is None else torch.stack(rows), *pytrees)


def map(f, xs, *args):
    """Apply f(x, *args) to each slice x of the tensors in xs along their first dimension, and stack the results.

    Source: torch._higher_order_ops.map.
    """
    leaves = pytree.tree_leaves(xs)
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [x.shape for x in leaves]
    if not shapes or shapes[0][0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != shapes[0][0] for shape in shapes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")
    return _stack_pytree([f(x, *args) for x in _unstack_pytree(xs)])
