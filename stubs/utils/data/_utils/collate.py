"""Collation of samples into batches."""

import copy
import re
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np
import torch

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _like_mapping(elem, items):
    """Return a mapping of the type of ``elem``, or a dict where that type cannot be created."""
    try:
        if isinstance(elem, MutableMapping):
            clone = copy.copy(elem)
            clone.update(items)
            return clone
        return type(elem)(items)
    except TypeError:
        return items


def _like_sequence(elem, items):
    """Return a sequence of the type of ``elem``, or a list where that type cannot be created."""
    try:
        if isinstance(elem, MutableSequence):
            clone = copy.copy(elem)
            for i, item in enumerate(items):
                clone[i] = item
            return clone
        return type(elem)(items)
    except TypeError:
        return items


def default_convert(data):
    """Convert NumPy arrays and scalars in ``data`` to tensors; other values stay as they are."""
    cls = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (np.str_, np.bytes_)):
        return data if np_str_obj_array_pattern.search(data.dtype.str) else torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {k: default_convert(data[k]) for k in data})
    if isinstance(data, tuple):
        items = [default_convert(d) for d in data]
        return cls(*items) if hasattr(data, "_fields") else items
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(d) for d in data])
    return data


def collate(batch, *, collate_fn_map=None):
    """Collate samples into a batch, by their type through ``collate_fn_map`` and through containers."""
    elem = batch[0]
    cls = type(elem)
    if collate_fn_map is not None:
        fn = collate_fn_map.get(cls) or next((f for t, f in collate_fn_map.items() if isinstance(elem, t)), None)
        if fn is not None:
            return fn(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        return _like_mapping(elem, {k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in elem})
    if isinstance(elem, tuple) and hasattr(elem, "_fields"):
        return cls(*(collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)))
    if isinstance(elem, Sequence):
        if any(len(e) != len(elem) for e in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        items = [collate(samples, collate_fn_map=collate_fn_map) for samples in zip(*batch)]
        return items if isinstance(elem, tuple) else _like_sequence(elem, items)
    raise TypeError(default_collate_err_msg_format.format(cls))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    if batch[0].layout is not torch.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    out = torch.stack(batch, 0)
    # in a worker, shared memory avoids another copy when the batch is sent
    return out if torch.utils.data.get_worker_info() is None else out.share_memory_()


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return torch.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch):
    """Stack tensors, arrays and numbers of the samples into tensors with a new first dimension."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
