"""Collectives on Python objects.

Objects are sent as pickles, so all processes must trust each other.
"""

import io
import pickle

import torch

from ._collectives import (
    _canonicalize_group_rank,
    _outside,
    all_gather,
    broadcast,
    gather,
    recv,
    reduce_op,
    scatter,
    send,
)  # noqa: F401
from ._types import ReduceOp
from ._world import (
    _get_pg_default_device,
    _group_or_default_group,
    _rank_not_in_group,
    get_global_rank,
    get_rank,
    get_world_size,
)

_pickler, _unpickler = pickle.Pickler, pickle.Unpickler


def _object_to_tensor(obj, device=None, group=None):
    """Pickle an object and return (its bytes as a tensor, their number as a tensor), on the group's device."""
    file = io.BytesIO()
    _pickler(file).dump(obj)
    device = _get_pg_default_device(group) if device is None else device
    data = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    return data.to(device), torch.tensor([data.numel()], dtype=torch.int64, device=device)


def _tensor_to_object(tensor, tensor_size, group=None):
    """Unpickle an object from a tensor of bytes."""
    return _unpickler(io.BytesIO(tensor.cpu().numpy()[: int(tensor_size)].tobytes())).load()


def _padded(data, size):
    result = torch.zeros(size, dtype=torch.uint8, device=data.device)
    result[: data.numel()] = data
    return result


def _sizes(size, group):
    """Return the sizes of all ranks."""
    sizes = [torch.zeros_like(size) for _ in range(get_world_size(group))]
    all_gather(sizes, size, group=group)
    return [int(s) for s in sizes]


def all_gather_object(object_list, obj, group=None):
    """Gather the objects of all ranks into a list on every rank."""
    if _outside(group, "all_gather_object"):
        return
    data, size = _object_to_tensor(obj, None, group)
    sizes = _sizes(size, group)
    parts = [data.new_empty(max(sizes)) for _ in sizes]
    all_gather(parts, _padded(data, max(sizes)), group=group)
    for i, part in enumerate(parts):
        object_list[i] = _tensor_to_object(part, sizes[i])


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Gather the objects of all ranks into a list on rank ``dst``."""
    group = _group_or_default_group(group)
    if _outside(group, "gather_object"):
        return
    root = _canonicalize_group_rank(group, 0 if dst is None and group_dst is None else dst, group_dst)
    mine = root == group.rank()
    if mine and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not mine and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    data, size = _object_to_tensor(obj, None, group)
    sizes = _sizes(size, group)
    parts = [data.new_empty(max(sizes)) for _ in sizes] if mine else None
    gather(_padded(data, max(sizes)), parts, group_dst=root, group=group)
    for i, part in enumerate(parts or ()):
        object_gather_list[i] = _tensor_to_object(part, sizes[i])


def _packed(objects, device, group):
    pairs = [_object_to_tensor(o, device, group) for o in objects]
    return torch.cat([p[0] for p in pairs]), torch.cat([p[1] for p in pairs])


def _unpack_into(objects, data, sizes):
    at = 0
    for i, size in enumerate(sizes.tolist()):
        objects[i] = _tensor_to_object(data[at : at + size], size)
        at += size


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Copy the objects of rank ``src``'s list to all ranks."""
    group = _group_or_default_group(group)
    if _rank_not_in_group(group):
        _outside(group, "broadcast_object_list")
        return
    root = _canonicalize_group_rank(group, 0 if src is None and group_src is None else src, group_src)
    mine = root == group.rank()
    device = _get_pg_default_device(group) if device is None else device
    if mine:
        data, sizes = _packed(object_list, device, group)
    else:
        sizes = torch.empty(len(object_list), dtype=torch.int64, device=device)
    broadcast(sizes, group_src=root, group=group)
    if not mine:
        data = torch.empty(int(sizes.sum()), dtype=torch.uint8, device=device)
    broadcast(data, group_src=root, group=group)
    if not mine:
        _unpack_into(object_list, data, sizes)


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Send each rank its object from rank ``src``'s list, as the first entry of its output list."""
    group = _group_or_default_group(group)
    if _outside(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = _canonicalize_group_rank(group, 0 if src is None and group_src is None else src, group_src)
    parts = sizes = None
    most = torch.zeros(1, dtype=torch.int64, device=_get_pg_default_device(group))
    if root == group.rank():
        pairs = [_object_to_tensor(o, None, group) for o in scatter_object_input_list]
        most = torch.stack([p[1] for p in pairs]).max().view(1)
        parts, sizes = [_padded(p[0], int(most)) for p in pairs], [p[1] for p in pairs]
    broadcast(most, group_src=root, group=group)
    output, size = most.new_empty(int(most), dtype=torch.uint8), torch.zeros_like(most)
    scatter(output, parts, group_src=root, group=group)
    scatter(size, sizes, group_src=root, group=group)
    scatter_object_output_list[0] = _tensor_to_object(output, size)


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Send a list of objects to rank ``dst``."""
    group = _group_or_default_group(group)
    if _outside(group, "send_object_list"):
        return
    if get_rank(group) == _canonicalize_group_rank(group, dst, group_dst):
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    data, sizes = _packed(object_list, device, group)
    send(sizes, dst, group, group_dst=group_dst)
    send(data, dst, group, group_dst=group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Receive a list of objects and return the rank that sent it, or -1 outside the group."""
    if _outside(group, "recv_object_list"):
        return -1
    group = _group_or_default_group(group)
    device = _get_pg_default_device(group) if device is None else device
    sizes = torch.empty(len(object_list), dtype=torch.int64, device=device)
    source = recv(sizes, src, group, group_src=group_src)
    data = torch.empty(int(sizes.sum()), dtype=torch.uint8, device=device)
    recv(data, source, group)
    _unpack_into(object_list, data, sizes)
    return source


__all__ = ["ReduceOp", "get_global_rank"]
