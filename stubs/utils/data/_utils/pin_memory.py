"""Pinned memory: host memory from which an accelerator can copy by itself."""

import queue

import torch
from torch._utils import ExceptionWrapper

from ._waiting import MP_STATUS_CHECK_INTERVAL
from .collate import _like_mapping, _like_sequence


def _pinned(data, device_id, device):
    """``data`` in pinned memory, or the error of that."""
    try:
        return pin_memory(data, device)
    except Exception:
        return ExceptionWrapper(where=f"in pin memory thread for device {device_id}")


def _pin_memory_loop(in_queue, out_queue, device_id, done_event, device):
    """What a thread does: takes pairs (index, data) from one queue and puts them into the other, pinned, until the
    event is set.

    PyTorch has this thread's kernels run on one core; here how many share a kernel is the whole process's setting,
    which stays.
    """
    torch.multiprocessing._set_thread_name("pt_data_pin")
    torch.accelerator.set_device_index(device_id)
    while not done_event.is_set():
        try:
            index, data = in_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if not done_event.is_set() and not isinstance(data, ExceptionWrapper):
            data = _pinned(data, device_id, device)
        while not done_event.is_set():
            try:
                out_queue.put((index, data), timeout=MP_STATUS_CHECK_INTERVAL)
                break
            except queue.Full:
                continue
        del data


def pin_memory(data, device=None):
    """The tensors in ``data`` (and objects with a method pin_memory) in pinned memory."""
    if isinstance(data, torch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, dict):
        return _like_mapping(data, {k: pin_memory(v, device) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v, device) for v in data))
    if isinstance(data, (list, tuple)):
        return _like_sequence(data, [pin_memory(v, device) for v in data])
    return data
