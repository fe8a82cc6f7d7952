"""The autograd engine: grad modes, nodes, saved tensors, views with in-place, backward."""

import contextlib
import heapq
import itertools
import sys
import threading
import warnings
import weakref

from . import dtypes as dt
from .tensor import INFERENCE, Tensor, alias, numel, track_inference, wrap


class _Mode(threading.local):
    grad = True
    inference = False
    saved_hooks = ()
    saved_hooks_disabled = None
    anomaly = False
    anomaly_nan = True
    multithreading = True


MODE = _Mode()
next_sequence = itertools.count().__next__


class _SetGrad(contextlib.ContextDecorator):
    """Base of no_grad, enable_grad: also usable as a decorator with or without parentheses, on functions, classes and generators."""

    value = None

    def __new__(cls, func=None, *a, **kw):
        self = object.__new__(cls)
        if callable(func):
            self.__init__()
            return self(func)
        return self

    def __call__(self, func):
        return context_decorator(self, func)

    def clone(self):
        return type(self)()

    def __enter__(self):
        self.prev = MODE.grad
        MODE.grad = self.value and not MODE.inference

    def __exit__(self, *exc):
        MODE.grad = self.prev


def context_decorator(ctx, func):
    """Run each call of func, and each step of a generator function, inside a fresh clone of ctx."""
    import functools
    import inspect

    if inspect.isclass(func):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
            "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and "
            "nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        func.__init__ = context_decorator(ctx, func.__init__)
        return func
    make = ctx.clone if hasattr(ctx, "clone") else ctx
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generator(*args, **kwargs):
            gen = func(*args, **kwargs)
            send, value = gen.send, None
            try:
                while True:
                    with make():
                        out = send(value)
                    try:
                        value, send = (yield out), gen.send
                    except GeneratorExit:
                        with make():
                            gen.close()
                        raise
                    except BaseException as e:
                        value, send = e, gen.throw
            except StopIteration as e:
                return e.value

        return generator

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with make():
            return func(*args, **kwargs)

    return wrapper


class no_grad(_SetGrad):
    """Operations inside record nothing."""

    __module__ = "torch"
    value = False


class enable_grad(_SetGrad):
    """Operations inside record again."""

    __module__ = "torch"
    value = True


class set_grad_enabled(_SetGrad):
    """Switch recording at once; as a context manager, restore it afterwards."""

    __module__ = "torch"

    def __new__(cls, mode):
        return object.__new__(cls)

    def __init__(self, mode):
        self.prev, self.mode = MODE.grad, bool(mode)
        MODE.grad = self.mode and not MODE.inference

    def __call__(self, func):
        MODE.grad = self.prev
        return context_decorator(self, func)

    def clone(self):
        return set_grad_enabled(self.mode)

    def __enter__(self):
        MODE.grad = self.mode and not MODE.inference

    def __str__(self):
        return f"torch.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class inference_mode(_SetGrad):
    """no_grad whose tensors take no part in autograd afterwards: they have no version counter."""

    __module__ = "torch"

    def __new__(cls, mode=True):
        self = object.__new__(cls)
        if not isinstance(mode, bool):
            self.__init__(True)
            return self(mode)
        return self

    def __init__(self, mode=True):
        self.mode = mode

    def clone(self):
        return inference_mode(self.mode)

    def __enter__(self):
        self.prev = MODE.grad, MODE.inference
        MODE.inference = self.mode
        MODE.grad = not self.mode
        _count_inference(self.mode)

    def __exit__(self, *exc):
        _count_inference(-self.mode)
        MODE.grad, MODE.inference = self.prev


_inference = [0, threading.Lock()]  # contexts of all threads


def _count_inference(n):
    with _inference[1]:
        _inference[0] += n
        track_inference(_new_version if _inference[0] else None)


def _new_version():
    return INFERENCE if MODE.inference else None


def is_grad_enabled():
    return MODE.grad


def is_inference_mode_enabled():
    return MODE.inference


