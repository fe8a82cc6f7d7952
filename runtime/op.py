"""One declaration for each operator, and the one loop that makes everything else of it.

`op(...)` declares an operator with a kernel, `view(...)` one that only changes the geometry, `composite(...)` a function over
other operators. From each declaration come, when first asked for: torch.f, Tensor.f, Tensor.f_, out=, the signature, the meta
kernel and the autograd node.
"""

import inspect
import traceback
from _thread import _count as threads
from collections import namedtuple

import numpy as np

from . import dtypes as dt
from . import outs
from .autograd import MODE, TASK, OpNode, Saved, accumulator, check_inplace, edge, fit, meta_of, next_sequence, note_view, rebase, save_list
from .backend import get as backend
from .device import CPU, META
from .overrides import IN_PYTHON, plain, run_overridden
from .overrides import STATE as OVERRIDES
from .schema import NUMPY_NAMES, Schema, accepts, bind, spoken, type_error, type_name
from .tensor import INFERENCE, Tensor, alias, check_writable, empty, meta_tensor, numel, strided_view, wrap

# elementwise type promotion, PyTorch's names
DEFAULT, NO_OPMATH, INT_TO_FLOAT, ALWAYS_BOOL, COMPLEX_TO_FLOAT, BOOL_TO_LONG = (
    "DEFAULT",
    "NO_OPMATH",
    "INT_TO_FLOAT",
    "ALWAYS_BOOL",
    "COMPLEX_TO_FLOAT",
    "BOOL_TO_LONG",
)

REGISTRY = {}  # namespace -> name -> [Op]
_TENSOR_ONLY = {}  # name -> [Op] that are methods only


class Op:
    """A declared operator."""

    def __init__(self, schema, prim, promote, derivative, meta, prepare, call, geometry, fn, options):
        self.schema = schema
        self.name, self.namespace = schema.name, schema.namespace
        self.key = schema.name + ("." + schema.overload if schema.overload else "")
        self.full = self.key if schema.namespace in ("torch", "Tensor") else schema.namespace + "." + self.key
        self.prim, self.promote, self.derivative, self.meta, self.prepare = prim, promote, derivative, meta, prepare
        self.prim_call, self.geometry, self.fn, self.options = call, geometry, fn, options
        self.tensor_args = schema.tensor_args
        self.is_tensor = tuple(a.is_tensor for a in schema.args)
        self.operands = [i for i in self.tensor_args if not schema.args[i].list]
        self.attrs = [] if options.get("alpha") else [i for i in range(len(schema.args)) if i not in self.tensor_args]
        self._call = self._formulas = None
        self.impls = {}
        # general operators with one result whose first tensor argument chooses the kernel: kernels by dtype
        self.quick, self.large = {}, {}
        self.first = self.tensor_args[0] if self.tensor_args and "key" not in options and not any(schema.args[i].list for i in self.tensor_args) else None

    @property
    def call(self):
        """The operator on schema-ordered arguments, recording gradients."""
        c = self._call
        if c is None:
            c = self._call = _maker(self)(self)
        return c

    def __repr__(self):
        return f"<op {self.full}>"

    # -------------------------------------------------------- autograd
    @property
    def formulas(self):
        if self._formulas is None:
            self._formulas = _Formulas(self)
        return self._formulas

    def record(self, out, args):
        """Make the node of this call and hang it on its outputs."""
        self.record = self.formulas.record
        return self.record(out, args)


_NUMBERS = frozenset((int, float, bool, complex, type(None)))


