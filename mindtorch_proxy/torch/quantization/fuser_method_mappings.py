"""torch.quantization.fuser_method_mappings: the older name of torch.ao.quantization.fuser_method_mappings."""

from torch.ao.quantization.fuser_method_mappings import (
    _DEFAULT_OP_LIST_TO_FUSER_METHOD,
    fuse_conv_bn,
    fuse_conv_bn_relu,
    fuse_linear_bn,
    get_fuser_method,
)  # noqa: F401
