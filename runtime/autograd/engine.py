"""The autograd engine: runs the nodes of a graph in order and passes gradients along the edges."""

import itertools
import threading
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from heapq import heappop, heappush

from .. import dtypes as dt
from ..backend import backend
from ..context import CONTEXT
from ..device import Size
from ..registry import T
from ..tensor import Tensor, numel
from ..warn import warn_once
from .graph import OF_LEAVES, AccumulateGrad, add, edge, fitted
from .hooks import check_results, run_hooks
from .modes import no_grad
from .views import plain_gradient

_numbers = itertools.count()


def queue_callback(fn):
    if CONTEXT.callbacks is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    CONTEXT.callbacks.append(fn)


class _Run:
    """One backward pass: which nodes must run, and the gradients of nodes that have not run yet."""

    __slots__ = ("id", "nodes", "captures", "captured", "needed", "asked", "keep_graph", "buffers", "own")

    def __init__(self, roots, inputs, accumulate, keep_graph):
        self.id, self.captures, self.keep_graph, self.buffers = next(_numbers), {}, keep_graph, {}
        self.captured = [None] * len(inputs or ())
        if not accumulate:
            for i, (node, nr) in enumerate(inputs or ()):
                self.captures.setdefault(node, []).append((nr, i))
        targets = {e[0] for e in inputs or ()}
        self.needed = None if inputs is None else _reaching(roots, targets)
        self.asked = targets if accumulate else ()  # these nodes run too, as in PyTorch
        self.own = set()  # the edges whose gradient in `buffers` nobody else has

    def wanted(self, n):
        """Whether a node must run. Some need not if only the gradients of given inputs are computed."""
        needed = self.needed
        if needed is None:
            return True
        return n in needed and (n in self.asked or any(e is not None and e[0] in needed for e in n._edges))


def _count_dependencies(roots, needed):
    """Return {node: number of edges that lead to it} for the graph behind the roots, and the set of its nodes.

    needed: the nodes to which this is restricted, or None. What lies behind others is none of them.
    """
    deps, stack, seen = {}, [n for n, _ in roots], set()
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        for e in n._edges:
            if e is not None and (needed is None or e[0] in needed):
                deps[e[0]] = deps.get(e[0], 0) + 1
                stack.append(e[0])
    return deps, seen


class Ready:
    """The nodes whose gradients are complete: leaves run first, then the node that was created last.

    Leaves all have one sequence number. They are popped in the order in which PyTorch's binary heap returns equal
    elements.
    """

    def __init__(self):
        self.leaves, self.others = [], []

    def push(self, node):
        if node._seq == OF_LEAVES:
            self.leaves.append(node)
        else:
            heappush(self.others, (-node._seq, id(node), node))

    def pop_leaf(self):
        heap = self.leaves
        first, last, n = heap[0], heap.pop(), len(heap)
        hole = 0
        while hole < (n - 1) // 2:  # of two equal children the right one moves up
            heap[hole] = heap[2 * hole + 2]
            hole = 2 * hole + 2
        if n % 2 == 0 and hole == (n - 2) // 2:
            heap[hole] = heap[2 * hole + 1]
            hole = 2 * hole + 1
        heap[hole] = last
        return first


DEPTH = 20  # after this many nested passes, the next one runs in a new thread


def _in_a_thread(run):
    """Return run(), called in a new thread with this thread's settings, so that its call stack starts empty."""
    settings, found = dict(vars(CONTEXT)), []

    def work():
        vars(CONTEXT).update(settings)
        CONTEXT.moved = CONTEXT.depth
        try:
            found.append((run(), None))
        except BaseException as e:
            found.append((None, e))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    result, error = found[0]
    if error is not None:
        raise error
    return result


def run_backward(roots, grads, keep_graph, create_graph, inputs=None, accumulate=False):
    """Run a backward pass from `roots`, a list of (node, output number) edges, and return the gradients of `inputs`.

    inputs: edges. With `accumulate`, gradients are accumulated at these edges, and nowhere else, instead of returned.
    """
    if CONTEXT.depth and CONTEXT.depth % DEPTH == 0 and CONTEXT.depth != CONTEXT.moved:
        return _in_a_thread(lambda: run_backward(roots, grads, keep_graph, create_graph, inputs, accumulate))
    run = _Run(roots, inputs, accumulate, keep_graph)
    deps, run.nodes = _count_dependencies(roots, run.needed)
    buffers, ready, queued = run.buffers, Ready(), set()
    for (n, nr), g in zip(roots, grads):
        b = buffers.setdefault(n, {})
        b[nr] = add(b.get(nr), g)
        if n not in queued and deps.get(n, 0) == 0:
            queued.add(n)
            ready.push(n)
    callbacks, i = [], 0  # a nested pass has its own
    with CONTEXT.set(
        grad=create_graph,
        saved_hooks=CONTEXT.saved_hooks,  # hooks of saved tensors may enter their context again
        restricted=run.needed,
        backward=run,
        callbacks=callbacks,
        depth=CONTEXT.depth + 1,
        node=CONTEXT.node,
    ):
        _run_ready(run, ready, queued, deps)
        while i < len(callbacks):  # a callback may queue more
            callbacks[i]()
            i += 1
    return run.captured