class _Formulas:
    """A compiled derivative.

    record(out, args) makes the node: edges, what the formulas in need will read, nothing else. backward(node, grads, args, outs)
    gives a gradient for each edge. Both are written out for the operator, since they run at every step of every program.
    """

    def __init__(self, op):
        schema, d = op.schema, op.derivative
        if callable(d):
            d = {schema.args[op.tensor_args[0]].name: d}
        entries = [((k,) if isinstance(k, str) else tuple(k), fn) for k, fn in d.items() if fn is not None]
        index = {a.name: i for i, a in enumerate(schema.args)}
        order = sorted({n for names, _ in entries for n in names}, key=index.__getitem__)
        label = "".join(w.title() for w in op.name.split("_")) + "Backward0"
        self.node_class = type(label, (OpNode,), {"op": op, "__slots__": (), "__module__": "builtins"})
        self.diff = [index[n] for n in order]
        self.list_at = next((k for k, i in enumerate(self.diff) if schema.args[i].list), None)
        steps = []  # (positions among the differentiable, formula, expressions of its parameters)
        self.reads = []  # (positions, arguments read, outputs read)
        for names, fn in entries:
            targets, reads, outs = [order.index(n) for n in names], set(), set()
            found = [self._expression(p, index, order, schema, targets, reads, outs) for p in inspect.signature(fn).parameters]
            steps.append((targets, fn, found))
            self.reads.append((targets, reads, outs))
        self.backward = self._backward(steps)
        self.record = self._recorder(op)

    def _slot(self, k):
        """Where the gradient of the k-th differentiable argument stands among the edges."""
        return str(k) if self.list_at is None or k <= self.list_at else f"{k - 1} + _n"

    def _expression(self, p, index, order, schema, targets, reads, outs):
        """What a formula's parameter reads, as source; notes the arguments and outputs that must be saved for it."""
        known = {"gs": "gs", "node": "node", "needs": f"[needs[t] for t in {targets}]", "g": "_grad(node, gs, 0)"}
        if p in known:
            return known[p]
        if p in index:
            if schema.args[index[p]].is_tensor:
                reads.add(index[p])
            return f"args[{index[p]}]"
        k = 0 if p in ("out", "result") else int(p[3:]) if p[:3] == "out" and p[3:].isdigit() else None
        if k is not None:
            outs.add(k)
            return f"outs[{k}]"
        if p[0] == "g" and p[1:].isdigit():
            return f"_grad(node, gs, {p[1:]})"
        for suffix, k in (("_shape", 0), ("_dtype", 1)):
            name = p[: -len(suffix)]
            if p.endswith(suffix) and name in index:
                if name not in order:
                    reads.add(index[name])
                    return f"args[{index[name]}].{('_shape', 'dtype')[k]}"
                at = order.index(name)
                if at == self.list_at:
                    return f"[m[{k}] for m in node._in_meta[{at}:{at} + _n]]"
                return f"node._in_meta[{self._slot(at)}][{k}]"
        raise TypeError(f"{schema.text}: a derivative names '{p}', which is neither an argument, nor g, out, needs")

    def _backward(self, steps):
        env, body = {"_grad": _grad}, ["needs = node.needs", "result = [None] * len(node._edges)"]
        if self.list_at is not None:
            body.append(f"_n = len(result) - {len(self.diff) - 1}")
        for s, (targets, fn, found) in enumerate(steps):
            env[f"_f{s}"] = fn
            call = f"_f{s}({', '.join(found)})"
            if len(targets) > 1:
                body.append(f"if {' or '.join(f'needs[{t}]' for t in targets)}:\n        r = {call}")
                body += [f"    if needs[{t}]: result[{self._slot(t)}] = r[{k}]" for k, t in enumerate(targets)]
            elif targets[0] == self.list_at:
                body.append(f"if needs[{targets[0]}]: r = {call}; result[{targets[0]}:{targets[0]} + len(r)] = r")
            else:
                body.append(f"if needs[{targets[0]}]: result[{self._slot(targets[0])}] = {call}")
        return _compile("backward(node, gs, args, outs)", [*body, "return tuple(result)"], env)

    def _recorder(self, op):
        args = op.schema.args
        env = {
            "_mode": MODE,
            "_new": object.__new__,
            "_class": self.node_class,
            "_seq": next_sequence,
            "_numbers": _NUMBERS,
            "_accumulator": accumulator,
            "_edge": edge,
            "_meta": meta_of,
            "_saved": Saved,
            "_list": save_list,
            "_pack": _pack,
            "_stack": traceback.format_stack,
            "_defaults": tuple(a.default for a in args),
        }
        body = [
            f"if len(args) < {len(args)}: args += _defaults[len(args):]",
            "node = _new(_class)",
            "node._pre_hooks = node._post_hooks = node._tensor_hooks = None",
            "node._seq = _seq()",
            f"{''.join(f'a{i}, ' for i in range(len(args)))} = args",
        ]
        edges, metas, needs = [], [], [f"n{k}" for k in range(len(self.diff))]
        for k, i in enumerate(self.diff):
            if k == self.list_at:
                body += [
                    f"e{k} = [None if t is None else _edge(t) for t in a{i}]",
                    f"m{k} = [None if t is None else _meta(t) for t in a{i}]",
                    f"n{k} = any(e is not None for e in e{k})",
                ]
                edges.append(f"*e{k}")
                metas.append(f"*m{k}")
                continue
            edges.append(f"e{k}")
            metas.append(f"m{k}")
            number = f"if a{i}.__class__ in _numbers: e{k} = m{k} = None; n{k} = False\n    el" if args[i].type != "Tensor" else ""
            body += [
                f"{number}if a{i}._requires_grad:\n"
                f"        fn = a{i}._grad_fn if a{i}._view is None else a{i}._get_grad_fn()\n"
                f"        e{k} = (_accumulator(a{i}), 0) if fn is None else (fn, a{i}._output_nr)\n"
                f"        m{k} = (a{i}._shape, a{i}.dtype, a{i}.device); n{k} = True\n"
                f"    else: e{k} = None; m{k} = (a{i}._shape, a{i}.dtype, a{i}.device); n{k} = False"
            ]
        saved, versions = [], []
        for i, a in enumerate(args):
            when = self._when(lambda reads, outs: i in reads)
            if not a.is_tensor:
                saved.append(f"a{i}")
                versions.append("None")
            elif a.list:
                saved.append(f"_list(a{i}) if {when} else None")
                versions.append("None")
            else:
                number = f" or a{i}.__class__ in _numbers" if a.type != "Tensor" else ""
                saved.append(f"a{i} if {when} else None")
                versions.append(f"None if not ({when}){number} else 0 if a{i}._vc is None else a{i}._vc[0]" if when != "False" else "None")
        body += [
            f"node._edges = ({''.join(e + ', ' for e in edges)})",
            f"node._in_meta = ({''.join(m + ', ' for m in metas)})",
            f"node.needs = ({''.join(n + ', ' for n in needs)})",
            f"node.saved = ({''.join(s + ', ' for s in saved)})",
            f"node.versions = ({''.join(v + ', ' for v in versions)})",
            "if _mode.saved_hooks: _pack(node)",
            "if _mode.anomaly: node.trace = ''.join(_stack()[:-3])",
        ]
        kept = sorted(set().union(*(outs for _, _, outs in self.reads)))
        when = {k: self._when(lambda reads, outs: k in outs) for k in kept}
        need_any = " or ".join(dict.fromkeys(when.values()))
        if "[]" in op.schema.returns or op.schema.returns.startswith("("):
            skip = tuple(op.options.get("non_differentiable", ()))
            body.append("node._out_meta = [(t._shape, t.dtype, t.device) for t in out]")
            outs = ", ".join(f"_saved(out[{k}], node, {k}) if {when[k]} else None" if k in when else "None" for k in range(max(kept, default=-1) + 1))
            body.append(f"node.outs = [{outs}] if {need_any} else None" if kept else "node.outs = None")
            body.append(
                "for k, t in enumerate(out):\n"
                f"        if t.dtype.category >= 2 and k not in {skip}: t._requires_grad = True; t._grad_fn = node; t._output_nr = k"
            )
        else:
            body.append("node._out_meta = ((out._shape, out.dtype, out.device),)")
            body.append(f"node.outs = [_saved(out, node, 0)] if {need_any} else None" if kept else "node.outs = None")
            body.append("if out.dtype.category >= 2: out._requires_grad = True; out._grad_fn = node")
        return _compile("record(out, args)", [*body, "return node"], env)

    def _when(self, wanted):
        """The condition, over what needs a gradient, under which something is read."""
        targets = {t for ts, reads, outs in self.reads if wanted(reads, outs) for t in ts}
        return " or ".join(f"n{t}" for t in sorted(targets)) or "False"


def _compile(head, body, env):
    exec(compile(f"def {head}:\n    " + "\n    ".join(body), f"<{head}>", "exec"), env)
    return env[head.split("(")[0]]


def _pack(node):
    """Under saved_tensors_hooks: hand what was saved to them."""
    node.saved = tuple(Saved(a) if v is not None else a for a, v in zip(node.saved, node.versions))
    node.versions = (None,) * len(node.saved)


def _grad(node, gs, k):
    g = gs[k] if k < len(gs) else None
    if g is None:
        shape, dtype, device = node._out_meta[k]
        g = zeros_like_meta(shape, dtype, device)
    return g


def zeros_like_meta(shape, dtype, device):
    return REGISTRY_FN("zeros")(shape, dtype=dtype, device=device)


# ------------------------------------------------------------------------------------------------ declaring
def op(schema, prim=None, *, promote=None, derivative=None, meta=None, prepare=None, call=None, **options):
    """Declare an operator with a kernel.

    schema: PyTorch's signature string. prim: the PyBoost primitive, on every device unless a backend says otherwise.
    promote: elementwise type promotion (makes it elementwise). derivative: a formula, or {argument: formula}; formulas name what they
    read: g (or g0, g1, gs), out (out0, ...), arguments, ARG_shape, ARG_dtype, needs. prepare(*args) -> args normalises.
    meta(*args) -> (shape, dtype), with strides where they are not contiguous, or a list of them checks and infers.
    call(prim, *args) maps arguments to the primitive's order.
    options: method, function, inplace, out (which surfaces exist), alias, non_differentiable, varargs, autocast.
    """
    return _declare(Op(Schema(schema), prim, promote, derivative, meta, prepare, call, None, None, options))


