"""torch.Generator, and the random distributions of PyTorch's CPU kernels on NumPy arrays.

They reproduce PyTorch's draws, order of elements and roundings. Every function takes a Generator (None: the default
one), the number of elements in memory order, and a NumPy dtype.
"""

import functools
import math
import secrets
import sys
import warnings
from array import array
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import dtypes as dt
from . import samplers
from .backend import backend, exists
from .device import HOST, META
from .device import device as _device
from .forks import lock
from .mt19937 import MT19937
from .philox import Philox

CHUNK = 1 << 16
M64 = (1 << 64) - 1
I64 = np.iinfo(np.int64)
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
C_NAMES = {d.name: n for d, n in dt.C_NAMES.items()}
FLOATING = frozenset(DIGITS)
NUMERIC = FLOATING | {"uint8", "int8", "int16", "int32", "int64"}
NAMES = {n: d.name for n, d in dt.FROM_NP.items()}  # NumPy's own dtype.name takes 2 µs
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def _refused(error, message):
    def method(self, *args):
        raise error(message)

    method.__doc__ = f"{error.__name__}: {message}."
    return method


class Generator:
    """A random number generator: gives the same numbers as PyTorch's Mersenne Twister.

    For a device that draws by itself it keeps that device's seed and offset instead.
    """

    __module__ = "torch._C"
    __slots__ = ("device", "_engine", "_lock", "__weakref__")
    DEFAULT_SEED = 67280421310721

    def __init__(self, device=None):
        where: Any = HOST if device is None else _device(device)
        self.device = where
        if where is META or not exists(where.type):
            raise RuntimeError(f"Device type {where.type.upper()} is not supported for torch.Generator() api.")
        engine = Philox if where is not HOST and backend(where).draws("uniform") else MT19937
        self._engine, self._lock = engine(self.DEFAULT_SEED), lock()

    def manual_seed(self, seed):
        """Restart from `seed` and return the generator."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = seed.__index__()
        if not -1 << 63 <= seed <= M64:
            raise ValueError("Overflow when unpacking long long")
        with self._lock:
            self._engine.reseed(seed & M64)
        return self

    def seed(self):
        """Restart from a random seed of the operating system and return the seed."""
        self.manual_seed(secrets.randbits(64))
        return self._engine.seed

    def initial_seed(self):
        """Return the seed from which the generator was started."""
        return self._engine.seed

    def _state_bytes(self):
        with self._lock:
            return self._engine.get_state()

    def _set_state_bytes(self, data):
        with self._lock:
            self._engine.set_state(data)

    def get_state(self):
        """Return the state as a ByteTensor in PyTorch's layout."""
        from .tensor import from_array

        return from_array(self._state_bytes(), dt.uint8)

    def set_state(self, new_state):
        """Restore a state that get_state() returned, here or in PyTorch."""
        from .tensor import Tensor

        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dt.uint8 or new_state.device is not HOST:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self._set_state_bytes(new_state._array().reshape(-1))
        return self

    def clone_state(self):
        """Return a new generator that continues from this state."""
        r = Generator(self.device)
        r._set_state_bytes(self._state_bytes())
        return r

    def get_offset(self):
        """Return how many numbers of a device's stream have been asked for; raise RuntimeError on the CPU."""
        return self._philox().offset

    def set_offset(self, offset):
        """Set the offset into a device's stream; raise RuntimeError on the CPU, and unless it is a multiple of 4."""
        self._philox().set_offset(offset)

    def _philox(self):
        if self._engine.__class__ is not Philox:
            raise RuntimeError("CPU Generator does not use offset")
        return self._engine

    def _advance(self):
        """Return (seed, offset) for one call of a device's kernel."""
        with self._lock:
            return self._engine.advance()

    graphsafe_get_state = _refused(NotImplementedError, "graphsafe_get_state is not supported in this Generator")
    graphsafe_set_state = _refused(NotImplementedError, "graphsafe_set_state is not supported in this Generator")

    def __reduce__(self):
        return Generator, (self.device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state):
        self.manual_seed(state[0])
        self.set_state(state[2])


