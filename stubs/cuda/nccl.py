"""torch.cuda.nccl without NCCL."""

import warnings as _warnings

from .. import _absent_device as _absent

__all__ = ["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"]  # noqa: F822  (made by functions)
SUM = 0
_absent.functions(
    globals(),
    (_absent.without("_nccl_version"), "version()"),
    (_absent.without("_nccl_unique_id"), "unique_id()"),
    (_absent.without("_nccl_init_rank"), "init_rank(num_ranks, uid, rank)"),
    (_absent.without("_nccl_all_reduce"), "all_reduce(inputs, outputs=None, op=0, streams=None, comms=None)"),
    (
        _absent.without("_nccl_reduce"),
        "reduce(inputs, output=None, root=0, op=0, streams=None, comms=None, *, outputs=None)",
    ),
    (_absent.without("_nccl_broadcast"), "broadcast(inputs, root=0, streams=None, comms=None)"),
    (_absent.without("_nccl_all_gather"), "all_gather(inputs, outputs, streams=None, comms=None)"),
    (_absent.without("_nccl_reduce_scatter"), "reduce_scatter(inputs, outputs, op=0, streams=None, comms=None)"),
)


def is_available(tensors):
    """Warn, and return False: NCCL cannot reduce these tensors."""
    _warnings.warn("PyTorch is not compiled with NCCL support", stacklevel=2)
    return False
