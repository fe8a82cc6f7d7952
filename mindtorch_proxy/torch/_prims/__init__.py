"""torch._prims: of PyTorch's primitive operators, what its helpers are."""

import torch._prims_common as utils

__all__ = ["utils"]
