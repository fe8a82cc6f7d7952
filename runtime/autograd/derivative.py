"""Compile the derivatives of declared operators: what a call must save, and how gradients are computed from it.

Source is generated for each operator, because it runs at every step of every program: the lines that create the node of
a call (also inlined in the operator's own call, see codegen.py), and backward(node, gs, args, outs).
"""

import inspect
import itertools
import traceback
from functools import cached_property

from ..classes import NUMBERS_OR_NONE, direct
from ..codegen import Source
from ..context import CONTEXT, PROCESS
from ..registry import T
from ..warn import of_runtime
from .engine import run_backward
from .graph import (
    DETACHED,
    FREED,
    OpNode,
    Saved,
    SavedList,
    accumulator,
    edge,
    meta_of,
    modified,
    needs_among,
    save_list,
    unpacked,
)
from .modes import next_sequence


def zeros(shape, dtype, device):
    """Return zeros, the gradient of an output that was not used."""
    return T.zeros(shape, dtype=dtype, device=device)


def _gradient(node, gs, k):
    g = gs[k] if k < len(gs) else None
    return zeros(*node._out_meta[k]) if g is None else g


BY_PARTS = "the derivative of a composite: that of the operators it calls, which are called again"


def by_parts(fn, schema):
    """Return {argument names: formula} for a function composed of other operators, which the formula calls again.

    No intermediate results are saved, so this is for functions that are cheap compared with their gradients.
    """
    at = schema.tensor_args
    names = [a.name for a in schema.arguments]

    def formula(needs, gs, *args):
        again, inputs = CONTEXT.grad, list(args)
        with CONTEXT.set(grad=True):
            for i in itertools.compress(at, needs):
                inputs[i] = (
                    [_afresh(t, again) for t in args[i]] if schema.arguments[i].list else _afresh(args[i], again)
                )
            outs = fn(*inputs)
            reached = [
                (edge(o), g)
                for o, g in zip(outs if isinstance(outs, (tuple, list)) else (outs,), gs)
                if g is not None and o._requires_grad
            ]
            sources = [
                t
                for i in itertools.compress(at, needs)
                for t in (inputs[i] if schema.arguments[i].list else (inputs[i],))
            ]
            wanted = [edge(t) for t in sources if t._requires_grad]
            found = iter(run_backward([e for e, _ in reached], [g for _, g in reached], True, again, wanted))
        grads = iter([next(found) if t._requires_grad else None for t in sources])
        if schema.arguments[at[0]].list:
            return [*grads]
        grads = [next(grads) if needed else None for needed in needs]
        return grads if len(at) > 1 else grads[0]

    formula.__signature__ = inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("needs", "gs", *names)]
    )
    return {tuple(names[i] for i in at): formula}


def _afresh(t, again):
    """Return the tensor that the repeated call of a composite is differentiated with respect to.

    This is `t` itself if it requires no gradient. Otherwise it is an alias of `t` if the gradient must be
    differentiable too (`again`), else a detached tensor.
    """
    if not t._requires_grad:
        return t
    return T._alias(t) if again else t.detach()._requiring_grad()


def _pack(node):
    """Pass the tensors saved by a node to the active saved_tensors_hooks, in PyTorch's order: by arguments' names."""
    saved, arguments = list(node.saved), node.op.schema.arguments
    for i in sorted(range(len(saved)), key=lambda i: arguments[i].name):
        if node.versions[i] is not None:
            saved[i] = Saved(saved[i])
    node.saved, node.versions = tuple(saved), (None,) * len(saved)


class _ForwardTrace(str):
    """The stack trace of the forward call that created a node.

    during: the node whose backward was running then, or None.
    """

    __slots__ = ("during",)


def forward_trace():
    """Return the program's stack trace, without the innermost frames of the runtime and of generated functions."""
    frames = traceback.extract_stack()
    while frames and of_runtime(frames[-1].filename):
        frames.pop()
    trace = _ForwardTrace("".join(traceback.format_list(frames)))
    trace.during = CONTEXT.node if CONTEXT.depth else None
    return trace