def view(schema, geometry, *, derivative=None, **options):
    """Declare a view: geometry(self, *args) -> (shape, stride or None, offset), or a list of them."""
    return _declare(Op(Schema(schema), None, None, derivative, None, None, None, geometry, None, options))


def composite(schema, **options):
    """Declare a function over dispatched operators; it needs neither kernel nor derivative."""

    def deco(fn):
        o = _declare(Op(Schema(schema), None, None, None, None, None, None, None, fn, options))
        fn.op = o
        return fn

    return deco


def _declare(o):
    names = [o.name, *o.options.get("alias", ())]
    for full in names:
        ns, name = (o.namespace, full) if "." not in full else full.rsplit(".", 1)
        _TENSOR_ONLY.setdefault(name, []).append(o) if ns == "Tensor" else REGISTRY.setdefault(ns, {}).setdefault(name, []).append(o)
    return o


def is_method(o):
    return o.options.get(
        "method", o.namespace in ("torch", "Tensor") and bool(o.schema.args) and o.schema.args[0].name == "self" and o.schema.args[0].is_tensor
    )


def is_function(o):
    return o.options.get("function", o.namespace != "Tensor")


def is_inplace(o):
    return o.options.get("inplace", o.promote is not None and o.schema.args[0].name == "self")


def has_out(o):
    returns = o.schema.returns
    return o.options.get("out", o.geometry is None and o.name not in outs.NONE and returns.lstrip("(").startswith("Tensor") and "[]" not in returns)


# ------------------------------------------------------------------------------------------------ calls by kind
def _maker(o):
    if o.fn is not None:
        return _make_composite
    if o.geometry is not None:
        return _make_view
    if o.promote is not None:
        n = len(o.operands)
        alpha = o.options.get("alpha", False)
        return (
            _make_unary
            if n == 1 and not o.prepare
            else _make_binary
            if n == 2 and len(o.operands) + alpha == len(o.schema.args) and (alpha or not o.prepare)
            else _make_pointwise
        )
    return _make_general


def _make_composite(o):
    """The function; one that changes arguments (`mutates`: which) is first offered to the backend as a single kernel."""
    mutates = o.options.get("mutates")
    if mutates is None:
        return o.fn

    def call(*args):
        if MODE.grad and requires_grad(o, args) or not backend(args[0].device.type).update(o, args[0], args):
            return o.fn(*args)
        for i in mutates:
            args[i]._bump()
        return args[0]

    return call


def requires_grad(o, args):
    for i in o.tensor_args:
        a = args[i]
        if a.__class__ is list or a.__class__ is tuple:
            for t in a:
                if t is not None and t._requires_grad:
                    return True
        elif a is not None and a.__class__ not in _NUMBERS and a._requires_grad:
            return True
    return False


def common_device(o, args):
    """The device of the call; 0-d CPU tensors may meet any device, others must agree."""
    for i in o.tensor_args:
        if getattr(args[i], "device", None) is not CPU:
            break
    else:
        return CPU
    device = None
    zero = None
    for i in o.tensor_args:
        a = args[i]
        for t in a if a.__class__ in (list, tuple) else (a,):
            if t is None or t.__class__ in _NUMBERS:
                continue
            d = t.device
            if d is device:
                continue
            if device is None and (t._shape or d is not CPU):
                device = d
            elif not t._shape and d is CPU:
                zero = d
            else:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, {device} and {d}! "
                    f"(when checking argument in method {o.full})"
                )
    return device or zero or CPU


_GENERAL = """
def call({params}):
    {prepare}
    if {on_cpu}:
        spec = meta({names})
        # a kernel used before takes the call, or leaves it to the backend by answering None
        kernel = quick.get({first}.dtype)
        out = None if kernel is None else kernel(spec, ({names},))
        if out is None:
            out = cpu_run(o, spec, ({names},))
    else:
        out = elsewhere(o, ({names},))
    {record}
    return out
"""


def _make_general(o):
    """prepare, meta, kernel, tape; written out for operators whose tensors are single arguments."""
    args = o.schema.args
    differentiable = o.derivative is not None
    if o.first is None:

        def call(*args):
            if o.prepare is not None:
                args = o.prepare(*args)
            out = _elsewhere(o, args)
            if differentiable and MODE.grad and requires_grad(o, args):
                o.record(out, args)
            return out

        return call
    names = [f"a{i}" for i in range(len(args))]
    tensors = [names[i] for i in o.tensor_args]
    sure = [args[i].type == "Tensor" for i in o.tensor_args]
    grads = " or ".join(f"{t}._requires_grad" if s else f"{t}.__class__ not in numbers and {t}._requires_grad" for t, s in zip(tensors, sure))
    source = _GENERAL.format(
        params=", ".join(n if a.required else f"{n}=defaults[{i}]" for i, (n, a) in enumerate(zip(names, args))),
        names=", ".join(names),
        prepare=f"{''.join(n + ', ' for n in names)} = prepare({', '.join(names)})" if o.prepare is not None else "pass",
        first=tensors[0],
        on_cpu=" and ".join(
            f"{t}.device is CPU" if s else f"({t}.__class__ in numbers or {t}.device is CPU)" if k else f"{t}.__class__ not in numbers and {t}.device is CPU"
            for k, (t, s) in enumerate(zip(tensors, sure))
        ),
        record=f"if ({grads}) and MODE.grad: o.record(out, ({', '.join(names)},))" if differentiable else "pass",
    )
    env = {
        "o": o,
        "prepare": o.prepare,
        "meta": o.meta,
        "quick": o.quick,
        "CPU": CPU,
        "numbers": _NUMBERS,
        "MODE": MODE,
        "cpu_run": backend("cpu").run,
        "elsewhere": _elsewhere,
        "defaults": tuple(a.default for a in args),
    }
    exec(compile(source, f"<{o.full}>", "exec"), env)
    return env["call"]


def _elsewhere(o, args):
    """The result of a call whose device is still to be found."""
    if o.tensor_args:
        device = common_device(o, args)
    else:
        device = args[next(i for i, a in enumerate(o.schema.args) if a.base == "Device")]
    spec = o.meta(*args)
    if device is META:
        return tuple(meta_tensor(*s) for s in spec) if spec.__class__ is list else meta_tensor(*spec)
    if device is CPU and not o.tensor_args:
        kernel = o.quick.get(spec[1])
        out = kernel and kernel(spec, args)
        if out is not None:
            return out
    return backend(device.type).run(o, spec, args)


def geometry_view(o, args, g):
    return strided_view(args[0], *g)


def _make_view(o):
    geometry, differentiable = o.geometry, o.derivative is not None
    multi = "[]" in o.schema.returns

    def call(self, *args):
        g = geometry(self, *args)
        if multi:
            out = tuple(strided_view(self, *x) for x in g)
            if self._requires_grad or MODE.grad:
                for t in out:
                    note_view(t, self, o.formulas.node_class.__name__)
            if MODE.grad and self._requires_grad:
                o.record(out, (self, *args))
            return out
        out = strided_view(self, *g)
        v = self._view
        note_view(out, self) if v is None or v.multi is None else note_view(out, self, v.multi)
        if differentiable and self._requires_grad and MODE.grad:
            o.record(out, (self, *args))
        return out

    return call