def _run_ready(run, ready, queued, deps):
    """Run the nodes whose gradients are complete, in the order of `ready`."""
    buffers = run.buffers
    leaves, others, push = ready.leaves, ready.others, ready.push
    while leaves or others:
        n = heappop(others)[2] if not leaves else leaves.pop() if len(leaves) == 1 else ready.pop_leaf()
        got = buffers.pop(n, None)
        if got is not None:
            size = 1 if n._seq == OF_LEAVES else len(n._out_meta)
            gs = (
                [got.get(i) for i in range(max(size, max(got) + 1))]
                if size > 1 or len(got) > 1 or 0 not in got
                else [got[0]]
            )
            got = None
            _run_node(n, gs, run)
        else:
            _run_undefined(n, run)
        for e in n._edges:
            if e is not None and (m := e[0]) in deps:
                deps[m] -= 1
                if deps[m] == 0 and m not in queued:
                    queued.add(m)
                    push(m)


def _reaching(roots, targets):
    """Return the nodes from which a target can be reached, targets among them: one may lie behind another."""
    result, seen = set(targets), set()
    for root, _ in roots:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(root._edges))]
        while stack:
            n, it = stack[-1]
            for e in it:
                if e is None:
                    continue
                m = e[0]
                if m not in seen:
                    seen.add(m)
                    stack.append((m, iter(m._edges)))
                    break
                if m in result:
                    result.add(n)
            else:
                stack.pop()
                if stack and n in result:
                    result.add(stack[-1][0])
    return result


def _run_node(n, gs, run):
    if run.needed is not None and not run.wanted(n):
        if n in run.needed:
            _capture(n, _after_tensor_hooks(n, gs), run)
        return
    _capture(n, gs, run)  # before the hooks of a node that runs, as in PyTorch
    if n._tensor_hooks or n._retains:
        gs = _after_tensor_hooks(n, gs)
    if n._pre_hooks or n._post_hooks:
        gs = _after_pre_hooks(n, gs)
    inputs_for_hooks = tuple(gs) if n._post_hooks else None
    CONTEXT.node = n
    if n.embeds and inputs_for_hooks is None and _embedded(n, gs[0], run):
        return
    if gs[0] is None and not n.of_program and all(g is None for g in gs):
        res = (None,) * len(n._edges)
    else:
        res = n.run(gs) if CONTEXT.watch is None and not CONTEXT.anomaly else _run_watched(n, gs)
    gs.clear()
    if res.__class__ is not tuple:
        res = (res,) if isinstance(res, Tensor) or res is None else tuple(res)
    for h in list(n._post_hooks.values()) if inputs_for_hooks is not None else ():
        r = h(res, inputs_for_hooks)
        if r is not None:
            res = check_results(h, res, r)
    if not run.keep_graph:
        n.release()
    _send(n, res, run)


def _embedded(n, g, run):
    """Add the gradient of a view to the gradient that its base has, in place, and return whether that was possible.

    Otherwise a tensor of the base's size would be made, and added, for each of its views.
    """
    e = n._edges[0]
    if g is None or n.saved is None or CONTEXT.watch is not None or CONTEXT.anomaly or not plain_gradient(g):
        return False
    if e in run.own:
        base = run.buffers[e[0]][e[1]]
        if base.__class__ is not Tensor or base.dtype is not g.dtype or not backend(g.device).host:
            return False
        n.add_to(base, g)
    else:
        _send(n, n.run([g]), run)
        run.own.add(e)
    if not run.keep_graph:
        n.release()
    return True


def _capture(n, gs, run):
    """Keep the gradients that arrive at a node for the inputs that the pass was asked for."""
    for nr, i in run.captures.get(n, ()):
        run.captured[i] = gs[nr]


def _run_undefined(n, run):
    """Process a node that receives no gradient: call its hooks, and run custom functions and leaves."""
    if n.of_program or n._tensor_hooks or n._pre_hooks or n._post_hooks:
        _run_node(n, [None] * max(len(n._out_meta), 1), run)


