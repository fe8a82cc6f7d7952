"""The autograd graph: nodes, their edges, and the tensors that they save for backward."""

import collections
import sys
import threading
import weakref

from .. import dtypes as dt
from ..classes import NUMBERS, dispatching
from ..context import CONTEXT, PROCESS, WRAPPED
from ..device import Size
from ..forks import FORKS, lock
from ..registry import T
from ..tensor import Tensor, alias, is_dense, spoken_type, strided_view, wrap
from ..versions import INFERENCE
from .hooks import RemovableHandle, check_result, run_hooks
from .modes import TWO_CALLABLES, next_sequence, no_grad
from .tangents import carry, visible

Metadata = collections.namedtuple("Metadata", "shape dtype device is_nested_tensor is_cpp_nested_tensor")


_NAMES = {name: f"torch::autograd::{name}" for name in ("CopySlices", "CopyBackwards")}


class Node:
    """A node of the graph: `_edges[i]` is the (node, output number) that receives gradient i."""

    __slots__ = ("_edges", "_in_meta", "_out_meta", "_seq", "__weakref__", "__dict__")
    _pre_hooks = _post_hooks = None
    of_program = False  # also run if no gradient arrives
    embeds = False  # see Options.embeds
    _tensor_hooks: tuple = ()  # (output number, hooks of the tensor that was this output when they were registered)
    _retains: dict = {}  # output number -> weak reference to the tensor that retains its gradient
    __module__ = "torch.autograd.graph"

    def __init__(self):
        self._seq = next_sequence()
        self._edges = self._in_meta = self._out_meta = ()

    def name(self):
        """The name of the operator's backward, as PyTorch prints it."""
        name = type(self).__name__
        return _NAMES.get(name, name)

    @property
    def next_functions(self):
        """The nodes that receive this node's gradients, each with an output number."""
        return tuple((None, 0) if e is None else (named(e[0]), e[1]) for e in self._edges)

    def _sequence_nr(self):
        return self._seq

    def _set_sequence_nr(self, number):
        """Set the sequence number: of the nodes that are ready, a pass runs the one with the highest number first."""
        if number.__class__ is not int:
            raise TypeError("an integer is required")
        if number < 0:
            raise OverflowError("can't convert negative int to unsigned")
        self._seq = number

    def register_hook(self, fn):
        """Call ``hook(grad_inputs, grad_outputs)`` after the node has run; its result replaces grad_inputs.

        Returns a handle.
        """
        if self._post_hooks is None:
            self._post_hooks = {}
        return RemovableHandle(self._post_hooks, fn)

    def register_prehook(self, fn):
        """Call ``hook(grad_outputs)`` before the node runs; its result replaces grad_outputs.

        Returns a handle.
        """
        if self._pre_hooks is None:
            self._pre_hooks = {}
        return RemovableHandle(self._pre_hooks, fn)

    def __call__(self, *grads):
        wanted = len(self._out_meta)
        if wanted and len(grads) != wanted:
            raise TypeError(f"expected {wanted} arguments, got {len(grads)} instead")
        return self.run(list(grads))

    @property
    def _input_metadata(self):
        """Shape, dtype and device of each gradient that the node takes."""
        return tuple(None if m is None else Metadata(Size(m[0]), *m[1:], False, False) for m in self._out_meta)

    @property
    def metadata(self):
        """A dictionary in which a program can store information about this node."""
        return self.__dict__.setdefault("_metadata", {})

    def retain(self, t):
        """Let t, an output of this node, retain its gradient."""
        self._retains = {**self._retains, t._output_nr: weakref.ref(t)}

    def release(self):
        """Free what was saved for backward()."""
        pass