# ------------------------------------------------------------------------------------------------ elementwise
def broadcast_shapes(*shapes):
    n = max(map(len, shapes))
    out = [1] * n
    for s in shapes:
        off = n - len(s)
        for i, x in enumerate(s):
            y = out[off + i]
            if x != y:
                if y == 1:
                    out[off + i] = x
                elif x != 1:
                    raise RuntimeError(f"The size of tensor a ({y}) must match the size of tensor b ({x}) at non-singleton dimension {off + i}")
    return tuple(out)


def result_dtype(operands):
    """PyTorch's result_type over tensors and Python numbers."""
    dim = zero = wrapped = None
    for t in operands:
        if t is None:
            continue
        if isinstance(t, Tensor):
            d = t.dtype
            if t._shape:
                dim = d if dim is None else dt.promote_types(dim, d)
            else:
                zero = d if zero is None else dt.promote_types(zero, d)
        else:
            d = dt.scalar_dtype(t)
            wrapped = d if wrapped is None else dt.promote_types(wrapped, d)
    return _combine(dim, _combine(zero, wrapped))


def _combine(high, low):
    if high is None:
        return low
    if low is None:
        return high
    if low.category <= high.category:
        return high
    return dt.TO_COMPLEX.get(high, low) if low.is_complex and high.is_floating_point else dt.promote_types(high, low)


def promoted(kind, common):
    """(computation dtype, result dtype) of a promotion kind."""
    if kind is INT_TO_FLOAT:
        if common.category < dt.FLOAT:
            common = dt.get_default_dtype()
        return common, common
    if kind is ALWAYS_BOOL:
        return common, dt.bool_
    if kind is COMPLEX_TO_FLOAT:
        return common, common.to_real()
    if kind is BOOL_TO_LONG:
        common = dt.int64 if common is dt.bool_ else common
    return common, common


def memory_order(shape, operands):
    """Dimensions from slowest to fastest as PyTorch's TensorIterator would lay the result out; None for contiguous."""
    n = len(shape)
    if n < 2:
        return None
    strides = []
    for t in operands:
        if not isinstance(t, Tensor):
            continue
        off = n - len(t._shape)
        st = t.stride()
        strides.append([0 if i < off or (t._shape[i - off] == 1 and shape[i] != 1) else st[i - off] for i in range(n)])
    if len(strides) == 1:
        own = [t for t in operands if isinstance(t, Tensor)][0]
        if own._shape == shape and own.is_contiguous():
            return None

    def compare(a, b):
        for s in strides:
            x, y = s[a], s[b]
            if x == 0 or y == 0:
                continue
            if x < y:
                return -1
            if x > y:
                return 1
            if shape[a] > shape[b]:
                return 1
        return 0

    perm = list(range(n - 1, -1, -1))
    for i in range(1, n):
        d1 = i
        for d0 in range(i - 1, -1, -1):
            c = compare(perm[d0], perm[d1])
            if c > 0:
                perm[d0], perm[d1] = perm[d1], perm[d0]
                d1 = d0
            elif c < 0:
                break
    perm.reverse()
    return None if perm == list(range(n)) else perm


def result_strides(shape, operands):
    """The strides of an elementwise result; None for contiguous."""
    if all(t._stride is None for t in operands if isinstance(t, Tensor)):
        return None
    order = memory_order(shape, operands)
    return order and strides_in_order(shape, order)


def permuted(t, order, n):
    """t with leading 1s up to rank n, then permuted: a plain view."""
    shape, st = t._shape, t.stride()
    pad = n - len(shape)
    shape, st = (1,) * pad + tuple(shape), (0,) * pad + tuple(st)
    shape, st = tuple(shape[i] for i in order), tuple(st[i] for i in order)
    from .tensor import is_contiguous

    return strided_view(t, shape, None if is_contiguous(shape, st) else st, t._offset)


def strides_in_order(shape, order):
    st, k = [0] * len(shape), 1
    for i in reversed(order):
        st[i] = k
        k *= shape[i] if shape[i] > 1 else 1
    return tuple(st)


def in_order(t, shape, order):
    """A fresh contiguous tensor of the permuted shape, seen in the original order of dimensions."""
    return strided_view(t, shape, strides_in_order(shape, order), 0)


def pointwise(o, args):
    """The elementwise pipeline: promotion, devices, broadcasting, memory order, kernel. Returns a fresh tensor."""
    operands = [args[i] for i in o.operands]
    attrs = [args[i] for i in o.attrs]
    device = common_device(o, args)
    keep = o.options.get("keep")
    common = result_dtype(operands if keep is None else [t for i, t in enumerate(operands) if i not in keep])
    compute, out_dtype = o.promote(common, *args) if callable(o.promote) else promoted(o.promote, common)
    tensors = [t for t in operands if isinstance(t, Tensor)]
    if not tensors and not o.options.get("numbers"):
        raise TypeError(f"{o.name.lstrip('_')}() received an invalid combination of arguments - got ({', '.join(map(_kind, operands))})")
    shape = tensors[0]._shape if len(tensors) == 1 else broadcast_shapes((), *[t._shape for t in tensors])
    order = None
    for t in tensors:
        if t._stride is not None and not o.options.get("contiguous"):
            order = memory_order(shape, tensors)
            break
    if device is META:
        return meta_tensor(shape, out_dtype, strides_in_order(shape, order) if order else None)
    if order is None:
        return backend(device.type).pointwise(o, operands, attrs, compute, out_dtype, tuple(shape))
    n = len(shape)
    ops = [permuted(t, order, n) if isinstance(t, Tensor) and t._shape else t for t in operands]
    r = backend(device.type).pointwise(o, ops, attrs, compute, out_dtype, tuple(shape[i] for i in order))
    return in_order(r, tuple(shape), order)


def _make_pointwise(o):
    differentiable, prepare = o.derivative is not None, o.prepare

    def call(*args):
        if prepare is not None:
            args = prepare(*args)
        out = pointwise(o, args)
        if differentiable and MODE.grad and requires_grad(o, args):
            o.record(out, args)
        return out

    return call


def _make_unary(o):
    differentiable, fast = o.derivative is not None, o.impls

    def call(self, *attrs):
        e = fast.get(self.dtype)
        if e is not None and self._stride is None and self.device is CPU and 0 not in self._shape and (e.limit is None or numel(self._shape) < e.limit):
            m = self._ms
            e.calls += 1
            if m is None:
                m = self._mstensor()
            out = wrap(e.fn(m, *attrs) if e.raw is None or attrs or threads() else e.raw(e.prim, [m]), self._shape, e.out)
        else:
            out = pointwise(o, (self, *attrs))
        if differentiable and self._requires_grad and MODE.grad:
            o.record(out, (self, *attrs))
        return out

    return call


