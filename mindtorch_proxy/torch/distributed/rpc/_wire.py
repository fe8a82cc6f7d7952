"""The format of messages between workers.

Messages are pickles in which tensors are stored as raw storages and RRefs as new forks.
"""

import io
import pickle

import numpy as np
import torch

from . import _rref


class _Pickler(pickle.Pickler):
    def __init__(self, file, to):
        self._to, self.buffers, self._storages = to, [], {}
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=self.buffers.append)

    def reducer_override(self, obj):
        if isinstance(obj, _rref.RRef):
            return _rref.rebuild, obj._sent()
        if isinstance(obj, torch.Tensor) and obj.device.type != "cpu":
            raise RuntimeError(
                "TensorPipe RPC backend only supports CPU tensors by default, please move your tensors to CPU before "
                "sending them over RPC, or call `set_device_map` on `TensorPipeRpcBackendOptions` to explicitly "
                f"configure device mapping. Request device mapping is not available for destination {self._to.name}, "
                f"but found tensor on device: {obj.device}"
            )
        return NotImplemented

    def persistent_id(self, obj):
        """Store each storage once per message, so that views of one storage still share it on the other worker."""
        if isinstance(obj, torch.storage.TypedStorage):
            return obj.dtype, *self._bytes(obj._untyped_storage)
        if isinstance(obj, torch.UntypedStorage):
            return None, *self._bytes(obj)
        return None

    def _bytes(self, storage):
        if storage._cdata not in self._storages:
            self._storages[storage._cdata] = len(self._storages), pickle.PickleBuffer(storage._array()), storage
        return self._storages[storage._cdata][:2]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, buffers):
        super().__init__(file, buffers=buffers)
        self._storages = {}

    def persistent_load(self, pid):
        dtype, index, data = pid
        if index not in self._storages:
            self._storages[index] = (
                torch.UntypedStorage._from_array(np.frombuffer(data, np.uint8))
                if len(data)
                else torch.UntypedStorage(0)
            )
        storage = self._storages[index]
        return (
            storage if dtype is None else torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
        )


def dumps(obj, to):
    """Serialize an object for a worker; return the pickle and the buffers of its storages, which are not copied."""
    file = io.BytesIO()
    pickler = _Pickler(file, to)
    pickler.dump(obj)
    return file.getvalue(), [b.raw() for b in pickler.buffers]


def loads(data, buffers):
    """Deserialize an object; its tensors use the memory of the buffers, which must be writable."""
    return _Unpickler(io.BytesIO(data), buffers).load()