class Saved:
    """A tensor saved for backward, with the version that it had."""

    __module__, __qualname__ = "torch._C._autograd", "SavedTensor"

    __slots__ = (
        "tensor",
        "version",
        "unpack",
        "packed",
        "output_of",
        "nr",
        "edge",
        "tangents",
    )  # tangents: set where hooks would lose them

    def __init__(self, t=None, node=None, nr=0):
        if t is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        vc = t._vc
        self.version = 0 if vc is None else vc[0]
        self.output_of = self.unpack = None
        if node is not None:
            self.output_of, self.nr = weakref.ref(node), nr
            if not CONTEXT.saved_hooks:
                t = _same_memory(t)
        self.tensor = t
        if CONTEXT.saved_hooks:
            self.pack(*CONTEXT.saved_hooks[-1])

    def pack(self, pack, unpack):
        """Keep what pack(tensor) returns instead of the tensor."""
        t, self.unpack = self.tensor, unpack
        self.edge = (
            edge(t) if self.output_of is None else None
        )  # for the tensor that the unpack hook returns, which takes this one's place in the graph
        before = t._version if t._vc is not INFERENCE else None
        with no_grad():
            self.packed = pack(t)
        if before is not None and t._version != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. "
                "Please open an issue if you need to perform in-place operations on the input to a pack hook."
            )
        self.tensor = None

    def register_hooks(self, pack_hook=None, unpack_hook=None):
        """Keep what pack_hook(tensor) returns; backward() gets what unpack_hook returns for it."""
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError(
                TWO_CALLABLES.format(
                    "register_hooks()",
                    "self: torch._C._autograd.SavedTensor, ",
                    f"{self!r}, {pack_hook!r}, {unpack_hook!r}",
                )
            )
        if self.unpack is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        if self.tensor is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. " + FREED.partition(". ")[2]
            )
        self.get()  # raises an error if the tensor was changed since
        self.pack(pack_hook, unpack_hook)

    @property
    def data(self):
        """The tensor, or what the pack hook returned for it."""
        return self.tensor if self.unpack is None else self.packed

    def get(self):
        """Return the tensor in its place in the graph; RuntimeError if it was freed or changed in place."""
        t = self.tensor
        if self.unpack is not None:
            t = self.unpack(self.packed)
            if not isinstance(t, Tensor):
                raise TypeError(
                    f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                    f"{type(t).__name__}"
                )
            if PROCESS.duals:
                self.put_tangents(t)
            if not CONTEXT.grad or (self.edge is None and self.output_of is None):
                return t
            t = _shallow(t)
            t._requires_grad = True
            fn, nr = self.edge if self.edge is not None else (self.output_of(), self.nr)
            if fn.__class__ is AccumulateGrad:
                t._acc = weakref.ref(fn)
            else:
                t._grad_fn, t._output_nr = fn, nr
            return t
        if t is None:
            raise RuntimeError(FREED)
        vc = t._vc
        if (0 if vc is None else vc[0]) != self.version:
            if self.output_of is None:
                raise modified(t, self.version, t._grad_fn, t._output_nr)
            raise modified(t, self.version, self.output_of(), self.nr)
        if self.output_of is not None and (CONTEXT.grad or _handed_over(t)):
            node = self.output_of()
            t = _shallow(t)
            if CONTEXT.grad:
                t._requires_grad, t._grad_fn, t._output_nr = True, node, self.nr
        return t

    def put_tangents(self, t):
        """Give the tensor that an unpack hook returned the tangents of the saved tensor."""
        for level, tangent in getattr(self, "tangents", {}).items():
            if level in visible():
                level.put(t, tangent)

    def release(self):
        """Free the saved tensor."""
        self.tensor = self.packed = None


Saved.__name__ = Saved.__qualname__


class SavedNone(Saved):
    """The saved value of an argument that is None."""

    def __init__(self):
        self.tensor = self.unpack = None

    def get(self):
        return None

    def register_hooks(self, pack_hook=None, unpack_hook=None):
        """Raise RuntimeError: there is no tensor."""
        raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")


class SavedFreed(Saved):
    """The saved value of a tensor that the node no longer keeps."""

    def __init__(self):
        self.tensor = self.unpack = self.output_of = None


def _handed_over(t):
    """Whether calls with this tensor are intercepted below autograd."""
    return PROCESS.interceptors and (CONTEXT.interceptors or t.__class__ in dispatching)


def _shallow(t):
    s = T.detach(t) if _handed_over(t) else alias(t)
    return carry(t, s) if PROCESS.duals else s


