"""The tracer: every operator call of a run becomes a node of a graph, and submodule calls become methods."""

import contextlib
import sys
import threading
import warnings

import torch
from mindtorch_proxy.runtime import aten
from mindtorch_proxy.runtime.call.tracing import NUMBERS, TracedFloat, TracedInt, plain, tracing
from torch.nn.modules import module as _module
from torch.overrides import TorchFunctionMode, _plain_name, _python_function

from ._ir import ClassType, FloatType, Graph, IntType, ListType, Node, TensorType, TupleType, type_of


class TracerWarning(Warning):
    """A warning that the graph may not generalize as the function does."""

    @staticmethod
    def ignore_lib_warnings():
        """Hide warnings from code inside torch."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="torch.(?!jit)")


class _Active(threading.local):
    tracer = None


_ACTIVE = _Active()
NOT_TRACEABLE = (
    "Type '{}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced"
)
_NO_OUTPUT = "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"
_CONTAINER = (
    "Encountering a {} at the output of the tracer might cause the trace to be incorrect, "
    "this is only valid if the container structure does not change based on the module's inputs. "
    "Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, "
    "use a `NamedTuple` instead). If you absolutely need this and know the side effects, pass strict=False to trace() "
    "to allow this behavior."
)
_PYTHON_VALUE = (
    "Converting a tensor to a Python {} might cause the trace to be incorrect. We can't record the data flow of Python "
    "values, so this value will be treated as a constant in the future. This means that the trace might not "
    "generalize to other inputs!"
)
_LEN = (
    "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be tensor.shape[0]. "
    "Passing a tensor of different shape might lead to errors or silently give incorrect results."
)
_ITERATION = (
    "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't change "
    "the number of iterations executed (and might lead to errors or silently give incorrect results)."
)
_CONSTANT = (
    "torch.{} results are registered as constants in the trace. You can safely ignore this warning if you use this "
    "function to create tensors out of constant variables that would be the same every time you call this function. "
    "In any other case, this might cause the trace to be incorrect."
)
_CONSTANT_RESULTS = ("tensor", "as_tensor", "from_numpy")
_WARNED = {
    "__bool__": "boolean",
    "__int__": "integer",
    "__float__": "float",
    "__index__": "index",
    "item": "number",
    "tolist": "list",
}
_CONVOLUTIONS = {f"aten::conv{'_transpose' * t}{n}d": t for n in (1, 2, 3) for t in (False, True)}


def current():
    """Return the tracer of this thread, or None."""
    return _ACTIVE.tracer


class Call:
    """A call of a submodule; each node stores the calls to which it belongs."""

    def __init__(self, path, arguments, names):
        self.path, self.arguments, self.names = path, arguments, names


class _Faces(TorchFunctionMode):
    """Intercepts what a trace must see apart from operators: sizes, and conversions of tensors to Python values."""

    def __init__(self, tracer):
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, _plain_name(func)
        if name == "__get__":
            owner = func.__self__
            name = getattr(owner, "__name__", None) or owner.fget.__name__
        if args and isinstance(args[0], torch.Tensor) and _ACTIVE.tracer is self.tracer:
            found = self.tracer.face(name, *args, **kwargs)
            if found is not NotImplemented:
                return found
        if name in _CONSTANT_RESULTS and getattr(torch, name) is func:
            self.tracer.warn(_CONSTANT.format(name))
        body = getattr(_python_function(func), "__wrapped__", None)
        if body is not None and not hasattr(torch.Tensor, name):
            with self:  # composite functions are traced through the functions that they call
                return body(*args, **kwargs)
        return func(*args, **kwargs)


class Tracer:
    """Records the executed operators in one flat graph.

    `root`: the module whose parameters become attributes in the graph.
    """

    def __init__(self, root=None, with_calls=False):
        self.graph, self.values, self.kept, self.scopes, self.calls, self.refs = Graph(), {}, [], [], [], {}
        self.attributes, self.paths, self.with_calls = {}, {}, with_calls
        if root is not None:
            self.paths = {id(m): path for path, m in root.named_modules()}
            for named in (root.named_parameters, root.named_buffers):
                for path, t in named():
                    self.attributes[id(t)] = path

    # ---- values
    def bind(self, tensor, value):
        """Associate a value with a tensor."""
        self.values[id(tensor)] = value
        self.kept.append(tensor)

    def add(self, kind, inputs, types, attributes=None, schema=None):
        """Append a node and return its outputs."""
        node = self.graph.insertNode(Node(self.graph, kind, inputs, attributes, "/".join(self.scopes), _source()))
        node._calls, node._op_schema = tuple(self.calls), schema
        return [node.addOutput(t) for t in types]

    def constant(self, v):
        value = self.graph.constant(v, "/".join(self.scopes), _source())
        value.node()._calls = tuple(self.calls)
        return value

    def value(self, v):
        """Return the graph value for a Python value."""
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if v.__class__ in NUMBERS:
            return v.node
        if isinstance(v, (list, tuple)):
            elements = [self.value(e) for e in v]
            element = next((e.type() for e in elements if e.type().kind() != "NoneType"), IntType())
            return self.add(
                "prim::ListConstruct", elements, [ListType(TensorType() if element.kind() == "TensorType" else element)]
            )[0]
        if v is not None and type_of(v).kind() == "AnyType":
            raise NotImplementedError(f"torch.jit.trace: a graph cannot hold {type(v).__name__}")
        return self.constant(v)

    def tensor(self, t):
        """Return the graph value of a tensor: a node's output, an attribute of the module, or a constant."""
        if id(t) in self.values:
            return self.values[id(t)]
        path = self.attributes.get(id(t))
        if path is not None:
            if path not in self.refs:
                self.refs[path] = Node(self.graph, "prim::GetAttr", (), {"name": path}).addOutput(TensorType())
            return self.refs[path]
        if t.requires_grad:
            raise RuntimeError(
                f"Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, "
                f"or detaching the gradient\nTensor:\n{t}"
            )
        if type(t) not in (torch.Tensor, torch.nn.Parameter):  # for example a BatchedTensor of vmap
            with torch._C.DisableTorchFunction():
                t = t.detach().as_subclass(torch.Tensor)
        return self.constant(t)

    # ---- operators
    def note(self, schema, args, kwargs, result):
        """Record an executed operator."""
        tensors = [
            t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, torch.Tensor)
        ]
        if not tensors:
            return  # the result is a Python value, which cannot be traced
        if schema is None:
            name, values = args
            self.results(f"mindtorch::{name}", [self.value(v) for v in values], None, result, tensors)
            return
        values = schema.bound(args, kwargs)
        given = [(a, values.get(a.name, _default(a))) for a in schema.arguments]
        transposed = _CONVOLUTIONS.get(schema.name)
        if transposed is not None and not isinstance((named := {a.name: v for a, v in given})["padding"], str):
            schema, given = _convolution(named, transposed)
        self.results(schema.name, [self.value(_as_declared(a, v)) for a, v in given], schema, result, tensors)

    def results(self, kind, inputs, schema, result, tensors):
        """Add the node of a call and bind its results."""
        packed = isinstance(result, (tuple, list)) and (schema is None or len(schema.returns) == 1)
        outputs = self.add(
            kind, inputs, [ListType(TensorType())] if packed else [TensorType(t) for t in tensors], schema=schema
        )
        if packed:
            outputs = self.add("prim::ListUnpack", outputs, [TensorType(t) for t in tensors])
        for t, value in zip(tensors, outputs):
            self.bind(t, value)

    def number(self, name, given, result):
        """Return the traced result of arithmetic with sizes."""
        if _ACTIVE.tracer is not self:
            return result
        kind, cls = (FloatType, TracedFloat) if isinstance(result, float) else (IntType, TracedInt)
        return cls(result, self.add(f"aten::{name}", [self.value(v) for v in given], [kind()])[0], self)

    def face(self, name, tensor, *args, **kwargs):
        """Return the traced result of a method or property that is not an operator.

        Return NotImplemented if it is not handled specially.
        """
        if name in ("__len__", "__iter__"):
            self.warn(_LEN if name == "__len__" else _ITERATION)
            return NotImplemented
        if name in ("numpy", "__array__"):
            self.warn(_PYTHON_VALUE.replace("Python {}", "NumPy array"))
            return NotImplemented
        if name in _WARNED:
            self.warn(_PYTHON_VALUE.format(_WARNED[name]))
            return NotImplemented
        if name == "data" and not args:
            return tensor.detach()
        if id(tensor) not in self.values:
            return NotImplemented  # sizes of parameters and constants are not traced
        if name == "detach":
            detached = tensor.detach()
            self.results("aten::detach", [self.tensor(tensor)], aten.schemas("detach")[0], detached, [detached])
            return detached
        if name in ("numel", "nelement"):
            return self._int("numel", [self.tensor(tensor)], tensor.numel())
        if (
            name == "shape"
            or name == "size"
            and not (args or kwargs)
            or name == "size"
            and kwargs.get("dim", *args) is None
        ):
            return torch.Size(self._size(tensor, i) for i in range(tensor.dim()))
        if name == "size":
            return self._size(tensor, kwargs.get("dim", *args))
        return NotImplemented

    def _size(self, tensor, dim):
        return self._int("size", [self.tensor(tensor), self.constant(dim)], tensor.shape[dim])

    def _int(self, name, inputs, result):
        return TracedInt(result, self.add(f"aten::{name}", inputs, [IntType()])[0], self)

    @staticmethod
    def warn(text):
        """Issue a TracerWarning at the current line of the program."""
        frame, level = sys._getframe(), 1
        while frame.f_back is not None and _ours(frame.f_code.co_filename):
            frame, level = frame.f_back, level + 1
        warnings.warn(text, TracerWarning, stacklevel=level)

    # ---- scopes, which other tools may push
    def push_scope(self, name):
        self.scopes.append(name)

    def pop_scope(self):
        self.scopes.pop()

    def current_scope(self):
        return "/".join(self.scopes)

    # ---- inputs and outputs
    def input(self, v, name=None):
        """Add a graph input for a tensor or for nested tuples, lists and dictionaries of tensors."""
        self._take(v, self.graph.addInput(name or "", type_of(v)))

    def _take(self, v, value):
        if isinstance(v, torch.Tensor):
            self.bind(v, value)
        elif isinstance(v, (tuple, list)) and v:
            kind = "prim::TupleUnpack" if isinstance(v, tuple) else "prim::ListUnpack"
            for e, output in zip(v, self.add(kind, [value], [type_of(e) for e in v])):
                self._take(e, output)
        elif isinstance(v, dict) and v:
            for k, e in v.items():
                self._take(e, self.add("aten::__getitem__", [value, self.constant(k)], [type_of(e)])[0])
        else:
            raise RuntimeError(NOT_TRACEABLE.format(type(v).__name__))

    def result(self, v, strict):
        """Return the graph value for the result of the function."""
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if v.__class__ in NUMBERS:
            return self.add("prim::NumToTensor", [v.node], [TensorType(torch.tensor(plain(v)))])[0]
        if isinstance(v, dict) and strict:
            raise RuntimeError(_CONTAINER.format("dict"))
        if isinstance(v, list) and strict:
            warnings.warn(_CONTAINER.format("list"), TracerWarning, stacklevel=5)
        if isinstance(v, dict) and v:
            parts = [value for k, e in v.items() for value in (self.constant(k), self.result(e, strict))]
            return self.add("prim::DictConstruct", parts, [type_of(dict(v))])[0]
        if isinstance(v, (list, tuple)) and v:
            kind = "prim::ListConstruct" if isinstance(v, list) else "prim::TupleConstruct"
            elements = [self.result(e, strict) for e in v]
            return self.add(kind, elements, [type_of(list(v) if isinstance(v, list) else tuple(v))])[0]
        raise RuntimeError(_NO_OUTPUT)

    # ---- calls of submodules
    def _entered(self, module, args):
        path, inside = self.paths.get(id(module)), self.calls[-1].path if self.calls else ""
        own = path and (not inside or path.startswith(inside + "."))
        tensors = [id(self.values[id(a)]) for a in args if isinstance(a, torch.Tensor) and id(a) in self.values]
        self._entries.append(bool(own))
        if own:
            self.calls.append(Call(path, tensors, argument_names(module.forward)))
            self.scopes.append(f"__module.{path}")

    def _left(self, module, args, output):
        if self._entries.pop():
            self.calls.pop()
            self.scopes.pop()

    @contextlib.contextmanager
    def running(self):
        """Context manager in which operators are recorded."""
        before, _ACTIVE.tracer, self._entries = _ACTIVE.tracer, self, []
        with contextlib.ExitStack() as stack:
            if self.with_calls:
                for register, hook in (
                    (_module.register_module_forward_pre_hook, self._entered),
                    (_module.register_module_forward_hook, self._left),
                ):
                    stack.callback(register(hook).remove)
            faces = _Faces(self)
            stack.enter_context(tracing(self.note, faces))
            stack.enter_context(faces)
            try:
                yield
            finally:
                _ACTIVE.tracer = before


