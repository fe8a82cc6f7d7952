"""How multiprocessing pickles tensors: as their bytes."""

from multiprocessing.reduction import ForkingPickler

import torch

__all__ = ["init_reductions", "reduce_tensor", "rebuild_tensor"]


def rebuild_tensor(cls, data, dtype, shape, requires_grad, state):
    """The tensor that ``reduce_tensor`` took apart."""
    t = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
    t = t.reshape(shape)
    if issubclass(cls, torch.nn.Parameter):
        t = cls(t, requires_grad=requires_grad)
    else:
        t.requires_grad_(requires_grad)
    t.__dict__.update(state)
    return t


def reduce_tensor(tensor):
    """A CPU tensor as bytes, dtype and shape; others as pickle would have them."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
            "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return tensor.__reduce_ex__(2)
    data = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return rebuild_tensor, (type(tensor), data, tensor.dtype, tuple(tensor.shape), tensor.requires_grad, dict(tensor.__dict__))


def init_reductions():
    """Tell multiprocessing's pickler about tensors and parameters."""
    for cls in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(cls, reduce_tensor)
