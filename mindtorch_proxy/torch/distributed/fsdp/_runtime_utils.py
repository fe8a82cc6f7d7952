"""Names of PyTorch's FSDP runtime, for compatibility.

The implementation is in ``fully_sharded_data_parallel``.
"""


def _post_backward_final_callback(state, module):
    """Raise NotImplementedError: a backward that failed cannot be finalized by hand."""
    raise NotImplementedError(
        "torch.distributed.fsdp._runtime_utils._post_backward_final_callback is not supported (any dtype, any device)"
    )