def _make_binary(o):
    differentiable, fast = o.derivative is not None, o.impls
    scalar, fold = backend("cpu").scalar, o.prepare
    least = 1 if callable(o.promote) else 0  # a promotion of its own may refuse True and False

    def call(self, other, alpha=1):
        if alpha.__class__ is not int or alpha != 1:
            self, other, alpha = fold(self, other, alpha)
        c = other.__class__
        if c in _NUMBERS:
            # a number of a lower or equal category takes the tensor's dtype
            e = fast.get(self.dtype) if self.__class__ not in _NUMBERS else None
            if (
                e is not None
                and self._stride is None
                and self.device is CPU
                and least <= dt.SCALAR_CATEGORY.get(c, 9) <= self.dtype.category
                and 0 not in self._shape
                and self.dtype.category
                and (e.limit is None or numel(self._shape) < e.limit)
            ):
                m = self._ms
                e.calls += 1
                n = e.constants.get(other or str(other))  # 0.0 and -0.0 are one key
                if n is None:
                    n = scalar(other, self.dtype)
                out = wrap(e.fn(self._mstensor() if m is None else m, n), self._shape, e.out)
            else:
                out = pointwise(o, (self, other))
            if differentiable and self.__class__ not in _NUMBERS and self._requires_grad and MODE.grad:
                o.record(out, (self, other))
            return out
        if self.__class__ in _NUMBERS:
            out = pointwise(o, (self, other))
            if differentiable and other._requires_grad and MODE.grad:
                o.record(out, (self, other))
            return out
        d, s = self.dtype, self._shape
        e = fast.get(d)
        if (
            e is not None
            and other.dtype is d
            and other._shape == s
            and self._stride is None
            and other._stride is None
            and self.device is CPU
            and other.device is CPU
            and 0 not in s
            and (e.limit is None or numel(s) < e.limit)
        ):
            m, n = self._ms, other._ms
            e.calls += 1
            if m is None:
                m = self._mstensor()
            if n is None:
                n = other._mstensor()
            # one Python frame less where nobody is to be locked out
            out = wrap(e.fn(m, n) if e.raw is None or threads() else e.raw(e.prim, [m, n]), s, e.out)
        else:
            out = pointwise(o, (self, other))
        if differentiable and (self._requires_grad or other._requires_grad) and MODE.grad:
            o.record(out, (self, other))
        return out

    return call


# ------------------------------------------------------------------------------------------------ in place and out=
def inplace(o, self, args):
    """Compute, then write into self; returns self."""
    if self._vc is INFERENCE:
        check_writable(self)
    if self._storage is not None:
        outs.check_overlap(o, self, args[1:])
    if MODE.grad and (self._requires_grad or self._view is not None):
        check_inplace(self)
    below = o.options.get("operator")
    if below is not None and all(a is None for a in args[2:]):
        o, args = below, args[:2]
    record = MODE.grad and o.fn is None and o.derivative is not None and requires_grad(o, args)
    if not record and o.promote is not None and backend(self.device.type).update(o, self, args):
        self._bump()
        return self
    if o.fn is not None:
        r = o.fn(*(_past(self), *args[1:]) if MODE.grad and requires_grad(o, args) else args)
        _check_result(o, self, r)
        if MODE.grad and (r._requires_grad or self._requires_grad):
            return Tensor.copy_(self, r)
        write(self, r)
        return self
    kernel = backend(self.device.type).inplace(o)
    if kernel is not None:
        if o.prepare is not None:
            args = o.prepare(*args)
        o.meta(*args)
        node = o.record(alias(self), args) if record else None
        kernel(*args)
        self._bump()
        if node is not None:
            rebase(self, node)
        return self
    prev = MODE.grad
    MODE.grad = False
    try:
        r = o.call(*args)
    finally:
        MODE.grad = prev
    _check_result(o, self, r)
    if record:
        old_self = _before(o, args[0])
        if o.prepare is not None:
            args = o.prepare(*args)
        args = (old_self, *args[1:])
        node = o.record(r, args)
        write(self, r)
        if node.outs:
            node.outs = [Saved(self, node, 0)]
        rebase(self, node)
    else:
        write(self, r)
        if self._requires_grad and MODE.grad and self._grad_fn is not None and o.derivative is None:
            self._requires_grad = self._requires_grad
    return self


def _before(o, self):
    """What an in-place operator saves of self: a copy where a formula reads it."""
    return _past(self) if any(0 in reads for _, reads, _ in o.formulas.reads) else self


def _past(self):
    """A copy of self with its history: the value before an in-place operator."""
    old = REGISTRY_FN("clone")(self.detach())
    old._requires_grad, old._grad_fn, old._output_nr = self._requires_grad, self._get_grad_fn(), self._output_nr
    return old


def _check_result(o, self, r):
    if o.promote is COMPLEX_TO_FLOAT and self.dtype.is_complex:
        raise RuntimeError(f"In-place {o.name} is not supported for complex tensors.")
    if r._shape != self._shape:
        raise RuntimeError(f"output with shape {list(self._shape)} doesn't match the broadcast shape {list(r._shape)}")
    if not dt.can_cast(r.dtype, self.dtype):
        raise RuntimeError(f"result type {dt.scalar_name(r.dtype)} can't be cast to the desired output type {dt.scalar_name(self.dtype)}")


def write(dst, src):
    """Copy values into dst's memory and bump its version."""
    if dst._vc is INFERENCE:
        check_writable(dst)
    if dst.device is not META:
        stride = dst._stride
        if stride is not None and 0 in stride and any(s > 1 and st == 0 for s, st in zip(dst._shape, stride)):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                "Please clone() the tensor before performing the operation."
            )
        backend(dst.device.type).write(dst, src)
    vc = dst._vc
    if vc is None:
        dst._vc = [1]
    elif vc is not INFERENCE:
        vc[0] += 1


def out_dtype(dtype, out):
    """The dtype that a function from nothing computes in, given out=."""
    if dtype is None or dtype is out.dtype:
        return out.dtype
    raise RuntimeError(f"dtype {dt.scalar_name(dtype)} does not match dtype of out parameter ({dt.scalar_name(out.dtype)})")


def with_out(op, result, out, args=()):
    """Write a result, or a tuple of them, into out=."""
    full = op if op.__class__ is str else f"{op.namespace}.{op.name}"
    name = full.rpartition(".")[2]
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        part = full + ".dim" if name in ("max", "min") else full
        written = [with_out(part, r, x) for r, x in zip(result, out)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    if isinstance(out, (tuple, list)) and len(out) == 1:
        out = out[0]
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if MODE.grad and (out._requires_grad or result._requires_grad):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.")
    if out.device is not result.device:
        raise RuntimeError(f"Expected out tensor to be on {result.device}, but got {out.device} instead")
    if out.dtype is not result.dtype:
        outs.check_dtype(full, result.dtype, out.dtype)
    if args:
        outs.check_overlap(op, out, args)
    if out._shape != result._shape:
        if numel(out._shape):
            import warnings

            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out._shape)}, which does not match the "
                f"required output shape {list(result._shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
                "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
                "inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=4,
            )
        resize(out, result._shape, outs.strides(full, result, args))
    write(out, result)
    return out


