"""Sharding rules of operators that rearrange elements: views, cat, split. Partial placements are kept."""

import torch

from ._call import localize, rule
from ._spec import local_shape
from .placement_types import Replicate, Shard

R = Replicate()


def _partial(call, i):
    """Yield the placements in which all arguments have the same Partial."""
    for p in {s.placements[i] for s in call.specs if s.placements[i].is_partial()}:
        yield [p] * len(call.specs), p


def _arranged(call, i, to):
    """Yield shards of each dimension that is kept; ``to`` maps old to new dimensions."""
    for old, new in to.items():
        yield [Shard(old)], Shard(new)
    yield from _partial(call, i)


@rule("transpose", "swapaxes", "swapdims")
def transpose(call, i):
    """Two dimensions are swapped."""
    n = call.specs[0].ndim
    if n == 0:
        return
    order = list(range(n))
    a, b = call.args[1] % n, call.args[2] % n
    order[a], order[b] = b, a
    yield from _arranged(call, i, {old: new for new, old in enumerate(order)})


@rule("t", "numpy_T", "adjoint", "mT")
def turned(call, i):
    """The last two dimensions are swapped."""
    n = call.specs[0].ndim
    order = list(range(n))
    if n > 1:
        order[-2:] = order[-1], order[-2]
    yield from _arranged(call, i, {old: new for new, old in enumerate(order)})


@rule("permute")
def permute(call, i):
    """The dimensions are reordered."""
    n = call.specs[0].ndim
    yield from _arranged(call, i, {old % n: new for new, old in enumerate(call.arg("dims"))} if n else {})


@rule("unsqueeze")
def unsqueeze(call, i):
    """A dimension is inserted."""
    n = call.specs[0].ndim
    at = call.arg("dim") % (n + 1)
    yield from _arranged(call, i, {d: d + (d >= at) for d in range(n)})


@rule("squeeze")
def squeeze(call, i):
    """Dimensions of size 1 are removed."""
    shape, dims = call.shape(), call.arg("dim")
    n = len(shape)
    dims = range(n) if dims is None else [d % max(n, 1) for d in ([dims] if isinstance(dims, int) else dims)]
    gone = [d for d in dims if n and shape[d] == 1]
    yield from _arranged(call, i, {d: d - sum(1 for g in gone if g < d) for d in range(n) if d not in gone})


@localize("squeeze")
def _squeeze(call, args, kwargs, specs):
    """Squeeze as the full tensor requires, because a local dimension may have size 1 where the full one does not."""
    return args[0].reshape(local_shape(specs[0]))


@rule("expand")
def expand(call, i):
    """Dimensions of size 1 are expanded; others can be sharded."""
    shape, out = call.shape(), call.out[0].shape
    extra = len(out) - len(shape)
    yield from _arranged(call, i, {d: d + extra for d in range(len(shape)) if shape[d] == out[d + extra]})


@localize("expand")
def _expand(call, args, kwargs, specs):
    return args[0].expand(local_shape(specs[0]))


def _groups(old, new):
    """Return the smallest groups [(old dimensions, new dimensions)] that have the same number of elements."""
    groups, a, b = [], 0, 0
    while a < len(old) or b < len(new):
        left, right, x, y = [], [], 1, 1
        if a < len(old):
            left, x, a = [a], old[a], a + 1
        if b < len(new) and (x != 1 or new[b] == 1):
            right, y, b = [b], new[b], b + 1
        elif not left:
            right, y, b = [b], new[b], b + 1
        while x != y:
            if x < y and a < len(old):
                left.append(a)
                x, a = x * old[a], a + 1
            elif b < len(new):
                right.append(b)
                y, b = y * new[b], b + 1
            else:
                return groups  # the numbers of elements differ: the operator raises
        groups.append((left, right))
    return groups


@rule("view", "reshape", "_unsafe_view", "_reshape_alias", "flatten", "unflatten", "view_as")
def view(call, i):
    """Sharded on the first dimension of each group of merged or split dimensions, if it divides evenly."""
    old, new, n = tuple(call.shape()), tuple(call.out[0].shape), call.mesh.size(i)
    if 0 in old:
        return
    to = {}
    for left, right in _groups(old, new):
        left, right = [d for d in left if old[d] != 1] or left[:1], [d for d in right if new[d] != 1] or right[:1]
        if not left or not right:
            continue
        alone = len(left) == len(right) == 1
        if alone or old[left[0]] % n == 0 and new[right[0]] % n == 0:
            to[left[0]] = right[0]
    yield from _arranged(call, i, to)


