"""torch_npu: the names of Ascend's own extension of PyTorch, on the operators that torch has here. Importable exactly where an NPU is usable."""

import torch
from torch import npu

from . import optim
from .functions import (
    get_npu_format,
    npu_confusion_transpose,
    npu_dtype_cast,
    npu_format_cast,
    npu_fusion_attention,
    npu_gelu,
    npu_linear,
    npu_prompt_flash_attention,
    npu_rms_norm,
    npu_rotary_mul,
    npu_silu,
    npu_swiglu,
)

__version__ = torch.__version__
__all__ = [
    "get_npu_format",
    "npu",
    "npu_confusion_transpose",
    "npu_dtype_cast",
    "npu_format_cast",
    "npu_fusion_attention",
    "npu_gelu",
    "npu_linear",
    "npu_prompt_flash_attention",
    "npu_rms_norm",
    "npu_rotary_mul",
    "npu_silu",
    "npu_swiglu",
    "optim",
]
