"""Differentiable views: their bases, and how writing into a view changes the graph."""

import gc
import sys
import weakref

from .. import dtypes as dt
from ..backend import backend
from ..context import CONTEXT, PROCESS
from ..device import META
from ..registry import T
from ..tensor import Tensor, canonical, extent, is_contiguous, is_dense, numel, strided_view
from ..versions import INFERENCE
from .graph import FunctionNode, edge, fitted, forward_name, meta_of, named, set_history


class ViewInfo:
    """A differentiable view: its base, the version that its grad_fn belongs to, and how the view was created.

    creation: None if writing into the view can be recorded, else a key of _FORBIDDEN.
    """

    __slots__ = ("base", "attr_version", "creation")

    def __init__(self, base, version, creation=None):
        self.base, self.attr_version, self.creation = base, version, creation

    def refresh(self, t):
        """Rebuild the view's grad_fn from its base if an in-place operation has written to their memory since.

        Raises an error where that is forbidden.
        """
        version = t._vc[0] if t._vc is not None else 0
        if version == self.attr_version or not self.base._requires_grad and t._grad_fn is None:
            return
        if self.creation is not None:
            raise RuntimeError(
                f"{_origin(t, self.creation, 'its base or another view of its base has been')} "
                f"{_FORBIDDEN[self.creation]}"
            )
        self.rebuild(t, version)

    def rebuild(self, t, version):
        """Create the view's grad_fn from that of its base."""
        if self.base._requires_grad:
            set_history(t, as_strided_node(self.base, t))
        self.attr_version = version


def _geometries(base, t):
    """Return (geometry of base, geometry of t, apart).

    apart: whether only one of the two is complex; both geometries then count real elements.
    """
    apart = base.dtype.is_complex is not t.dtype.is_complex
    return *(
        (*_in_parts(x),) if apart and x.dtype.is_complex else (x._shape, x.stride(), x._offset) for x in (base, t)
    ), apart


def _in_parts(x):
    return (*x._shape, 2), (*(2 * s for s in x.stride()), 1), 2 * x._offset


def _parts(g, apart):
    return T.view_as_real(g) if apart and g.dtype.is_complex else g


def _whole(g, like, apart):
    """Return a gradient as complex again, if it was split into real elements and its tensor is complex."""
    return T.view_as_complex(g.contiguous()) if apart and like.is_complex else g


def as_strided_node(base, t):
    return _strided_node(_geometries(base, t), edge(base), meta_of(base), meta_of(t))


def _strided_node(geometries, base_edge, base_meta, meta):
    of_base, of_t, apart = geometries

    def backward(g):
        return (_whole(as_strided_backward(_parts(g, apart), *of_base, *of_t), base_meta[1], apart),)

    return FunctionNode("AsStridedBackward0", backward, (base_edge,), (base_meta,), (meta,))


def note_view(t, src, creation=None):
    """Mark t as a view of src (or of src's base) for autograd and in-place operations."""
    if t._vc is INFERENCE:
        return t
    v = src._view
    if not CONTEXT.grad and creation != "custom":
        creation = "inference" if CONTEXT.inference else "no_grad"
    elif creation is None and v is not None:
        creation = v.creation
    base = src if v is None else v.base
    t._view = ViewInfo(base, t._vc[0] if t._vc is not None else 0, creation)
    if base._requires_grad and t.dtype.category >= dt.FLOAT:  # in every grad mode
        t._requires_grad = True
    return t


_BOTH = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)
# why a view may not be written to while gradients are recorded, by how it was created
_FORBIDDEN = {
    "no_grad": _BOTH.format("no_grad"),
    "inference": _BOTH.format("inference_mode"),
    "multi": "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    "custom": "This view was created inside a custom Function (or because an input was returned as-is) and the "
    "autograd logic to handle view+inplace would override the custom backward associated with the custom Function, "
    "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
    "Function.",
}