# ------------------------------------------------------------------------------------------------ nodes
class Node:
    """A step of the graph: `edges[i]` is the (node, output number) that receives gradient i."""

    __slots__ = ("_edges", "_in_meta", "_out_meta", "_seq", "_pre_hooks", "_post_hooks", "_tensor_hooks", "metadata", "__weakref__", "__dict__")
    __module__ = "torch.autograd.graph"

    def __init__(self):
        self._seq = next_sequence()
        self._pre_hooks = self._post_hooks = self._tensor_hooks = None
        self._edges = self._in_meta = self._out_meta = ()

    def name(self):
        return type(self).__name__

    @property
    def next_functions(self):
        return tuple((None, 0) if e is None else e for e in self._edges)

    def _sequence_nr(self):
        return self._seq

    def register_hook(self, fn):
        if self._post_hooks is None:
            self._post_hooks = {}
        return RemovableHandle(self._post_hooks, fn)

    def register_prehook(self, fn):
        if self._pre_hooks is None:
            self._pre_hooks = {}
        return RemovableHandle(self._pre_hooks, fn)

    def __call__(self, *grads):
        return self.run(list(grads))

    def add_tensor_hook(self, nr, hooks):
        if self._tensor_hooks is None:
            self._tensor_hooks = {}
        self._tensor_hooks[nr] = hooks

    def release(self):
        pass


class RemovableHandle:
    """Removes a hook again; also a context manager. Keeps the dictionary of hooks alive weakly where it can."""

    __module__ = "torch.utils.hooks"
    next_id = 0

    def __init__(self, hooks_dict, hook=None, *, extra_dict=None):
        self.hooks_dict_ref = _ref(hooks_dict)
        extra = extra_dict if isinstance(extra_dict, (list, tuple)) else () if extra_dict is None else (extra_dict,)
        self.extra_dict_ref = tuple(map(_ref, extra))
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if hook is not None:
            hooks_dict[self.id] = hook

    def remove(self):
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            d = ref()
            if d is not None:
                d.pop(self.id, None)

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(r() for r in self.extra_dict_ref))

    def __setstate__(self, state):
        self.hooks_dict_ref = _ref({} if state[0] is None else state[0])
        self.id = state[1]
        self.extra_dict_ref = tuple(_ref({} if d is None else d) for d in (state[2] if len(state) > 2 else ()))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def _ref(d):
    try:
        return weakref.ref(d)
    except TypeError:
        return lambda: d


class Saved:
    """A tensor kept for backward, with the version it had."""

    __slots__ = ("tensor", "version", "unpack", "packed", "output_of", "nr", "edge")

    def __init__(self, t, node=None, nr=0):
        vc = t._vc
        self.version = 0 if vc is None else vc[0]
        hooks = MODE.saved_hooks
        self.output_of = self.unpack = None
        if node is not None:
            t, self.output_of, self.nr = _shadow(t), weakref.ref(node), nr
        if hooks:
            pack, self.unpack = hooks[-1]
            # what comes back is another tensor: it takes this one's place in the graph
            self.edge = edge(t) if node is None else None
            with no_grad():
                self.packed = pack(t)
            self.tensor = None
        else:
            self.tensor = t

    def get(self):
        t = self.tensor
        if self.unpack is not None:
            t = self.unpack(self.packed)
            if not isinstance(t, Tensor):
                raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t).__name__}")
            if not MODE.grad or (self.edge is None and self.output_of is None):
                return t
            t = alias(t)
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
        if self.output_of is not None and MODE.grad:
            node = self.output_of()
            t = alias(t)
            t._requires_grad, t._grad_fn, t._output_nr = True, node, self.nr
        return t

    def release(self):
        self.tensor = self.packed = None


def _shadow(t):
    """The same memory and version counter in a tensor that does not keep the node of t alive."""
    s = wrap(t._ms, t._shape, t.dtype, t.device)
    s._np, s._storage, s._stride, s._offset = t._np, t._storage, t._stride, t._offset
    if t._vc is None:
        t._vc = [0]
    s._vc = t._vc
    return s


def modified(t, version, fn, nr):
    """The error for a saved tensor that an in-place operation has changed since."""
    where = "" if fn is None else f", which is output {nr} of {fn.name()},"
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{dt.LEGACY.get(t.dtype, t.dtype.name)}Tensor {list(t._shape)}]{where} is at version {t._version}; expected version "
        f"{version} instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        f"torch.autograd.set_detect_anomaly(True)."
    )


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward."
)


