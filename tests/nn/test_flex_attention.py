"""BlockMask: what its blocks are, its pictures and parts."""

import pytest
from torch.nn.attention.flex_attention import BlockMask, create_block_mask


def causal(b, h, q, kv):
    return q >= kv


def test_blocks_of_rows_and_columns():
    mask = create_block_mask(causal, 1, 1, 512, 700, device="cpu")
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 2, 3]]] and mask.kv_num_blocks.tolist() == [[[1, 1, 1, 1]]]
    assert mask.full_q_num_blocks.tolist() == [[[3, 2, 1, 0, 0, 0]]] and mask.q_indices[0, 0, :4, 0].tolist() == [
        0,
        1,
        2,
        3,
    ]
    assert mask.to_string() == "(0, 0)\n██          \n████        \n██████      \n████████    \n"
    assert (
        round(mask.sparsity(), 2) == 54.29
        and "sparsity=54.29%" in str(mask)
        and "q_indices=torch.Size([1, 1, 6, 4])" in repr(mask)
    )


def test_large_pictures_are_sampled():
    mask = create_block_mask(causal, 3, 2, 4000, 4000, device="cpu")
    assert mask.to_string(grid_size=(5, 7), limit=1).splitlines()[:3] == ["(0, 0)", "░░░░          ", "██░░░░        "]
    assert (
        mask.to_string().count("(") == 4 + 2
        and "..." in mask.to_string()
        and mask.to_string(grid_size=-1, limit=9).count("(") == 6
    )


def test_parts():
    mask = create_block_mask(causal, 3, 2, 300, 500, device="cpu")
    assert [mask[i].shape[:2] for i in (0, slice(0, 2), (1, 0), (slice(None), 1), -1)] == [
        (1, 2),
        (2, 2),
        (1, 1),
        (3, 1),
        (1, 2),
    ]
    with pytest.raises(RuntimeError):
        mask[0].mask_mod(0, 0, 0, 0)
    with pytest.raises(AssertionError, match="both provided or omitted"):
        BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, mask.kv_num_blocks)