default_generator = Generator()
default_generator.seed()
_default_of: dict = {}  # type of a device that draws by itself -> its default generator


def default_of(device):
    """Return the default generator of a device: the host's, unless the device draws by itself."""
    if device is HOST or device is META or not backend(device).draws("uniform"):
        return default_generator
    found = _default_of.get(device.type)
    if found is None:
        found = _default_of.setdefault(device.type, Generator(device).manual_seed(default_generator.initial_seed()))
    return found


def manual_seed(seed):
    """Seed the default generators of the host and of devices that draw by themselves; return the host's."""
    default_generator.manual_seed(seed)
    for generator in _default_of.values():
        generator.manual_seed(seed)
    return default_generator


def on_host(generator, device):
    """Return the generator for numbers that are drawn on the host for a device.

    From a device's own generator it is a new one, seeded with the seed and the offset, which then moves on.
    """
    generator = default_of(device) if generator is None else generator
    if generator._engine.__class__ is not Philox:
        return generator
    seed, offset = generator._advance()
    return Generator().manual_seed((seed + offset * 0x9E3779B97F4A7C15) & M64)


# PyTorch's text for checks without a message
_IMPROVE = "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"


def _check(ok, message):
    if not ok:
        raise RuntimeError(message)


def _name(dtype):
    return dt.scalar_name(dt.FROM_NP[dtype])


def _require(dtype, names, kernel):
    if NAMES[dtype] not in names:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{_name(dtype)}'")


@functools.cache
def _limits(dtype):
    info: Any = dt.finfo(dt.FROM_NP[dtype])
    return info.min, info.max


def cast(values, dtype):
    """Convert values as C++ does: from float64 to a half dtype through float32, to an integer through int64."""
    if values.dtype == dtype:
        return values
    if dtype == F32:
        return values.astype(dtype)
    with np.errstate(all="ignore"):
        if values.dtype == F64:
            values = values.astype(F32 if NAMES[dtype] in FLOATING else np.int64)
        return values.astype(dtype, copy=False)


def _fill(gen, n, dtype, draw, step=CHUNK):
    """Return n values of draw(engine, count), computed in pieces so that temporaries stay in the cache."""
    gen = default_generator if gen is None else gen
    with gen._lock:
        if n <= step:
            return cast(draw(gen._engine, n), dtype)
        out = np.empty(n, dtype)
        for i in range(0, n, step):
            out[i : i + step] = cast(draw(gen._engine, min(step, n - i)), dtype)
    return out


def _bits53(engine, n):
    return engine.words(n, 64).view(np.int64) & ((1 << 53) - 1)


def _unit(engine, n, wide=True):
    """Return uniforms in [0, 1): 53 bits of a 64-bit draw as float64, or 24 bits of a 32-bit draw as float32."""
    if wide:
        return _bits53(engine, n) * 2.0**-53
    return (engine.words(n).view(np.int32) & 0xFFFFFF).astype(F32) * F32.type(2.0**-24)


def _fma(x, scale, shift):
    """Return x * scale + shift with a single rounding, as compilers contract it in PyTorch's kernels."""
    if x.dtype == F32:
        scale, shift = F32.type(scale), F32.type(shift)
        if shift == 0 or math.frexp(scale)[0] == 0.5:
            x = x * scale
            x += shift
            return x
        x = x.astype(F64)  # the product is exact in it
        x *= F64.type(scale)
        x += F64.type(shift)
        return x.astype(F32)
    m, e = math.frexp(scale)
    if shift == 0 or m in (0.0, 0.5) or not (math.isfinite(scale) and math.isfinite(shift)):
        return x * scale + shift

    def split(a):  # Veltkamp's splitting: products of two halves are exact
        c = 134217729.0 * a
        high = c - (c - a)
        return high, a - high

    (xh, xl), (mh, ml), shift = split(x), split(m), math.ldexp(shift, -e)
    p = x * m
    p_err = ((xh * mh - p) + xh * ml + xl * mh) + xl * ml
    s = p + shift
    t = s - p
    return np.ldexp(s + (((p - (s - t)) + (shift - t)) + p_err), e)


