"""torch.types: type aliases for annotations."""

import builtins
import os
from collections.abc import Sequence
from typing import IO, Union

from torch import Size, Tensor, device, dtype, layout

__all__ = ["Number", "Device", "FileLike", "Storage"]
_bool, _bytes, _complex, _float, _int, _str = (
    builtins.bool,
    builtins.bytes,
    builtins.complex,
    builtins.float,
    builtins.int,
    builtins.str,
)
_device, _dtype, _layout = device, dtype, layout
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]
_TensorOrOptionalTensors = Union[Tensor, Sequence[Tensor | None]]
_size = Union[Size, list[int], tuple[int, ...]]
_symsize = Union[Size, Sequence[int]]
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
Number = Union[int, float, bool]
_Number = (int, float, bool)
FileLike = Union[str, os.PathLike, IO[bytes]]
Device = Union[device, str, int, None]


class Storage:
    """The interface of storages, for annotations."""
