"""Attention with a score function and a mask function of the (batch, head, query, key) positions.

Both functions are evaluated densely, by broadcasting tensors of positions.
"""

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import torch

__all__ = [
    "BlockMask",
    "flex_attention",
    "AuxOutput",
    "AuxRequest",
    "create_block_mask",
    "create_mask",
    "or_masks",
    "and_masks",
    "noop_mask",
]
_DEFAULT_SPARSE_BLOCK_SIZE = 128
_score_mod_signature = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
_mask_mod_signature = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class AuxRequest(NamedTuple):
    """The results that flex_attention should return besides the output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The results requested by an AuxRequest; a result that was not requested is None."""

    lse: torch.Tensor | None = None
    max_scores: torch.Tensor | None = None


def noop_mask(batch, head, token_q, token_kv):
    """A mask function that lets every query attend to every key."""
    return batch.new_ones((), dtype=torch.bool, device=batch.device)


def _positions(B, H, q_len, kv_len, device):
    def line(n, dim):
        shape = [1, 1, 1, 1]
        shape[dim] = n
        return torch.arange(n, device=device).view(shape)

    return line(B or 1, 0), line(H or 1, 1), line(q_len, 2), line(kv_len, 3)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """Evaluate a mask function, or a score function on zeros, for all positions.

    The result has the shape (B, H, Q_LEN, KV_LEN), where None for B or H counts as 1. It is a bool tensor for a mask
    function. A function of 5 arguments is a score function.
    """
    b, h, q, k = _positions(B, H, Q_LEN, KV_LEN, device)
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    n = mod_fn.__code__.co_argcount if hasattr(mod_fn, "__code__") else 4
    mask = mod_fn(b, h, q, k) if n != 5 else mod_fn(torch.zeros(shape, device=device), b, h, q, k)
    return mask.expand(shape)


def _combine(op):
    def combined(*mask_mods):
        if not all(callable(m) for m in mask_mods):
            raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

        def mask_mod(b, h, q_idx, kv_idx):
            result = mask_mods[0](b, h, q_idx, kv_idx) if mask_mods else b.new_full((), op == "and", dtype=torch.bool)
            for m in mask_mods[1:]:
                result = result & m(b, h, q_idx, kv_idx) if op == "and" else result | m(b, h, q_idx, kv_idx)
            return result

        return mask_mod

    combined.__name__ = combined.__qualname__ = f"{op}_masks"
    combined.__doc__ = (
        f"A mask function that lets through what {'all' if op == 'and' else 'any'} of the given ones let through."
    )
    return combined


or_masks, and_masks = _combine("or"), _combine("and")


def _sliced(*positions):
    raise RuntimeError(
        "a BlockMask that was indexed has no mask_mod of its own: assign one that counts from the new positions"
    )


def _dense(number, indices):
    """Convert lists of blocks to a tensor of 0 and 1: whether each block of a row is listed."""
    listed = torch.arange(indices.shape[-1], device=number.device) < number.unsqueeze(-1)
    return torch.zeros(indices.shape, dtype=torch.int32, device=number.device).scatter_add(
        -1, indices.to(torch.int64), listed.to(torch.int32)
    )