def argument_names(forward):
    """Return the parameter names of a function, without self."""
    code = getattr(getattr(forward, "__func__", forward), "__code__", None)
    if code is None:
        return []
    return list(code.co_varnames[hasattr(forward, "__func__") : code.co_argcount])


def _ours(filename):
    return filename.startswith(_ROOT) or "/mindtorch_proxy/" in filename


_ROOT = __file__.rpartition("/mindtorch_proxy/torch/")[0] + "/"


def _source():
    """Return file:line:column of the innermost frame of the program, such as "net.py:12:0"."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not _ours(name) and name[:1] != "<" or name == "<stdin>" or name == "<string>":
            return f"{name}:{frame.f_lineno}:0"
        frame = frame.f_back
    return ""


def _default(a):
    return a.default_value if a.has_default_value() else None


def _as_declared(a, v):
    """Convert a value as the schema declares: ints for float, devices, lists of fixed length."""
    base = a.declared.rstrip("?")
    if v.__class__ in NUMBERS:
        return v
    if base == "float" and isinstance(v, int) and not isinstance(v, bool):
        return float(v)
    if base == "Device" and isinstance(v, str):
        return torch.device(v)
    if base == "Generator":
        if v is not None:
            raise NotImplementedError("torch.jit.trace: a graph cannot hold a Generator")
        return None
    if base.startswith("float[") and v is not None:
        return [float(e) for e in v]
    if a.N is not None and isinstance(v, (list, tuple)) and len(v) == 1:
        return list(v) * a.N
    return v


def _convolution(values, transposed):
    """Convert conv2d and similar operators to _convolution, as PyTorch's tracer records them."""
    n = values["weight"].dim() - 2
    spread = lambda v: list(v) * (n if len(v) == 1 else 1) if isinstance(v, (list, tuple)) else [v] * n  # noqa: E731
    schema = aten.schemas("_convolution")[0]
    output = spread(values["output_padding"]) if transposed else [0] * n
    given = [
        values["input"],
        values["weight"],
        values["bias"],
        spread(values["stride"]),
        spread(values["padding"]),
        spread(values["dilation"]),
    ]
    given += [transposed, output, values["groups"], False, False, True, True]
    return schema, list(zip(schema.arguments, given))


