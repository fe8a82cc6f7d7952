"""A backend from outside, in fifty lines.

MindSpore's CPU primitives over memory that the host does not see, under the device type `toy`.
"""

import numpy as np
import torch

from mindtorch_proxy.backends.plan import CompositePlan, Kernel, PrimitivePlan
from mindtorch_proxy.runtime import backend, pyboost
from mindtorch_proxy.runtime.registry import DECOMPOSITIONS
from mindtorch_proxy.runtime.storage import UntypedStorage
from mindtorch_proxy.runtime.tensor import from_array, wrap

PRIMITIVES = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "exp": "Exp",
    "neg": "Neg",
    "_bmm": "BatchMatMul",
    "_full": None,
}


class Toy:
    host, target, expand_from = False, "CPU", float("inf")

    def __init__(self):
        self.plans, self._plans = [], {}

    def device_count(self):
        return 2

    def usable(self, device):
        return device if device.index is not None else torch.device(device.type, 0)

    def plan(self, op, dtype, device, args):
        if (op, dtype, device) not in self._plans:
            name, fn = PRIMITIVES.get(op.full), DECOMPOSITIONS.get(op.full)
            if op.full == "_full":  # from nothing
                kernel = Kernel(
                    "composite",
                    lambda shape, value, dtype, device: self.from_host(np.full(shape, value, dtype.np), dtype, device),
                )
            elif name or fn:
                kernel = Kernel("pyboost", None, name) if name else Kernel("composite", fn)
            else:
                raise NotImplementedError(f"{op.full}: no kernel for dtype {dtype} on device {device}")
            self._plans[op, dtype, device] = (PrimitivePlan if name else CompositePlan)(self, op, dtype, device, kernel)
        return self._plans[op, dtype, device]

    def from_host(self, array, dtype, device):
        return wrap(pyboost.tensor_from_array(np.ascontiguousarray(array)), array.shape, dtype, device)

    def dtype_of(self, r):
        return getattr(torch, str(r.dtype).lower())

    def numbers_of(self, dtype):
        return {}

    def number(self, value, dtype):
        return pyboost.tensor_from_array(np.array(value, dtype.np))

    def operand(self, t, dtype, shape, full):
        return (
            self.number(t, dtype)
            if not isinstance(t, torch.Tensor)
            else (t if t.dtype is dtype else self.cast(t, dtype))._mstensor()
        )

    def tensor(self, t, dtype):
        return t

    def result(self, r, result, device):
        return r if isinstance(r, torch.Tensor) else wrap(r, tuple(r.shape), result[1], device)

    def fused(self, name):
        return None

    def inplace(self, op):
        return None

    def update(self, op, dst, args):
        return False

    def _strided(self, t):
        base = t._storage._ms.asnumpy().reshape(-1)
        return np.lib.stride_tricks.as_strided(base[t._offset :], t._shape, [s * base.itemsize for s in t.stride()])

    def array(self, t):
        raise NotImplementedError(f"no host memory behind a {t.device} tensor")

    def mstensor(self, t):
        return pyboost.tensor_from_array(self._strided(t).copy())

    def storage(self, t):
        return UntypedStorage._of_device(t._ms, t.numel() * t.dtype.itemsize, t.device)

    def new_storage(self, data, device):
        return UntypedStorage._of_device(pyboost.tensor_from_array(np.array(data)), data.size, device)

    def empty(self, shape, dtype, device):
        return self.from_host(np.empty(shape, dtype.np), dtype, device)

    def write(self, dst, src):
        dst._get_storage()
        self._strided(dst)[...] = src.numpy() if backend.backend(src.device).host else src._mstensor().asnumpy()

    def cast(self, t, dtype):
        return self.from_host(t._mstensor().asnumpy().astype(dtype.np), dtype, t.device)

    def compact(self, t):
        return self.from_host(t._mstensor().asnumpy().copy(), t.dtype, t.device)

    def to_host(self, t):
        return from_array(t._mstensor().asnumpy().copy(), t.dtype)

    def draws(self, kind):
        return False

    def moves(self):
        return {}