@functools.lru_cache(64)
def _range(dtype, lo, hi):
    """Check the bounds of uniform_ and return (scale, shift, lo, hi) in the dtypes in which they are used."""
    least, most = _limits(dtype)
    for name, v in (("from", lo), ("to", hi)):
        _check(least <= v <= most, f"{name} is out of bounds for {C_NAMES[NAMES[dtype]]}")
    _check(lo <= hi, f"uniform_ expects to return a [from, to) range, but found from={lo:g} > to={hi:g}")
    _check(
        hi - lo <= most,
        f"uniform_ expects to-from <= std::numeric_limits<{_name(dtype)}>::max(), but found to={hi:g} and from={lo:g} "
        "which result in to-from to exceed the limit",
    )
    work = F64.type if dtype == F64 else F32.type
    return work(hi) - work(lo), work(lo), *(cast(np.array(v, F64), dtype) for v in (lo, hi))


def uniform(gen, n, dtype, lo=0.0, hi=1.0):
    """uniform_: in [lo, hi)."""
    _require(dtype, FLOATING, "check_uniform_bounds")
    scale, shift, low, high = _range(dtype, float(lo), float(hi))
    wide = dtype == F64
    if lo == 0 and hi == 1 and dtype.itemsize > 2:
        return _fill(gen, n, dtype, lambda engine, k: _unit(engine, k, wide))

    def draw(engine, k):
        r = cast(_fma(_unit(engine, k, wide), scale, shift), dtype)
        if (reached := r == high).any():  # rounding reached the excluded bound
            r[reached] = low
        return r

    return _fill(gen, n, dtype, draw)


def _box_muller(u, mean, std):
    """Transform blocks of 16 uniforms to normals: the first 8 give the radii, the last 8 the angles."""
    u = u.reshape(-1, 2, 8)
    radius = np.subtract(1, u[:, 0])
    np.log(radius, out=radius)
    radius *= u.dtype.type(-2)
    np.sqrt(radius, out=radius)
    theta = u[:, 1] * u.dtype.type(2 * math.pi)
    np.multiply(radius, np.cos(theta), out=u[:, 0])
    np.multiply(radius, np.sin(theta, out=theta), out=u[:, 1])
    return _fma(u.reshape(-1), std, mean)


def _paired_normals(engine, n, mean, std):
    """Draw normals as PyTorch's scalar kernel does: float64 pairs, the cosine first.

    The unused half of the last pair is kept in the generator's state.
    """
    waiting = engine.cached
    out = np.empty(n + 1, F64)
    start = 0
    if waiting is not None and n:
        out[0], start = waiting, 1
        engine.cached = None
    pairs = (n - start + 1) // 2
    u = _unit(engine, 2 * pairs)
    r, theta = np.sqrt(-2.0 * np.log1p(-u[1::2])), 2 * math.pi * u[::2]
    out[start : start + 2 * pairs : 2], out[start + 1 : start + 2 * pairs : 2] = r * np.cos(theta), r * np.sin(theta)
    if start + 2 * pairs > n:
        engine.cached = float(out[n])
    return _fma(out[:n], std, mean)