# ------------------------------------------------------------------------------------------------ methods
class Methods:
    """The graphs of the methods of a module and its submodules: {path: {name: graph}}."""

    def __init__(self, tracer, outputs, qualified, method="forward"):
        self.tracer, self.outputs, self.qualified, self.found = tracer, outputs, qualified, {}
        self.position = {id(n): i for i, n in enumerate(tracer.graph._nodes)}
        self.read = {}  # value: positions of the nodes that use it
        for i, n in enumerate(tracer.graph._nodes):
            for v in n._inputs:
                self.read.setdefault(id(v), []).append(i)
        for v in outputs:
            self.read.setdefault(id(v), []).append(len(tracer.graph._nodes))
        inputs = list(tracer.graph._param._outputs)
        self.graph = self.lower(0, tracer.graph._nodes, "", inputs, outputs, [v._name for v in inputs])
        self.found.setdefault("", {})[method] = self.graph

    def lower(self, depth, nodes, path, inputs, outputs, names):
        """Return the graph of one call, with its own nodes and its calls."""
        graph = _MethodGraph(path, self.qualified)
        values = {id(v): graph.addInput(name or "", v.type()) for v, name in zip(inputs, names)}

        def get(v):
            if id(v) not in values:
                values[id(v)] = graph.attribute(v.node()._attributes["name"])
            return values[id(v)]

        at = 0
        while at < len(nodes):
            n = nodes[at]
            if len(n._calls) <= depth:
                made = graph.insertNode(Node(graph, n._kind, [get(v) for v in n._inputs], n._attributes, "", n._source))
                made._op_schema = n._op_schema
                for v in n._outputs:
                    values[id(v)] = made.addOutput(v.type())
                at += 1
                continue
            call, end = n._calls[depth], at
            while end < len(nodes) and len(nodes[end]._calls) > depth and nodes[end]._calls[depth] is call:
                end += 1
            self._call(graph, get, values, call, depth, nodes[at:end])
            at = end
        graph.give_back([get(v) for v in outputs])
        graph.remove_unused()
        return graph

    def _call(self, graph, get, values, call, depth, group):
        inside = {id(v) for n in group for v in n._outputs}
        last = self.position[id(group[-1])]
        ins = {id(v): v for n in group for v in n._inputs if id(v) not in inside and not _attribute_of(v, call.path)}
        ins = sorted(
            ins.values(), key=lambda v: call.arguments.index(id(v)) if id(v) in call.arguments else len(call.arguments)
        )
        outs = [v for n in group for v in n._outputs if any(i > last for i in self.read.get(id(v), ()))]
        names = [
            call.names[call.arguments.index(id(v))] if id(v) in call.arguments[: len(call.names)] else None for v in ins
        ]
        methods = self.found.setdefault(call.path, {})
        name = "forward" + str(len(methods) or "")
        methods[name] = None  # reserve the name while nested calls are processed
        methods[name] = self.lower(depth + 1, group, call.path, ins, outs, names)
        node = graph.insertNode(
            Node(graph, "prim::CallMethod", [graph.attribute(call.path), *map(get, ins)], {"name": name})
        )
        if len(outs) == 1:
            values[id(outs[0])] = node.addOutput(outs[0].type())
            return
        packed = node.addOutput(methods[name]._return._inputs[0].type())
        if outs:
            unpack = graph.insertNode(Node(graph, "prim::TupleUnpack", [packed]))
            for v in outs:
                values[id(v)] = unpack.addOutput(v.type())


