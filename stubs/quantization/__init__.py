"""torch.quantization: the older name of torch.ao.quantization."""

from torch.ao.quantization import *  # noqa: F403