def _same_memory(t):
    """Return a tensor with the same memory and version counter that does not keep the node of t alive."""
    if _handed_over(t):
        return T.detach(t)
    s = wrap(t._ms, t._shape, t.dtype, t.device)
    s._np, s._storage, s._stride, s._offset = t._np, t._storage, t._stride, t._offset
    if t._vc is None:
        t._vc = [0]
    s._vc = t._vc
    return s


def forward_name(node):
    """Return the name of the function that a node is the backward of, as PyTorch's errors write it.

    For example Exp, Mean1, or the name of a custom function.
    """
    before, found, after = node.name().rpartition("Backward")
    return before + after.removeprefix("0") if found and after in ("", *"0123456789") else node.name()


def modified(t, version, fn, nr):
    """Return the error for a saved tensor that an in-place operation has changed since."""
    where = "" if fn is None else f", which is output {nr} of {forward_name(fn)},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{spoken_type(t)} {list(t._shape)}]{where} is at version {t._version}; "
        f"expected version {version} instead. Hint: enable anomaly detection to find the operation that failed to "
        "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


def add(a, b):
    """Return the sum of two gradients, either of which may be None; a sparse one is the second operand."""
    if a is None or b is None:
        return b if a is None else a
    return b + a if a._is_sparse else a + b


OF_LEAVES = 1 << 62  # above the sequence number of every other node


class AccumulateGrad(Node):
    """The node that accumulates the gradient of a leaf.

    Recreated for each graph that reaches its leaf; the leaf keeps a weak reference. Most fields are filled lazily.
    """

    __slots__ = ("variable", "_lock")
    __module__ = "builtins"
    _seq, _edges, _in_meta = OF_LEAVES, (), ()
    of_program = True

    def __init__(self, variable):
        self.variable, self._lock = variable, None

    @property
    def _out_meta(self):  # type: ignore[override]  # nobody writes that of a leaf
        return (meta_of(self.variable),)

    def lock(self):
        """Return the lock held while the gradient is written; other threads' gradients of this leaf wait for it."""
        made = self._lock
        if made is None or made[1] != FORKS.number:  # after a fork, a thread of the parent may have held it
            with _accumulators:
                made = self._lock
                if made is None or made[1] != FORKS.number:
                    made = self._lock = threading.RLock(), FORKS.number
        return made[0]

    def name(self):
        return "torch::autograd::AccumulateGrad"

    def run(self, grads):
        g, v = grads[0], self.variable
        grads.clear()
        added = v.__dict__
        if g is None:
            if v._hooks and not self._post_hooks and not self._pre_hooks:
                run_hooks(v._hooks, None)
            self._accumulated(v)
            return ()
        dtype = added.get("_grad_dtype")  # the grad_dtype that a program has set
        if g.dtype is not dtype is not None:
            g = g.to(dtype)
        hooks, more = v._hooks, 1 if self._post_hooks else 0  # post-hooks hold a reference too
        if hooks and not more and not self._pre_hooks:  # else the engine has run them, before the node's own
            g = run_hooks(hooks, g)
        with self.lock():
            old = v._grad
            if old is None:
                # a gradient with no other reference is taken as it is: this frame and getrefcount() hold two
                if CONTEXT.grad:
                    g = _copied(g, v)
                elif PROCESS.interceptors and (
                    CONTEXT.interceptors or g.__class__ in dispatching or v.__class__ in dispatching
                ):
                    held = sys.getrefcount(g) > 2 + more
                    g = _detached(g, v, held)
                elif not (
                    sys.getrefcount(g) <= 2 + more
                    and g._storage is None
                    and g._stride is v._stride is None
                    and g.__class__ is Tensor
                    and g._grad_fn is None
                ):
                    g = g.detach() if sys.getrefcount(g) <= 2 + more and _as_it_is(g, v) else _laid_out(g.detach(), v)
                v._grad = g
            elif CONTEXT.grad:
                v._grad = add(old, g)
            elif old._is_sparse and not g._is_sparse:
                v._grad = g + old
            else:
                old.add_(g)
            self._accumulated(v)
        return ()

    @staticmethod
    def _accumulated(v):
        for h in list(v.__dict__.get("_post_accumulate_grad_hooks", {}).values()):
            if (r := h(v)) is not None and r is not v:
                check_result(h, v, r)
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _as_it_is(g, v):
    """Whether a gradient without other references can become the .grad of its leaf without a copy.

    A view of other memory can, too.
    """
    if g._is_sparse:
        return g._v._stride is g._i._stride is None
    if g.__class__ is not Tensor or not CONTEXT.grad_layout:
        return g.__class__ is Tensor
    return g._stride is None if v._stride is None else is_dense(v._shape, v._stride) and g.stride() == v._stride