class AccumulateGrad(Node):
    __slots__ = ("variable",)
    __module__ = "torch.autograd.graph"

    def __init__(self, variable):
        super().__init__()
        self.variable = variable
        self._seq = 1 << 62
        self._out_meta = ((variable._shape, variable.dtype, variable.device),)

    def name(self):
        return "torch::autograd::AccumulateGrad"

    def run(self, grads):
        g, v = grads[0], self.variable
        grads.clear()
        if g is None:
            return ()
        hooks = v._hooks
        if hooks:
            g = run_hooks(hooks, g)
        old = v._grad
        if old is None:
            if not MODE.grad:
                # a gradient nobody else holds is taken as it is: three references are this frame's and the call's
                fresh = sys.getrefcount(g) <= 2 and g._storage is None and g._stride is None and g.__class__ is Tensor and g._grad_fn is None
                if not fresh:
                    g = g.detach()
                    g = g.contiguous() if v._stride is None and g._stride is not None else g.clone(memory_format=PRESERVE)
            v._grad = g
        elif MODE.grad:
            v._grad = _add(old, g)
        elif old.is_sparse and not g.is_sparse:
            v._grad = g + old
        else:
            old.add_(g)
        hooks = v.__dict__.get("_post_accumulate_grad_hooks")
        if hooks:
            for h in list(hooks.values()):
                h(v)
        return ()


PRESERVE = None  # set by runtime/ops: torch.preserve_format


def run_hooks(hooks, g):
    for h in list(hooks.values()):
        r = h(g)
        if r is not None:
            if r._shape != g._shape:
                raise RuntimeError("hook '{}' has changed the size of value".format(getattr(h, "__name__", "hook")))
            g = r
    return g


def accumulator(t):
    acc = t._acc
    node = acc() if acc is not None else None
    if node is None:
        node = AccumulateGrad(t)
        t._acc = weakref.ref(node)
    return node


def edge(t):
    """Where the gradient of t goes: (node, number), or None."""
    if not t._requires_grad:
        return None
    fn = t._grad_fn if t._view is None else t._get_grad_fn()
    return (fn, t._output_nr) if fn is not None else (accumulator(t), 0)


class OpNode(Node):
    """The node of a declared operator. Subclassed for each operator by op.py, which sets `op`."""

    # saved: the arguments that formulas read; versions: theirs then, None for what is no tensor or checks itself (Saved)
    __slots__ = ("saved", "versions", "outs", "needs")
    op = None

    def run(self, grads):
        args = self.saved
        if args is None:
            raise RuntimeError(FREED)
        unpack = False
        for a, version in zip(args, self.versions):
            if version is None:
                unpack = unpack or a.__class__ is Saved or a.__class__ is _SavedList
            elif a._version != version:
                raise modified(a, version, a._grad_fn, a._output_nr)
        if unpack:
            args = [a.get() if a.__class__ is Saved else [x.get() if x.__class__ is Saved else x for x in a] if a.__class__ is _SavedList else a for a in args]
        outs = self.outs and [s.get() if s is not None else None for s in self.outs]
        return self.op.formulas.backward(self, grads, args, outs)

    def release(self):
        """Free what was saved; a node that saved no tensor can run again."""
        held = self.outs is not None
        for a, tensor in zip(self.saved or (), self.op.is_tensor):
            if tensor and a is not None:
                held = True
                if a.__class__ is Saved:
                    a.release()
        if held:
            self.saved = self.outs = None

    def __getattr__(self, name):
        if name.startswith("_saved_"):
            names = [a.name for a in self.op.schema.args]
            key = name[7:]
            if self.saved is None:
                raise RuntimeError(FREED)
            if key in names:
                v = self.saved[names.index(key)]
                return v.get() if v.__class__ is Saved else v
            if key.startswith("result") and self.outs:
                return self.outs[int(key[6:] or 0)].get()
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")


class _SavedList(list):
    __slots__ = ()


def save_list(ts):
    return _SavedList(Saved(t) if isinstance(t, Tensor) else t for t in ts)


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
    """t is base under another class: gradient passes through."""
    t._grad_fn = FunctionNode("AliasBackward0", lambda g: (g,), (edge(base),), (meta_of(base),), (meta_of(t),))


