"""torch._vmap_internals: vmap under the names that it had first."""

from .func import vmap as _new_vmap


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through=False):
    """``func`` made to work on batches."""
    if allow_none_pass_through:
        raise NotImplementedError("_vmap: results of None are not supported (any op, any dtype, any device)")
    return _new_vmap(func, in_dims, out_dims)


def vmap(func, in_dims=0, out_dims=0):
    """The same; torch.vmap takes its place."""
    return _vmap(func, in_dims, out_dims)
