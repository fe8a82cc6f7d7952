"""torch.nested._internal.nested_tensor: the class for layout torch.jagged, and functions that create it.

torch.nested has the public forms of these functions.
"""

from mindtorch_proxy.runtime.ops.nested import JaggedTensor as NestedTensor
from mindtorch_proxy.runtime.ops.nested import as_nested_tensor as _as_nested_tensor
from mindtorch_proxy.runtime.ops.nested import nested_tensor_from_jagged as _from_jagged
from mindtorch_proxy.runtime.ops.nested.jagged import _rebuild_njt  # noqa: F401
from mindtorch_proxy.runtime.ops.nested.make import view_of_pieces as _view_of_pieces
from mindtorch_proxy.runtime.symbolic import size_of as get_tensor_symint  # noqa: F401
from torch import jagged as _jagged
from torch.nested._internal.nested_int import NestedIntNode  # noqa: F401


def jagged_from_list(tensors, offsets, dtype=None, device=None):
    """Return a nested tensor with copies of the tensors, and its offsets.

    If offsets are given, the result shares them, and so has the same symbolic size as other tensors with them.
    """
    made = _as_nested_tensor(list(tensors), dtype, device, _jagged)
    if offsets is not None:
        made = _from_jagged(made._values, offsets, None, made._ragged_idx, *made._seqlens)
    return made, made.offsets()


def jagged_from_tensor_and_lengths(tensor, starts, lengths):
    """Return a view of a piece of each row of a tensor, its offsets and its lengths."""
    made = _view_of_pieces(tensor, starts.expand(tensor.shape[0]), lengths.expand(tensor.shape[0]))
    return made, made.offsets(), made.lengths()


def nested_view_from_values_offsets(values, offsets, ragged_idx=1, min_seqlen=None, max_seqlen=None):
    """Return a nested tensor that is a view of `values`, in which its rows are contiguous."""
    return _from_jagged(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(values, offsets, lengths, ragged_idx=1, min_seqlen=None, max_seqlen=None):
    """Return a nested tensor that is a view of `values`, in which there may be holes between rows."""
    return _from_jagged(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


def buffer_from_jagged(jagged):
    """Return the tensor with the elements of all rows."""
    return jagged.values()


__all__ = [
    "NestedTensor",
    "buffer_from_jagged",
    "jagged_from_list",
    "jagged_from_tensor_and_lengths",
    "nested_view_from_values_offsets",
]
__all__ += ["nested_view_from_values_offsets_lengths"]