@localize("view", "reshape", "_unsafe_view", "_reshape_alias", "flatten", "unflatten", "view_as")
def _view(call, args, kwargs, specs):
    if isinstance(call.args[1], torch.dtype):
        raise NotImplementedError("view(dtype) of a DTensor is not supported")
    return args[0].reshape(local_shape(specs[0]))


@rule(
    "slice",
    "select",
    "slice_backward",
    "select_backward",
    "split",
    "split_with_sizes",
    "unbind",
    "narrow",
    "unfold",
    "repeat_interleave",
)
def along_one(call, i):
    """Sharded on dimensions other than the one that is cut."""
    n, name = call.specs[0].ndim, call.name
    whole = len(call.arg("input_sizes")) if name.endswith("_backward") else n
    dim = call.arg("dim", 0) % max(whole, 1)
    count = len(call.out)
    for d in range(whole):
        if d == dim:
            continue
        fewer = d - (d > dim)
        if name in ("select", "unbind"):
            yield [Shard(d)], [Shard(fewer)] * count
        elif name == "select_backward":
            yield [Shard(fewer)], Shard(d)
        else:
            yield [Shard(d)], [Shard(d)] * count
    if name == "slice" and call.out[0].shape == call.shape():
        yield [Shard(dim)], Shard(dim)
    for p in {s.placements[i] for s in call.specs if s.placements[i].is_partial()}:
        yield [p], [p] * count


@localize("slice_backward", "select_backward")
def _cut_backward(call, args, kwargs, specs):
    return call.func(args[0], list(local_shape(specs[0])), *args[2:], **kwargs)


@localize("slice")
def _slice(call, args, kwargs, specs):
    """A slice that covers everything keeps each local tensor unchanged."""
    if call.out[0].shape == call.shape():
        return torch.ops.aten.alias.default(args[0])
    return call.func(*args, **kwargs)


@rule("cat", "concat", "concatenate")
def cat(call, i):
    """Sharded on dimensions other than the concatenated one."""
    n = max(s.ndim for s in call.specs)
    dim = call.arg("dim", 0) % max(n, 1)
    for d in range(n):
        if d != dim:
            yield [Shard(d) if s.ndim == n else R for s in call.specs], Shard(d)
    yield from _partial(call, i)


@rule("stack")
def stack(call, i):
    """Sharded on the existing dimensions."""
    n = call.specs[0].ndim
    dim = call.arg("dim", 0) % (n + 1)
    for d in range(n):
        yield [Shard(d)] * len(call.specs), Shard(d + (d >= dim))
    yield from _partial(call, i)


@rule("repeat")
def repeat(call, i):
    """Sharded on dimensions that are not repeated."""
    n, repeats = call.specs[0].ndim, call.arg("repeats")
    extra = len(repeats) - n
    yield from _arranged(call, i, {d: d + extra for d in range(n) if repeats[d + extra] == 1})


@rule("constant_pad_nd")
def pad(call, i):
    """Sharded on dimensions without padding."""
    n, padded = call.specs[0].ndim, len(call.arg("pad")) // 2
    for d in range(n - padded):
        yield [Shard(d)], Shard(d)


@rule("slice_scatter", "select_scatter")
def into_one(call, i):
    """Sharded on dimensions other than the one that is cut."""
    n = call.specs[0].ndim
    dim = call.arg("dim", 0) % n
    for d in range(n):
        if d != dim:
            yield [Shard(d), Shard(d - (call.name == "select_scatter" and d > dim))], Shard(d)
    yield from _partial(call, i)


@rule("scatter", "scatter_add", "scatter_reduce")
def scatter(call, i):
    """Sharded on dimensions of equal size other than the scattered one."""
    n = call.specs[0].ndim
    dim = call.arg("dim") % max(n, 1)
    for d in range(n):
        if d != dim and len({s.shape[d] for s in call.specs if s.ndim == n}) == 1:
            yield [Shard(d) if s.ndim == n else R for s in call.specs], Shard(d)
