"""Causal masks for scaled_dot_product_attention, allocated only where they are needed."""

from enum import IntEnum

import torch

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """The corner of the mask that the diagonal starts or ends in."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(torch.Tensor):
    """A causal mask, described by its variant and the numbers of queries and keys.

    The tensor itself is empty.
    """

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        return torch.Tensor._make_subclass(cls, torch.empty(0))

    def __init__(self, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant)}")
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv

    def _materialize(self, device=None):
        lower = self.seq_len_kv - self.seq_len_q if self.variant is CausalVariant.LOWER_RIGHT else 0
        return torch.ones(self.seq_len_q, self.seq_len_kv, dtype=torch.bool, device=device).tril(lower)

    @staticmethod
    def _dispatch(query, key, value, attn_mask, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        """Run scaled_dot_product_attention with this mask; is_causal=True raises ValueError."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        upper = attn_mask.variant is CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv
        return torch.nn.functional.scaled_dot_product_attention(
            query,
            key,
            value,
            None if upper else attn_mask._materialize(query.device),
            dropout_p,
            upper,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    def __repr__(self):
        return repr(self._materialize())


def _made(variant, size):
    if len(size) != 2:
        raise AssertionError(f"causal_{variant.name.lower()} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size):
    """Return a causal mask of size (queries, keys) whose diagonal starts in the upper left corner."""
    return _made(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size):
    """Return a causal mask of size (queries, keys) whose diagonal ends in the lower right corner.

    The last query attends to every key.
    """
    return _made(CausalVariant.LOWER_RIGHT, size)
