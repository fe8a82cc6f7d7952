"""torch.dtype, the promotion lattice, finfo and iinfo."""

import math

import ml_dtypes
import numpy as np

from .compiled import optional
from .symbolic import SYMBOLIC, SymBool, SymInt
from .warn import warn_once

halves = optional(".halves", __package__)  # without it, backends/host.py converts with NumPy

BOOL, INT, FLOAT, COMPLEX = range(4)


class dtype:
    """The data type of a tensor's elements: ``torch.float32``, ``torch.int64``, ..."""

    __slots__ = ("name", "itemsize", "np", "category", "is_floating_point", "is_complex", "is_signed", "full_name")
    __module__ = "torch"

    def __new__(cls, *args, **kwargs):
        raise TypeError("cannot create 'torch.dtype' instances")

    @classmethod
    def _made(cls, name, itemsize, np_type, category, signed=True):
        self = object.__new__(cls)
        facts = dict(name=name, itemsize=itemsize, category=category, is_signed=signed, full_name="torch." + name)
        facts |= dict(
            np=None if np_type is None else np.dtype(np_type),
            is_floating_point=category == FLOAT,
            is_complex=category == COMPLEX,
        )
        if np_type is None and name.lstrip("u")[0] in "qb":  # quantized and bits: __getattr__ raises the error
            del facts["is_signed"]
        for slot, value in facts.items():
            object.__setattr__(self, slot, value)
        return self

    def __getattr__(self, name):
        if name != "is_signed":
            raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")
        raise RuntimeError(
            "Bits types are undefined" if self.name[0] == "b" else "isSignedType not supported for quantized types"
        )

    def __setattr__(self, name, value=None):
        if name in dtype.__slots__:
            raise AttributeError(f"attribute '{name}' of 'torch.dtype' objects is not writable")
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    __delattr__ = __setattr__

    def __repr__(self):
        return self.full_name

    def __reduce__(self):
        return self.name

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def to_real(self):
        """Return the real dtype of a complex dtype; a real dtype itself."""
        return TO_REAL.get(self, self)

    def to_complex(self):
        """Return the complex dtype of a real dtype; a complex dtype itself."""
        return TO_COMPLEX[self]


def _make():
    table = [
        ("bool", 1, np.bool_, BOOL, False),
        ("uint8", 1, np.uint8, INT, False),
        ("int8", 1, np.int8, INT),
        ("int16", 2, np.int16, INT),
        ("int32", 4, np.int32, INT),
        ("int64", 8, np.int64, INT),
        ("uint16", 2, np.uint16, INT, False),
        ("uint32", 4, np.uint32, INT, False),
        ("uint64", 8, np.uint64, INT, False),
        ("float16", 2, np.float16, FLOAT),
        ("bfloat16", 2, ml_dtypes.bfloat16, FLOAT),
        ("float32", 4, np.float32, FLOAT),
        ("float64", 8, np.float64, FLOAT),
        ("complex32", 4, [("re", "f2"), ("im", "f2")], COMPLEX),
        ("complex64", 8, np.complex64, COMPLEX),
        ("complex128", 16, np.complex128, COMPLEX),
        ("float8_e4m3fn", 1, ml_dtypes.float8_e4m3fn, FLOAT),
        ("float8_e5m2", 1, ml_dtypes.float8_e5m2, FLOAT),
        ("float8_e4m3fnuz", 1, ml_dtypes.float8_e4m3fnuz, FLOAT),
        ("float8_e5m2fnuz", 1, ml_dtypes.float8_e5m2fnuz, FLOAT),
        ("float8_e8m0fnu", 1, getattr(ml_dtypes, "float8_e8m0fnu", None), FLOAT, False),
        ("float4_e2m1fn_x2", 1, None, FLOAT),
        ("quint8", 1, None, INT, False),
        ("qint8", 1, None, INT),
        ("qint32", 4, None, INT),
        ("quint4x2", 1, None, INT, False),
        ("quint2x4", 1, None, INT, False),
    ]
    table += [(f"{u}int{n}", 1, None, INT, not u) for u in ("", "u") for n in range(1, 8)]
    table += [(f"bits{n}", s, None, INT, False) for n, s in (("8", 1), ("16", 2), ("1x8", 1), ("2x4", 1), ("4x2", 1))]
    return {row[0]: dtype._made(*row) for row in table}