# globals of the generated code that records a call
RECORDING = {
    "CONTEXT": CONTEXT,
    "NUMBERS": NUMBERS_OR_NONE,
    "Saved": Saved,
    "accumulator": accumulator,
    "edge": edge,
    "forward_trace": forward_trace,
    "meta_of": meta_of,
    "new": object.__new__,
    "next_sequence": next_sequence,
    "pack": _pack,
    "save_list": save_list,
}


def _has_others(values):
    """Whether some value in a list is a tensor of a class that may override operators."""
    return any(v.__class__ not in direct.with_all for v in values)


# globals of the generated code that is a node's backward
RUNNING = {
    "CONTEXT": CONTEXT,
    "DETACHED": DETACHED,
    "FREED": FREED,
    "PROCESS": PROCESS,
    "Saved": Saved,
    "SavedList": SavedList,
    "has_others": _has_others,
    "modified": modified,
    "needs_among": needs_among,
    "plain": direct.with_all,
    "unpacked": unpacked,
}


class Derivative:
    """The compiled derivative of an operator.

    reads: for each formula, (positions among the differentiable arguments, arguments it reads, outputs it reads).
    shapes: {name: position} of the differentiable arguments whose shape a formula reads.
    record(out, args): creates the node of a call and attaches it to the outputs. record_lines() returns its source
    lines, over the arguments a0, a1, ... and `out`.
    """

    def __init__(self, op):
        self.op, schema = op, op.schema
        formulas = (
            {schema.arguments[schema.tensor_args[0]].name: op.derivative} if callable(op.derivative) else op.derivative
        )
        entries = [((k,) if isinstance(k, str) else tuple(k), fn) for k, fn in formulas.items() if fn is not None]
        index = {a.name: i for i, a in enumerate(schema.arguments)}
        order = sorted({n for names, _ in entries for n in names}, key=index.__getitem__)
        self.diff = [index[n] for n in order]
        self.list_at = next((k for k, i in enumerate(self.diff) if schema.arguments[i].list), None)
        self.reads, self.shapes, steps = [], {}, []
        for names, fn in entries:
            reader = _Reader(self, index, order, [order.index(n) for n in names])
            steps.append((reader.targets, fn, [reader.expression(p) for p in inspect.signature(fn).parameters]))
            self.reads.append((reader.targets, reader.arguments, reader.outputs))
        self.saves_output = any(outputs for _, _, outputs in self.reads)
        self.backward, run = self._backward(steps), self._run(steps)
        name = op.options.node
        space = op.namespace if op.namespace in ("linalg", "special") else ""
        label = (
            name if isinstance(name, str) else "".join(w.title() for w in (space, *op.name.split("_"))) + "Backward0"
        )
        body = {
            "op": op,
            "formulas": staticmethod(self.backward),
            "run": run,
            "embeds": op.options.embeds,
            "__slots__": (),
            "__module__": "builtins",
        }
        if callable(name):
            body["choose_name"] = staticmethod(name)
        self.node_class = type(label, (OpNode,), body)
        self.record = self._record()

    def slot(self, k):
        """Return the source of the index, among the node's edges, of the k-th differentiable argument."""
        return str(k) if self.list_at is None or k <= self.list_at else f"{k - 1} + n"

    def _backward(self, steps):
        source = Source(
            "backward", "node, gs, args, outs", gradient=_gradient, CONTEXT=CONTEXT, needs_among=needs_among
        )
        return self._formulas(source, steps).function(f"backward of {self.op.full}")

    def _run(self, steps):
        """Generate run(node, gs), the whole backward of a node in one function.

        It checks the saved tensors that formulas read, and computes the gradients.
        """
        source = Source("run", "node, gs", gradient=_gradient, **RUNNING)
        source.add("args, outs = node.saved, node.outs", "if args is None:", "    raise RuntimeError(FREED)")
        read = sorted(set().union(*(arguments for _, arguments, _ in self.reads)))
        lists = {i for i in read if self.op.schema.arguments[i].list}
        source.add(*["versions = node.versions"] * bool(read))
        for i in read:
            asked = f"versions[{i}] is not None{self._matters(i, source)}"
            source.add(f"a = args[{i}]", f"if {asked}:", "    vc = a._vc")
            source.add(f"    if (0 if vc is None else vc[0]) != versions[{i}]:")
            source.add(f"        raise modified(a, versions[{i}], a._grad_fn, a._output_nr)")
            source.add(f"elif a.__class__ is {'SavedList' if i in lists else 'Saved'}:", "    args = unpacked(args)")
        source.add("if DETACHED:", "    node._refuse_detached(args)")
        source.add(*["outs = outs and [o and o.get() for o in outs]"] * self.saves_output)
        classes = [f"args[{i}].__class__ not in plain" for i in read if i not in lists]
        classes += [f"args[{i}] is not None and has_others(args[{i}])" for i in sorted(lists)]
        classes += ["has_others(gs)" if self.op.schema.several else "gs[0].__class__ not in plain"]
        source.add(f"if PROCESS.active or {' or '.join(classes)}:", "    return node._apart(gs, args, outs)")
        return self._formulas(source, steps).function(f"backward of a node of {self.op.full}")

    def _matters(self, i, source):
        """Return a source condition for checking the version of an argument, where its declaration has one (`reads`).

        Where the gradients are differentiated again, all values matter that do at all.
        """
        arguments = self.op.schema.arguments
        readers = (self.op.options.reads or {}).get(arguments[i].name)
        if not readers:  # always, or never: then no version is saved
            return ""
        if callable(readers):
            source.names[f"matters{i}"] = readers
            return f" and (CONTEXT.grad or matters{i}(args, node.needs))"
        needed = [f"node.needs[{k}]" for k, i in enumerate(self.diff) if arguments[i].name in readers]
        return f" and (CONTEXT.grad or {' or '.join(needed)})"

    def _formulas(self, source, steps):
        """Add the lines that compute the gradients, over the names node, gs, args and outs."""
        source.add("needs = node.needs", "result = [None] * len(node._edges)")
        if len(self.diff) > 1:
            narrowed = f"needs_among(node, CONTEXT.restricted, {self.list_at})"
            source.add("if CONTEXT.restricted is not None:", f"    needs = {narrowed}")
        if self.list_at is not None:
            source.add(f"n = len(result) - {len(self.diff) - 1}")
        for s, (targets, fn, read) in enumerate(steps):
            source.names[f"formula{s}"] = fn
            call = f"formula{s}({', '.join(read)})"
            source.add(f"if {' or '.join(f'needs[{t}]' for t in targets)}:")
            if len(targets) > 1:
                source.add(f"r = {call}", depth=2)
                for k, t in enumerate(targets):
                    source.add(f"if needs[{t}]:", f"    result[{self.slot(t)}] = r[{k}]", depth=2)
            elif targets[0] == self.list_at:
                source.add(f"r = {call}", f"result[{targets[0]} : {targets[0]} + len(r)] = r", depth=2)
            else:
                source.add(f"result[{self.slot(targets[0])}] = {call}", depth=2)
        return source.add("return tuple(result)")

    def _record(self):
        return self._recorder("record", "out, args", self.record_lines())

    @cached_property
    def save(self):
        """Generate save(args), the first half of record(): it creates a node that is not attached to an output yet.

        Only for derivatives whose formulas read no output.
        """
        return self._recorder("save", "args", self._save_lines())

    @cached_property
    def hang(self):
        """Generate hang(node, out), the second half of record(): it attaches the node to the outputs."""
        return Source("hang", "node, out").add(*self._output_lines()).function(f"outputs of {self.op.full}")

    def _recorder(self, name, parameters, lines):
        args = self.op.schema.arguments
        source = Source(name, parameters, **self.names(), defaults=tuple(a.default for a in args))
        source.add(
            f"if len(args) < {len(args)}:",
            "    args += defaults[len(args) :]",
            f"{''.join(f'a{i}, ' for i in range(len(args)))} = args",
        )
        return source.add(*lines, "return node").function(f"{name} of {self.op.full}")

    def names(self):
        """Return the globals that record_lines() needs."""
        return {**RECORDING, "node_class": self.node_class}

    def record_lines(self, tensors=None):
        """Return source lines that create the node of a call and attach it to `out`.

        Afterwards the variable `node` holds the node. tensors: see pipeline._stages.
        """
        return self._save_lines(tensors) + self._output_lines()

    def _save_lines(self, tensors=None):
        tensors = (
            {i for i, a in enumerate(self.op.schema.arguments) if a.declared == "Tensor"}
            if tensors is None
            else tensors
        )
        lines = ["node = new(node_class)", "node._seq = next_sequence()"]
        edges, metas = [], []
        for k, i in enumerate(self.diff):
            star = "*" if k == self.list_at else ""
            edges.append(f"{star}e{k}, ")
            metas.append(f"{star}m{k}, ")
            lines += self._edge_lines(k, i, i in tensors)
        saved, versions = zip(*[self._saved(i, i in tensors) for i in range(len(self.op.schema.arguments))])
        lines += [
            f"node._edges = ({''.join(edges)})",
            f"node._in_meta = ({''.join(metas)})",
            f"node.needs = ({''.join(f'n{k}, ' for k in range(len(self.diff)))})",
            f"node.saved = ({', '.join(saved)},)",
            f"node.versions = ({', '.join(versions)},)",
            "if CONTEXT.saved_hooks:",
            "    pack(node)",
            "if CONTEXT.anomaly:",
            "    node.trace = forward_trace()",
        ]
        return lines

    def _edge_lines(self, k, i, tensor):
        """Return source lines that set the variables e, m and n of a differentiable argument.

        e: its edge; m: (shape, dtype, device); n: whether it needs a gradient.
        """
        if k == self.list_at:
            return [
                f"e{k} = [None if t is None else edge(t) for t in a{i}]",
                f"m{k} = [None if t is None else meta_of(t) for t in a{i}]",
                f"n{k} = any(e is not None for e in e{k})",
            ]
        meta = f"m{k} = (a{i}._shape, a{i}.dtype, a{i}.device)"
        number = [] if tensor else [f"if a{i}.__class__ in NUMBERS:", f"    e{k} = m{k} = None", f"    n{k} = False"]
        return [
            *number,
            f"{'el' * bool(number)}if a{i}._requires_grad:",
            f"    fn = a{i}._grad_fn if a{i}._view is None else a{i}._get_grad_fn()",
            f"    e{k} = (accumulator(a{i}), 0) if fn is None else (fn, a{i}._output_nr)",
            f"    {meta}",
            f"    n{k} = True",
            "else:",
            f"    e{k} = None",
            f"    {meta}",
            f"    n{k} = False",
        ]

    def _saved(self, i, tensor):
        """Return source expressions for the value that is saved of an argument and for its version."""
        a, when = self.op.schema.arguments[i], self._when(lambda arguments, outputs: i in arguments)
        if not a.is_tensor:
            return f"a{i}", "None"
        if when == "False":
            return "None", "None"
        if a.list:
            return f"save_list(a{i}) if {when} else None", "None"
        if (self.op.options.reads or {}).get(a.name) == ():
            return f"a{i} if {when} else None", "None"
        number = "" if tensor else f" or a{i}.__class__ in NUMBERS"
        return f"a{i} if {when} else None", f"None if not ({when}){number} else 0 if a{i}._vc is None else a{i}._vc[0]"

    def _output_lines(self):
        op = self.op
        kept = sorted(set().union(*(outputs for _, _, outputs in self.reads)))
        when = {k: self._when(lambda arguments, outputs: k in outputs) for k in kept}
        need_any = " or ".join(dict.fromkeys(when.values()))
        if not op.schema.several:
            return [
                "node._out_meta = ((out._shape, out.dtype, out.device),)",
                "if out.dtype.category >= 2:",
                "    out._requires_grad = True",
                "    out._grad_fn = node",
                f"node.outs = [Saved(out, node, 0)] if {need_any} else None" if kept else "node.outs = None",
            ]
        of_node = {
            k: "" if k in op.options.non_differentiable else f", node, {k}" for k in kept
        }  # a non-differentiable output has no node, so Saved needs no second tensor
        outs = ", ".join(
            f"Saved(out[{k}]{of_node[k]}) if {when[k]} else None" if k in when else "None"
            for k in range(max(kept, default=-1) + 1)
        )
        return [
            "node._out_meta = [(t._shape, t.dtype, t.device) for t in out]",
            "for k, t in enumerate(out):",
            f"    if t.dtype.category >= 2 and k not in {tuple(op.options.non_differentiable)}:",
            "        t._requires_grad = True",
            "        t._grad_fn = node",
            "        t._output_nr = k",
            f"node.outs = [{outs}] if {need_any} else None" if kept else "node.outs = None",
        ]

    def _when(self, wanted):
        """Return the source condition, over n0, n1, ..., that a formula selected by `wanted` is needed."""
        targets = {t for ts, arguments, outputs in self.reads if wanted(arguments, outputs) for t in ts}
        return " or ".join(f"n{t}" for t in sorted(targets)) or "False"


