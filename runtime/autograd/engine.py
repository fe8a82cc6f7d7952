"""The engine: runs the nodes of a graph in order and hands gradients on."""

import heapq
import threading
import warnings

from .. import dtypes as dt
from ..registry import T
from ..tensor import Tensor, numel
from .graph import AccumulateGrad, add, edge, fitted
from .hooks import run_hooks
from .modes import MODE, no_grad


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


class _Run:
    """One run over a graph: what is wanted, and the gradients on their way."""

    __slots__ = ("captures", "captured", "needed", "keep_graph", "buffers")

    def __init__(self, inputs, keep_graph):
        self.captures, self.needed, self.keep_graph, self.buffers = {}, None, keep_graph, {}
        self.captured = [None] * len(inputs or ())
        for i, (node, nr) in enumerate(inputs or ()):
            self.captures.setdefault(node, []).append((nr, i))

    def capture(self, n, gs):
        """Note the gradients that arrive at a node for whoever asked for them."""
        for nr, i in self.captures[n]:
            g = gs[nr]
            if n.__class__ is AccumulateGrad and g is not None and n.variable._hooks:
                g = run_hooks(n.variable._hooks, g)
            self.captured[i] = g

    def wanted(self, n):
        """Whether a node must run: only some gradients may be asked for."""
        needed = self.needed
        return needed is None or n in needed and (n.__class__ is AccumulateGrad or any(e is not None and e[0] in needed for e in n._edges))


def _count_dependencies(roots):
    """node -> how many edges lead to it, over the graph behind the roots; and all its nodes."""
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
    return deps, seen


def run_backward(roots, grads, keep_graph, create_graph, inputs=None):
    """roots: list of (node, nr) edges. inputs: edges whose gradients are returned, instead of accumulated in the leaves."""
    deps, seen = _count_dependencies(roots)
    run = _Run(inputs, keep_graph)
    if inputs is not None:
        run.needed = _reaching(seen, roots, set(run.captures))
    buffers, ready, queued = run.buffers, [], set()
    for (n, nr), g in zip(roots, grads):
        b = buffers.setdefault(n, {})
        b[nr] = add(b.get(nr), g)
        if n not in queued and deps.get(n, 0) == 0:
            queued.add(n)
            heapq.heappush(ready, (-n._seq, id(n), n))
    prev, prev_callbacks, prev_restricted = MODE.grad, TASK.callbacks, TASK.restricted
    MODE.grad, TASK.restricted = create_graph, inputs is not None
    if prev_callbacks is None:
        TASK.callbacks = []
    TASK.depth += 1
    try:
        _run_ready(run, ready, queued, deps)
        if prev_callbacks is None:
            callbacks, i = TASK.callbacks, 0
            while i < len(callbacks):  # a callback may queue more
                callbacks[i]()
                i += 1
    finally:
        MODE.grad = prev
        TASK.callbacks, TASK.restricted = prev_callbacks, prev_restricted
        TASK.depth -= 1
    return run.captured


def _run_ready(run, ready, queued, deps):
    """Run nodes whose gradients are complete, the youngest first."""
    buffers = run.buffers
    while ready:
        n = heapq.heappop(ready)[2]
        got = buffers.pop(n, None)
        if got is not None:
            gs = [got.get(i) for i in range(max(len(n._out_meta), max(got) + 1))]
            got = None
            _run_node(n, gs, run)
        for e in n._edges:
            if e is not None:
                m = e[0]
                deps[m] -= 1
                if deps[m] == 0 and m not in queued:
                    queued.add(m)
                    heapq.heappush(ready, (-m._seq, id(m), m))


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


def _run_node(n, gs, run):
    if n._tensor_hooks or n._pre_hooks:
        gs = _hooked(n, gs)
    if n in run.captures:
        run.capture(n, gs)
        if n.__class__ is AccumulateGrad:
            return
    if run.needed is not None and not run.wanted(n):
        return
    if n.__class__ is AccumulateGrad:
        n.run(gs)
        return
    inputs_for_hooks = tuple(gs) if n._post_hooks else None
    TASK.current = n
    res = _run_anomaly(n, gs) if MODE.anomaly else n.run(gs)
    gs.clear()
    if res.__class__ is not tuple:
        res = (res,) if isinstance(res, Tensor) or res is None else tuple(res)
    if inputs_for_hooks is not None:
        for h in list(n._post_hooks.values()):
            r = h(res, inputs_for_hooks)
            if r is not None:
                res = r if isinstance(r, tuple) else (r,)
    if not run.keep_graph:
        n.release()
    _send(n, res, run.buffers)


def _hooked(n, gs):
    """The gradients after the hooks of the node's tensors and its own."""
    for nr, hooks in (n._tensor_hooks or {}).items():
        if gs[nr] is not None:
            for h in list(hooks.values()):
                r = h(gs[nr])
                if r is not None:
                    gs[nr] = r
    for h in list((n._pre_hooks or {}).values()):
        r = h(tuple(gs))
        if r is not None:
            gs = list(r) if isinstance(r, (tuple, list)) else [r]
    return gs


def _send(n, res, buffers):
    """Hand a node's results on along its edges."""
    edges, metas = n._edges, n._in_meta
    for i in range(min(len(edges), len(res))):
        e, g = edges[i], res[i]
        if e is None or g is None:
            continue
        if i < len(metas) and metas[i] is not None:
            g = fitted(g, metas[i], n)
        b = buffers.get(e[0])
        if b is None:
            buffers[e[0]] = {e[1]: g}
        else:
            old = b.get(e[1])
            b[e[1]] = g if old is None else add(old, g)
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
        return tuple(None if rows[0][k] is None else T.stack([r[k] for r in rows]) for k in range(len(ins)))
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
