"""The Ascend backend (device type npu): the declared PyBoost primitive with target Ascend, dtype rules as data, in-place by Inplace primitives.

No hardware was at hand when this was written. What is proved without it: every bound primitive exists in the wheel with the arity used
(bindings.py, tests/contract). What is not: numbers, speed, CANN's own checks.
"""

import numpy as np

from ...runtime import backend, dtypes as dt, pyboost
from ...runtime.autograd import MODE
from ...runtime.device import CPU
from ...runtime.tensor import Tensor, numel, strided_view, wrap
from . import table

TARGET = "Ascend"


class Impl:
    """A binding that has been used: what the report counts."""

    __slots__ = ("op", "kind", "primitive", "fn", "calls", "dtype", "why")

    def __init__(self, op, dtype, kind, primitive, fn, why):
        self.op, self.dtype, self.kind, self.primitive, self.fn, self.why, self.calls = op, dtype, kind, primitive, fn, why, 0


class Ascend(backend.Backend):
    def __init__(self):
        self.impls, self._table = [], {}

    def select(self, op, dtype):
        impl = self._table.get((op, dtype))
        if impl is None:
            if dtype in table.REFUSED:
                raise NotImplementedError(f"{op.full}: dtype {dtype} is not supported on device npu: {table.REFUSED[dtype]}")
            kind, fn, why = table.binding(op)
            if fn is None:
                raise NotImplementedError(f"{op.full}: no kernel for dtype {dtype} on device npu: {why}")
            if kind == "pyboost":
                prim = pyboost.primitive(fn, target=TARGET)
                mapping = op.prim_call
                call = prim if mapping is None else lambda *args: mapping(prim, *args)
            else:
                call = fn
            impl = self._table[op, dtype] = Impl(op, dtype, kind, fn if kind == "pyboost" else None, call, why)
            self.impls.append(impl)
        return impl

    def pointwise(self, op, operands, attrs, compute, out_dtype, shape):
        impl = self.select(op, compute)
        impl.calls += 1
        keep = op.options.get("keep", ())
        operands = [t if not isinstance(t, Tensor) or i in keep or t.dtype is compute else self.cast(t, compute) for i, t in enumerate(operands)]
        if impl.kind == "composite":
            return self._composite(impl, operands + attrs)
        ms = [self.mstensor(t) if isinstance(t, Tensor) else self._scalar(t, compute) for t in operands]
        return self._finish(impl.fn(*ms, *attrs), (shape, out_dtype), operands)

    def run(self, op, spec, args):
        tensors = [a for a in args if isinstance(a, Tensor)] + [t for a in args if isinstance(a, (list, tuple)) for t in a if isinstance(t, Tensor)]
        impl = self.select(op, tensors[0].dtype if tensors else (spec[0][1] if isinstance(spec, list) else spec[1]))
        impl.calls += 1
        if impl.kind == "composite":
            return self._composite(impl, args)
        conv = [
            self.mstensor(a)
            if isinstance(a, Tensor)
            else type(a)(self.mstensor(t) if isinstance(t, Tensor) else t for t in a)
            if isinstance(a, (list, tuple)) and any(isinstance(t, Tensor) for t in a)
            else pyboost.ms_dtype(a)
            if isinstance(a, dt.dtype)
            else a
            for a in args
        ]
        r = impl.fn(*conv)
        if isinstance(spec, list):
            return tuple(self._finish(x, s, tensors) for x, s in zip(r, spec))
        return self._finish(r, spec, tensors)

    def _composite(self, impl, args):
        prev, MODE.grad = MODE.grad, False
        try:
            return impl.fn(*args)
        finally:
            MODE.grad = prev

    def _finish(self, r, spec, like):
        shape, dtype = spec[0], spec[1]
        device = next((t.device for t in like if isinstance(t, Tensor)), None)
        t = wrap(r, tuple(r.shape) if shape is None else tuple(shape), dtype, device)
        return t

    def _scalar(self, value, dtype):
        return pyboost.tensor_from_array(np.array(value).astype(dtype.np))

    # ---------------------------------------------------------------- memory
    def mstensor(self, t):
        """The MindSpore tensor of a Tensor; views are AsStrided over the storage's flat tensor, first of their dtype."""
        if t._ms is None:
            base, dtype = t._storage._ms, pyboost.ms_dtype(t.dtype)
            if base.dtype != dtype:
                base = pyboost.primitive("ViewDtype", target=TARGET)(pyboost.primitive("Reshape", target=TARGET)(base, (-1,)), dtype)
            t._ms = pyboost.primitive("AsStrided", target=TARGET)(base, tuple(t._shape), t.stride(), t._offset)
        return t._ms

    def empty(self, shape, dtype, device):
        ms = pyboost.primitive("Zeros", target=TARGET)(tuple(shape), pyboost.ms_dtype(dtype))
        return wrap(ms, tuple(shape), dtype, device)

    def write(self, dst, src):
        ms = pyboost.tensor_from_array(np.ascontiguousarray(src._array())) if src.device is CPU else self.mstensor(src)
        pyboost.primitive("InplaceCopy", target=TARGET)(self.mstensor(dst), ms)

    def cast(self, tensor, dtype):
        return wrap(pyboost.primitive("Cast", target=TARGET)(self.mstensor(tensor), pyboost.ms_dtype(dtype)), tensor._shape, dtype, tensor.device)

    def compact(self, tensor):
        return wrap(pyboost.primitive("Contiguous", target=TARGET)(self.mstensor(tensor)), tensor._shape, tensor.dtype, tensor.device)

    def inplace(self, op):
        name = table.INPLACE.get(op.full)
        if name is None:
            return None
        prim = pyboost.primitive(name, target=TARGET)

        def kernel(*args):
            prim(*[self.mstensor(a) if isinstance(a, Tensor) else a for a in args])

        return kernel


backend.register("npu", Ascend())
__all__ = ["numel", "strided_view"]