ALL = _make()
globals().update({("bool_" if n == "bool" else n): d for n, d in ALL.items()})
# filled by name so that linters and readers see them
bool_, uint8, int8, int16, int32, int64 = (ALL[n] for n in ("bool", "uint8", "int8", "int16", "int32", "int64"))
uint16, uint32, uint64 = (ALL[n] for n in ("uint16", "uint32", "uint64"))
float16, bfloat16, float32, float64 = (ALL[n] for n in ("float16", "bfloat16", "float32", "float64"))
complex32, complex64, complex128 = (ALL[n] for n in ("complex32", "complex64", "complex128"))

ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "chalf": complex32,
    "cfloat": complex64,
    "cdouble": complex128,
    "short": int16,
    "int": int32,
    "long": int64,
}
TO_REAL = {complex32: float16, complex64: float32, complex128: float64}
TO_COMPLEX = {
    float16: complex32,
    bfloat16: complex64,
    float32: complex64,
    float64: complex128,
    complex32: complex32,
    complex64: complex64,
    complex128: complex128,
}
# the dtypes in which PyTorch computes the low-precision ones
OPMATH = {float16: float32, bfloat16: float32, complex32: complex64}


def complex_array(a):
    """Convert an array of complex32 values, which NumPy only stores as pairs of float16, to complex64."""
    out = np.empty(a.shape, np.complex64)
    out.real, out.imag = a["re"], a["im"]
    return out


def warn_complex_half():
    """Give PyTorch's warning about complex32."""
    warn_once("ComplexHalf support is experimental and many operators don't support it yet.")


def complex_pairs(a):
    """Convert an array of numbers to complex32 values."""
    warn_complex_half()
    out = np.empty(a.shape, complex32.np)
    out["re"], out["im"] = a.real, a.imag
    return out


FROM_NP = {d.np: d for d in ALL.values() if d.np is not None}
# names in error messages ("expected Long but got Float") and of the legacy storage and tensor classes
LEGACY = {
    bool_: "Bool",
    uint8: "Byte",
    int8: "Char",
    int16: "Short",
    int32: "Int",
    int64: "Long",
    float16: "Half",
    bfloat16: "BFloat16",
    float32: "Float",
    float64: "Double",
    complex32: "ComplexHalf",
    complex64: "ComplexFloat",
    complex128: "ComplexDouble",
    uint16: "UInt16",
    uint32: "UInt32",
    uint64: "UInt64",
}


def scalar_name(d):
    """Return PyTorch's C++ name of a dtype, as in its error messages."""
    if d.name[0] == "q":
        return "Q" + d.name[1:].replace("int", "Int").replace("uI", "UI")
    return LEGACY.get(d) or "".join(p[:1].upper() + p[1:] for p in d.name.split("_", 1)[:1]) + (
        "_" + d.name.split("_", 1)[1] if "_" in d.name else ""
    )


C_NAMES = {
    bool_: "bool",
    uint8: "unsigned char",
    int8: "signed char",
    int16: "short int",
    int32: "int",
    int64: "long int",
    uint16: "short unsigned int",
    uint32: "unsigned int",
    uint64: "long unsigned int",
    float16: "c10::Half",
    bfloat16: "c10::BFloat16",
    float32: "float",
    float64: "double",
    complex32: "c10::complex<c10::Half>",
    complex64: "c10::complex<float>",
    complex128: "c10::complex<double>",
    **{d: f"c10::F{d.name[1:]}" for d in ALL.values() if d.name.startswith("float8")},
}


def saturated(a):
    """Clip values to the range of float8_e4m3fn, the only dtype to which PyTorch converts with saturation."""
    return np.clip(a.astype(np.float32), -448, 448)


def c_name(d):
    """Return the C type of a dtype, as in PyTorch's error messages."""
    return C_NAMES.get(d, d.name)


# Pairs of dtypes of the same size, neither of which can hold the values of the other.
_ALIKE = {frozenset((float16, bfloat16)): float32, frozenset((uint8, int8)): int16}
_promoted = {}


def _promote(a, b):
    if a is b:
        return a
    low, high = sorted((a, b), key=lambda d: d.category)
    if a not in LEGACY or b not in LEGACY:
        refused = "Float8 Types" if "float8" in a.name + b.name else "types that are stored only"
    else:
        refused = "uint16, uint32, uint64 types" if high.category != FLOAT and {a, b} & {uint16, uint32, uint64} else ""
    if refused:
        raise RuntimeError(
            f"Promotion for {refused} is not supported, attempted to promote {scalar_name(a)} and {scalar_name(b)}"
        )
    if low.category == FLOAT and high.category == COMPLEX:
        low = TO_COMPLEX[low]
    if low.category != high.category:
        return high
    return _ALIKE.get(frozenset((a, b))) or max(low, high, key=lambda d: d.itemsize)


PYTHON = {bool: bool_, int: int64, float: float64, complex: complex128}


def of(d):
    """Return the dtype that a Python class such as float means; other values, dtypes among them, unchanged."""
    return PYTHON.get(d, d) if d.__class__ is type else d


def promote_types(a, b):
    """Return the dtype to which PyTorch promotes the two dtypes."""
    try:
        return _promoted[a, b]
    except KeyError:
        a, b = of(a), of(b)
        if not (isinstance(a, dtype) and isinstance(b, dtype)):
            bad = next(x for x in (a, b) if not isinstance(x, dtype))
            raise TypeError(f"promote_types(): argument must be torch.dtype, not {type(bad).__name__}") from None
        r = _promoted[a, b] = _promoted[b, a] = _promote(a, b)
        return r