# ------------------------------------------------------------------------------------------------ views
class ViewInfo:
    """A differentiable view: its base and the version of the base's history that its grad_fn belongs to."""

    __slots__ = ("base", "attr_version", "multi", "no_grad")

    def __init__(self, base, version, multi=None, no_grad=False):
        self.base, self.attr_version, self.multi, self.no_grad = base, version, multi, no_grad

    def refresh(self, t):
        """Rebuild the view's grad_fn from its base if an in-place operation has rewritten the history since."""
        version = t._vc[0] if t._vc is not None else 0
        if version == self.attr_version:
            return
        base = self.base
        if base._requires_grad and base._grad_fn is not None:
            t._grad_fn = as_strided_node(base, t)
            t._output_nr = 0
        self.attr_version = version


def as_strided_node(base, t):
    shape, stride, offset = t._shape, t.stride(), t._offset
    bshape, bstride, boffset = base._shape, base.stride(), base._offset

    def backward(g):
        from .ops.views import as_strided_backward

        return (as_strided_backward(g, bshape, bstride, boffset, shape, stride, offset),)

    return FunctionNode("AsStridedBackward0", backward, (edge(base),), (meta_of(base),), (meta_of(t),))


def note_view(t, src, multi=None):
    """Make t a view of src (or of src's base) for autograd and in-place."""
    if t._vc is INFERENCE:
        return t
    v = src._view
    base = src if v is None else v.base
    t._view = ViewInfo(base, t._vc[0] if t._vc is not None else 0, multi, not MODE.grad and ("inference" if MODE.inference else "no_grad"))
    return t


def check_inplace(self):
    """Errors of in-place operations that autograd cannot record."""
    if not MODE.grad:
        return
    v = self._view
    if v is not None and (self._requires_grad or v.base._requires_grad):
        if v.multi:
            raise RuntimeError(
                f"Output 0 of {v.multi} is a view and is being modified inplace. This view is the output of a function that "
                "returns multiple views. Such functions do not allow the output views to be modified inplace. You should "
                "replace the inplace operation by an out-of-place one."
            )
        if v.no_grad and v.base._requires_grad:
            how = "normal mode" if v.no_grad == "inference" else "with grad mode enabled"
            raise RuntimeError(
                f"A view was created in {v.no_grad} mode and is being modified inplace {'in ' if how[0] == 'n' else ''}{how}. Given that this "
                "use case is ambiguous and error-prone, it is forbidden."
            )
        if v.base._requires_grad and v.base._grad_fn is None and v.base._get_grad_fn() is None:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if self._requires_grad and self._get_grad_fn() is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def rebase(self, node, nr=0):
    """self was modified in place by `node`: make node its history, and its base's through CopySlices."""
    v = self._view
    if v is None or v.base is self:
        self._grad_fn, self._output_nr, self._requires_grad = node, nr, True
        return
    base = v.base
    shape, stride, offset = self._shape, self.stride(), self._offset
    bshape, bstride, boffset = base._shape, base.stride(), base._offset
    base_edge = edge(base)
    base_meta = meta_of(base)

    def backward(g):
        from .ops.views import as_strided_of, as_strided_write

        gv = as_strided_of(g, bshape, bstride, boffset, shape, stride, offset)
        res = list(node.run([None] * nr + [gv]))
        # the first edge of an in-place node is the tensor it wrote to: its gradient goes into the base's
        part = res[0] if node._edges and node._edges[0] is not None else None
        if part is not None:
            part = fit(part, node._in_meta[0], node)
            res[0] = None
        return (as_strided_write(g, part, bshape, bstride, boffset, shape, stride, offset), *res)

    copy = FunctionNode("CopySlices", backward, (base_edge, *node._edges), (base_meta, *node._in_meta), (base_meta,))
    copy.inner = node
    base._grad_fn, base._output_nr, base._requires_grad = copy, 0, True
    self._requires_grad = True
    v.attr_version = -1
    v.refresh(self)


# ------------------------------------------------------------------------------------------------ engine
def _add(a, b):
    if a is None or b is None:
        return b if a is None else a
    return b + a if a.is_sparse else a + b


