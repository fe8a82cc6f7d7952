"""What PyTorch runs around the passes of fully sharded modules: known by name. Ours run otherwise, in
``fully_sharded_data_parallel``.
"""


def _post_backward_final_callback(state, module):
    """Raises: a backward pass that an error has ended cannot be put in order by hand."""
    raise NotImplementedError(
        "torch.distributed.fsdp._runtime_utils._post_backward_final_callback is not supported (any dtype, any device)"
    )
