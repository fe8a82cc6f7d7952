"""The meta device: shapes without memory. Every operator's meta kernel is its own; here is only what has no operator."""

from ...runtime import backend
from ...runtime.tensor import meta_tensor


class Meta(backend.Backend):
    def empty(self, shape, dtype, device):
        return meta_tensor(shape, dtype)

    def write(self, dst, src):
        pass

    def cast(self, tensor, dtype):
        return meta_tensor(tensor._shape, dtype)

    def compact(self, tensor):
        return meta_tensor(tensor._shape, tensor.dtype)


backend.register("meta", Meta())