class _Task(threading.local):
    callbacks = None
    depth = 0
    current = None
    restricted = False  # only some gradients are wanted (inputs=), which reentrant checkpoints cannot know


TASK = _Task()


def queue_callback(fn):
    if TASK.callbacks is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    TASK.callbacks.append(fn)


def run_backward(roots, grads, keep_graph, create_graph, inputs=None, accumulate=True):
    """roots: list of (node, nr) edges. inputs: edges to capture (autograd.grad) or to restrict accumulation to."""
    deps, stack, seen = {}, [n for n, _ in roots], set()
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        for e in n._edges:
            if e is not None:
                deps[e[0]] = deps.get(e[0], 0) + 1
                stack.append(e[0])
    captures, needed = {}, None
    if inputs is not None:
        for i, e in enumerate(inputs):
            captures.setdefault(e[0], []).append((e[1], i))
        needed = _reaching(seen, roots, set(captures))
    captured = [None] * (len(inputs) if inputs is not None else 0)
    buffers, ready, queued = {}, [], set()
    for (n, nr), g in zip(roots, grads):
        b = buffers.setdefault(n, {})
        b[nr] = _add(b.get(nr), g)
        if n not in queued and deps.get(n, 0) == 0:
            queued.add(n)
            heapq.heappush(ready, (-n._seq, id(n), n))
    prev, prev_cb, prev_restricted = MODE.grad, TASK.callbacks, TASK.restricted
    MODE.grad, TASK.restricted = create_graph, inputs is not None
    if prev_cb is None:
        TASK.callbacks = []
    TASK.depth += 1
    try:
        while ready:
            n = heapq.heappop(ready)[2]
            got = buffers.pop(n, None)
            if got is not None:
                count = max(len(n._out_meta), max(got) + 1)
                gs = [got.get(i) for i in range(count)]
                got = None
                _run_node(n, gs, captures, captured, needed, keep_graph, accumulate, buffers)
            for e in n._edges:
                if e is not None:
                    m = e[0]
                    deps[m] -= 1
                    if deps[m] == 0 and m not in queued:
                        queued.add(m)
                        heapq.heappush(ready, (-m._seq, id(m), m))
        if prev_cb is None:
            callbacks, i = TASK.callbacks, 0
            while i < len(callbacks):
                callbacks[i]()
                i += 1
    finally:
        MODE.grad = prev
        TASK.callbacks, TASK.restricted = prev_cb, prev_restricted
        TASK.depth -= 1
    return captured


def _reaching(seen, roots, targets):
    """Nodes from which a target can be reached."""
    result, state = set(targets), {}
    for root, _ in roots:
        stack = [(root, iter(root._edges))]
        state.setdefault(root, 0)
        while stack:
            n, it = stack[-1]
            for e in it:
                if e is None:
                    continue
                m = e[0]
                if m in result:
                    result.add(n)
                elif m not in state:
                    state[m] = 0
                    stack.append((m, iter(m._edges)))
                    break
            else:
                stack.pop()
                if stack and n in result:
                    result.add(stack[-1][0])
    return result


