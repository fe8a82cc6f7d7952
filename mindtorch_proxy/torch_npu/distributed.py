"""torch_npu.distributed: what Ascend's extension adds to torch.distributed."""

import torch

__all__ = ["all_gather_into_tensor_uneven", "is_hccl_available", "reduce_scatter_tensor_uneven"]


def is_hccl_available():
    """Whether the hccl backend is available."""
    return torch.distributed.is_hccl_available()


def _pieces(tensor, sizes, group):
    """Return the parts of a tensor along its first dimension, of the given sizes or of equal ones."""
    if sizes is None:
        return list(tensor.chunk(torch.distributed.get_world_size(group)))
    return list(tensor.split(list(sizes)))


def all_gather_into_tensor_uneven(output, input, output_split_sizes=None, group=None, async_op=False):
    """Gather the tensors of all ranks, which may differ in their first dimension, into one tensor on every rank.

    output_split_sizes: how many rows each rank gives. Source: torch_npu.distributed.
    """
    pieces = _pieces(output, output_split_sizes, group)
    return torch.distributed.all_gather(pieces, input, group, async_op)


def reduce_scatter_tensor_uneven(output, input, input_split_sizes=None, op=None, group=None, async_op=False):
    """Reduce the inputs of all ranks, by default their sum; each rank gets its own rows of the result.

    input_split_sizes: how many rows each rank gets. Source: torch_npu.distributed.
    """
    op = torch.distributed.ReduceOp.SUM if op is None else op
    return torch.distributed.reduce_scatter(output, _pieces(input, input_split_sizes, group), op, group, async_op)