class _Reader:
    """The parameters of one formula. Collects the arguments and outputs that must be saved for it."""

    def __init__(self, derivative, index, order, targets):
        self.derivative, self.index, self.order, self.targets = derivative, index, order, targets
        self.arguments, self.outputs = set(), set()

    def expression(self, name):
        """Return the source expression for a parameter of the formula."""
        known = {
            "gs": "gs",
            "node": "node",
            "needs": f"[needs[t] for t in {self.targets}]",
            "g": "gradient(node, gs, 0)",
        }
        if name in known:
            return known[name]
        if name in self.index:
            if self.derivative.op.schema.arguments[self.index[name]].is_tensor:
                self.arguments.add(self.index[name])
            return f"args[{self.index[name]}]"
        k = 0 if name in ("out", "result") else int(name[3:]) if name[:3] == "out" and name[3:].isdigit() else None
        if k is not None:
            self.outputs.add(k)
            return f"outs[{k}]"
        if name[0] == "g" and name[1:].isdigit():
            return f"gradient(node, gs, {name[1:]})"
        for suffix, k, field in (("_shape", 0, "_shape"), ("_dtype", 1, "dtype")):
            if name.endswith(suffix) and name[: -len(suffix)] in self.index:
                return self._meta(name[: -len(suffix)], k, field)
        raise TypeError(
            f"{self.derivative.op.schema.text}: a derivative names '{name}', which is neither an argument, nor g, "
            f"out, needs"
        )

    def _meta(self, argument, k, field):
        """Return the source of an argument's shape or dtype, which the node stores for differentiable arguments."""
        if argument not in self.order:
            self.arguments.add(self.index[argument])
            return f"args[{self.index[argument]}].{field}"
        at = self.order.index(argument)
        if at == self.derivative.list_at:
            return f"[m[{k}] for m in node._in_meta[{at} : {at} + n]]"
        if k == 0 and self.derivative.list_at is None:
            self.derivative.shapes[argument] = at
        return f"node._in_meta[{self.derivative.slot(at)}][{k}]"