def _detached(g, v, held):
    """Return a gradient as the first .grad of its leaf, made by operators that interceptors see.

    held: the gradient has other references, so the leaf gets a copy.
    """
    with CONTEXT.set(native=True):
        return (
            T.detach(g)
            if not held and (g._is_sparse or g._stride is v._stride is None or g.stride() == v.stride())
            else _laid_out(g, v)
        )


def _laid_out(g, v):
    """Return a copy of a gradient with the strides of the leaf.

    It is contiguous where these are not a permutation of contiguous strides.
    """
    return _contiguous(g) if v._stride is None and not _handed_over(g) else _copied(g, v)  # the same, in one step


def _contiguous(g):
    return g.contiguous() if g._stride is not None and not g.is_contiguous() else g.clone()


def _copied(g, v):
    """Do the same as _laid_out with operators that are recorded and that interceptors see."""
    if v._is_sparse or g._is_sparse or not is_dense(v._shape, v.stride()):
        return _contiguous(g)
    return g.new_empty_strided(v._shape, v.stride()).copy_(g)


_accumulators = lock()


def accumulator(t):
    """Return the node that accumulates the gradient of a leaf. All threads get the same one."""
    acc = t._acc
    node = acc and acc()
    if node is None:
        with _accumulators:
            node = t._acc() if t._acc is not None else None
            if node is None:
                node = AccumulateGrad(t)
                t._acc = weakref.ref(node)
    return node


def set_history(t, node, nr=0):
    """Make t output `nr` of node.

    Its hooks stay with the node that it was an output of; the gradient that it retains is that of the new value.
    """
    if t._retains:
        old = t._grad_fn
        if old is not None:
            old._retains = {k: ref for k, ref in old._retains.items() if ref() is not t}
    t._grad_fn, t._output_nr, t._requires_grad, t._hooks = node, nr, True, None
    if t._retains:
        node.retain(t)


def edge(t):
    """Return where the gradient of t goes, (node, output number), or None."""
    if not t._requires_grad:
        return None
    fn = t._grad_fn if t._view is None else t._get_grad_fn()
    return (fn, t._output_nr) if fn is not None else (accumulator(t), 0)


def renamed(node, name):
    """Give an operator's node another name, by changing its class, and return it."""
    cls = node.__class__
    if (cls, name) not in _RENAMED:
        _RENAMED[cls, name] = type(name, (cls,), {"__slots__": (), "__module__": cls.__module__, "choose_name": None})
    node.__class__ = _RENAMED[cls, name]
    return node


_RENAMED: dict = {}


def of_in_place(node, error):
    """Return the node of an in-place operator for which PyTorch has another formula.

    error: the error that this formula raises for these arguments, or None.
    """
    name = node.name().removesuffix("0") + "1"
    if error is None:
        return renamed(node, name)

    def backward(*grads):
        raise type(error)(*error.args)

    return FunctionNode(name, backward, node._edges, node._in_meta, node._out_meta)


def named(node):
    """Return a node under the name that PyTorch gives it for its arguments. Called when a program looks at it."""
    choose = getattr(node.__class__, "choose_name", None)
    if choose is None or node.saved is None:
        return node
    args, derivative = node.op.schema.arguments, node.op.compiled_derivative
    shapes = {args[i].name: meta and meta[0] for i, meta in zip(derivative.diff, node._in_meta)}
    name = choose({a.name: v for a, v in zip(args, node.saved)}, shapes)
    order = (node.op.options.transposed or {}).get(name)
    return renamed(node, name) if order is None or CONTEXT.depth else _taken_apart(node, name, *order)


