"""The tracer: runs a function or a module's forward on proxies."""
import functools
import inspect
import math

import torch
from torch.utils import _pytree

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .proxy import ParameterProxy, Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap", "is_fx_tracing"]
_tracing = [False]
_wrapped = {}


class PHBase:
    def __repr__(self):
        return "PH"


PH = PHBase()


def is_fx_tracing():
    """Whether a Tracer is at work."""
    return _tracing[0]


is_fx_symbolic_tracing = is_fx_tracing


def wrap(fn_or_name):
    """Record calls of a module-level function as one node instead of tracing through it."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _assert_is_none(value, msg):
    assert value is None, msg


class ProxyableClassMeta(type):
    """Instances made of proxies while tracing are recorded as one call of the class."""

    def __call__(cls, *args, **kwargs):
        instance = cls.__new__(cls)
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)
            return instance
        found = []
        map_aggregate((args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(instance, *args, **kwargs)
        return instance


class Tracer(TracerBase):
    """Override is_leaf_module, call_module, create_arg, proxy to trace otherwise."""

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        self._autowrap_modules, self._autowrap_functions = tuple(autowrap_modules), tuple(autowrap_functions)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = self.root = None
        self.tensor_attrs = {}

    def create_arg(self, a):
        if isinstance(a, torch.nn.Parameter):
            for n, p in self.root.named_parameters():
                if a is p:
                    return self.create_node("get_attr", n, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for n, p in self.root.named_buffers():
                if a is p:
                    return self.create_node("get_attr", n, (), {})
        elif isinstance(a, torch.nn.Module):
            for n, m in self.root.named_modules():
                if a is m:
                    return self.create_node("get_attr", n, (), {})
        if isinstance(a, torch.Tensor):
            name = self.tensor_attrs.get(id(a))
            if name is None:
                i = 0
                while hasattr(self.root, f"_tensor_constant{i}"):
                    i += 1
                name = f"_tensor_constant{i}"
                self.tensor_attrs[id(a)] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable(a):
            return self.create_node("call_function", type(a), (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m, module_qualified_name):
        return m.__module__.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod):
        for n, m in self.root.named_modules():
            if m is mod:
                return n
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            return forward(*args, **kwargs)
        return self.create_proxy("call_module", path, args, kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What a module's attribute is while tracing: parameters (and buffers, if asked for) are proxies, others themselves."""
        named = (self.root.named_parameters if isinstance(attr_val, torch.nn.Parameter) else
                 self.root.named_buffers if self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor) else None)
        for n, p in named() if named is not None else ():
            if p is attr_val:
                if n not in parameter_proxy_cache:
                    factory = (lambda node: ParameterProxy(self, node, n, attr_val)) if self.param_shapes_constant else None
                    parameter_proxy_cache[n] = self.create_proxy("get_attr", n, (), {}, proxy_factory_fn=factory)
                return parameter_proxy_cache[n]
        return attr_val

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        fn = inspect.unwrap(root_fn)
        params = list(inspect.signature(fn).parameters.values())
        args, kwargs_, concrete = ([self.root], {}, concrete_args or {})
        if is_module:
            params = params[1:]
        else:
            args = []

        def placeholder(p, name):
            default = () if p.default is inspect.Parameter.empty else (p.default,)
            if p.name not in concrete or concrete[p.name] is PH:
                return self.create_proxy("placeholder", name, default, {}, type_expr=None)
            value, leaves = concrete[p.name], 0

            def leaf(x):
                nonlocal leaves
                leaves += 1
                out = self.create_proxy("placeholder", f"{p.name}_{leaves}", (None if x is PH else x,) if not isinstance(x, torch.Tensor) else (), {})
                if x is PH:
                    return out
                if isinstance(x, (bool, int, float)):
                    self.create_proxy("call_function", torch._assert, (out == x, f"{p.name} has been specialized to have value {x} but got another value"), {})
                elif x is None:
                    self.create_proxy("call_function", _assert_is_none, (out, f"{p.name} has been specialized to have value None but got another value"), {})
                return x
            return _pytree.tree_map(leaf, value) if value is not None else leaf(None)
        for p in params:
            if p.kind is p.VAR_POSITIONAL:
                args.append(self.proxy(self.create_node("placeholder", "*" + p.name, (), {})))
            elif p.kind is p.VAR_KEYWORD:
                kwargs_["**"] = self.create_proxy("placeholder", "**" + p.name, (), {})
            elif p.kind is p.KEYWORD_ONLY:
                kwargs_[p.name] = placeholder(p, p.name)
            else:
                args.append(placeholder(p, p.name))
        return root_fn, args, kwargs_

    def trace(self, root, concrete_args=None):
        """The Graph of a module or a function."""
        prev, _tracing[0] = _tracing[0], True
        try:
            is_module = isinstance(root, torch.nn.Module)
            if is_module:
                self.root, fn = root, getattr(type(root), self.traced_func_name)
            else:
                self.root, fn = torch.nn.Module(), root
            self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
            fn, args, kwargs = self.create_args_for_root(fn, is_module, concrete_args)
            star = kwargs.pop("**", None)
            cache = {}
            Module = torch.nn.Module
            orig_call, orig_getattr = Module.__call__, Module.__getattr__

            @functools.wraps(orig_getattr)
            def module_getattr(mod, attr):
                return self.getattr(attr, orig_getattr(mod, attr), cache)

            @functools.wraps(orig_call)
            def module_call(mod, *a, **k):
                return self.call_module(mod, lambda *x, **y: orig_call(mod, *x, **y), a, k)
            patches = [(Module, "__getattr__", module_getattr), (Module, "__call__", module_call)]
            globals_ = getattr(inspect.unwrap(fn), "__globals__", {})
            autowrap = {id(f) for m in self._autowrap_modules for n, f in vars(m).items() if callable(f) and not n.startswith("_")} | set(map(id, self._autowrap_functions))
            tables = [(globals_, n) for n, v in list(globals_.items()) if id(v) in autowrap] + [(g, n) for (_, n), g in _wrapped.items() if n in g]
            tables += [(vars(m), n) for m in self._autowrap_modules for n, f in list(vars(m).items()) if id(f) in autowrap]
            olds = []
            try:
                for obj, n, new in patches:
                    olds.append((obj, n, getattr(obj, n)))
                    setattr(obj, n, new)
                for table, n in tables:
                    olds.append((table, n, table[n]))
                    table[n] = _recorded(table[n])
                result = fn(*args, **kwargs) if star is None else fn(*args, **kwargs, **_mapping(star))
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=None)
            finally:
                for obj, n, old in reversed(olds):
                    obj.__setitem__(n, old) if isinstance(obj, dict) else setattr(obj, n, old)
            return self.graph
        finally:
            _tracing[0] = prev


def _mapping(proxy):
    keys = proxy.keys()
    return {} if isinstance(keys, Proxy) else {k: proxy[k] for k in keys}


def _proxyable(a):
    return (type(a),) if isinstance(type(a), ProxyableClassMeta) and not isinstance(a, Node) else ()


def _recorded(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        found = []
        map_aggregate((args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        return found[0].tracer.create_proxy("call_function", fn, args, kwargs) if found else fn(*args, **kwargs)
    return wrapper


def symbolic_trace(root, concrete_args=None):
    """Trace root into a GraphModule."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, root.__class__.__name__ if isinstance(root, torch.nn.Module) else root.__name__)
