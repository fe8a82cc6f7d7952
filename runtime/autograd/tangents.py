"""The tangents of forward-mode differentiation: their levels, and their layout in memory.

A level (fwAD.dual_level, torch.func.jvp) stores the tangents of its tensors; tensors have no reference to them. While
no level is entered nothing is looked up, and leaving a level drops its tangents. As in PyTorch, a tangent has the
memory layout of its tensor, views of a tensor have views of its tangent, and in-place operators write into the tangent,
so that all views of a tensor see it.
"""

import contextlib
import weakref

from ..context import CONTEXT, PROCESS, activate
from ..registry import T
from ..tensor import Tensor, capacity, numel


class Level:
    """One level: weak references to tensors, and their tangents."""

    __slots__ = ("tangents", "outer")

    def __init__(self):
        # id(tensor) -> (weak reference, tangent); None: no tangent, even if its base has one
        self.tangents: dict = {}
        self.outer = ()  # the levels that its tangents may have tangents at

    def get(self, t):
        """The tangent of t, or None."""
        tangents = self.tangents
        found = tangents.get(id(t))
        if found is not None:
            return found[1]
        v = t._view
        if v is None:
            return None
        base = tangents.get(id(v.base))
        if base is None or base[1] is None:
            return None
        with seeing(self.outer):  # the base was written to after this view of it was made
            tangent = _part(base[1], v.base, t)
        return self.put(t, tangent)

    def knows(self, t):
        """Whether t has a tangent, or is known to have none."""
        return id(t) in self.tangents or t._view is not None and self.get(t) is not None

    def put(self, t, tangent):
        tangents, key = self.tangents, id(t)
        tangents[key] = (weakref.ref(t, lambda _: tangents.pop(key, None)), tangent)
        return tangent

    def set(self, t, tangent):
        """Set the tangent of a tensor that had none, in the memory layout of the tensor."""
        return self.put(t, _laid_out(tangent, t))

    def write(self, t, tangent):
        """Set the tangent of t, and that of its base, after an in-place operator; None means zero."""
        old = self.get(t)
        if old is not None:
            with CONTEXT.set(differentiated=None):  # the tangent may be an input of a transform
                old.zero_() if tangent is None else old.copy_(tangent)
        elif tangent is not None:
            base = None if t._view is None or id(t) in self.tangents else t._view.base
            if base is None or id(base) in self.tangents:
                self.set(t, tangent)
                return
            whole = self.put(base, _zeros_as(base, tangent))
            self.put(t, _part(whole, base, t)).copy_(tangent)

    def forget(self, t):
        self.tangents.pop(id(t), None)


def _same_layout(a, b):
    """Whether two tensors of one shape have the same memory layout, so that views of one suit the other."""
    if a.is_conj() is not b.is_conj() or a.is_neg() is not b.is_neg():
        return False
    if 0 in a._shape:
        return True
    strided = (
        a._stride is None
        and b._stride is None
        or all(x == y or n == 1 for x, y, n in zip(a.stride(), b.stride(), a._shape))
    )
    return strided and a._offset == b._offset and capacity(a) == capacity(b)


def _zeros_as(t, tangent):
    """Return zeros with the dtype of a tangent and the memory layout of t."""
    reach = capacity(t)
    if t._stride is None and not t._offset and reach == numel(t._shape):
        zeros = T.zeros(t._shape, dtype=tangent.dtype, device=tangent.device)
    else:
        zeros = T.zeros((reach,), dtype=tangent.dtype, device=tangent.device).as_strided(
            t._shape, t.stride(), t._offset
        )
    if t.is_conj() and tangent.dtype.is_complex:
        zeros = zeros.conj()
    return zeros._neg_view() if t.is_neg() else zeros


def _laid_out(tangent, t):
    """Return the tangent itself if it has the memory layout of t, else a copy that has."""
    return tangent if tangent._is_sparse or _same_layout(tangent, t) else _zeros_as(t, tangent).copy_(tangent)


def _part(tangent, base, t):
    """Return the part of a base's tangent that belongs to t, a view of the base."""
    shape, stride, offset = t._shape, t.stride(), t._offset
    if base.dtype.is_complex and not t.dtype.is_complex:
        tangent = T.view_as_real(tangent)
    elif t.dtype.is_complex and not base.dtype.is_complex:
        tangent = T.view_as_complex(tangent)
    return T.as_strided(tangent, shape, stride, offset)


# ---------------------------------------------------------------------------------------------- the levels of a thread
def visible():
    """Return the levels that calls of this thread look at, the innermost last."""
    levels = CONTEXT.levels
    return PROCESS.levels if levels is None else levels


def seeing(levels):
    """Return a context in which calls of this thread look at these levels only."""
    return CONTEXT.set(levels=levels)


def enter(level=None):
    """Return a new level inside those that this thread sees; it counts as active until leave()."""
    level = level or Level()
    level.outer = visible()
    activate(1, 1, 1)
    return level


def leave(level):
    level.tangents.clear()
    activate(-1, -1, -1)


_NESTED = "Nested forward mode AD is not supported at the moment"


@contextlib.contextmanager
def entered():
    """Enter a level for this thread only, as torch.func.jvp does. Such levels can be nested."""
    if PROCESS.levels:
        raise RuntimeError(_NESTED)
    level = enter()
    try:
        with CONTEXT.set(forward=True, levels=(*level.outer, level)):
            yield level
    finally:
        leave(level)


def enter_dual_level():
    """Enter the level that all threads see. There can be only one."""
    if PROCESS.duals:
        raise RuntimeError(_NESTED)
    PROCESS.levels = (enter(),)


def exit_dual_level():
    leave(PROCESS.levels[-1])
    PROCESS.levels = ()


def current_level():
    """Return the level at which dual tensors are created, or None."""
    levels = visible() if CONTEXT.forward else CONTEXT.disabled
    levels = PROCESS.levels if levels is None else levels
    return levels[-1] if levels else None


def set_fwd_grad_enabled(mode):
    """Set whether this thread looks at tangents."""
    if mode != CONTEXT.forward:
        CONTEXT.forward = mode
        CONTEXT.levels, CONTEXT.disabled = (CONTEXT.disabled, None) if mode else ((), CONTEXT.levels)


def innermost(args):
    """Return the innermost visible level that knows one of the arguments, or None."""
    levels = CONTEXT.levels
    if levels is None:
        levels = PROCESS.levels
    if not levels or CONTEXT.inference:
        return None
    for level in reversed(levels):
        if level.tangents:
            for a in args:
                if isinstance(a, Tensor):
                    if level.knows(a):
                        return level
                elif a.__class__ is list or a.__class__ is tuple:
                    for t in a:
                        if isinstance(t, Tensor) and level.knows(t):
                            return level
    return None


def carry(src, dst, change=None):
    """Give dst, which is src in another tensor, the tangents of src at every visible level, and return it.

    change: a function that is applied to each tangent.
    """
    levels = visible()
    for i, level in enumerate(levels):
        if level.tangents and level.knows(src):
            tangent = level.get(src)
            if change is not None and tangent is not None:
                with seeing(levels[:i]):
                    tangent = change(tangent)
            level.put(dst, tangent)
    return dst