def _after_tensor_hooks(n, gs):
    """Return the gradients after the hooks of the node's tensors; then fill .grad of those with retain_grad().

    AccumulateGrad.run() calls the hooks of a leaf itself, unless its node has hooks too.
    """
    hooks = n._tensor_hooks if n.__class__ is not AccumulateGrad else ((0, n.variable._hooks or {}),)
    for nr, of_tensor in hooks:
        if of_tensor:
            gs[nr] = run_hooks(of_tensor, gs[nr])
    for nr, ref in n._retains.items():
        t, g = ref(), gs[nr] if nr < len(gs) else None
        if t is not None and g is not None:
            t._grad = g.clone() if t._grad is None else t._grad + g
    return gs


def _after_pre_hooks(n, gs):
    """Return the gradients after the node's pre-hooks; the hooks of the tensor run first, also those of a leaf."""
    if n.__class__ is AccumulateGrad:
        gs = _after_tensor_hooks(n, gs)
    for h in list((n._pre_hooks or {}).values()):
        r = h(tuple(gs))
        if r is not None:
            gs = list(check_results(h, gs, r))
    return gs


def will_execute(node):
    """Whether the running backward pass of this thread executes a node.

    Raises an error for a leaf whose gradient is only returned.
    """
    run = CONTEXT.backward
    if node.__class__ is AccumulateGrad and node in run.captures:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
            "This is currently not supported."
        )
    return node in run.nodes and (run.needed is None or node in run.needed)


def _send(n, res, run):
    """Pass a node's results on along its edges."""
    buffers, needed, metas = run.buffers, run.needed, n._in_meta
    for i, (e, g) in enumerate(zip(n._edges, res)):
        if e is None or g is None or needed is not None and e[0] not in needed:
            continue
        meta = metas[i] if i < len(metas) else None
        if meta is not None and (g._shape != meta[0] or g.dtype is not meta[1]):
            g = fitted(g, meta, n, i)
        b = buffers.get(e[0])
        if b is None:
            buffers[e[0]] = {e[1]: g}
        else:
            old = b.get(e[1])
            b[e[1]] = g if old is None else add(old, g)
        g = None


def _run_watched(n, gs):
    """Run a node under anomaly detection, a profile, or both."""
    with nullcontext() if CONTEXT.watch is None else CONTEXT.watch(n):
        return _run_anomaly(n, gs) if CONTEXT.anomaly else n.run(gs)


def _run_anomaly(n, gs):
    try:
        res = n.run(gs)
    except Exception:
        _tell_origin(n)
        raise
    if CONTEXT.anomaly_nan:
        for i, r in enumerate(res if isinstance(res, tuple) else (res,)):
            if isinstance(r, Tensor) and r.dtype.category >= dt.FLOAT and bool((r != r).any()):
                _tell_origin(n)
                raise RuntimeError(f"Function '{n.name()}' returned nan values in its {i}th output.")
    return res


def _tell_origin(n):
    """Warn with the traceback of the forward call that created a failing node.

    If that was during a backward pass, also warn with the traceback of the node that was running.
    """
    lead = f"Error detected in {n.name()}. Traceback of forward call that caused the error:\n"
    while n is not None:
        trace = getattr(n, "trace", None)
        if trace is None:
            missing = (
                "No forward pass information available. Enable detect anomaly during forward pass for more information."
            )
            warnings.warn(f"Error detected in {n.name()}. {missing}", stacklevel=3)
            return
        warnings.warn(lead + trace, stacklevel=3)
        n = trace.during
        lead = (
            f"\n\nPrevious calculation was induced by {n and n.name()}. Traceback of forward call that induced the "
            "previous calculation:\n"
        )


def _tensors(x):
    """Return tensors, or gradient edges, as a tuple."""
    return (x,) if isinstance(x, Tensor) or hasattr(x, "output_nr") else tuple(x)


def _inputs(inputs, function):
    """Return the `inputs` argument as a tuple; for a dict, its values."""
    if isinstance(inputs, Mapping) and inputs.__class__ is not dict:
        raise TypeError(
            f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. "
            "Other Mapping types are not supported."
        )
    found = _tensors(inputs.values() if inputs.__class__ is dict else inputs)
    if not found:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return found


def _roots(outputs, grad_outputs):
    """Return the edges at which a pass starts, and the gradient of each.

    grad_outputs: None, or a tuple; surplus entries are ignored.
    """
    given = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    roots, grads = (
        zip(*[_root(i, t, g) for i, (t, g) in enumerate(zip(outputs, given))]) if outputs and given else ((), ())
    )
    if len(roots) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    if None in roots:
        raise RuntimeError(f"element {roots.index(None)} of tensors does not require grad and does not have a grad_fn")
    return list(roots), list(grads)


