"""torch.backends: flags that keep their values, and queries about libraries that are not available."""

from . import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
)
from ._flags import __allow_nonbracketed_mutation, disable_global_flags, flag_module, flags_frozen

set_flags, flags = flag_module(__name__, fp32_precision="none")
for _object in (__allow_nonbracketed_mutation, disable_global_flags, flags_frozen):
    _object.__module__ = __name__
