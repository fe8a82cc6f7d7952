"""torch.cuda.sparse without CUDA: types that exist (for isinstance) and cannot be created."""

from .. import _absent_device as _absent

_absent.classes(
    globals(),
    *(
        (
            TypeError("type torch.cuda.sparse.{name} not available. Torch not compiled with CUDA enabled."),
            "__new__",
            f"{t}Tensor(*args, **kwargs)",
        )
        for t in "BFloat16 Byte Char Double Float Half Int Long Short".split()
    ),
)