def _attribute_of(v, path):
    """Whether a value is an attribute at or below a module's path."""
    node = v.node()
    return node._kind == "prim::GetAttr" and not node._inputs and node._attributes["name"].startswith(path + ".")


class _MethodGraph(Graph):
    """A graph whose first input is the module; attribute accesses are at its beginning."""

    def __init__(self, path, qualified):
        super().__init__()
        self._path, self._qualified, self._heads = path, qualified, {}
        self._self = self.addInput("self", ClassType(qualified(path)))
        self._got = 0

    def attribute(self, path):
        """Return the value of the attribute at a path of the root, which is at or below this module."""
        relative = path[len(self._path) + 1 :] if self._path else path
        owner, at = self._self, self._path
        for name in relative.split("."):
            at = f"{at}.{name}" if at else name
            if at not in self._heads:
                node = Node(self, "prim::GetAttr", [owner], {"name": name})
                qualified = self._qualified(at)
                self._heads[at] = node.addOutput(
                    TensorType() if qualified is None else ClassType(qualified)
                ).setDebugName(_identifier(name))
                self._nodes.insert(self._got, node)
                self._got += 1
            owner = self._heads[at]
        return owner

    def give_back(self, values):
        if len(values) == 1:
            self.registerOutput(values[0])
        elif not values:
            self.registerOutput(self.constant(None))
        else:
            node = self.insertNode(Node(self, "prim::TupleConstruct", values))
            self.registerOutput(node.addOutput(TupleType([v.type() for v in values])))


def _identifier(name):
    return name if name.isidentifier() else "_" + name
