"""Shapes and strides of results: broadcasting, and the memory order that TensorIterator gives elementwise results."""

from functools import lru_cache

from ..classes import dispatching
from ..registry import T
from ..symbolic import layout_only
from ..tensor import Tensor, contiguous_strides, is_contiguous, is_dense, strided_view


def broadcast_shapes(*shapes):
    n = max(map(len, shapes))
    out = [1] * n
    for s in shapes:
        off = n - len(s)
        for i in range(len(s) - 1, -1, -1):  # PyTorch names the last dimension that does not fit
            x, y = s[i], out[off + i]
            if x != y:
                if y == 1:
                    out[off + i] = x
                elif x != 1:
                    raise RuntimeError(
                        f"The size of tensor a ({y}) must match the size of tensor b ({x}) at non-singleton "
                        f"dimension {off + i}"
                    )
    return tuple(out)


def check_spreads(shape, *shapes):
    """Raise PyTorch's error unless the shapes broadcast to exactly `shape`, that of a given result.

    Operands may be expanded to the result's shape, but not the result to theirs.
    """
    whole = broadcast_shapes(*shapes)
    if whole != tuple(shape):
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(whole)}")


CHANNELS_LAST = (0, 2, 3, 1)  # the order of dimensions in that memory format


def memory_order(shape, operands, last_leads=False):
    """Return the dimensions of a result over these operands, slowest in memory first; None for contiguous.

    The strides of earlier operands decide before those of later ones, with last_leads the other way round.
    """
    if len(shape) < 2:
        return None
    tensors = [t for t in (reversed(operands) if last_leads else operands) if isinstance(t, Tensor)]
    given = sum(
        t is not None for t in operands
    )  # next to a number, PyTorch looks at the strides even if they are ambiguous
    geometries = tuple([(t._shape, t._stride) for t in tensors])
    try:
        return _memory_order(shape, geometries, len(tensors) == given)
    except TypeError:  # symbolic sizes have no hash
        return _memory_order.__wrapped__(shape, geometries, len(tensors) == given)


@lru_cache(1024)  # programs have few shapes, and this takes as long as a kernel
@layout_only
def _memory_order(shape, geometries, tensors_alone):
    n = len(shape)
    geometries = [(s, contiguous_strides(s) if st is None else st) for s, st in geometries]
    if tensors_alone and all(
        s == shape for s, _ in geometries
    ):  # then the layout that all operands share decides, if it is a usual one
        if all(is_contiguous(s, st) for s, st in geometries):
            return None
        if n == 4 and all(
            is_contiguous(*([each[d] for d in CHANNELS_LAST] for each in geometry)) for geometry in geometries
        ):
            return CHANNELS_LAST
    strides = [_broadcast_strides(*g, shape) for g in geometries]
    perm = list(range(n - 1, -1, -1))
    for i in range(1, n):
        d1 = i
        for d0 in range(i - 1, -1, -1):
            c = _compare(perm[d0], perm[d1], strides, shape)
            if c > 0:
                perm[d0], perm[d1] = perm[d1], perm[d0]
                d1 = d0
            elif c < 0:
                break
    perm.reverse()
    return None if perm == list(range(n)) else tuple(perm)


def _broadcast_strides(own, stride, shape):
    """Return an operand's strides in the result's shape: 0 where it is expanded."""
    off = len(shape) - len(own)
    return [0 if i < off or (own[i - off] == 1 and n != 1) else stride[i - off] for i, n in enumerate(shape)]


@layout_only
def _compare(a, b, strides, shape):
    """Return 1 if dimension a must lie outside b, -1 if it may stay inside, and 0 if nothing decides it."""
    for s in strides:
        x, y = s[a], s[b]
        if x == 0 or y == 0:
            continue
        if x != y:
            return -1 if x < y else 1
        if shape[a] > shape[b]:
            return 1
    return 0


def result_strides(shape, operands):
    """Return the strides of an elementwise result; None for contiguous."""
    if all(t._stride is None for t in operands if isinstance(t, Tensor)):
        return None
    order = memory_order(shape, operands)
    return order and strides_in_order(shape, order)


def strides_in_order(shape, order):
    """Return the strides of a dense tensor whose dimensions have this memory order, the slowest first."""
    st, k = [0] * len(shape), 1
    for i in reversed(order):
        st[i] = k
        k *= shape[i]
    return tuple(st)


@layout_only
def permuted(t, order):
    """Return t with leading 1s up to the rank of `order`, then permuted: a view that is not recorded."""
    pad = len(order) - len(t._shape)
    shape, st = (1,) * pad + tuple(t._shape), (0,) * pad + tuple(t.stride())
    shape, st = tuple(shape[i] for i in order), tuple(st[i] for i in order)
    return strided_view(t, shape, None if is_contiguous(shape, st) else st, t._offset)


def in_order(t, shape, order):
    """Return a new contiguous tensor of the permuted shape as a view in the original order of dimensions."""
    if t.__class__ in dispatching:
        return T.permute(t, [order.index(d) for d in range(len(order))])
    return strided_view(t, shape, strides_in_order(shape, order), 0)


@layout_only
def preserved_strides(t):
    """Return the strides that a copy of t gets under preserve_format.

    They are its own if it is dense; otherwise they follow the order of its dimensions in memory.
    """
    if t._stride is None:
        return None
    if is_dense(t._shape, t._stride):
        return t._stride
    order = memory_order(t._shape, [t])
    return None if order is None else strides_in_order(t._shape, order)
