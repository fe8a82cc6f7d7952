"""Lazy conjugates and negatives: views whose memory holds the conjugate, or the negative, of their values.

They have classes of their own, so that calls with other tensors need no extra check. A call below autograd that gets
one is run by `_resolving`, as by PyTorch's dispatch keys Conjugate and Negative: views stay lazy, in-place results are
conjugated or negated before they are written, and all other operators get values. Where a gradient or a tangent is
recorded, conjugates are computed at once.
"""

import types

from ..call.dispatch import handle
from ..classes import _disabled_torch_function_impl, dispatching, lazy, look_at_classes
from ..context import CONTEXT, PROCESS
from ..declare import composite, view
from ..tensor import alias
from .common import T, Tensor


class _Kinds:
    """The lazy classes, created with the first lazy tensor: until then no call has to check for them."""

    conj = neg = None


def _kind(name):
    cls = getattr(_Kinds, name)
    if cls is None:
        physical = {"conj": T.conj_physical, "neg": T.neg}[name]
        facts = {
            "__slots__": (),
            "__module__": "torch",
            "__torch_function__": _disabled_torch_function_impl,
            "physical": staticmethod(physical),
            "_resolved_values": values,
            "_write": _write,
            "_call": staticmethod(_resolving),
        }
        cls = types.new_class(
            "Tensor", (Tensor,), {"raw": True}, lambda ns: ns.update(facts | {f"is_{name}": lambda self: True})
        )
        dispatching.add(cls)
        look_at_classes()
        lazy.add(cls)
        setattr(_Kinds, name, cls)
    return cls


_same = lambda self: (self._shape, self._stride, self._offset)  # noqa: E731
_HIDDEN = dict(function=False, method=False)
_conj_view = view(
    "_conjugated(Tensor(a) self) -> Tensor(a)",
    _same,
    derivative=lambda g: T.conj_physical(g),
    aten="_conj.default",
    **_HIDDEN,
)
_neg_view = view(
    "_negated(Tensor(a) self) -> Tensor(a)", _same, derivative=lambda g: T.neg(g), aten="_neg_view.default", **_HIDDEN
)


def lazily(name, t):
    """Turn a view that was just made into a lazy one, and return it."""
    t.__class__ = _kind(name)
    return t


def values(t):
    """Return the tensor with its values in memory; a tensor that is not lazy is returned itself."""
    return t.__class__.physical(alias(t)) if t.__class__ in lazy else t


def _with_values(a):
    """Replace lazy tensors by tensors with values, also in lists and tuples."""
    if a.__class__ in lazy:
        return values(a)
    return type(a)(map(_with_values, a)) if a.__class__ in (list, tuple) else a


def _view_or_values(name, self, view_of, physical):
    """Return a lazy view of a tensor, and for a lazy tensor the plain view of its memory.

    Where a gradient or a tangent is recorded, and for other classes, the values are computed instead.
    """
    own = getattr(_Kinds, name)
    if CONTEXT.grad and self._requires_grad or PROCESS.duals or self.__class__ not in (Tensor, own):
        return physical(self)
    out = view_of.call(self)
    return out if self.__class__ is own else lazily(name, out)


@composite("conj(Tensor self) -> Tensor", out=False, sparse="values")
def conj(self):
    """Return the conjugate as a lazy view, or its values where a gradient is recorded.

    A real tensor is returned itself.
    """
    if not self.dtype.is_complex:
        return self
    return _view_or_values("conj", self, _conj_view, T.conj_physical)


@composite("_neg_view(Tensor self) -> Tensor", out=False)
def neg_view(self):
    """Return the negative as a lazy view, or its values where a gradient is recorded."""
    return _view_or_values("neg", self, _neg_view, T.neg)


composite("resolve_conj(Tensor self) -> Tensor", out=False, sparse="composite")(
    lambda self: _resolved(self, _Kinds.conj)
)
composite("resolve_neg(Tensor self) -> Tensor", out=False, sparse="composite")(lambda self: _resolved(self, _Kinds.neg))


def _resolved(self, cls):
    return values(self) if self.__class__ is cls else self


_AS_REAL = (
    "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it "
    "as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
)
_OTHER_DTYPE = {
    True: "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.",
    False: "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype.",
}
_KEPT = {"_detach", "_alias"}  # not declared as views, but they share memory


def _view_kind(op, args):
    """Return what the result of a view operator is for a lazy tensor.

    It is "conj" or "neg" for a lazy view, and "" for a plain view of the memory. None means that the operator needs
    values.
    """
    name, conj = op.full, args[0].__class__ is _Kinds.conj
    if name == "view.dtype" and args[1] is not args[0].dtype:
        raise RuntimeError(_OTHER_DTYPE[conj])
    if not conj:
        return {"_negated": "", "view_as_complex": None}.get(name, "neg")
    if name == "view_as_real":
        raise RuntimeError(_AS_REAL)
    if name in ("_conjugated", "_real"):
        return ""
    return "neg" if name == "imag" else "conj"


def _resolving(op, args, run, suffix):
    """Run a call below autograd that has lazy tensors among its arguments."""
    first = args[0] if args else None
    is_lazy = first.__class__ in lazy
    if is_lazy and not suffix and (op.geometry is not None or op.full in _KEPT):
        kind = _view_kind(op, args)
        if kind is not None:
            out = handle(op, (alias(first), *args[1:]), run)
            for t in out if isinstance(out, (tuple, list)) else (out,):
                if kind:
                    lazily(kind, t)
            return out
    given = [_with_values(a) for a in args]
    if not is_lazy or not suffix:
        return handle(op, given, run, suffix)
    out = handle(op, given, run, suffix)
    memory = alias(first)
    memory.copy_(first.__class__.physical(given[0]))
    return first if out is given[0] else out


def _write(self, source):
    """Implement copy_ and fill_ for a lazy tensor: write the conjugate, or negative, of the values."""
    alias(self).copy_(self.__class__.physical(values(source).to(self.dtype)))
    return self