def _run_node(n, gs, captures, captured, needed, keep_graph, accumulate, buffers):
    if n._tensor_hooks:
        for nr, hooks in n._tensor_hooks.items():
            if gs[nr] is not None:
                for h in list(hooks.values()):
                    r = h(gs[nr])
                    if r is not None:
                        gs[nr] = r
    if n._pre_hooks:
        for h in list(n._pre_hooks.values()):
            r = h(tuple(gs))
            if r is not None:
                gs = list(r) if isinstance(r, (tuple, list)) else [r]
    if n in captures:
        for nr, i in captures[n]:
            g = gs[nr]
            if n.__class__ is AccumulateGrad and g is not None and n.variable._hooks:
                g = run_hooks(n.variable._hooks, g)
            captured[i] = g
        if n.__class__ is AccumulateGrad:
            return
    if needed is not None and n not in needed:
        return
    if n.__class__ is AccumulateGrad:
        n.run(gs)
        return
    if needed is not None and not any(e is not None and e[0] in needed for e in n._edges):
        return
    inputs_for_hooks = tuple(gs) if n._post_hooks else None
    TASK.current = n
    if MODE.anomaly:
        res = _run_anomaly(n, gs)
    else:
        res = n.run(gs)
    gs.clear()
    if not isinstance(res, tuple):
        res = (res,) if isinstance(res, Tensor) or res is None else tuple(res)
    if n._post_hooks:
        for h in list(n._post_hooks.values()):
            r = h(res, inputs_for_hooks)
            if r is not None:
                res = r if isinstance(r, tuple) else (r,)
    if not keep_graph:
        n.release()
    edges, metas = n._edges, n._in_meta
    for i in range(len(edges)):
        e = edges[i]
        if e is None or i >= len(res):
            continue
        g = res[i]
        if g is None:
            continue
        if i < len(metas) and metas[i] is not None:
            g = fit(g, metas[i], n)
        b = buffers.get(e[0])
        if b is None:
            buffers[e[0]] = {e[1]: g}
        else:
            old = b.get(e[1])
            b[e[1]] = g if old is None else _add(old, g)
        g = None


def _run_anomaly(n, gs):
    trace = getattr(n, "trace", None)
    try:
        res = n.run(gs)
    except Exception:
        if trace:
            warnings.warn(f"Error detected in {n.name()}. Traceback of forward call that caused the error:\n{trace}", stacklevel=2)
        raise
    if MODE.anomaly_nan:
        for i, r in enumerate(res if isinstance(res, tuple) else (res,)):
            if isinstance(r, Tensor) and r.dtype.category >= dt.FLOAT and bool((r != r).any()):
                if trace:
                    warnings.warn(f"Error detected in {n.name()}. Traceback of forward call that caused the error:\n{trace}", stacklevel=2)
                raise RuntimeError(f"Function '{n.name()}' returned nan values in its {i}th output.")
    return res


def fit(g, meta, node=None):
    """A gradient in the shape and dtype of what it is the gradient of."""
    shape, dtype, device = meta
    if g._shape != shape:
        if not _expandable(shape, g._shape):
            raise RuntimeError(
                f"Function {node.name() if node else ''} returned an invalid gradient at index 0 - got {list(g._shape)} but "
                f"expected shape compatible with {list(shape)}"
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


def _tensors(x):
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _roots(outputs, grad_outputs, create_graph, is_grads_batched=False):
    roots, grads = [], []
    for i, t in enumerate(outputs):
        g = grad_outputs[i] if grad_outputs is not None and i < len(grad_outputs) else None
        e = edge(t)
        if g is None:
            if t._requires_grad:
                if numel(t._shape) != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                if not t.dtype.is_floating_point:
                    raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
                with no_grad():
                    g = t.new_ones(t._shape)
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        elif g._shape != t._shape:
            raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {t.shape}.")
        elif t.dtype.is_complex != g.dtype.is_complex:
            raise RuntimeError(
                f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {t.dtype}."
            )
        if e is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        roots.append(e)
        grads.append(g)
    return roots, grads


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulate gradients of tensors into the leaves of the graph."""
    if MODE.inference and False:
        raise RuntimeError("backward is not allowed in inference mode")
    tensors = _tensors(tensors)
    if grad_tensors is None:
        grad_tensors = grad_variables
    gts = None if grad_tensors is None else _tensors(grad_tensors)
    if gts is not None and len(gts) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(gts)} gradients")
    if inputs is not None:
        inputs = _tensors(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots, grads = _roots(tensors, gts, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, grads, keep, create_graph)
        return
    edges = [_input_edge(t) for t in inputs]
    got = run_backward(roots, grads, keep, create_graph, edges)
    for t, g in zip(inputs, got):
        if g is not None:
            g = g if create_graph else g.detach()
            t._grad = g if t._grad is None else (t._grad + g if create_graph else t._grad.detach() + g)


def _input_edge(t):
    e = edge(t)
    if e is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return e


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """Gradients of outputs with respect to inputs, returned instead of accumulated."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outs, ins = _tensors(outputs), _tensors(inputs)
    if not ins:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gos = None if grad_outputs is None else _tensors(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        rows = [grad(outs, ins, [None if g is None else g[i] for g in gos], True, create_graph, True, allow_unused) for i in range(len(gos[0]))]
        from .op import REGISTRY_FN

        stack = REGISTRY_FN("stack")
        return tuple(None if rows[0][k] is None else stack([r[k] for r in rows]) for k in range(len(ins)))
    roots, grads = _roots(outs, gos, create_graph)
    got = run_backward(roots, grads, keep, create_graph, [_input_edge(t) for t in ins])
    result = []
    for i, (g, t) in enumerate(zip(got, ins)):
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior."
            )
        if g is None and materialize_grads:
            g = t.new_zeros(t._shape)
        result.append(g)
    return tuple(result)


# ------------------------------------------------------------------------------------------------ tensor methods
def _backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulate gradients of this tensor into the graph's leaves."""
    backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs=inputs)


