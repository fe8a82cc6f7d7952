"""torch._vmap_internals: the vmap that autograd uses.

Unlike the transforms of torch.func, it allows requires_grad_() and custom autograd functions inside.
"""

import functools

from ._functorch.vmap import _create_batched_inputs, _process_batched_inputs, _unwrap_batched, vmap_increment_nesting


def _vmap(func, in_dims=0, out_dims=0, allow_none_pass_through=False):
    """Vectorize ``func``. With allow_none_pass_through, a tuple of results may contain None."""

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
    """Vectorize ``func``. torch.vmap replaces it."""
    return _vmap(func, in_dims, out_dims)
