"""Calls that PyTorch's vmap refuses, although each sample would have a result."""

import torch

from ..utils._pytree import tree_iter
from .utils import argument

VALUE = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. "
    "We don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
ISSUE = "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
_POINTER = "Cannot access data pointer of Tensor that doesn't have storage"
_STATISTICS = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
    "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
    "False.If you are using a prebuilt module and do not need eval mode, please see the functorch website for "
    "resources on how to patch your module to work with vmap"
)


def _method(error, message):
    def refuse(self, *args, **kwargs):
        raise error(message)

    return refuse


class Refusing:
    """Mixin that raises for methods that a sample does not support, such as item() or access to its storage."""

    item = __int__ = __float__ = __index__ = __complex__ = __contains__ = _method(RuntimeError, VALUE)
    __bool__ = _method(RuntimeError, BRANCH)
    tolist = numpy = data_ptr = __array__ = __dlpack__ = _method(RuntimeError, _POINTER)
    storage = untyped_storage = is_shared = share_memory_ = __deepcopy__ = __reduce_ex__ = _method(
        NotImplementedError, "Cannot access storage of BatchedTensorImpl"
    )

    def __format__(self, spec):
        return self.item() if self.dim() == 0 else super().__format__(spec)


def _no_rule(name):
    return RuntimeError(f"Batching rule not implemented for aten::{name}. We could not generate a fallback.")


def _running_statistics(name, args, kwargs, is_batched):
    """Raise an error if running statistics would be updated that are not batched while the input is."""
    first = (
        3 if len(args) > 8 or "cudnn_enabled" in kwargs else 1
    )  # in torch the weights come before them, in torch.nn.functional after
    statistics = [argument(args, kwargs, first + k, n) for k, n in enumerate(("running_mean", "running_var"))]
    writes = argument(
        args, kwargs, 5, "use_input_stats" if name == "instance_norm" else "training", name == "instance_norm"
    )
    x = argument(args, kwargs, 0, "input")
    if writes and is_batched(x) and any(s is not None and not is_batched(s) for s in statistics):
        raise RuntimeError(_STATISTICS)


def _values_of_samples(name, args, kwargs, is_batched):
    """Raise an error if a new tensor is created from individual values of samples."""
    data = argument(args, kwargs, 1 if name == "new_tensor" else 0, "data")
    if not isinstance(data, torch.Tensor) and any(map(is_batched, tree_iter(data))):
        raise RuntimeError(VALUE)


def refuse(name, args, kwargs, is_batched):
    """Raise the error for a call that PyTorch refuses."""
    if name in _RECURRENT:
        raise _no_rule(name if name == "lstm_cell" else f"{name}.input")
    if name in ("equal", "is_set_to", "is_pinned"):
        raise _no_rule(name)
    if name == "allclose":
        raise RuntimeError(f"vmap over torch.allclose isn't supported yet. {ISSUE}")
    if name in ("batch_norm", "instance_norm"):
        _running_statistics(name, args, kwargs, is_batched)
    elif name in ("tensor", "as_tensor", "new_tensor"):
        _values_of_samples(name, args, kwargs, is_batched)


_RECURRENT = frozenset("lstm gru rnn_tanh rnn_relu lstm_cell".split())
REFUSED = frozenset(
    (*_RECURRENT, *"equal is_set_to is_pinned allclose batch_norm instance_norm tensor as_tensor new_tensor".split())
)
