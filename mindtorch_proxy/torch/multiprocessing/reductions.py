"""How multiprocessing pickles tensors: their memory is shared, and its file descriptor is sent."""

from multiprocessing.reduction import DupFd, ForkingPickler

import torch

__all__ = [
    "init_reductions",
    "rebuild_storage",
    "rebuild_tensor",
    "rebuild_typed_storage",
    "reduce_storage",
    "reduce_tensor",
    "reduce_typed_storage",
]


def rebuild_storage(cls, handle, size):
    """Return the storage over memory that ``reduce_storage`` shared."""
    return cls._new_shared_fd_cpu(handle.detach(), size) if size else cls(0)


def reduce_storage(storage):
    """Pickle a CPU storage as the file descriptor of its memory, which becomes shared."""
    if storage.device.type != "cpu":
        raise RuntimeError(
            f"Cannot pickle {storage.device.type} storage; try pickling a {storage.device.type} tensor instead"
        )
    if not storage.nbytes():
        return rebuild_storage, (type(storage), None, 0)
    fd, size = storage._share_fd_cpu_()
    return rebuild_storage, (type(storage), DupFd(fd), size)


def rebuild_typed_storage(storage, dtype):
    """Return the typed storage that ``reduce_typed_storage`` pickled."""
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def reduce_typed_storage(storage):
    """Pickle a typed storage as its untyped storage and its dtype."""
    return rebuild_typed_storage, (storage._untyped_storage, storage.dtype)


def rebuild_tensor(cls, storage, dtype, offset, size, stride, requires_grad, state):
    """Return the tensor that ``reduce_tensor`` pickled."""
    t = torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)
    if issubclass(cls, torch.nn.Parameter):
        t = cls(t, requires_grad=requires_grad)
    else:
        t.requires_grad_(requires_grad)
    t.__dict__.update(state)
    return t


def reduce_tensor(tensor):
    """Pickle a CPU tensor as its storage and geometry, and others as pickle does."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    torch.utils.hooks.warn_if_has_hooks(tensor)
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return tensor.__reduce_ex__(2)
    if tensor.numel():
        tensor.share_memory_()  # before the storage is requested, while the tensors that use it are known
    place = (
        tensor.storage_offset(),
        tuple(tensor.size()),
        tensor.stride(),
        tensor.requires_grad,
        dict(tensor.__dict__),
    )
    return rebuild_tensor, (type(tensor), tensor.untyped_storage(), tensor.dtype, *place)


def init_reductions():
    """Register storages, tensors and parameters with the pickler of multiprocessing."""
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
    ForkingPickler.register(torch.storage.TypedStorage, reduce_typed_storage)
    for cls in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(cls, reduce_tensor)