def resize(t, shape, stride=None):
    """New memory for t, with strides where those are given."""
    if stride is None or 0 in shape or 0 in stride:
        new = empty(tuple(shape), t.dtype, t.device)
    elif t.device is META:
        new = meta_tensor(shape, t.dtype, stride)
    else:
        new = strided_view(empty((1 + sum((n - 1) * s for n, s in zip(shape, stride)),), t.dtype, t.device), shape, stride, 0)
    vc = t._vc
    t._replace(new)
    t._vc = vc


# ------------------------------------------------------------------------------------------------ public callables
_made = {}


def namespace(name):
    return REGISTRY.get(name, {})


def function(ns, name):
    """torch.<ns>.<name> as a Python function, made at the first call of this; None if there is no such operator."""
    key = (ns, name)
    f = _made.get(key)
    if f is None:
        ops = [o for o in REGISTRY.get(ns, {}).get(name, ()) if is_function(o)]
        if ops:
            f = _made[key] = _build(ops, name, ns, "function")
        elif ns == "torch" and name.endswith("_") and name not in _HAND_WRITTEN:
            ops = [o for o in REGISTRY["torch"].get(name[:-1], ()) if is_inplace(o) and is_function(o)]
            if ops and o_inplace_function(name):
                f = _made[key] = _build(ops, name, ns, "inplace_function")
        elif ns == "torch" and name in _HAND_WRITTEN:
            f = _made[key] = Tensor.__dict__[name]
        elif ns == "nn.functional" and name.endswith("_") and name[:-1] in REGISTRY.get(ns, {}):
            ops = [o for o in REGISTRY[ns][name[:-1]] if is_inplace(o)]
            if ops:
                f = _made[key] = _build(ops, name, ns, "inplace_function")
    return f


_INPLACE_FUNCTIONS = set(
    """abs_ acos_ acosh_ addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_
 bernoulli_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_ dropout_ embedding_renorm_ erf_ erfc_ exp_
 exp2_ expm1_ feature_alpha_dropout_ feature_dropout_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log_ log10_ log1p_ log2_ logit_
 nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_
 threshold_ trunc_ xlogy_ zero_""".split()
)


# methods written by hand that are functions of torch as well
_HAND_WRITTEN = frozenset(("detach", "detach_", "zero_", "fill_", "resize_as_"))


def o_inplace_function(name):
    return name in _INPLACE_FUNCTIONS


def REGISTRY_FN(name, ns="torch"):
    """The public function of an operator; for code below torch."""
    return method(name) if ns == "Tensor" else function(ns, name)


def method(name):
    """Tensor.<name>, made when first asked for; None if there is none."""
    key = ("Tensor", name)
    f = _made.get(key)
    if f is None:
        ops = [o for o in (*_TENSOR_ONLY.get(name, ()), *REGISTRY.get("torch", {}).get(name, ())) if is_method(o)]
        if ops:
            f = _made[key] = _build(ops, name, "Tensor", "method")
        elif name.endswith("_") and not name.endswith("__"):
            ops = [o for o in (*_TENSOR_ONLY.get(name[:-1], ()), *REGISTRY.get("torch", {}).get(name[:-1], ())) if is_inplace(o) and is_method(o)]
            if ops:
                f = _made[key] = _build(ops, name, "Tensor", "inplace")
    return f


def method_names():
    names = set(_TENSOR_ONLY)
    for ns in (REGISTRY.get("torch", {}), _TENSOR_ONLY):
        for n, ops in ns.items():
            if any(map(is_method, ops)):
                names.add(n)
                if any(map(is_inplace, ops)):
                    names.add(n + "_")
    return names | {n for space, n in _made if space == "Tensor"}


def function_names(ns):
    return {n for n, ops in REGISTRY.get(ns, {}).items() if any(map(is_function, ops))} | {n for space, n in _made if space == ns}


def _home(ns, name):
    return "torch.functional" if ns == "torch" and name in IN_PYTHON else "torch" if ns in ("torch", "Tensor") else "torch." + ns


def _build(ops, name, ns, kind):
    f = _build_one(ops[0], name, ns, kind) if len(ops) == 1 else _build_overloads(ops, name, ns, kind)
    f.__name__ = name
    f.__qualname__ = ("Tensor." if ns == "Tensor" else "") + name
    f.__module__ = _home(ns, name)
    if f.__doc__ is None:
        f.__doc__ = "\n".join(o.schema.text for o in ops) + ("" if ops[0].fn is None else "\n\n" + (ops[0].fn.__doc__ or ""))
    return f


def _result(o):
    names = o.schema.result_names
    if not names:
        return None
    name = o.name if o.namespace in ("torch", "Tensor") else f"{o.namespace.replace('.', '_')}_{o.name}"
    cls = _return_types.get(name)
    if cls is None:
        cls = _return_types[name] = _return_type(name, names)
    return cls


_return_types = {}


def _return_type(name, fields):
    """A class of torch.return_types: a tuple with names."""
    cls = namedtuple(name, fields)
    cls.__module__ = "torch.return_types"
    make = cls.__new__

    def new(c, *args):
        return make(c, *(args[0] if len(args) == 1 and len(fields) != 1 else args))

    cls.__new__ = new
    cls.__repr__ = lambda self: f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self)) + ")"
    cls.__reduce__ = lambda self: (cls, (tuple(self),))
    cls.n_fields = cls.n_sequence_fields = len(fields)
    cls.n_unnamed_fields = 0
    return cls


def return_type(name):
    for ns, ops in REGISTRY.items():
        prefix = "" if ns == "torch" else ns.replace(".", "_") + "_"
        for o in ops.get(name[len(prefix) :], ()) if name.startswith(prefix) else ():
            if o.schema.result_names:
                return _result(o)
    return None


_PLAIN_NAME = {"Tensor": "_plain", "Tensor?": "_plain_or_none", "Tensor|Scalar": "_plain_or_number", "Tensor|Scalar?": "_plain_or_number"}