def _taken_apart(node, name, turned, order):
    """Split a node into two: the transposition of one argument, and the rest.

    Must not be used during a backward pass, which has already counted the edges.
    """
    cls = node.__class__
    key = cls, name, "apart"  # a node that was only renamed, during a backward pass, has its edges in the old order
    if key not in _RENAMED:

        def run(self, grads):
            found = cls.run(self, grads)
            return tuple(found[i] if i != turned or found[i] is None else T.t(found[i]) for i in order)

        body = {"__slots__": (), "__module__": cls.__module__, "choose_name": None, "run": run}
        _RENAMED[key] = type(name, (cls,), body | {"places": tuple(map(order.index, range(len(order))))})
    edges, metas = list(node._edges), list(node._in_meta)
    if edges[turned] is not None:
        shape, *rest = meta = metas[turned]
        metas[turned] = (shape[::-1], *rest)
        edges[turned] = FunctionNode("TBackward0", lambda g: (T.t(g),), (edges[turned],), (meta,), (metas[turned],)), 0
        edges[turned][0]._seq = node._seq
    node._edges, node._in_meta = tuple(edges[i] for i in order), tuple(metas[i] for i in order)
    node.__class__ = _RENAMED[key]
    return node


DETACHED: weakref.WeakValueDictionary = (
    weakref.WeakValueDictionary()
)  # id -> tensors that detach_() has removed from their graph


class OpNode(Node):
    """The node of a declared operator.

    Subclassed for each operator by derivative.py, which sets `op`, `formulas` and `run`.
    """

    # saved: the arguments that formulas read; versions: their versions when they were saved, None for values that are
    # not tensors or that check their version themselves (Saved)
    __slots__ = ("saved", "versions", "outs", "needs")
    op = formulas = choose_name = None  # choose_name: see Options.node
    places = None  # of the edges of the differentiable arguments, where a node has them in another order than these

    def _apart(self, grads, args, outs):
        """Run the formulas without the overrides of tensor subclasses and function modes."""
        wrapped = self.op.options.wraps and any(args[i].__class__ in NUMBERS for i in self.op.operands)
        with CONTEXT.set(formulas=CONTEXT.formulas + 1, modes=(), native=WRAPPED if wrapped else True):
            return self.formulas(self, grads, args, outs)

    def add_to(self, base, g):
        """Add the gradient of a view to the gradient of its base, in place."""
        strided_view(base, *self.op.geometry(base, *self.saved[1:])).add_(g)

    @property
    def next_functions(self):
        """The nodes that receive this node's gradients, each with an output number.

        Arguments that are plain numbers have no entry.
        """
        found, derivative = super().next_functions, self.op.compiled_derivative
        if None not in self._in_meta or derivative.list_at is not None or self.op.options.numbers:
            return found
        kinds = (self.op.schema.arguments[i].declared for i in derivative.diff)
        return tuple(f for f, m, kind in zip(found, self._in_meta, kinds) if m is not None or "Scalar" not in kind)

    def _refuse_detached(self, args):
        for i, e in zip(self.op.compiled_derivative.diff, self._edges):
            if id(args[i]) in DETACHED and e is not None and e[0].__class__ is not AccumulateGrad:
                raise RuntimeError(
                    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not "
                    "supported, please use out-of-place `.detach()` instead"
                )

    def release(self):
        """Free the saved values. A node that saved no tensor keeps them and can run again."""
        saved, held = self.saved, self.outs is not None
        if saved is None:
            return
        for i in self.op.tensor_args:
            a = saved[i]
            if a is not None:
                held = True
                if a.__class__ is Saved:
                    a.release()
        if held:
            self.saved = self.outs = None

    def __getattr__(self, name):
        raw, _, key = name.partition("_saved_")
        if raw in ("", "_raw") and key:
            names = [a.name for a in self.op.schema.arguments]
            at = (
                self.op.compiled_derivative.shapes.get(key.removesuffix("_sym_sizes"))
                if key not in names and not raw
                else None
            )
            if at is not None and self._in_meta[at] is not None:
                return self._in_meta[at][0]
            if self.saved is None:
                if raw and (key in names and self.op.is_tensor[names.index(key)] or key.startswith("result")):
                    return SavedFreed()
                raise RuntimeError(FREED)
            if key in names and not (raw and self.op.is_tensor[names.index(key)] is False):
                v = self._raw(names.index(key)) if raw else self.saved[names.index(key)]
                if v.__class__ is SavedList:
                    return tuple(
                        (SavedNone() if x is None else x) if raw else x.get() if x.__class__ is Saved else x for x in v
                    )
                return v.get() if not raw and v.__class__ is Saved else v
            if key.startswith("result") and self.outs:
                v = self.outs[int(key[6:] or 0)]
                return v if raw else v.get()
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def _raw(self, i):
        """Return the Saved object of an argument, which can have hooks of its own."""
        v = self.saved[i]
        if v is None:
            return SavedNone()
        if isinstance(v, Tensor):
            if v._version != self.versions[i]:
                raise modified(v, self.versions[i], v._grad_fn, v._output_nr)
            v = Saved(v)
            self.saved = (*self.saved[:i], v, *self.saved[i + 1 :])
            self.versions = (*self.versions[:i], None, *self.versions[i + 1 :])
        return v


