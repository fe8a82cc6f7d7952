"""Forward-mode differentiation: computes the tangents of a call's results from the tangents of its arguments.

Operators need no second formula for it. The derivative formulas give J^T g and are linear in g, so their own derivative
with respect to g gives J: J v = d/dg <J^T g, v>. An elementwise operator has a diagonal J, which equals its transpose,
so its formula is applied to the tangent itself.
Views are applied to tangents as they are to tensors. Functions composed of other operators get their tangents from the
operators that they call.
"""

from .. import dtypes as dt
from ..context import CONTEXT, PROCESS
from ..registry import T
from ..tensor import Tensor
from . import engine
from .graph import FunctionNode, Saved, fitted
from .tangents import carry, innermost, visible


def tensors_of(args):
    """Return the tensors among the arguments, including those in lists."""
    return [
        t for a in args for t in (a if a.__class__ is list or a.__class__ is tuple else (a,)) if isinstance(t, Tensor)
    ]


class _Call:
    """The attributes of a node that formulas read, for a call that may have no node."""

    __slots__ = ("needs", "_edges", "_in_meta", "_out_meta")

    def __init__(self, needs, metas, outs):
        self.needs, self._edges, self._in_meta = needs, metas, metas
        self._out_meta = [(o._shape, o.dtype, o.device) for o in outs]


class _Tangents:
    """The tangents of a call's differentiable arguments at one level, one for each slot of its derivative.

    An argument that is a list has a slot for each of its tensors.
    """

    __slots__ = ("derivative", "args", "slots", "metas", "owner")

    def __init__(self, level, derivative, args):
        self.derivative, self.args, self.slots, self.metas, self.owner = derivative, args, [], [], []
        for k, i in enumerate(derivative.diff):
            for t in args[i] if k == derivative.list_at else (args[i],):
                known = isinstance(t, Tensor)
                self.slots.append(level.get(t) if known else None)
                self.metas.append((t._shape, t.dtype, t.device) if known else None)
                self.owner.append(k)

    def formulas(self, gs, outs, slot=None):
        """Return the results of the formulas for all slots that have a tangent, or for one slot."""
        wanted = {k for j, k in enumerate(self.owner) if self.slots[j] is not None and (slot is None or j == slot)}
        call = _Call(tuple(k in wanted for k in range(len(self.derivative.diff))), self.metas, outs)
        return self.derivative.backward(call, gs, self.args, outs)


def call(op, args, level):
    """Run an operator and set the tangents of its results at a level that knows one of the arguments."""
    if op.options.no_forward is not None:
        _refuse_tangents(op.options.no_forward, args)
    if op.fn is not None:
        return op.fn(*args)
    if op.prepare is not None:
        args = op.prepare(*args)
    with CONTEXT.set(levels=level.outer):
        out = op.call(*args)
        if op.is_view:
            _view(op, level, args, out)
        elif op.derivative is not None:
            outs = out if isinstance(out, (tuple, list)) else (out,)
            for o, tangent in zip(outs, _run(tangents_of, op, level, args, outs)):
                if tangent is not None:
                    level.set(o, _apart(tangent, level, args))
                    keep(level, o, args)
        return out


def _apart(tangent, level, args):
    """Return a result's tangent, copied if an argument's shares its memory: in-place operators write into it."""
    for t in tensors_of(args):
        v = level.get(t)
        if v is not None and (v is tangent or v._storage is not None and v._storage is tangent._storage):
            return T.clone(tangent)
    return tangent


def _view(op, level, args, out):
    """Set the tangents of views of a tensor to the same views of the tensor's tangent."""
    tangent = level.get(args[0])
    if op.derivative is None and tangent is not None:
        return
    several = op.schema.several
    parts = None if tangent is None else op.call(tangent, *args[1:])
    for k, t in enumerate(out if several else (out,)):
        level.put(t, None if parts is None else parts[k] if several else parts)