def _root(i, t, g):
    if g is not None and not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if not isinstance(t, Tensor):
        if not hasattr(t, "output_nr"):
            raise AssertionError("Expected output to be a torch.Tensor")
        return t[:2], _root_gradient(t[:2], g)
    if t._of_layout and g is not None:
        t, g = t._root(g)
    e = edge(t)
    if g is None:
        if t._requires_grad:
            _check_implicit(t._shape, t.dtype)
            with no_grad():
                g = T.ones_like(t)
    else:
        _check_root(i, g, t.shape, t.dtype)
    return e, g


def _check_implicit(shape, dtype):
    """Raise PyTorch's errors for an output whose gradient was not given."""
    if numel(shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")


def _check_batches(outputs, gradients):
    """Raise PyTorch's errors for batched gradients; return the batch size."""
    for i, (t, g) in enumerate(zip(outputs, gradients)):
        if g is None and isinstance(t, Tensor):
            _check_implicit(t._shape, t.dtype)
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
                "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
            )
        if g is not None and isinstance(t, Tensor) and g[0]._shape != t._shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {Size(g._shape[1:])} and "
                f"output[{i}] has a shape of {t.shape}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap."
            )
    sizes = [len(g) for g in gradients if g is not None]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            f"mapped dimension"
        )
    return sizes[0]


def _check_root(i, g, shape, dtype):
    """Raise PyTorch's errors for a gradient that was given for an output."""
    if g._shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
            f"{Size(shape)}."
        )
    if dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {dtype}."
        )


def _root_gradient(e, g):
    """Return the gradient of a gradient edge: `g` if given, else ones for an output of one element."""
    node, nr = e
    shape, dtype, device = node._out_meta[nr]
    if g is not None:
        _check_root(0, g, shape, dtype)
        return g
    _check_implicit(shape, dtype)
    return T.ones(shape, dtype=dtype, device=device)


_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. "
    "If you have to use this function, make sure to reset the .grad fields of your parameters to None after use to "
    "break the cycle and avoid the leak."
)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulate gradients of tensors into the leaves of the graph."""
    if CONTEXT.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    inputs = None if inputs is None else _inputs(inputs, "backward")
    roots, grads = _roots(_tensors(tensors), None if grad_tensors is None else _tensors(grad_tensors))
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warn_once(_CYCLE)
    if inputs is None:
        run_backward(roots, grads, keep, create_graph)
        return
    for t in inputs:
        if isinstance(t, Tensor):
            t.retain_grad()
    edges = [e for t in inputs for e in _input_edges(t)]
    run_backward(roots, grads, keep, create_graph, edges, accumulate=True)


def _input_edges(t):
    """Return the edges at which the gradient of an input arrives: one, except for some layouts."""
    if not isinstance(t, Tensor) and not hasattr(t, "output_nr"):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    edges = [t[:2]] if not isinstance(t, Tensor) else [edge(place) for place in (t._places() if t._of_layout else (t,))]
    if None in edges:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edges


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    run_batches=None,
    materialize_grads=False,
):
    """Return the gradients of outputs with respect to inputs, instead of accumulating them.

    run_batches(fn, grad_outputs, size): given if grad_outputs are batched; returns fn(grad_outputs) for each entry of
    the batch, computed in one call.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outs, ins = _tensors(outputs), _inputs(inputs, "grad")
    if not only_inputs:
        warnings.warn(_IGNORED, FutureWarning, stacklevel=2)
    gos = None if grad_outputs is None else _tensors(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if run_batches is not None:
        size = _check_batches(outs, (None,) * len(outs) if gos is None else gos)
        found = run_batches(lambda each: _found(outs, ins, each, keep, create_graph, allow_unused), gos, size)
    else:
        found = _found(outs, ins, gos, keep, create_graph, allow_unused)
    if materialize_grads:
        if any(g is None and not isinstance(t, Tensor) for g, t in zip(found, ins)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        found = [t.new_zeros(t._shape, requires_grad=create_graph) if g is None else g for g, t in zip(found, ins)]
    return dict(zip(inputs, found)) if inputs.__class__ is dict else tuple(found)


_IGNORED = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
    "of the graph, please use torch.autograd.backward."
)


def _found(outs, ins, gos, keep, create_graph, allow_unused):
    """Return the gradients of one pass."""
    roots, grads = _roots(outs, gos)
    places = [_input_edges(t) for t in ins]
    got = iter(run_backward(roots, grads, keep, create_graph, list(itertools.chain(*places))))
    result = []
    for i, (edges, t) in enumerate(zip(places, ins)):
        g, *more = [next(got) for _ in edges]
        if isinstance(t, Tensor) and t._of_layout:
            g = t._gradient_of([g, *more])
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        result.append(g)
    return result