def can_cast(from_, to):
    """Whether PyTorch's casting rules allow a result of dtype `from_` to be written to a tensor of dtype `to`."""
    from_, to = of(from_), of(to)
    if from_.category == COMPLEX and to.category != COMPLEX:
        return False
    if from_.category == FLOAT and to.category in (INT, BOOL):
        return False
    return not (from_.category != BOOL and to.category == BOOL)


class _State:
    default = float32


def get_default_dtype():
    """Return the floating-point dtype of new tensors."""
    return _State.default


def set_default_dtype(d):
    """Set the floating-point dtype of new tensors."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _State.default = d


SCALAR_CATEGORY = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}


READ_AS = {
    complex32: np.complex64,
    ALL["float8_e4m3fn"]: None,
}  # what numbers are read as where NumPy cannot read the dtype


def stored(a, dtype):
    """Return an array of numbers as a dtype stores them: complex32 as pairs, and float8_e4m3fn saturates."""
    if dtype is complex32:
        return a if a.dtype == dtype.np else complex_pairs(a)
    return (saturated(a) if dtype is ALL["float8_e4m3fn"] and a.dtype != dtype.np else a).astype(dtype.np)


def check_scalar(value):
    """Raise PyTorch's OverflowError for an int that neither int64 nor uint64 can hold."""
    if value.__class__ is int and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


def check_int64(value):
    """Raise PyTorch's ValueError for an int beyond int64, as an index, an argument or a size."""
    if not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")


def scalar_dtype(value):
    """Return the dtype of a tensor made from a Python or NumPy number."""
    c = value.__class__
    if c is bool:
        return bool_
    if c is int:
        return int64
    if c is float:
        return _State.default
    if c is complex:
        return TO_COMPLEX[_State.default]
    if c in SYMBOLIC:
        return bool_ if c is SymBool else int64 if c is SymInt else _State.default
    if isinstance(value, np.bool_):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _State.default
    if isinstance(value, (complex, np.complexfloating)):
        return TO_COMPLEX[_State.default]
    raise TypeError(f"must be real number, not {type(value).__name__}")


class _info:
    __slots__ = ("dtype", "bits", "min", "max", "eps", "tiny", "smallest_normal", "resolution")

    def __setattr__(self, *a):
        raise AttributeError("read-only attribute")

    def __eq__(self, other):
        return type(other) is type(self) and self.dtype == other.dtype

    __hash__ = object.__hash__

    def __reduce__(self):
        raise TypeError(f"cannot pickle 'torch.{type(self).__name__}' object")

    def _set(self, **kw):
        for k, v in kw.items():
            object.__setattr__(self, k, v)


class finfo(_info):
    """Machine limits of a floating point dtype (the default dtype if none is given)."""

    __module__ = "torch"

    def __init__(self, type=None):
        d = _State.default if type is None else of(type)
        if not isinstance(d, dtype):
            raise TypeError(f"finfo(): argument 'type' (position 1) must be torch.dtype, not {d.__class__.__name__}")
        d = d.to_real()
        if d.category != FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        i = ml_dtypes.finfo(d.np)
        f = float
        self._set(
            dtype=d.name,
            bits=d.itemsize * 8,
            min=f(i.min),
            max=f(i.max),
            eps=f(i.eps),
            tiny=f(i.smallest_normal),
            smallest_normal=f(i.smallest_normal),
            resolution=f(f"1e-{math.floor(-math.log10(f(i.eps)))}"),  # the decimal digits that are exact
        )

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_info):
    """Limits of an integer dtype."""

    __module__ = "torch"

    def __init__(self, *args, **kwargs):
        if not args and "type" not in kwargs:
            raise TypeError('iinfo() missing 1 required positional arguments: "type"')
        type = of(args[0] if args else kwargs["type"])
        if not isinstance(type, dtype):
            raise TypeError(f"iinfo(): argument 'type' (position 1) must be torch.dtype, not {type.__class__.__name__}")
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INT or type.np is None and not type.name.startswith("q"):
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if type.np is None:  # quantized: PyTorch gives the limits, but reading `dtype` raises
            i = np.iinfo(f"{'uint' if type.name.startswith('quint') else 'int'}{8 * type.itemsize}")
            self._set(_quantized=type.name, bits=i.bits, min=int(i.min), max=int(i.max))
            return
        i = np.iinfo(type.np)
        self._set(dtype=type.name, bits=i.bits, min=int(i.min), max=int(i.max))

    def __getattr__(self, name):
        if name == "dtype":
            name = self._quantized.replace("quint", "QUInt").replace("qint", "QInt")
            raise NotImplementedError(f'"dtype" not implemented for {name!r}')
        raise AttributeError(f"'torch.iinfo' object has no attribute '{name}'")

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