def _build_one(o, name, ns, kind):
    """Write the Python function of a schema: binds by Python's own rules, converts numbers, takes the short way for plain tensors."""
    schema = o.schema
    is_method_ = kind in ("method", "inplace")
    args = list(schema.args)
    varargs = o.options.get("varargs")
    if not is_method_ and schema.tensor_args and args[schema.tensor_args[0]].name != varargs:  # torch.f(x, sizes): no star; torch.f(*tensors): one
        varargs = None
    params, names, kw_started = [], [], False
    env = {
        "_op": o,
        "_run": None,
        "_plain": plain,
        "_over": OVERRIDES,
        "_overridden": run_overridden,
        "_fail": _fail,
        "_int": _int,
        "_ints": _ints,
        "_scalar": _scalar,
        "_number": python_number,
        "_tensors": _tensors,
        "_inplace": inplace,
        "_with_out": with_out,
        "_out_dtype": out_dtype,
        "_plain_or_none": plain.with_none,
        "_plain_or_number": plain.with_numbers,
        "_np_names": _np_names,
        "_varargs": _varargs,
        "_plain_list": _plain_list,
        "_result": _result(o),
        "_float": _float,
        "_REQ": _REQ,
        "_dtypes": dt.PYTHON,
    }
    numpy_names = any(a.name in ("dim", "dims", "keepdim") for a in args)
    convert, checks, numbers = [], [], ""
    for i, a in enumerate(args):
        n = a.name if not (i == 0 and a.name == "self" and not is_method_) else "input"
        py = n if n not in ("from", "lambda") else n + "_"
        names.append(py)
        if varargs == a.name:
            params.append(f"*{py}_")
            kw_started = True
            params.append(f"{py}=_REQ")
            convert.append(f"{py} = _varargs({py}_, {py}, {a.name!r}, _op)")
            if a.is_tensor:
                checks.append(f"not _plain_list({py})")
            continue
        if a.kwonly and not kw_started:
            params.append("*")
            kw_started = True
        default = ""
        if not a.required:
            env[f"_d{i}"] = a.default
            default = f"=_d{i}"
        elif kw_started and varargs:
            default = "=_REQ"
        params.append(py + default)
        t = a.base.rstrip("?")
        if a.is_tensor:
            if a.list:
                checks.append(f"not _plain_list({py})")
            else:
                checks.append(f"{py}.__class__ not in {_PLAIN_NAME[a.type]}" + (f" and {py} is not None" if a.type == "Tensor|Scalar?" else ""))
                if a.base == "Tensor|Scalar":
                    numbers += f"\n        {py} = _number({py})"
        elif a.list and t == "int":
            convert.append(f"if {py} is not None: {py} = _ints({py}, {a.length!r})" if a.optional else f"{py} = _ints({py}, {a.length!r})")
        elif t == "int":
            convert.append(f"if {py}.__class__ is not int{f' and {py} is not None' if a.optional else ''}: {py} = _int({py})")
        elif t == "Scalar" and not a.list:
            convert.append(f"if {py}.__class__ not in _plain_or_number.numbers{f' and {py} is not None' if a.optional else ''}: {py} = _scalar({py})")
        elif t == "float" and not a.list:
            convert.append(f"if {py}.__class__ is not float{f' and {py} is not None' if a.optional else ''}: {py} = _float({py})")
        elif t == "ScalarType":
            convert.append(f"if {py}.__class__ is type: {py} = _dtypes[{py}]")
    out = kind == "function" and has_out(o)
    if out:
        if not kw_started:
            params.append("*")
        params.append("out=None")
    if numpy_names:
        params.append("**_np")
    tup = "(" + "".join(n + ", " for n in names) + ")"
    call_args = ", ".join(names)
    star = f", star={varargs}_" if varargs else ""
    over = f"_overridden(_public, _op, {tup}, {'out' if out else '_over'}, {kind!r}{star})"
    body = []
    if numpy_names:
        body.append(f"if _np: return _np_names(_public, _op, {tup}, _np{', out' if out else ''})")
    cond = " or ".join(["_over.active", *checks])
    first_conv = [c for c in convert if "_varargs" in c]
    body += first_conv
    body.append(f"if {cond}:\n        _r = {over}\n        if _r is not _over: return _r\n        _tensors(_op, {tup}, {name!r}, {is_method_}){numbers}")
    body.append("try:")
    inner = [c for c in convert if "_varargs" not in c]
    if out and "layout" in names:
        inner.append("if out is not None: dtype = _out_dtype(dtype, out)")
    if kind in ("inplace", "inplace_function"):
        inner.append(f"return _inplace(_op, {names[0]}, {tup})")
    else:
        env["_run"] = None
        inner.append(f"_r = _op.call({call_args})" if o.options.get("lazy_call") else f"_r = _run({call_args})")
        if _result(o) is not None:
            inner.append("_r = _result(*_r)")
        if out:
            inner.append(f"if out is not None: return _with_out(_op, _r, out, {tup})")
        inner.append("return _r")
    body += ["    " + s for s in inner]
    body.append(f"except (TypeError, AttributeError) as _e:\n        _fail(_e, _op, {tup}, {name!r}, {is_method_})\n        raise")
    src = f"def {name}({', '.join(params)}):\n    " + "\n    ".join(body)
    if kind not in ("inplace", "inplace_function"):
        env["_run"] = o.call
    exec(compile(src, f"<torch.{name}>", "exec"), env)
    f = env[name]
    env["_public"] = f
    f.__signature__ = _signature(args, is_method_, out, varargs)
    return f


class _Required:
    def __repr__(self):
        return "<required>"


_REQ = _Required()


def _signature(args, is_method_, out, varargs):
    P = inspect.Parameter
    ps, kw = [], False
    for i, a in enumerate(args):
        kw = kw or a.kwonly
        n = "input" if i == 0 and a.name == "self" and not is_method_ else a.name
        n = n if n not in ("from", "lambda") else n + "_"
        kind = (
            P.VAR_POSITIONAL
            if varargs == a.name
            else P.KEYWORD_ONLY
            if kw or (varargs and any(p.kind is P.VAR_POSITIONAL for p in ps))
            else P.POSITIONAL_OR_KEYWORD
        )
        ps.append(P(n, kind, default=P.empty if a.required or kind is P.VAR_POSITIONAL else a.default))
    if out:
        ps.append(P("out", P.KEYWORD_ONLY, default=None))
    try:
        return inspect.Signature(ps)
    except ValueError:
        return inspect.Signature([p.replace(default=P.empty) if p.kind is P.POSITIONAL_OR_KEYWORD else p for p in ps])


def _fail(e, o, values, name, is_method_):
    """After a TypeError or AttributeError: was it an argument of the wrong type? Then PyTorch's message, else the error as it is."""
    from_torch = isinstance(e, TypeError) and "(): argument '" in str(e)
    if from_torch:
        return
    args = o.schema.args
    err = type_error(name, args[1:] if is_method_ else args, values[1:] if is_method_ else values)
    if err is not None:
        raise err from None


def _tensors(o, values, name, is_method_):
    """PyTorch's TypeError for what is not a tensor where one must be."""
    for i in o.tensor_args:
        a = o.schema.args[i]
        if not accepts(a, values[i]):
            raise type_error(name, (a,), (values[i],), i + 1 - is_method_)


def _varargs(star, given, name, o):
    """The ints of f(2, 3), f((2, 3)) and f(size=(2, 3))."""
    if o.schema.tensor_args and name == o.schema.args[o.schema.tensor_args[0]].name:  # or the tensors of f(x, y) and f([x, y])
        return given if given is not _REQ else star[0] if len(star) == 1 and isinstance(star[0], (tuple, list)) else star
    if given is not _REQ:
        return _ints(given)
    if len(star) == 1 and (star[0].__class__ in (tuple, list) or isinstance(star[0], (tuple, list)) or isinstance(star[0], Tensor) and star[0]._shape):
        return _ints(star[0])
    return _ints(star)


