"""Operators implemented by other operators, for backends without a better kernel.

They are plain functions that name no device and touch no memory. A backend finds them by the operator's full name in
registry.DECOMPOSITIONS; they are imported with the first backend.
"""

from . import (
    bessel,
    fft,
    fused,
    implicit,
    linalg,
    matmul,
    nn,
    pointwise,
    quantization,
    recurrent,
    reduction,
    resample,
    shape,
    special,
)  # noqa: F401
