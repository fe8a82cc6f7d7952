"""torch.cuda.sparse without CUDA: types that exist (for isinstance) and cannot be made."""

from .._absent_device import classes

classes(
    globals(),
    TypeError("type torch.cuda.sparse.{name} not available. Torch not compiled with CUDA enabled."),
    " ".join(f"{t}Tensor" for t in "BFloat16 Byte Char Double Float Half Int Long Short".split()),
)
