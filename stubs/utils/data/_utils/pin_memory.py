"""Pinned memory: host memory that an accelerator can read directly."""

import queue

import torch
from torch._utils import ExceptionWrapper

from ._waiting import MP_STATUS_CHECK_INTERVAL
from .collate import _like_mapping, _like_sequence


def _pinned(data, device_id, device):
    """Return ``data`` in pinned memory, or the wrapped error."""
    try:
        return pin_memory(data, device)
    except Exception:
        return ExceptionWrapper(where=f"in pin memory thread for device {device_id}")


def _pin_memory_loop(in_queue, out_queue, device_id, done_event, device):
    """Take pairs (index, data) from one queue, pin the data and put them into the other, until the event is set.

    This runs in a thread. PyTorch limits this thread's kernels to one core; here the number of threads is a setting of
    the whole process, and is not changed.
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
    """Return ``data`` with its tensors, and objects with a method pin_memory, in pinned memory."""
    if isinstance(data, torch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, dict):
        return _like_mapping(data, {k: pin_memory(v, device) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v, device) for v in data))
    if isinstance(data, (list, tuple)):
        return _like_sequence(data, [pin_memory(v, device) for v in data])
    return data
