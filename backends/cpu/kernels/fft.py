"""Fourier transforms by SciPy's pocketfft, the library behind MindSpore's own kernels."""

import numpy as np

from ..table import numpy

WHY = (
    "the legacy FFT, RFFT and IRFFT are 3 to 4.2 times slower at 64k elements and keep a compiled entry for every shape"
)
# what SciPy calls not scaling, scaling by the root and by the number of points, for each direction
_NORM = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


# float32 is computed in double and rounded once: in single precision pocketfft is off by 3e-5 where PyTorch's library
# is not


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