def _node(out):
    """Return the node of the operator that created a tensor or wrote into it."""
    node = out._grad_fn if out._view is None else out._view.base._grad_fn
    return node.inner if isinstance(node, FunctionNode) else node


def keep(level, out, args, before=None):
    """Set the tangents of the tensors that the node of `out` has saved, because formulas read those.

    before: what an in-place operator overwrote, with its tangents.
    """
    node = _node(out)
    saved = getattr(node, "saved", None) or ()
    if before is not None and saved and isinstance(saved[0], Tensor) and saved[0] is not out:
        level.put(saved[0], level.get(before))
    for a, s in zip(args, saved):
        many = isinstance(s, list) and isinstance(a, (list, tuple))
        for t, kept in zip(a, s) if many else ((a, s),):
            _keep_hooked(level, t, kept)
    for s in getattr(node, "outs", None) or ():
        if s is not None and s.output_of is not None and (out._output_nr == s.nr or out._view is not None):
            _keep_hooked(level, out, s)
            if s.tensor is not None:
                level.put(s.tensor, level.get(out))


def _keep_hooked(level, t, saved):
    """Store the tangent of a saved tensor for the tensor that an unpack hook returns in its place."""
    if saved.__class__ is Saved and saved.unpack is not None and isinstance(t, Tensor) and level.knows(t):
        saved.tangents = {**getattr(saved, "tangents", {}), level: level.get(t)}


def _run(fn, *args):
    """Run formulas without the overrides of tensor subclasses and function modes."""
    with CONTEXT.set(formulas=CONTEXT.formulas + 1, modes=()):
        return fn(*args)


def tangents_of(op, level, args, outs):
    """Return the tangents of the results, None for those without. Must be called where the level is not visible."""
    if op.options.forward is not None:
        return op.options.forward(op, args, [level.get(a) if isinstance(a, Tensor) else None for a in args], outs)
    given = _Tangents(level, op.compiled_derivative, args)
    fixed = op.options.non_differentiable
    wanted = [isinstance(o, Tensor) and o.dtype.category >= dt.FLOAT and k not in fixed for k, o in enumerate(outs)]
    if not any(wanted) or all(v is None for v in given.slots):
        return [None] * len(outs)
    if op.promote is not None and len(outs) == 1 and not outs[0].dtype.is_complex:
        found = _diagonal(given, outs)
        if found is not None:
            return [found]
    return _by_transposing(given, outs, wanted)


def linear(op, args, tangents, outs):
    """Return the tangent of an operator with one result that is linear in its differentiable arguments together.

    The operator is applied to the tangents. Used for Options.forward.
    """
    diff = op.compiled_derivative.diff
    return [
        op.call(
            *(
                a if i not in diff else T.zeros_like(a) if v is None else v
                for i, (a, v) in enumerate(zip(args, tangents))
            )
        )
    ]


def _diagonal(given, outs):
    """Return the tangent of an elementwise operator by applying its formulas to the tangents.

    None where the Jacobian is not its own transpose.
    """
    out, total = outs[0], None
    for j, v in enumerate(given.slots):
        if v is None:
            continue
        if given.metas[j][1].is_complex or v.dtype.is_complex:
            return None
        v = v if v.dtype is out.dtype else v.to(out.dtype)
        r = given.formulas([v if v._shape == out._shape else v.expand(out._shape)], outs, j)[j]
        if r is None:
            continue
        if r._shape != out._shape:
            return None
        total = r if total is None else total + r
    if total is None:
        return T.zeros_like(out)
    return total if total.dtype is out.dtype else total.to(out.dtype)


