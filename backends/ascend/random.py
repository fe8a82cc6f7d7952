"""Random numbers that the NPU draws by itself, with MINDTORCH_NPU_RANDOM=device.

By default all numbers are drawn on the host, from PyTorch's own streams, and copied: the same seed gives the same run
as on a CPU, which is how people check a program that they move here, but dropout of large tensors then waits for the
host. On the device a kernel computes them from the seed and the offset of the device's generator, as for torch_npu.
"""

import functools
import math
import os

import numpy as np

from ...runtime import dtypes as dt
from ...runtime import pyboost
from ...runtime.backend import backend
from ...runtime.generator import check_p, check_std, default_of, random_bounds
from ...runtime.ops.fused import dropout_drawn
from ...runtime.registry import T
from .fused import HALVES, followed, fused
from .kernels import primitive
from .table import composite, pyboost_

PLACE = os.environ.get("MINDTORCH_NPU_RANDOM") or "host"
if PLACE not in ("host", "device"):
    raise ValueError(f"MINDTORCH_NPU_RANDOM={PLACE}: expected 'host' or 'device'")
ON_DEVICE = PLACE == "device"
WHY = "drawn on the device, as MINDTORCH_NPU_RANDOM says"


def numbers(seed, offset):
    """Return seed and offset as the tensors that primitives take."""
    return tuple(pyboost.tensor_from_array(np.array(n, np.uint64).view(np.int64)) for n in (seed, offset))


def drawn(name, generator, size, dtype, device, *parameters):
    """Return a new tensor that a primitive has filled with random numbers."""
    out = backend(device).empty(size, dtype, device)
    if 0 not in size:
        primitive(name)(out._mstensor(), *parameters, *numbers(*generator._advance()))
    return out


def uniform(make, dtype, low=0.0, high=1.0):
    return make("InplaceUniform", dtype, float(low), float(high))


def normal(make, dtype, mean=0.0, std=1.0, contiguous=True):
    check_std(std)
    return make("InplaceNormal", dtype, float(mean), float(std))


def bernoulli(make, dtype, p):
    check_p(p)
    return make("InplaceBernoulliScalar", dtype, float(p))


def integers(make, dtype, low=0, high=None):
    low, last = random_bounds(dtype.np, low, high)
    return make("InplaceRandom", dtype, low, min(last + 1, (1 << 63) - 1))


def _positive(make, dtype):
    """Return uniform numbers above 0 and at most 1, in float32 for half types."""
    return 1 - uniform(make, dt.OPMATH.get(dtype, dtype))


def _floats(f):
    """Compute in float32 for half types, and round once."""
    return lambda make, dtype, *parameters: f(make, dtype, *parameters).to(dtype)


DRAWS = {
    "uniform": uniform,
    "normal": normal,
    "bernoulli": bernoulli,
    "dropout": lambda make, dtype, p: bernoulli(make, dtype, 1 - p) / (1 - p),
    "integers": integers,
    "random": integers,
    "exponential": _floats(lambda make, dtype, rate=1.0: T.log(_positive(make, dtype)) / -rate),
    "log_normal": _floats(
        lambda make, dtype, mean=1.0, std=2.0: T.exp(normal(make, dt.OPMATH.get(dtype, dtype), mean, std))
    ),
    "cauchy": _floats(
        lambda make, dtype, median=0.0, sigma=1.0: (
            T.tan((uniform(make, dt.OPMATH.get(dtype, dtype)) - 0.5) * math.pi) * sigma + median
        )
    ),
}
SAMPLERS = {"_C._bernoulli"}


def draws(kind):
    """Whether the device draws a distribution; what it has no kernel for is drawn on the host in either mode."""
    return ON_DEVICE and (kind in DRAWS or kind in SAMPLERS)


def _draw(kind, size, parameters, generator, dtype, device):
    def make(name, dtype, *parameters):
        return drawn(name, generator, tuple(size), dtype, device, *parameters)

    return DRAWS[kind](make, dtype, *parameters)


def _bernoulli(probabilities, dtype, generator):
    t = T.rand(probabilities.shape, device=probabilities.device, dtype=dt.float32, generator=generator)
    return (t < probabilities).to(dtype)


if ON_DEVICE:
    composite("_draw", WHY)(_draw)
    composite("_C._bernoulli", WHY)(_bernoulli)


# ---------------------------------------------------------------- dropout: one bit an element
@fused("dropout", "DropoutExt")
def _dropout(x, p):
    if not ON_DEVICE or followed((x,)) or x.dtype not in HALVES:
        return None
    seed, offset = default_of(x.device)._advance()
    return dropout_drawn.call(x, p, seed, offset)[0]


@functools.partial(pyboost_, "_C.dropout_drawn", "DropoutExt", "seed and offset are tensors")
def _dropout_drawn(prim, x, p, seed, offset):
    return prim(x, p, *numbers(seed, offset))