class BlockMask:
    """A mask function together with lists of the blocks that are not empty.

    For each row of blocks, kv_num_blocks and kv_indices list the blocks where the mask lets some elements through, and
    full_kv_num_blocks and full_kv_indices those where it lets all through. The attributes that begin with q_ and
    full_q_ list the same for each column of blocks.
    """

    _TENSORS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        BLOCK_SIZE,
        mask_mod,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        compute_q_blocks=True,
    ):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        rows = ((kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices))
        columns = [
            _blocks(_dense(*row).mT) if compute_q_blocks and row[0] is not None else (None, None) for row in rows
        ]
        for name, value in zip(self._TENSORS, [t for pair in (*rows, *columns) for t in pair]):
            setattr(self, name, value)

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
    ):
        """Create a mask from the number of blocks in each row and their column indices."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(
            lengths,
            kv_num_blocks,
            kv_indices,
            size,
            mask_mod or noop_mask,
            full_kv_num_blocks,
            full_kv_indices,
            compute_q_blocks,
        )

    @property
    def shape(self):
        """The sizes (batch, heads, queries, keys)."""
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    def __getitem__(self, index):
        """Return the mask of some batches, heads and rows of blocks; an int index keeps its dimension.

        The result has no mask_mod of its own; one must be assigned before use.
        """
        index = [
            slice(i + n, i + n + 1) if isinstance(i, int) and i < 0 else slice(i, i + 1) if isinstance(i, int) else i
            for i, n in zip(index if isinstance(index, tuple) else (index,), self.kv_num_blocks.shape)
        ]
        part = [t if t is None else t[tuple(index)] for t in (getattr(self, name) for name in self._TENSORS[:4])]
        return BlockMask(self.seq_lengths, *part[:2], self.BLOCK_SIZE, _sliced, *part[2:], self.q_indices is not None)

    def to_dense(self):
        """Return an int32 tensor of 0 and 1: whether each block has any element."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        return dense if self.full_kv_indices is None else dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def sparsity(self):
        """Return the percentage of elements that are in no listed block."""
        blocks = self.kv_num_blocks.sum().item() + (
            0 if self.full_kv_num_blocks is None else self.full_kv_num_blocks.sum().item()
        )
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def numel(self):
        """Return the product of the sizes."""
        return math.prod(self.shape)

    def to(self, device):
        """Return the mask with its tensors on another device."""
        move = [t if t is None else t.to(device) for t in (getattr(self, name) for name in self._TENSORS[:4])]
        return BlockMask(
            self.seq_lengths, *move[:2], self.BLOCK_SIZE, self.mask_mod, *move[2:], self.q_indices is not None
        )

    def to_string(self, grid_size=(20, 20), limit=4):
        """Return a text picture of the blocks for at most `limit` pairs of batch and head.

        grid_size limits the size of a picture; -1 shows every block.
        """
        dense = self.to_dense().float()
        rows, columns = dense.shape[-2:]
        r, c = (
            (1, 1)
            if grid_size == -1
            else (
                max(-(-n // g) for g in (size, n))
                for n, size in zip((rows, columns), (grid_size, grid_size) if isinstance(grid_size, int) else grid_size)
            )
        )
        pictures = []
        for index in itertools.islice(itertools.product(*map(range, dense.shape[:-2])), limit):
            cells = [
                [dense[index][i : i + r, j : j + c].mean().item() for j in range(0, columns, c)]
                for i in range(0, rows, r)
            ]
            lines = ("".join("██" if share == 1 else "░░" if share else "  " for share in line) for line in cells)
            pictures.append(f"{index}\n" + "".join(line + "\n" for line in lines))
        if math.prod(dense.shape[:-2]) > limit:
            pictures.append(
                "...\nTo print out more, set BlockMask.to_string(limit=N)\nYou can also index (BlockMask[batch, "
                "head]) to choose a specific batch or head"
            )
        return "\n".join(pictures)

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self):
        sizes = [(name, getattr(self, name)) for name in self._TENSORS]
        mod = getattr(self.mask_mod, "__name__", self.mask_mod)
        lines = [
            *(f"{name}={t if t is None else t.shape}" for name, t in sizes),
            f"BLOCK_SIZE={self.BLOCK_SIZE}",
            f"shape={self.shape}",
            f"sparsity={self.sparsity():.2f}%",
            f"mask_mod={mod}",
        ]
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"


def _blocks(dense):
    """Return the number of set blocks in each row, and the block indices with the set ones first."""
    order = torch.argsort(dense.to(torch.int32), dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(torch.int32), order.to(torch.int32)


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
):
    """Evaluate a mask function for all positions and return its BlockMask."""
    qb, kb = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    pad = torch.nn.functional.pad(mask.to(torch.int32), (0, -KV_LEN % kb, 0, -Q_LEN % qb))
    b, h, q, k = pad.shape
    count = pad.view(b, h, q // qb, qb, k // kb, kb).sum(dim=(3, 5))
    full = (count == qb * kb) if separate_full_blocks else torch.zeros_like(count, dtype=torch.bool)
    part = (count > 0) & ~full
    return BlockMask(
        (Q_LEN, KV_LEN), *_blocks(part), (qb, kb), mask_mod, *(_blocks(full) if separate_full_blocks else (None, None))
    )


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Compute softmax(score_mod(q k^T * scale)) v over the positions that block_mask lets through.

    Inputs of shape (B, H, L, E), (B, Hkv, S, E) and (B, Hkv, S, Ev) give an output (B, H, L, Ev). Inputs that are not
    4-D raise NotImplementedError. Different numbers of heads raise ValueError, unless enable_gqa is set. Scores are
    computed in at least float32.

    return_aux selects further results, which are returned as (output, AuxOutput); return_lse is its older form and
    returns (output, lse). Giving both raises ValueError.
    """
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if key.shape[1] != query.shape[1]:
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} and "
                f"Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA."
            )
        rep = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(rep, 1), value.repeat_interleave(rep, 1)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query @ key.transpose(-2, -1)).to(torch.promote_types(query.dtype, torch.float32)) * scale
    b, h, q, k = _positions(*scores.shape, scores.device)
    if score_mod is not None:
        scores = score_mod(scores, b, h, q, k)
    if block_mask is not None:
        scores = torch.where(block_mask.mask_mod(b, h, q, k).expand(scores.shape), scores, float("-inf"))
    lse = scores.logsumexp(-1)
    weights = torch.where(lse.unsqueeze(-1) == float("-inf"), 0.0, (scores - lse.unsqueeze(-1)).exp())
    out = weights.to(value.dtype) @ value
    if return_aux is not None:
        if return_lse:
            raise ValueError(
                "Cannot specify both return_lse and return_aux: return_lse is the older name for AuxRequest(lse=True)"
            )
        if return_aux.max_scores and query.device.type == "cpu":
            raise NotImplementedError("Returning max scores is not supported on CPU")
        return out, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (out, lse) if return_lse else out
