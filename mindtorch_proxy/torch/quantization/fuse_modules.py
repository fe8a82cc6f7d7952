"""torch.quantization.fuse_modules: the older name of torch.ao.quantization.fuse_modules."""

from torch.ao.quantization.fuse_modules import fuse_known_modules, fuse_modules, get_fuser_method  # noqa: F401
from torch.ao.quantization.fuser_method_mappings import fuse_conv_bn, fuse_conv_bn_relu  # noqa: F401
