"""vmap in chunks, and the transforms in one module."""

from .eager_transforms import grad, grad_and_value
from .vmap import _process_batched_inputs, vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """Return a vmapped function that processes the batch in ``chunks`` chunks."""
    if chunks < 1:
        raise ValueError(f"vmap: chunks should be None or greater than 0. (got {chunks})")
    if chunks == 1:
        return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness)

    def wrapped(*args, **kwargs):
        size = _process_batched_inputs(in_dims, args, func)[0]
        return vmap(func, in_dims, out_dims, randomness, chunk_size=-(-size // chunks))(*args, **kwargs)

    return wrapped
