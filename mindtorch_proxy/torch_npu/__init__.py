"""torch_npu: the names of Ascend's own extension of PyTorch, on the operators that torch has here.

Importable exactly where an NPU is usable.
"""

import sys

import torch
from torch import npu
from torch.npu import amp, memory, random, streams

from . import distributed, operators, optim
from .functions import (
    empty_with_format,
    get_npu_format,
    get_storage_size,
    npu_add_rms_norm,
    npu_confusion_transpose,
    npu_dtype_cast,
    npu_format_cast,
    npu_fusion_attention,
    npu_geglu,
    npu_gelu,
    npu_incre_flash_attention,
    npu_linear,
    npu_masked_softmax_with_rel_pos_bias,
    npu_moe_gating_top_k_softmax,
    npu_prompt_flash_attention,
    npu_rms_norm,
    npu_rotary_mul,
    npu_silu,
    npu_swiglu,
)
from .operators import *

# torch.npu is torch_npu.npu, with its modules
sys.modules[f"{__name__}.npu"] = npu
for _module in (amp, memory, random, streams):
    sys.modules[_module.__name__.replace("torch.", f"{__name__}.", 1)] = _module

__version__ = torch.__version__
__all__ = [
    "distributed",
    "empty_with_format",
    "get_npu_format",
    "get_storage_size",
    "npu",
    "npu_add_rms_norm",
    "npu_confusion_transpose",
    "npu_dtype_cast",
    "npu_format_cast",
    "npu_fusion_attention",
    "npu_geglu",
    "npu_gelu",
    "npu_incre_flash_attention",
    "npu_linear",
    "npu_masked_softmax_with_rel_pos_bias",
    "npu_moe_gating_top_k_softmax",
    "npu_prompt_flash_attention",
    "npu_rms_norm",
    "npu_rotary_mul",
    "npu_silu",
    "npu_swiglu",
    "optim",
]
__all__ += operators.__all__