def check_inplace(self, *others):
    """Raise the errors of in-place operations that autograd cannot record. others: what else the operation reads."""
    if not CONTEXT.grad or not (self.requires_grad or any(isinstance(t, Tensor) and t._requires_grad for t in others)):
        return
    v = self._view
    if v is not None:
        if v.creation is not None:
            raise RuntimeError(f"{_origin(self, v.creation, 'is being')} {_FORBIDDEN[v.creation]}")
        if self.requires_grad and v.base._get_grad_fn() is None:  # a base that requires no gradient is a leaf too
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if self._requires_grad and self._get_grad_fn() is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def _origin(self, creation, done):
    """Return the text about a view that may not be written to, or whose memory was written to, for an error."""
    fn = self._grad_fn
    result = "" if fn is None else f"Output {self._output_nr} of {forward_name(named(fn))} is a view"
    if fn is not None and creation in ("multi", "custom"):
        return f"{result} and {done} modified inplace."
    made = f"{result} of a view which was created in" if result else "A view was created in"
    if creation == "inference":
        return f"{made} inference mode and {done} modified inplace in normal mode."
    return f"{made} no_grad mode and {done} modified inplace with grad mode enabled."


def rebase(self, node, nr=0):
    """Make `node`, which modified self in place, the history of self and, through CopySlices, of its base."""
    v = self._view
    if v is None or v.base is self:
        if not self._requires_grad:
            _reach_views(self)
        set_history(self, node, nr)
        return
    base = v.base
    if not base._requires_grad:
        _reach_views(base, self)
    of_base, of_self, apart = _geometries(base, self)
    base_edge = edge(base)
    base_meta = meta_of(base)
    dtype, base_dtype = self.dtype, base.dtype

    def run(gv):
        """Run the operator's backward on the view's gradient.

        Returns the gradient of what the view held before, or None, and the gradients of the other inputs.
        """
        # the first edge of an in-place node is the tensor it wrote to: its gradient goes into the base's
        res = node.run([None] * nr + [gv])
        part = res[0] if node._edges and node._edges[0] is not None else None
        return part if part is None else fitted(part, node._in_meta[0], node), res[1:]

    def backward(g):
        if not apart and _may_be_written(g, *of_base, *of_self):
            device = backend(g.device)
            result = device.compact(g)
            place = strided_view(result, of_self[0], canonical(*of_self[:2]), of_self[2] - of_base[2])
            part, others = run(device.compact(place))
            device.write(place, T.zeros(place._shape, dtype=g.dtype, device=g.device) if part is None else part)
            return (result, *others)
        gv = _whole(as_strided_of(_parts(g, apart), *of_base, *of_self), dtype, apart)
        part, others = run(gv)
        part = part if part is None else _parts(part, apart)
        return (_whole(as_strided_write(_parts(g, apart), part, *of_base, *of_self), base_dtype, apart), *others)

    copy = FunctionNode(
        "CopySlices", backward, (base_edge, *node._edges[1:]), (base_meta, *node._in_meta[1:]), (base_meta,)
    )
    copy.inner = node
    _save_of_view(node, base, self, copy)
    set_history(base, copy)
    self._requires_grad = True
    v.rebuild(self, self._vc[0] if self._vc is not None else 0)


def plain_gradient(g):
    """Whether nothing records or intercepts operators on a gradient, so that its memory may be written to directly."""
    return not (CONTEXT.grad or PROCESS.active or g.__class__ is not Tensor or g.device is META)


def _apart(shape, stride):
    """Whether every element of a strided view certainly has memory of its own."""
    reach = 0
    for st, n in sorted((st, n) for st, n in zip(stride, shape) if n > 1):
        if st <= reach:
            return False
        reach += st * (n - 1)
    return True


def _may_be_written(g, bshape, bstride, boffset, shape, stride, offset):
    """Whether the view's part of a copy of the base's gradient can be written directly.

    Nothing may record or intercept, and the view must be a part of a contiguous base. Otherwise the part is inserted by
    differentiable functions, which need an index for each element.
    """
    if not plain_gradient(g) or not is_contiguous(bshape, bstride) or g._shape != bshape:
        return False
    start = offset - boffset
    whole = shape == bshape and stride == bstride
    return not whole and 0 <= start and start + extent(shape, stride) <= numel(bshape)


def _reach_views(base, written=None):
    """Set requires_grad on the views of a base that had no gradient until an in-place operator wrote into it.

    written: the view that the operator wrote into, or None.
    Views are not listed anywhere, because they are created often. The reference count of the version counter that they
    share shows whether some are alive; only then are all objects searched (some 30 ms).
    """
    counter = base._vc
    holders = sys.getrefcount(counter) - 2  # without the local name and the argument
    if counter.__class__ is not list or holders <= (1 if written is None else 2):
        return
    for t in gc.get_referrers(counter):
        if isinstance(t, Tensor) and t._view is not None and t._view.base is base and t.dtype.category >= dt.FLOAT:
            t._requires_grad = True


