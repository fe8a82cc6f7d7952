"""Proxies: symbolic values that record the operations on them as nodes."""

import copy
import dataclasses
import dis
import enum
import operator
import os
import sys
import traceback

import torch

from . import traceback as fx_traceback
from .node import Argument, Node, map_aggregate  # noqa: F401
from .operator_schemas import check_for_mutable_operation

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    torch.dtype,
    torch.Tensor,
    torch.device,
    torch.memory_format,
    torch.layout,
    torch._ops.OpOverload,
)


class TraceError(ValueError):
    """Raised when the program needs the concrete value of a symbolic one."""


class TracerBase:
    """Base class of tracers, which creates nodes and proxies."""

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    module_stack = None  # {path: (path, class)} of the modules whose forward is being traced

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Insert a node into the graph, with the metadata of the current location."""
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.kept_meta())
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and node.stack_trace is None:
            node.stack_trace = _of_program()
        return node

    def proxy(self, node):
        """Return a proxy for a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Insert a node and return a proxy for its result."""
        args, kwargs = self.create_arg(tuple(args)), self.create_arg(dict(kwargs))
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a):
        """Convert a value to an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(x) for x in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):

            def no_node(k):
                if isinstance(k, Node):
                    raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {k}")

            result = {}
            for k, v in a.items():
                key = self.create_arg(k)
                map_aggregate(key, no_node)
                result[key] = self.create_arg(v)
            return result
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            return self.create_node(
                "call_function",
                type(a),
                (),
                {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)},
            )
        if isinstance(a, (*base_types, Node, type(None), type(...), enum.Enum)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj):
        """Raise TraceError for the truth value of a proxy; subclasses may override this."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """Allow unpacking a proxy into a fixed number of names; other iteration raises TraceError."""
        frame = sys._getframe(2)
        instruction = next((i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti), None)
        if instruction is not None and instruction.opname == "UNPACK_SEQUENCE":
            return (obj[i] for i in range(instruction.argval))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj):
        """Return the result of ``keys()`` on a proxy."""
        return Attribute(obj, "keys")()


def _of_program():
    """Return the stack frames of the traced program as text."""
    here, modules = os.path.dirname(os.path.abspath(__file__)), os.path.dirname(torch.nn.modules.__file__)
    frames = traceback.extract_stack()
    start = max((i for i, f in enumerate(frames) if f.name == "trace" and f.filename.startswith(here)), default=-1)
    return "".join(
        traceback.format_list([f for f in frames[start + 1 :] if not f.filename.startswith((here, modules))])
    ).strip()


class GraphAppendingTracer(TracerBase):
    """A tracer that appends to an existing graph."""

    def __init__(self, graph):
        self.graph = graph


class Proxy:
    """A symbolic value: calls, methods, operators and torch functions on it are recorded."""

    def __init__(self, node, tracer=None):
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        if k in ("__fx_create_arg__", "__array__", "__array_interface__", "__len__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        """Return the keys for ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, "
            "please call torch.fx.wrap('len') at module scope"
        )

    def __deepcopy__(self, memo):
        return Proxy(self.node, self.tracer)

    __hash__ = object.__hash__

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        kwargs, found = kwargs or {}, []
        map_aggregate((args, kwargs), lambda a: found.append(a.tracer) if isinstance(a, Proxy) else None)
        tracer = found[0]
        name = getattr(orig_method, "__name__", "")
        if name == "__get__":
            owner = orig_method.__self__
            return tracer.create_proxy(
                "call_function", getattr, (args[0], getattr(owner, "__name__", None) or owner.fget.__name__), {}
            )
        if getattr(torch.Tensor, name, None) is orig_method:
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy.

    Its node is created when it is used as a value; calling it records a method call.
    """

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        """The node that reads the attribute, created on first use."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy for a parameter, whose shape is known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.param, self.name = param, name

    shape = property(lambda self: self.param.shape, doc="The parameter's own shape.")
    ndim = property(lambda self: self.param.ndim, doc="The parameter's own number of dimensions.")

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    def size(self):
        """The parameter's own shape."""
        return self.param.size()

    def dim(self):
        """The parameter's own number of dimensions."""
        return self.param.dim()

    def numel(self):
        """The parameter's own number of elements."""
        return self.param.numel()

    def nelement(self):
        """The parameter's own number of elements."""
        return self.param.nelement()


_REFLECTED = "add sub mul floordiv truediv mod pow lshift rshift and or xor matmul".split()
_MAGIC = [*_REFLECTED, *"eq ne lt gt le ge pos neg invert getitem".split()]


def _magic(method, reflected):
    target = getattr(operator, method + "_" if method in ("and", "or") else method)

    def forward(self, *args):
        return self.tracer.create_proxy("call_function", target, (args[0], self) if reflected else (self, *args), {})

    name = f"__{'r' * reflected}{method}__"
    forward.__name__ = name
    setattr(Proxy, name, forward)


for _method in _MAGIC:
    _magic(_method, False)
for _method in _REFLECTED:
    _magic(_method, True)