def _by_transposing(given, outs, wanted):
    """Return tangents as the derivative of the formulas with respect to the gradients in which they are linear."""
    grad = CONTEXT.grad
    recording = grad and any(t is not None and t._requires_grad for t in (*tensors_of(given.args), *given.slots))
    with CONTEXT.set(grad=True):
        gs = [
            T.zeros(o._shape, dtype=o.dtype, device=o.device, requires_grad=True) if w else None
            for o, w in zip(outs, wanted)
        ]
        pairs = []
        for r, v, meta in zip(given.formulas(list(gs), outs), given.slots, given.metas):
            if r is not None and v is not None:
                r = fitted(r, meta)
                if r._requires_grad:
                    pairs.append((r, v if v.dtype is r.dtype else v.to(r.dtype)))
        inputs = [g for g in gs if g is not None]
        found = (
            engine.grad([r for r, _ in pairs], inputs, [v for _, v in pairs], create_graph=recording, allow_unused=True)
            if pairs
            else [None] * len(inputs)
        )
    found = iter(
        found if recording else [t if t is None or not t._requires_grad else carry(t, t.detach()) for t in found]
    )
    return [
        None
        if g is None
        else (t if (t := next(found)) is not None else T.zeros(g._shape, dtype=g.dtype, device=g.device))
        for g in gs
    ]


# ------------------------------------------------------------------------------------------------ in place
def inplace(op, args, level, run):
    """Call run(op, self, args), which writes into its first argument, and write the new tangent into the old one."""
    self = args[0]
    if op.options.no_forward is not None:
        _refuse_tangents(op.options.no_forward + "_", args)
    if (
        op.options.irreversible is not None
        and (error := op.options.irreversible(*args)) is not None
        and has_tangent(*tensors_of(args))
    ):
        raise refuse(f"{op.name}_") if isinstance(error, NotImplementedError) else error
    old = T.clone(self)  # with its tangents: formulas read the old value
    read = tuple(old if a is self else a for a in args)
    if op.prepare is not None:
        read = op.prepare(*read)
    with CONTEXT.set(levels=level.outer):
        run(op, self, args)
        if self.dtype.category >= dt.FLOAT:
            tangent = _run(tangents_of, op, level, read, (self,))[0] if op.derivative is not None else None
            level.write(self, None if tangent is None else _apart(tangent, level, read))
            if self._requires_grad:
                keep(level, self, read, old)
    return self


def written(self, src, level, run):
    """Call run(), which copies src, a tensor or a number, into self, and write the new tangent of self."""
    with CONTEXT.set(levels=level.outer):
        run()
        if self.dtype.category >= dt.FLOAT:
            tangent = level.get(src) if isinstance(src, Tensor) else None
            if tangent is not None and tangent._shape != self._shape:
                tangent = tangent.expand(self._shape)
            level.write(self, tangent if tangent is None or level.get(self) is not None else T.clone(tangent))
    return self


_MISSING = (
    "because it has not been implemented yet.\nPlease file an issue to PyTorch at "
    "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
    "implementation or submit a PR adding the implementation to derivatives.yaml"
)


def refuse(name, why=_MISSING):
    """Return PyTorch's error for an operator that does not support forward mode."""
    return NotImplementedError(
        f"Trying to use forward AD with {name} that does not support "
        f"it{'.' if name.startswith('aten::') else ' ' + why}"
    )


def _refuse_tangents(name, args):
    if has_tangent(*tensors_of(args)):
        raise refuse(name)


# ------------------------------------------------------------------------------------------------ dual tensors
_SIZES = (
    "Trying to set a forward gradient that has a different size than that of the original Tensor, "
    "this is not supported. Tensor is of size {} while the given forward gradient is of size {}."
)


