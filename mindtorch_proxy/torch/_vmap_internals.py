"""torch._vmap_internals: the vmap that autograd runs on.

It is none of torch.func's transforms: requires_grad_() and custom functions work in it.
"""

import functools

from ._functorch.vmap import _create_batched_inputs, _process_batched_inputs, _unwrap_batched, vmap_increment_nesting


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through=False):
    """``func`` made to work on batches. allow_none_pass_through: a tuple of results may hold None."""

    @functools.wraps(func)
    def wrapped(*args):
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        with vmap_increment_nesting(size, "error", transforms=False) as level:
            out = func(*_create_batched_inputs(dims, leaves, level, spec))
            if not allow_none_pass_through or not isinstance(out, tuple):
                return _unwrap_batched(out, out_dims, level, size, func)
            at = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(out)
            return tuple(None if o is None else _unwrap_batched(o, d, level, size, func) for o, d in zip(out, at))

    return wrapped


def vmap(func, in_dims=0, out_dims=0):
    """The same; torch.vmap takes its place."""
    return _vmap(func, in_dims, out_dims)
