"""The meta device: shapes without memory.

Each operator brings its own meta function; this module holds what does not belong to an operator.
"""

from ...runtime.backend import register
from ...runtime.device import META
from ...runtime.storage import UntypedStorage
from ...runtime.tensor import meta_tensor, numel


class MetaPlan:
    """A plan that returns results without values."""

    calls, direct, limit, when, out = 0, True, None, None, None

    def run(self, result, args):
        self.calls += 1
        return tuple(meta_tensor(*r) for r in result) if result.__class__ is list else meta_tensor(*result)

    def elementwise(self, operands, attributes, shape, dtype):
        return meta_tensor(shape, dtype)


class Meta:
    """The backend of the meta device; runtime/backend.py documents the methods."""

    host = False

    def __init__(self):
        self.plans, self._plan = [], MetaPlan()

    def device_count(self):
        return 1

    def usable(self, device):
        return META

    def draws(self, kind):
        return True

    def moves(self):
        return {}

    def plan(self, op, dtype, device, args):
        return self._plan

    def fused(self, name):
        return None

    def inplace(self, op):
        return None

    def update(self, op, dst, args):
        return False

    def empty(self, shape, dtype, device):
        return meta_tensor(shape, dtype)

    def array(self, t):
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    mstensor = to_host = array

    def storage(self, t):
        return UntypedStorage._meta(numel(t._shape) * t.dtype.itemsize)

    def new_storage(self, data, device):
        return UntypedStorage._meta(data.size)

    def write(self, dst, src):
        pass

    def cast(self, tensor, dtype):
        return meta_tensor(tensor._shape, dtype)

    def compact(self, tensor):
        return meta_tensor(tensor._shape, tensor.dtype)


register("meta", Meta())