def needs_among(node, nodes, list_at):
    """Return which arguments need a gradient in a backward pass that runs only the given nodes.

    A node that another one contains, or that stands for a call whose tangent is computed, is none of them, and its
    edges say nothing. list_at: which differentiable argument is a list, with an edge for each tensor, or None.
    """
    if node not in nodes:
        return node.needs
    edges = node._edges if node.places is None else [node._edges[i] for i in node.places]
    length, found = len(edges) - len(node.needs) + 1, []
    for k, needed in enumerate(node.needs):
        start = k if list_at is None or k <= list_at else k - 1 + length
        its = edges[start : start + (length if k == list_at else 1)]
        found.append(needed and any(e is not None and e[0] in nodes for e in its))
    return found


class SavedList(list):
    __slots__ = ()


def unpacked(args):
    """Return saved arguments with the tensors that were saved as Saved objects, which check their versions."""
    return [
        a.get()
        if a.__class__ is Saved
        else [x.get() if x.__class__ is Saved else x for x in a]
        if a.__class__ is SavedList
        else a
        for a in args
    ]


def save_list(ts):
    return SavedList(Saved(t) if isinstance(t, Tensor) else t for t in ts)


class FunctionNode(Node):
    """A node whose backward is a Python closure over gradients (views, CopySlices, custom functions)."""

    __slots__ = ("fn", "inner")
    _classes: dict = {}

    def __new__(cls, label, *args):
        c = cls._classes.get(label)
        if c is None:
            c = cls._classes[label] = type(label, (cls,), {"__slots__": (), "__module__": "builtins"})
        return object.__new__(c)

    def __init__(self, label, fn, edges, in_meta, out_meta):
        super().__init__()
        self.inner = None
        self.fn, self._edges, self._in_meta, self._out_meta = fn, edges, in_meta, out_meta

    def run(self, grads):
        return self.fn(*grads)

    def release(self):
        if self.inner is not None:
            self.inner.release()


def meta_of(t):
    return (t._shape, t.dtype, t.device)


def view_as_edge(t, base):
    """Record t, which is base under another class: gradients pass through unchanged."""
    t._grad_fn = FunctionNode("AliasBackward0", lambda g: (g,), (edge(base),), (meta_of(base),), (meta_of(t),))


def fitted(g, meta, node=None, index=0):
    """Return a gradient in the shape and dtype of the tensor that it belongs to."""
    shape, dtype, device = meta
    if g._shape != shape:
        if not _expandable(shape, g._shape):
            raise RuntimeError(
                f"Function {node.name() if node else ''} returned an invalid gradient at index {index} - got "
                f"{list(g._shape)} but expected shape compatible with {list(shape)}"
            )
        g = g.sum_to_size(shape)
    if g.dtype is not dtype:
        if g.dtype.category == dt.COMPLEX and dtype.category != dt.COMPLEX:
            g = g.real
        if g.dtype is not dtype:
            g = g.to(dtype)
    return g


def _expandable(small, big):
    if len(small) > len(big):
        return False
    return all(s in (1, b) for s, b in zip(reversed(small), reversed(big)))