def _detach(self):
    t = alias(self)
    return t if self.__class__ is Tensor or not _propagates(self) else t.as_subclass(type(self))


def _propagates(self):
    from .overrides import disabled

    return not disabled(type(self))


def _detach_(self):
    if self._view is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
            "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called "
            "on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/"
            "optimizer.py as a solution."
        )
    self._grad_fn, self._requires_grad, self._output_nr = None, False, 0
    return self


def _register_hook(self, hook):
    if not self._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._hooks is None:
        self._hooks = {}
    fn = self._get_grad_fn()
    if fn is not None:
        fn.add_tensor_hook(self._output_nr, self._hooks)
    return RemovableHandle(self._hooks, hook)


def _register_post_accumulate_grad_hook(self, hook):
    if not self._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._get_grad_fn() is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = self.__dict__.setdefault("_post_accumulate_grad_hooks", {})
    return RemovableHandle(hooks, hook)


def _retain_grad(self):
    if not self._requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._get_grad_fn() is None or self._retains:
        return
    ref = weakref.ref(self)

    def keep(g):
        t = ref()
        if t is not None:
            t._grad = g.clone() if t._grad is None else t._grad + g

    self._retains = True
    _register_hook(self, keep)


for _name, _fn in {
    "backward": _backward,
    "detach": _detach,
    "detach_": _detach_,
    "register_hook": _register_hook,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
    "retain_grad": _retain_grad,
}.items():
    _fn.__name__ = _name
    _fn.__qualname__ = "Tensor." + _name
    setattr(Tensor, _name, _fn)


class saved_tensors_hooks:
    """Inside, tensors saved for backward go through pack_hook, and come back through unpack_hook."""

    __module__ = "torch.autograd.graph"

    def __init__(self, pack_hook, unpack_hook):
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self):
        if MODE.saved_hooks_disabled:
            raise RuntimeError(MODE.saved_hooks_disabled)
        MODE.saved_hooks = (*MODE.saved_hooks, self.hooks)

    def __exit__(self, *exc):
        MODE.saved_hooks = MODE.saved_hooks[:-1]


class disable_saved_tensors_hooks(contextlib.ContextDecorator):
    __module__ = "torch.autograd.graph"

    def __init__(self, message):
        self.message = message

    def __enter__(self):
        self.prev, MODE.saved_hooks_disabled = MODE.saved_hooks_disabled, self.message

    def __exit__(self, *exc):
        MODE.saved_hooks_disabled = self.prev


class detect_anomaly:
    """Inside, backward reports the forward call of a failing node, and NaN in gradients is an error."""

    __module__ = "torch.autograd.anomaly_mode"

    def __init__(self, check_nan=True):
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.", stacklevel=2)
        self.value, self.check = True, check_nan
        self.prev = MODE.anomaly, MODE.anomaly_nan

    def __enter__(self):
        MODE.anomaly, MODE.anomaly_nan = self.value, self.check

    def __exit__(self, *exc):
        MODE.anomaly, MODE.anomaly_nan = self.prev


class set_detect_anomaly(detect_anomaly):
    __module__ = "torch.autograd.anomaly_mode"

    def __init__(self, mode, check_nan=True):
        self.prev = MODE.anomaly, MODE.anomaly_nan
        self.value, self.check = bool(mode), check_nan
        self.__enter__()


def is_anomaly_enabled():
    return MODE.anomaly
