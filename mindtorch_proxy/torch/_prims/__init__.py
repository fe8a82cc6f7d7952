"""torch._prims: only the helpers of PyTorch's primitive operators, as ``utils``."""

import torch._prims_common as utils

__all__ = ["utils"]