def _save_of_view(node, base, view, copy):
    """Make the result saved by an in-place operator on a view that same view of the output of `copy`.

    The operator itself runs only once.
    """
    outs = getattr(node, "outs", None)
    if not outs:
        return
    alive, geometries, base_meta, meta = weakref.ref(copy), _geometries(base, view), meta_of(base), meta_of(view)

    def node_of_view():
        copied = alive()
        return copied and _strided_node(geometries, (copied, 0), base_meta, meta)

    for s in outs:
        if s is not None:
            s.output_of, s.nr = node_of_view, 0


# ---------------------------------------------------------------------------------------- gradients of strided views
def _positions(shape, stride, start, device):
    """Return the positions in the storage of a strided view's elements, in the view's shape."""
    idx = T.full((), start, dtype=dt.int64, device=device)
    for s, st in zip(shape, stride):
        idx = idx.unsqueeze(-1) + T.arange(0, s, device=device) * st
    return idx


def as_strided_backward(g, bshape, bstride, boffset, shape, stride, offset):
    """Return the gradient of the base of an as_strided view.

    The gradient is added into the base's storage, from which the base's elements are read.
    """
    low = min(boffset, offset)
    n = max(boffset + extent(bshape, bstride), offset + extent(shape, stride)) - low
    flat = T.zeros((max(n, 0),), dtype=g.dtype, device=g.device)
    if numel(shape) and g._shape == shape and plain_gradient(g) and _apart(shape, stride):
        backend(g.device).write(strided_view(flat, shape, canonical(shape, stride), offset - low), g)
    elif numel(shape):
        flat = flat.index_add(0, _positions(shape, stride, offset - low, g.device).reshape((-1,)), g.reshape((-1,)))
    if numel(bshape) and not is_dense(
        bshape, bstride
    ):  # elements that occur several times in the base share a gradient
        places = _positions(bshape, bstride, boffset - low, g.device).reshape((-1,))
        counts = T.zeros(flat._shape, dtype=g.dtype.to_real(), device=g.device)
        flat = flat / counts.index_add(0, places, T.ones(places._shape, dtype=counts.dtype, device=g.device)).clamp(
            min=1
        )
    if is_contiguous(bshape, bstride):
        return flat._slice(0, boffset - low, boffset - low + numel(bshape), 1).reshape(bshape)
    return T.take(flat, _positions(bshape, bstride, boffset - low, g.device))


def as_strided_of(g, bshape, bstride, boffset, shape, stride, offset):
    """Return the part of a base's gradient that belongs to a view of the base."""
    if tuple(shape) == tuple(bshape) and tuple(stride) == tuple(bstride) and offset == boffset:
        return g
    return T.take(_scatter_to_storage(g, bshape, bstride), _positions(shape, stride, offset - boffset, g.device))


def _scatter_to_storage(g, bshape, bstride):
    if is_contiguous(bshape, bstride):
        return g.reshape((-1,))
    flat = T.zeros((extent(bshape, bstride),), dtype=g.dtype, device=g.device)
    return flat.index_copy(0, _positions(bshape, bstride, 0, g.device).reshape((-1,)), g.reshape((-1,)))


def as_strided_write(g, part, bshape, bstride, boffset, shape, stride, offset):
    """Return a base's gradient with the view's part replaced (by zeros where part is None)."""
    if tuple(shape) == tuple(bshape) and tuple(stride) == tuple(bstride) and offset == boffset:
        return T.zeros_like(g) if part is None else part
    flat = _scatter_to_storage(g, bshape, bstride)
    pos = _positions(shape, stride, offset - boffset, g.device).reshape((-1,))
    new = T.zeros(pos._shape, dtype=g.dtype, device=g.device) if part is None else part.reshape((-1,))
    flat = flat.index_copy(0, pos, new)
    return (
        flat.reshape(bshape)
        if is_contiguous(bshape, bstride)
        else T.take(flat, _positions(bshape, bstride, 0, g.device))
    )
