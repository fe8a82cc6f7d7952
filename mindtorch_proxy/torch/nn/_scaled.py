"""Scaled float8 matrix products, with scales for tensors, rows or blocks.

The option types exist, but the products are not supported and raise NotImplementedError.
"""

import enum

__all__ = ["ScalingType", "SwizzleType", "scaled_grouped_mm", "scaled_mm"]


class ScalingType(enum.IntEnum):
    """What one scale applies to: a whole tensor, a row, or a block of the given rows and columns."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """How the scales of blocks are laid out in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


ScalingType.__module__ = SwizzleType.__module__ = "torch.nn.functional"


def _product(name):
    def product(mat_a, mat_b, *args, **kwargs):
        raise NotImplementedError(
            f"torch.nn.functional.{name}: products of scaled matrices ({mat_a.dtype}, {mat_a.device}) are not supported"
        )

    product.__name__ = product.__qualname__ = name
    product.__module__, product.__doc__ = "torch.nn.functional", "Raises NotImplementedError."
    return product


scaled_mm, scaled_grouped_mm = _product("scaled_mm"), _product("scaled_grouped_mm")
