"""torch._higher_order_ops.associative_scan."""

import torch
from torch.utils import _pytree as pytree

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """Combine all prefixes of xs along a dimension with an associative function, in a logarithmic number of steps."""
    leaves, spec = pytree.tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise" and not all(x.device.type in ("cuda", "xpu") for x in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    n = leaves[0].dim()
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    dim %= n

    def join(a, b):
        return pytree.tree_leaves(combine_fn(pytree.tree_unflatten(a, spec), pytree.tree_unflatten(b, spec)))

    def every_other(items, start, stop=None):
        at = (slice(None),) * dim + (slice(start, stop, 2),)
        return [x[at] for x in items]

    def scan(items):
        size = items[0].shape[dim]
        if size < 2:
            return items
        odd = scan(join(every_other(items, 0, size - 1), every_other(items, 1)))  # prefixes of even length
        even = join([x.narrow(dim, 0, (size - 1) // 2) for x in odd], every_other(items, 2)) if size > 2 else []
        even = [torch.cat([x.narrow(dim, 0, 1).to(e.dtype), e], dim) for x, e in zip(items, even)] or [
            x.narrow(dim, 0, 1) for x in items
        ]
        return [interleaved(*pair) for pair in zip(even, odd)]

    def interleaved(even, odd):
        pairs = torch.stack([even.narrow(dim, 0, odd.shape[dim]), odd], dim + 1).flatten(dim, dim + 1)
        return (
            torch.cat([pairs, even.narrow(dim, odd.shape[dim], 1)], dim) if even.shape[dim] > odd.shape[dim] else pairs
        )

    flipped = [x.flip([dim]) for x in leaves] if reverse else leaves
    out = scan(flipped)
    return pytree.tree_unflatten([x.flip([dim]) for x in out] if reverse else out, spec)
