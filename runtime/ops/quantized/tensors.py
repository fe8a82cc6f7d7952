"""The class of quantized tensors: an integer tensor with a quantized dtype and a quantizer.

The quantizer says which numbers the integers are. A quantized tensor shares the memory of its integers, so that views
and storages work as for any tensor. Calls arrive through __torch_function__; functions that are in no table raise
PyTorch's error for an operator without a quantized kernel.
"""

import copy

from ...cpython import plain_name
from ...determinism import alert_not_deterministic
from ...tensor import constant, wrap
from ..common import T, dt
from ..sparse.tensors import could_not_run, declared, written
from ..valued import Table, ValuedTensor
from .values import STORED, PerTensor

TABLE = Table()
on_quantized = TABLE.on


class QuantizedTensor(ValuedTensor, raw=True):
    """A tensor of integers `_v` with the quantizer `_q`."""

    __module__, __qualname__ = "torch", "Tensor"
    KEY = "Quantized"
    is_quantized = constant(True)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = plain_name(func), dict(kwargs or {})
        if name in TABLE:
            out = kwargs.pop("out", None)
            result = TABLE[name](*args, **kwargs)
            return result if out is None else written(out, result)
        flat = [t for a in (*args, *kwargs.values()) for t in (a if isinstance(a, (list, tuple)) else (a,))]
        call = declared(func, args, kwargs)
        raise could_not_run(
            name if call is None else call[0].key, next(a for a in flat if isinstance(a, QuantizedTensor))
        )

    def _with(self, values, quantizer=None):
        return over(values, self.dtype, quantizer or self._q)

    def _take(self, other):
        """Replace the integers, memory and quantizer by those of `other`."""
        self._adopt(other._v, other._q)
        return self

    def _adopt(self, values, quantizer):
        self._v, self._q = values, quantizer
        self._shape, self._stride, self._offset, self._device = (
            values._shape,
            values._stride,
            values._offset,
            values.device,
        )
        self._storage = values._get_storage()
        if values._vc is None:
            values._vc = [0]
        self._vc = values._vc

    def dequantized(self):
        return self._q.numbers(self._v)

    def item(self):
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self.dequantized().item()

    def tolist(self):
        raise RuntimeError("load_scalar: invalid type")

    apply_ = map_ = map2_ = lambda self, *args: self.tolist()

    def numpy(self, *, force=False):
        raise TypeError(f"Got unsupported ScalarType {dt.scalar_name(self.dtype)}")

    def is_signed(self):
        raise RuntimeError("isSignedType not supported for quantized types")

    def new_tensor(self, *args, **kwargs):
        raise RuntimeError("store_scalar: invalid type")

    def resize_(self, *size, memory_format=None):
        if not isinstance(self._q, PerTensor):
            raise RuntimeError("Can only resize quantized tensors with per-tensor schemes!")
        alert_not_deterministic("quantized_resize_cpu_")
        return self._take(self._with(self._v.resize_(*size)))

    def set_(self, *args, **kwargs):
        raise could_not_run("set_", self)

    def is_set_to(self, tensor):
        raise could_not_run("is_set_to", self)

    def __getitem__(self, index):
        return TABLE["__getitem__"](self, index)

    def __setitem__(self, index, value):
        TABLE["__setitem__"](self, index, value)

    def __iter__(self):
        return iter(TABLE["unbind"](self))

    def detach(self):
        return self._with(self._v.detach())

    data = property(detach, lambda self, new: self._take(new) and None)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            new = memo[id(self)] = self._with(copy.deepcopy(self._v, memo), copy.deepcopy(self._q, memo))
            new.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k not in ("_v", "_q")})
        return memo[id(self)]


QuantizedTensor.__name__ = "Tensor"  # PyTorch has one class for all tensors


def over(values, dtype, quantizer):
    """Return a quantized tensor over these integers."""
    t = wrap(None, values._shape, dtype, values.device)
    t.__class__ = QuantizedTensor
    t._adopt(values, quantizer)
    return t


def stored(dtype):
    """Return the integer dtype that stores a quantized dtype, or raise PyTorch's error."""
    if dtype in STORED:
        return STORED[dtype]
    if str(dtype).startswith("torch.q"):
        raise NotImplementedError(f"quantized tensors of dtype {dtype} are not supported, on any device")
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


def number(self, value):
    """Return the integer for a number. Raises PyTorch's error if the quantizer is per channel."""
    return self._q.checked().integers(T.full((), float(value), dtype=dt.float32, device=self.device), self._v.dtype)


def requantized(self, numbers, scale=None, zero_point=None):
    """Quantize numbers to the dtype of self, by its quantizer unless another scale and zero point are given."""
    q = self._q if scale is None else PerTensor(scale, zero_point)
    return over(q.integers(numbers, self._v.dtype), self.dtype, q)
