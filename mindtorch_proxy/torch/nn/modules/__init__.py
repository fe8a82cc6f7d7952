"""All layers."""

from .module import Module  # noqa: F401  first: the others build on it
from . import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)

__all__ = ["Module"]
for _file in (
    linear,
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
):
    globals().update((name, getattr(_file, name)) for name in _file.__all__)
    __all__ += _file.__all__
__all__.sort()
del _file