def _plain_list(ts):
    if ts.__class__ is not list and ts.__class__ is not tuple:
        return False
    for t in ts:
        if t.__class__ not in plain and t is not None:
            return False
    return True


def _np_names(public, o, values, given, out=None):
    """Call again with NumPy's names (axis, keepdims) as PyTorch's."""
    kw = {}
    for a in o.schema.args:
        for alt in NUMPY_NAMES.get(a.name, ()):
            if alt in given:
                kw[a.name] = given.pop(alt)
    if given:
        raise TypeError(f"{o.name}() got an unexpected keyword argument '{next(iter(given))}'")
    if out is not None:
        kw["out"] = out
    pos = []
    for a, v in zip(o.schema.args, values):
        if a.name in kw:
            continue
        if a.kwonly or len(pos) < [x.name for x in o.schema.args].index(a.name):
            kw[a.name] = v
        else:
            pos.append(v)
    return public(*pos, **kw)


def _int(v):
    if isinstance(v, Tensor):
        return int(v.item()) if v.dtype.category <= dt.INT and numel(v._shape) == 1 else v.__index__()
    if v.__class__ is bool:
        return int(v)
    try:
        return v.__index__()
    except AttributeError:
        raise TypeError(f"'{type(v).__name__}' object cannot be interpreted as an integer") from None


def _ints(v, length=None):
    c = v.__class__
    if c is tuple or c is list or isinstance(v, (tuple, list)):
        for i in v:
            if i.__class__ is not int:
                return tuple([_int(i) for i in v])
        return tuple(v)
    if isinstance(v, Tensor) and v._shape:
        return tuple(v.tolist())
    if c is range:
        return tuple(v)
    n = _int(v)
    return (n,) * (length or 1)


def _scalar(v):
    if isinstance(v, Tensor):
        return v.item()
    if isinstance(v, (int, float, complex, np.generic)):
        return python_number(v)
    raise TypeError(f"must be Number, not {type_name(v)}")


def python_number(v):
    """A number of Python's own class, where NumPy's or a subclass stands for it."""
    if v is None or isinstance(v, Tensor) or v.__class__ in _NUMBERS:
        return v
    for c in (int, float, complex):
        if isinstance(v, c):
            return c(v)
    return int(v) if isinstance(v, np.integer) else float(v)  # so PyTorch reads NumPy's bool and small complex numbers


def _float(v):
    if isinstance(v, Tensor):
        return float(v.item())
    if isinstance(v, (str, bytes)):
        raise TypeError(f"must be float, not {type(v).__name__}")
    return float(v) if not isinstance(v, complex) else v


def _build_overloads(ops, name, ns, kind):
    """Several schemas under one name: the first that the arguments fit."""
    parts = [_build_one(o, name, ns, kind) for o in ops]
    for p in parts:
        p.__name__ = name
        p.__module__ = _home(ns, name)

    chosen = {}

    def dispatch(*args, **kwargs):
        # which schema fits follows from the classes of the arguments nearly always: remembered, and called as written
        key = (tuple(map(type, args)), tuple(kwargs), tuple(map(type, kwargs.values()))) if kwargs else tuple(map(type, args))
        p = chosen.get(key)
        if p is not None:
            return p(*args, **kwargs)
        out = kwargs.pop("out", None) if "out" in kwargs and kind == "function" else None
        if OVERRIDES.active or any(
            a.__class__ not in plain and isinstance(a, Tensor) or hasattr(type(a), "__torch_function__") and a.__class__ not in plain
            for a in (*args, *kwargs.values())
        ):
            r = run_overridden(dispatch, ops, args, out, kind, kwargs)
            if r is not OVERRIDES:
                return r
        for o, p in zip(ops, parts):
            values = bind(o.schema, args, kwargs)
            if values is not None:
                if out is None and "out" not in kwargs and _settled(o, values, args, kwargs):
                    chosen[key] = p
                return _call_part(o, p, values, out, kind)
        raise _no_overload(name, ops, args, kwargs, kind)

    for p in parts:
        p.__globals__["_public"] = dispatch
    dispatch.__doc__ = "\n".join(o.schema.text for o in ops)
    dispatch.overloads = dict(zip((o.schema.overload or "default" for o in ops), parts))
    return dispatch


_SETTLED = frozenset((Tensor, int, float, bool, str, type(None), dt.dtype))


def _settled(o, values, args, kwargs):
    """Whether the classes of these arguments alone decide for this overload, and it can be called with them as they stand."""
    given = (*args, *kwargs.values())
    if not all(type(v) in _SETTLED or type(v) in plain or type(v) in (tuple, list) and v and type(v[0]) is int for v in given):
        return False
    if any(isinstance(v, Tensor) and not a.is_tensor or v is None and not a.optional for a, v in zip(o.schema.args, values)):
        return False
    names = {a.name for a in o.schema.args}
    positional = [a for a in o.schema.args if not a.kwonly]
    return all(k in names and k != "self" for k in kwargs) and (len(args) <= len(positional) or bool(o.options.get("varargs")))


def _call_part(o, p, values, out, kind):
    pos, kw = [], {}
    varargs = o.options.get("varargs")
    for i, (a, v) in enumerate(zip(o.schema.args, values)):
        if a.kwonly or varargs and a.name != varargs and i:
            kw[a.name if a.name not in ("from", "lambda") else a.name + "_"] = v
        elif a.name == varargs and kind in ("method", "inplace"):
            kw[a.name] = v
        else:
            pos.append(v)
    if out is not None:
        kw["out"] = out
    return p(*pos, **kw)


def _no_overload(name, ops, args, kwargs, kind):
    if len(args) == 1 + (kind in ("method", "inplace")) or not kwargs:
        best = None
        for o in ops:
            if len(args) <= len(o.schema.args):
                skip = 1 if kind in ("method", "inplace") else 0
                best = best or type_error(name, o.schema.args[skip:], args[skip:])
        if best is not None and len(ops) < 2:
            return best
    got = ", ".join([_kind(a) for a in args] + [f"{k}={_kind(v)}" for k, v in kwargs.items()])
    lines = "".join(f"\n * ({', '.join(f'{spoken(a)} {a.name}' for a in o.schema.args)})" for o in ops)
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:{lines}\n")


def _kind(v):
    return type(v).__name__ if not isinstance(v, (tuple, list)) else f"{type(v).__name__} of ({', '.join(map(_kind, v))})"


__all__ = [
    "op",
    "view",
    "composite",
    "function",
    "method",
    "DEFAULT",
    "NO_OPMATH",
    "INT_TO_FLOAT",
    "ALWAYS_BOOL",
    "COMPLEX_TO_FLOAT",
    "BOOL_TO_LONG",
    "TASK",
    "accepts",
    "alias",
    "fit",
    "accumulator",
]
