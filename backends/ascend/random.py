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
from ...runtime.generator import default_of
from ...runtime.ops.fused import dropout_drawn
from ...runtime.registry import T
from .fused import HALVES, followed, fused
from .table import DRAWN, pyboost_

PLACE = os.environ.get("MINDTORCH_NPU_RANDOM") or "host"
if PLACE not in ("host", "device"):
    raise ValueError(f"MINDTORCH_NPU_RANDOM={PLACE}: expected 'host' or 'device'")
ON_DEVICE = PLACE == "device"
DIGITS = {dt.float16: 11, dt.bfloat16: 8, dt.float32: 24, dt.float64: 53}

primitive = functools.partial(pyboost.primitive, target="Ascend")


def numbers(seed, offset):
    """Return seed and offset as the tensors that primitives take."""
    return tuple(pyboost.tensor_from_array(np.array(n, np.uint64).view(np.int64)) for n in (seed, offset))


def filled(name, generator, size, dtype, device, *parameters):
    """Return a new tensor that a primitive has filled with random numbers."""
    out = backend(device).empty(size, dtype, device)
    if 0 not in size:
        primitive(name)(out._mstensor(), *parameters, *numbers(*generator._advance()))
    return out


def uniform(make, dtype, low=0.0, high=1.0):
    return make("InplaceUniform", dtype, float(low), float(high))


def normal(make, dtype, mean=0.0, std=1.0, contiguous=True):
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return make("InplaceNormal", dtype, float(mean), float(std))


def bernoulli(make, dtype, p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return make("InplaceBernoulliScalar", dtype, float(p))


def integers(make, dtype, low, high):
    high = highest(dtype) + 1 if high is None else high
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return make("InplaceRandom", dtype, low, high)


def highest(dtype):
    """Return the largest integer that random_() gives in a dtype."""
    if dtype.is_floating_point:
        return 1 << DIGITS[dtype]
    return 1 if dtype is dt.bool_ else dt.iinfo(dtype).max


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
    "random": lambda make, dtype: integers(make, dtype, 0, min(highest(dtype) + 1, (1 << 63) - 1)),
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
        return filled(name, generator, tuple(size), dtype, device, *parameters)

    return DRAWS[kind](make, dtype, *parameters)


def _bernoulli(probabilities, dtype, generator):
    t = T.rand(probabilities.shape, device=probabilities.device, dtype=dt.float32, generator=generator)
    return (t < probabilities).to(dtype)


if ON_DEVICE:
    DRAWN["_draw"], DRAWN["_C._bernoulli"] = _draw, _bernoulli


# ---------------------------------------------------------------- dropout: one bit an element
@fused("dropout")
def _dropout(x, p):
    if not ON_DEVICE or followed((x,)) or x.dtype not in HALVES:
        return None
    seed, offset = default_of(x.device)._advance()
    return dropout_drawn.call(x, p, seed, offset)[0]


@functools.partial(pyboost_, "_C.dropout_drawn", "DropoutExt", "seed and offset are tensors")
def _dropout_drawn(prim, x, p, seed, offset):
    return prim(x, p, *numbers(seed, offset))
