"""Branches as functions."""

import torch

__all__ = ["cond"]


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) or false_fn(*operands)."""
    if not isinstance(pred, (bool, int, float, torch.Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not isinstance(operands, (list, tuple)):
        raise RuntimeError(f"Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got {operands}.")
    return (true_fn if bool(pred) else false_fn)(*operands)
