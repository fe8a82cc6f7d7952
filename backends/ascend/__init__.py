"""The Ascend backend (device type npu): the declared PyBoost primitive with target Ascend, dtype rules as data, in-place by Inplace primitives.

No hardware was at hand when this was written. What is proved without it: every bound primitive exists in the wheel with the arity used
(bindings.py, tests/contract). What is not: numbers, speed, CANN's own checks.
"""

from functools import partial

import numpy as np

from ...runtime import pyboost
from ...runtime.backend import backend, register
from ...runtime.dtypes import dtype as Dtype
from ...runtime.storage import UntypedStorage
from ...runtime.tensor import Tensor, from_array, numel, wrap
from ..plan import CompositePlan, PrimitivePlan
from . import table

TARGET = "Ascend"


class AscendPlan(PrimitivePlan):
    """A primitive on Ascend: dtypes among the arguments are MindSpore's, the result is what the meta function says."""

    __slots__ = ()

    def compute(self, args):
        return PrimitivePlan.compute(self, [pyboost.ms_dtype(a) if isinstance(a, Dtype) else a for a in args])


class Ascend:
    """runtime/backend.py says what each method is for."""

    host, target, expand_from = False, TARGET, float("inf")

    def __init__(self):
        self.plans, self._plans = [], {}

    def device_count(self):
        return pyboost.mindspore().hal.device_count("Ascend") if pyboost.npu_available() else 0

    def usable(self, device):
        if not pyboost.npu_available():
            raise RuntimeError(f"Cannot access device {device}: no Ascend NPU is available on this machine")
        return device

    def moves(self):
        return {}

    # ---------------------------------------------------------------- choosing
    def plan(self, op, dtype, device, args):
        plan = self._plans.get((op, dtype, device))
        if plan is None:
            if dtype in table.REFUSED:
                raise NotImplementedError(f"{op.full}: dtype {dtype} is not supported on device npu: {table.REFUSED[dtype]}")
            kernel = table.binding(op)
            if kernel.fn is None and kernel.primitive is None:
                raise NotImplementedError(f"{op.full}: no kernel for dtype {dtype} on device npu: {kernel.why}")
            plan = (CompositePlan if kernel.kind == "composite" else AscendPlan)(self, op, dtype, device, kernel)
            self._plans[op, dtype, device] = plan
        return plan

    def inplace(self, op):
        name = table.INPLACE.get(op.full)
        if name is None:
            return None
        prim = pyboost.primitive(name, target=TARGET)
        return lambda *args: prim(*[a._mstensor() if isinstance(a, Tensor) else a for a in args])

    def update(self, op, dst, args):
        return False

    # ---------------------------------------------------------------- arguments and results
    def numbers_of(self, dtype):
        return {}

    def number(self, value, dtype):
        return pyboost.tensor_from_array(np.array(value).astype(dtype.np))

    def operand(self, t, dtype, shape, full):
        if not isinstance(t, Tensor):
            return self.number(t, dtype)
        return (t if t.dtype is dtype else self.cast(t, dtype))._mstensor()

    def tensor(self, t, dtype):
        return t if not isinstance(t, Tensor) or t.dtype is dtype else self.cast(t, dtype)

    def dtype_of(self, r):
        return None  # the operator's promise is taken

    def result(self, r, result, device):
        if isinstance(r, Tensor):
            return r if r.dtype is result[1] else self.cast(r, result[1])
        return wrap(r, tuple(r.shape) if result[0] is None else tuple(result[0]), result[1], device)

    # ---------------------------------------------------------------- memory
    def array(self, t):
        raise NotImplementedError(f"no host memory behind a {t.device} tensor")

    def mstensor(self, t):
        """Views are AsStrided over the storage's flat tensor, first of their dtype."""
        prim = partial(pyboost.primitive, target=TARGET)
        base, dtype = t._storage._ms, pyboost.ms_dtype(t.dtype)
        if base.dtype != dtype:
            base = prim("ViewDtype")(prim("Reshape")(base, (-1,)), dtype)
        t._ms = prim("AsStrided")(base, tuple(t._shape), t.stride(), t._offset)
        return t._ms

    def storage(self, t):
        return UntypedStorage._of_device(t._ms, numel(t._shape) * t.dtype.itemsize, t.device)

    def empty(self, shape, dtype, device):
        return wrap(pyboost.primitive("Zeros", target=TARGET)(tuple(shape), pyboost.ms_dtype(dtype)), tuple(shape), dtype, device)

    def write(self, dst, src):
        ms = pyboost.tensor_from_array(np.ascontiguousarray(src._array())) if backend(src.device).host else src._mstensor()
        pyboost.primitive("InplaceCopy", target=TARGET)(dst._mstensor(), ms)

    def cast(self, tensor, dtype):
        ms = pyboost.primitive("Cast", target=TARGET)(tensor._mstensor(), pyboost.ms_dtype(dtype))
        return wrap(ms, tensor._shape, dtype, tensor.device)

    def compact(self, tensor):
        return wrap(pyboost.primitive("Contiguous", target=TARGET)(tensor._mstensor()), tensor._shape, tensor.dtype, tensor.device)

    def to_host(self, tensor):
        return from_array(np.array(tensor._mstensor().asnumpy()), tensor.dtype)


register("npu", Ascend())