def make_dual(primal, tangent, level):
    """Return a view of primal whose tangent at a level is `tangent`."""
    if level.get(primal) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    if level.get(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    if tangent._shape != primal._shape:
        raise RuntimeError(_SIZES.format(list(primal._shape), list(tangent._shape)))
    with CONTEXT.set(levels=level.outer):
        dual = T._alias(primal)
        level.set(dual, tangent)
    return dual


def unpack_dual(t, level):
    """Return (a view of t without a tangent at the level, the tangent)."""
    tangent = level.get(t) if level in visible() and not CONTEXT.inference else None
    with CONTEXT.set(levels=level.outer):
        primal = T._alias(t)
        level.put(primal, None)
    return primal, tangent


def tangent_of(t):
    """Return the tangent of t at the innermost visible level, or None."""
    levels = visible() if PROCESS.duals else ()
    return levels[-1].get(t) if levels else None


def has_tangent(*tensors):
    """Whether one of the tensors is dual."""
    if not PROCESS.duals:
        return False
    level = innermost(tensors)
    return level is not None and any(
        isinstance(t, Tensor) and lv.get(t) is not None for lv in visible() for t in tensors
    )


# ---------------------------------------------------------------------------------------------- torch.autograd.Function
def function_tangents(node, args, outs, results, fixed, levels):
    """Set the tangents of a custom function's results at each level, computed by its jvp.

    outs: what forward returned. fixed: ids of the outputs that are not differentiable.
    """
    if node.saved_for_forward is None:
        node.saved_for_forward = ()
    for level in levels:
        if any(isinstance(a, Tensor) and level.get(a) is not None for a in args):
            with CONTEXT.set(levels=level.outer):
                _function_tangents(node, args, outs, results, fixed, level)
    node.saved_for_forward = None


def _function_tangents(node, args, outs, results, fixed, level):
    given = [level.get(a) if isinstance(a, Tensor) else None for a in args]
    versions = [None if v is None else v._version for v in given]
    zeros = lambda a: node.materialize_grads and isinstance(a, Tensor) and a.dtype.category >= dt.FLOAT
    filled = [T.zeros_like(a) if v is None and zeros(a) else v for a, v in zip(args, given)]
    found = node._forward_cls.jvp(node, *filled)
    found = found if isinstance(found, (tuple, list)) else (found,)
    for i, v in enumerate(found):
        if v is not None and not isinstance(v, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(v).__name__}) for grad output {i}.")
    if len(found) != len(outs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outs)} but got "
            f"{len(found)})"
        )
    for i, (raw, out, tangent) in enumerate(zip(outs, results, found)):
        if not isinstance(out, Tensor):
            continue
        if id(raw) in fixed or out.dtype.category < dt.FLOAT:
            if tangent is not None:
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is "
                    f"not a differentiable Tensor."
                    "You should return None at that position instead."
                )
        elif tangent is None:
            raise RuntimeError(
                "Expected both tensor and its forward grad to be floating point or complex, but jvp returned None at "
                f"position {i}"
            )
        else:
            k = next((k for k, a in enumerate(args) if a is raw), None)
            if k is not None and any(raw is t for t in node.dirty_tensors or ()):
                _written_by_function(level, out, tangent, given[k], versions[k])
            else:
                _made_by_function(level, args, out, tangent)


def _written_by_function(level, out, tangent, old, version):
    if old is None:
        level.write(out, tangent)
    elif old._version == version or tangent is not old and tangent._version == version:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. "
            "If the forward is modifying an input inplace, then the jvp function must modify the corresponding "
            "gradient inplace."
        )
    elif tangent is not old:
        raise RuntimeError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is modifying "
            "an input inplace, then the jvp function must modify the gradient inplace and return it as-is."
        )


def _made_by_function(level, args, out, tangent):
    if tangent._shape != out._shape:
        raise RuntimeError(_SIZES.format(list(out._shape), list(tangent._shape)))
    base = out._view and out._view.base
    source = next(
        (
            a
            for a in args
            if base is not None
            and isinstance(a, Tensor)
            and (a is base or a._view is not None and a._view.base is base)
        ),
        None,
    )
    if source is None:
        level.set(out, tangent)
        return
    of_source = level.get(source)
    if of_source is None:
        level.write(out, tangent)
    elif tangent._view is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    elif tangent._view.base is not (of_source if of_source._view is None else of_source._view.base):
        wanted = "the given grad input" if of_source._view is None else "the same base as the given grad input"
        raise RuntimeError(f"A custom Function is returning a view but the jvp is not returning a view of {wanted}.")
    else:
        level.put(out, tangent)
