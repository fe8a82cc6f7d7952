"""Fourier transforms by SciPy's pocketfft, the library that MindSpore's own kernels use."""

import numpy as np

from ..table import numpy

WHY = (
    "the legacy FFT, RFFT and IRFFT are 3 to 4.2 times slower at 64k elements and keep a compiled entry for every shape"
)
# SciPy's names, for each direction, of no scaling, scaling by the square root and scaling by the number of points
_NORM = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


# float32 is computed in double precision and rounded once: in single precision pocketfft has errors of 3e-5 that
# PyTorch's library does not have


def _wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


@numpy("_fft_c2c", WHY)
def c2c(x, dim, normalization, forward):
    from scipy import fft

    return (fft.fftn if forward else fft.ifftn)(_wide(x), axes=dim, norm=_NORM[forward][normalization])


@numpy("_fft_r2c", WHY)
def r2c(x, dim, normalization, onesided):
    from scipy import fft

    return (fft.rfftn if onesided else fft.fftn)(_wide(x), axes=dim, norm=_NORM[True][normalization])


@numpy("_fft_c2r", WHY)
def c2r(x, dim, normalization, last_dim_size):
    from scipy import fft

    return fft.irfftn(
        _wide(x), [x.shape[d] for d in dim[:-1]] + [last_dim_size], axes=dim, norm=_NORM[False][normalization]
    )