def normal(gen, n, dtype, mean=0.0, std=1.0, contiguous=True):
    """normal_: contiguous tensors of 16 or more elements are drawn in blocks, others in pairs."""
    check_std(std)
    if n == 0:
        return np.empty(0, dtype)
    _require(dtype, FLOATING, "normal_kernel_cpu")
    if n < 16 or not contiguous:
        return _fill(gen, n, dtype, lambda engine, k: _paired_normals(engine, k, mean, std))
    rest, gen = n % 16, default_generator if gen is None else gen

    def draw(engine, k):
        return _box_muller(_unit(engine, k, dtype == F64), mean, std)

    with gen._lock:
        out = _fill(gen, n - rest, dtype, draw)
        if rest:  # the last 16 are drawn again; float32 and float64 discard the remainder's draws first
            out = np.concatenate((out, out[:rest]))
            gen._engine.words(0 if dtype.itemsize == 2 else rest * (dtype.itemsize // 4))
            out[-16:] = _fill(gen, 16, dtype, draw)
    return out


def _inward(v, dtype, step):
    """Move a bound inwards so that rounding to `dtype` cannot leave the range (step: 1 for from, -1 for to)."""
    try:
        rounded = int(float(cast(np.array(float(v + step)) if dtype == F64 else np.array(v + step, F64), dtype)))
    except OverflowError:
        return v
    if rounded > I64.max or (rounded >= v if step > 0 else rounded < v):
        return v
    return rounded + step * (1 << max(abs(v + step).bit_length() - DIGITS[NAMES[dtype]], 0))


def check_std(std):
    """Raise PyTorch's error for a standard deviation that is negative."""
    _check(std >= 0, f"normal expects std >= 0.0, but found std {std:g}")


def check_p(p):
    """Raise PyTorch's error for a probability outside [0, 1]."""
    _check(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")


def random_bounds(dtype, lo, hi):
    """Return the least and the greatest of the integers in [lo, hi) that a dtype holds; hi None: up to its largest."""
    name, floating = NAMES[dtype], NAMES[dtype] in FLOATING
    _check(hi is None or lo < hi, f"random_ expects 'from' to be less than 'to', but got from={lo} >= to={hi}")
    _check(
        name in C_NAMES and not name.startswith("complex"),
        "check_random_bounds handles only integral, floating-point and boolean types",
    )
    if floating:
        (least, most), digits = _limits(dtype), DIGITS[name]
        lo = _inward(lo, dtype, 1)
        last = 1 << digits if hi is None else _inward(hi, dtype, -1) - 1
        _check(
            lo <= last,
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
            f"but got from={lo} >= to={last + 1}",
        )
    else:
        least, most = (0, 1) if name == "bool" else (np.iinfo(dtype).min, min(np.iinfo(dtype).max, I64.max))
        last = most if hi is None else hi - 1
    for what, v in (("from", lo), ("to - 1", last)):
        _check(least <= v <= most, f"{what} is out of bounds for {C_NAMES[name]}")
        if floating and abs(v) > 1 << digits:
            warnings.warn(
                f"{what} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {C_NAMES[name]} "
                "can support discrete uniform distribution only within this range. This warning will become an error "
                "in version 1.7 release, please fix the code in advance",
                stacklevel=4,
            )
    return lo, last


def random_from_to(gen, n, dtype, lo, hi):
    """random_(lo, hi), randint: integers in [lo, hi); hi None: up to the largest of the dtype."""
    name, floating = NAMES[dtype], NAMES[dtype] in FLOATING
    if hi is None and lo == I64.min:
        _require(dtype, NUMERIC - {"float16"}, "random_full_64_bits_range_kernel_cpu")
        _check(
            name in ("int64", "float64", "float32", "bfloat16"),
            "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16",
        )
        work = F32 if name in ("float32", "bfloat16") else dtype
        return _fill(gen, n, dtype, lambda engine, k: engine.words(k, 64).view(np.int64).astype(work))
    lo, last = random_bounds(dtype, lo, hi)
    span = last - lo + 1

    def draw(engine, k):
        if span >= 1 << 28:
            r = engine.words(k, 64)
            r = ((r % np.uint64(span) if span <= M64 else r) + np.uint64(lo & M64)).view(np.int64)
        else:
            r = (engine.words(k) % np.uint32(span)).astype(np.int64) + lo
        return r.astype(F32) if dtype.itemsize == 2 and floating else r

    return _fill(gen, n, dtype, draw)


def random_(gen, n, dtype):
    """random_(): integers up to the largest of the dtype, for floats up to 2**(bits of the mantissa)."""
    _require(dtype, NUMERIC | {"bool"}, "random_kernel_cpu")
    top = (
        (1 << DIGITS[NAMES[dtype]])
        if NAMES[dtype] in DIGITS
        else 1
        if NAMES[dtype] == "bool"
        else int(np.iinfo(dtype).max)
    )
    wide = dtype.itemsize == 8

    def draw(engine, k):
        r = engine.words(k, 64 if wide else 32)
        return (r % r.dtype.type(top + 1)).astype(
            np.int64 if dtype.itemsize == 8 or NAMES[dtype] not in FLOATING else F32
        )

    return _fill(gen, n, dtype, draw)


def randperm(gen, n, dtype=np.dtype(np.int64)):
    """Return a permutation of range(n) by PyTorch's Fisher-Yates shuffle, with LAPACK's row interchanges as swaps."""
    _check(n >= 0, f"Trying to create tensor with negative dimension {n}: [{n}]")
    _require(dtype, NUMERIC, "randperm")
    limit = {"float16": 2049, "float32": (1 << 24) + 1}.get(NAMES[dtype])
    _check(
        limit is None or n <= limit,
        f"n cannot be greater than {'2^24+1' if dtype == F32 else limit} for {_name(dtype)} type.",
    )
    spoken = "int" if NAMES[dtype] == "int32" else NAMES[dtype] + "_t"
    _check(
        NAMES[dtype] in FLOATING or n - 1 <= np.iinfo(dtype).max,
        f"value cannot be converted to type {spoken} without overflow",
    )
    if n < 2:
        return np.zeros(n, dtype)
    if n < 0xFFFFFFFF // 20:
        at = np.arange(n - 1, dtype=np.int32)
        pivots = _fill(gen, n - 1, np.dtype(np.uint32), lambda engine, k: engine.words(k), n)
        pivots = (pivots % (n - at).view(np.uint32)).view(np.int32) + at
    else:  # 32 bits would be biased at this length: the inside-out variant with 64 bits
        pivots = _fill(gen, n, np.dtype(np.uint64), lambda engine, k: engine.words(k, 64), n)
        pivots %= np.arange(1, n + 1, dtype=np.uint64)
        pivots = pivots.astype(np.int32)
    if n <= 256 and "scipy.linalg" not in sys.modules:  # SciPy takes a quarter of a second to import
        order = list(range(n))
        for i, j in enumerate(pivots.tolist()):
            order[i], order[j] = order[j], order[i]
        out = np.array(order)
    else:
        from scipy.linalg.lapack import dlaswp

        out = dlaswp(np.arange(n, dtype=F64)[:, None], pivots, k1=0, k2=len(pivots) - 1, overwrite_a=1)[:, 0]
    return out.astype(F32).astype(dtype) if NAMES[dtype] in ("float16", "bfloat16") else out.astype(dtype)


def bernoulli(gen, n, dtype, p):
    """bernoulli_(p) with a number p: 1 where a float64 uniform is below p. dropout's mask is bernoulli_(1 - p)."""
    check_p(p)
    _require(dtype, NUMERIC | {"bool"}, "bernoulli_scalar_cpu_")
    bound = math.ceil(p * 2.0**53)  # the same comparison in integers
    return _fill(gen, n, dtype, lambda engine, k: _bits53(engine, k) < bound)


def bernoulli_tensor(gen, p, dtype):
    """bernoulli_(tensor): one probability per element.

    float64 probabilities are compared with float64 uniforms, others with float32 uniforms.
    """
    _require(dtype, NUMERIC | {"bool"}, "bernoulli_tensor_cpu_self_")
    _require(p.dtype, FLOATING, "bernoulli_tensor_cpu_p_")
    p = p.reshape(-1)
    _check(bool(((p >= 0) & (p <= 1)).all()), "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  " + _IMPROVE)
    rest = iter(range(0, p.size, CHUNK))

    def draw(engine, k):
        i = next(rest, 0)
        return _unit(engine, k, p.dtype == F64) < p[i : i + k].astype(F64 if p.dtype == F64 else F32)

    return _fill(gen, p.size, dtype, draw)


def exponential(gen, n, dtype, lambd=1.0):
    """exponential_(lambd)."""
    _check(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    _check(
        NAMES[dtype] in FLOATING,
        f"Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
        f"specified {_name(dtype)}",
    )
    return _fill(gen, n, dtype, lambda engine, k: np.log1p(-_unit(engine, k)) * (-1.0 / lambd))


def geometric(gen, n, dtype, p):
    """geometric_(p): the number of trials up to the first success."""
    _check(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    _require(dtype, NUMERIC, "geometric_cpu")
    with np.errstate(divide="ignore"):
        return _fill(gen, n, dtype, lambda engine, k: np.ceil(np.log(_unit(engine, k)) / math.log1p(-p)))


def log_normal(gen, n, dtype, mean=1.0, std=2.0):
    """log_normal_(mean, std)."""
    _check(std > 0, f"log_normal_ expects std > 0.0, but found std={std:g}")
    _require(dtype, FLOATING, "log_normal_cpu")
    with np.errstate(over="ignore"):
        return _fill(gen, n, dtype, lambda engine, k: np.exp(_paired_normals(engine, k, mean, std)))


def cauchy(gen, n, dtype, median=0.0, sigma=1.0):
    """cauchy_(median, sigma)."""
    _check(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _check(
        NAMES[dtype] in FLOATING,
        "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
        f"specified {C_NAMES.get(NAMES[dtype], NAMES[dtype])}",
    )
    return _fill(gen, n, dtype, lambda engine, k: _fma(np.tan(math.pi * (_unit(engine, k) - 0.5)), sigma, median))


def multinomial(gen, probs, num_samples, replacement=False):
    """multinomial: indices drawn from each row of an array of weights with 1 or 2 dimensions."""
    _check(0 < probs.ndim <= 2, "prob_dist must be 1 or 2 dim")
    _check(
        NAMES[probs.dtype] in FLOATING,
        f"multinomial only supports floating-point dtypes for input, got: {_name(probs.dtype)}",
    )
    _check(num_samples > 0, "cannot sample n_sample <= 0 samples")
    _check(
        replacement or num_samples <= probs.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    )
    _check(probs.shape[-1] <= 1 << 24, "number of categories cannot exceed 2^24")
    rows = probs.reshape(-1, probs.shape[-1])
    shape = probs.shape[:-1] + (num_samples,)
    if not rows.size:
        return np.empty(shape, np.int64)
    simple = not replacement or num_samples == 1
    wrong = rows[~((rows >= 0) & (rows < np.inf))]
    _check(
        not wrong.size,
        "probability tensor contains either `inf`, `nan` or element < 0"
        if simple
        else f"invalid multinomial distribution (encountering probability entry "
        f"{'= infinity or NaN' if wrong.size and wrong[0] == np.inf else '< 0'})",
    )
    work = F64 if probs.dtype == F64 else F32
    _check(bool((rows.sum(1, dtype=work) > 0).all()), "invalid multinomial distribution (sum of probabilities <= 0)")
    if simple:  # the largest of p / q with q ~ Exp(1)
        with np.errstate(all="ignore"):
            by_columns = probs.ndim == 2 and 0 < probs.strides[0] < probs.strides[1]  # drawn in memory order
            score = rows / exponential(gen, rows.size, rows.dtype).reshape(rows.shape, order="F" if by_columns else "C")
        if num_samples == 1:
            return score.argmax(-1).reshape(shape)
        if num_samples < rows.shape[1]:
            best = np.sort(np.argpartition(-score, num_samples - 1, -1)[:, :num_samples], -1)
            return np.take_along_axis(best, np.argsort(-np.take_along_axis(score, best, -1), -1, "stable"), -1).reshape(
                shape
            )
        return np.argsort(-score, -1, "stable").reshape(shape)
    draws = _fill(gen, len(rows) * num_samples, F64, _unit).reshape(len(rows), -1)
    out = np.empty(draws.shape, np.int64)
    for i, row in enumerate(rows):
        total = np.add.accumulate(row, dtype=work)
        total /= total[-1]
        total[-1] = 1
        out[i] = np.searchsorted(total.astype(F64), draws[i])
    return out.reshape(shape)


@contextmanager
def _stream(gen):
    """Return a stream of single numbers of the generator; numbers that were drawn ahead are given back at the end."""
    gen = default_generator if gen is None else gen
    with gen._lock:
        engine = gen._engine
        mark = engine.mark()
        stream = samplers.Stream(functools.partial(_unit, engine), engine.cached)
        try:
            yield stream
        finally:
            engine.cached = stream.waiting if stream.has_waiting else None
            engine.rewind(mark, 2 * stream.used())


def _plain(values):
    """Return the elements of an array as array.array("d"), which the samplers take."""
    return array("d", values.astype(F64).tobytes())


def poisson(gen, rates):
    """Return one Poisson sample per rate: by products of uniforms below 10, else Hoermann's transformed rejection."""
    _require(rates.dtype, FLOATING, "poisson_cpu")
    _check(bool((rates >= 0).all()), "invalid Poisson rate, expected rate to be non-negative")
    with _stream(gen) as stream:
        return cast(np.asarray(samplers.poisson(stream, _plain(rates))), rates.dtype).reshape(rates.shape)


def _gamma(gen, alpha):
    """Draw Gamma(alpha, 1) samples by Marsaglia and Tsang's method.

    `alpha` is float32 or float64, the result float64. PyTorch's constants such as 1/3 are float32.
    """
    f, third, boost = alpha.dtype.type, np.float32(1) / np.float32(3), alpha < 1
    with np.errstate(all="ignore"), _stream(gen) as stream:
        power = np.where(boost, f(1) / alpha, f(0))
        d = (np.where(boost, alpha + f(1), alpha) - f(third)).astype(F64)
        columns = alpha, power, d, 1 / np.sqrt(9 * d)
        return np.asarray(samplers.gamma(stream, *map(_plain, columns)))


def standard_gamma(gen, alpha):
    """Return one Gamma(alpha, 1) sample per element."""
    _require(alpha.dtype, ("float32", "float64"), "gamma_cpu")
    r = cast(_gamma(gen, alpha.reshape(-1)), alpha.dtype).reshape(alpha.shape)
    return np.maximum(r, np.finfo(alpha.dtype).tiny)


def dirichlet(gen, alpha):
    """Return one Dirichlet sample per row."""
    _require(alpha.dtype, ("float32", "float64"), "dirichlet")
    g = np.maximum(_gamma(gen, alpha.reshape(-1).astype(F64)), np.finfo(F64).tiny).reshape(alpha.shape)
    f = alpha.dtype.type
    return np.clip((g / g.sum(-1, keepdims=True)).astype(alpha.dtype), np.finfo(f).tiny, np.nextafter(f(1), f(0)))


def binomial(gen, count, prob):
    """Return one Binomial(count, prob) sample per element.

    Means below 10 use the gaps between successes, others Hoermann's BTRS.
    """
    _require(count.dtype, ("float32", "float64"), "binomial_cpu")
    _check(prob.dtype == count.dtype, f"Found dtype {_name(prob.dtype)} but expected {_name(count.dtype)}")
    f = count.dtype.type
    with np.errstate(all="ignore"), _stream(gen) as stream:
        q = np.where(prob > 0.5, f(1) - prob, prob)
        mean = count * q
        mode = np.floor(((count + f(1)) * q).astype(F64))
        columns = count, prob, q, np.log1p(-q), np.sqrt(mean * (f(1) - q)), q / (f(1) - q), mean, mode
        out = np.asarray(samplers.binomial(stream, *map(_plain, columns)))
    return out.astype(count.dtype).reshape(count.shape)
