"""Helpers of distributed modules."""

import dataclasses
import traceback

import torch
import torch.distributed as dist
from torch.nn.utils.rnn import PackedSequence

__all__ = []


def _pack_kwargs(*args, **kwargs):
    """Return (all argument values, the names of the keyword arguments, which come last)."""
    return (*args, *kwargs.values()), tuple(kwargs)


def _unpack_kwargs(flat_args, kwarg_keys):
    """Reverse _pack_kwargs."""
    n = len(flat_args) - len(kwarg_keys)
    if n < 0:
        raise AssertionError(f"too many keys {len(kwarg_keys)} vs. {len(flat_args)}")
    return tuple(flat_args[:n]), dict(zip(kwarg_keys, flat_args[n:]))


def _cast_forward_inputs(dtype, *args, **kwargs):
    """Cast the floating-point tensors in arguments to a dtype."""
    if dtype is None:
        return args, kwargs

    def cast(x):
        return x.to(dtype) if x.is_floating_point() and x.dtype is not dtype else x

    return _apply_to_tensors(cast, args), _apply_to_tensors(cast, kwargs)


def _apply_to_tensors(fn, container):
    """Return a container with its tensors replaced by a function's results."""
    x, each = container, lambda y: _apply_to_tensors(fn, y)
    if isinstance(x, torch.Tensor):
        return fn(x)
    if isinstance(x, PackedSequence):  # as in PyTorch, the function is called but the data is not replaced
        fn(x.data)
        return x
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return dataclasses.replace(x, **{f.name: each(getattr(x, f.name)) for f in dataclasses.fields(x)})
    if isinstance(x, dict):
        made = {key: each(value) for key, value in x.items()}
        return type(x)(made) if hasattr(x, "move_to_end") else made
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(each, x))
    return type(x)(map(each, x)) if isinstance(x, (list, tuple, set)) else x


def _recursive_to(inputs, target_device, use_side_stream_for_tensor_copies=False):
    """Move the tensors in nested containers to a device.

    Return a list or tuple with one entry per device; there is always one device.
    """

    def move(x):
        if isinstance(x, (torch.Tensor, PackedSequence)):
            device = x.data.device if isinstance(x, PackedSequence) else x.device
            return x if device == target_device else x.to(target_device)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(move, x))
        if isinstance(x, (list, tuple)) and x:
            return type(x)(map(move, x))
        return type(x)((key, move(value)) for key, value in x.items()) if isinstance(x, dict) and x else x

    return (move(inputs),) if isinstance(inputs, (torch.Tensor, PackedSequence)) else [move(inputs)]


def _to_kwargs(inputs, kwargs, target_device, use_side_stream_for_tensor_copies=False):
    """Move arguments to a device and return ((positional,), (keyword,))."""
    return (_recursive_to(inputs, target_device)[0] if inputs else (),), (
        _recursive_to(kwargs, target_device)[0] if kwargs else {},
    )


def _p_assert(cond, s, raise_assertion_error=True):
    """Assert a condition; print the message too, because an error in backward may be swallowed."""
    if not cond:
        print(s)
        traceback.print_stack()
        if raise_assertion_error:
            raise AssertionError(s)


def _alloc_storage(tensor, size):
    """Allocate the storage of a tensor without storage; do nothing if it already has the right size."""
    with torch.no_grad():
        wanted = size.numel() * tensor.element_size()
        storage = tensor.untyped_storage()
        if storage.size() != wanted:
            _p_assert(storage.size() == 0, f"the tensor's storage should be empty, but has {storage.size()} bytes")
            storage.resize_(wanted)


def _free_storage(tensor):
    """Free a tensor's storage, which no other tensor may use."""
    with torch.no_grad():
        storage = tensor.untyped_storage()
        if storage.size():
            _p_assert(
                tensor.storage_offset() == 0,
                "Freeing a tensor's storage is unsafe when it is not the sole occupant\n"
                f"storage offset: {tensor.storage_offset()}\nstorage size: {storage.size()}\ntensor shape: "
                f"{tensor.shape}",
            )
            storage.resize_(0)


def _data_ptr_allocated(tensor):
    return tensor.untyped_storage().data_ptr() > 0


def _verify_param_shape_across_processes(process_group, tensors, logger=None):
    """Raise RuntimeError on all ranks if the parameters of a rank differ."""
    return dist._verify_params_across_processes(process_group, tensors, logger)


def _sync_module_states(
    module, process_group, broadcast_bucket_size, src, params_and_buffers_to_ignore, broadcast_buffers=True
):
    """Broadcast the parameters and buffers of one rank to all ranks."""
    states = [p.detach() for name, p in module.named_parameters() if name not in params_and_buffers_to_ignore]
    if broadcast_buffers:
        states += [b.detach() for name, b in module.named_buffers() if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)


def _sync_params_and_buffers(process_group, module_states, broadcast_bucket_size, src):
    if module_states:
        dist._broadcast_coalesced(process_group, module_states, broadcast_bucket_size, src)


def _replace_by_prefix(state_dict, old_prefix, new_prefix):
    """Replace a key prefix in a state dict, in place."""
    if old_prefix == new_prefix:
        raise ValueError("old_prefix and new_prefix must be distinct")
    for key in [k for k in state_dict if k.startswith(old_prefix)]:
        state_dict[new_prefix + key.removeprefix(old_prefix)] = state_dict.pop(key)


def _get_root_modules(modules):
    """Return the modules that are not contained in any other of the given modules."""
    inside = {m: set(m.modules()) for m in modules}
    return [m for m in modules if not any(m is not other and m in found for other, found in inside.items())]
