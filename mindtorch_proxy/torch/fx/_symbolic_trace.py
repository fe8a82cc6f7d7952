"""The tracer, which runs a module with symbolic inputs and intercepts module calls and module attributes."""

import builtins
import collections
import contextlib
import copy
import functools
import inspect
import itertools
import math
import types
import warnings
from types import FunctionType

import torch
import torch.utils._pytree as pytree
from torch._C import ScriptObject  # noqa: F401  tracers written after this one find both names here

from ._compatibility import compatibility  # noqa: F401
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .node import map_aggregate
from .proxy import ParameterProxy, Proxy, TracerBase

_orig_module_call, _orig_module_getattr = torch.nn.Module.__call__, torch.nn.Module.__getattr__
_is_fx_tracing_flag = False
_wrapped = {}  # (id of a module's globals, name): the globals
_wrapped_methods_to_patch = []  # (class, name) of methods whose calls with a proxy are recorded as nodes


def is_fx_tracing():
    """Whether a tracer is running."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


def wrap(fn_or_name):
    """Record calls of a function as a single node.

    Must be called at the top level of a module, with a function of that module or its name. Also a decorator.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _recording(function, method=None):
    """Wrap ``function``, or the method of that name, so that calls with a proxy are recorded as nodes."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        found = []
        map_aggregate((args, kwargs), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        if not found:
            return function(*args, **kwargs)
        if method is not None:
            return found[0].tracer.create_proxy("call_method", method, args, kwargs)
        proxy = found[0].tracer.create_proxy("call_function", function, args, kwargs)
        proxy.node.meta["is_wrapped"] = True
        return proxy

    return wrapped


_MISSING = object()


class PHBase:
    """A placeholder in concrete_args for a symbolic argument."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A placeholder with its own key; its attributes are copied to the placeholder node."""

    def __init__(self, ph_key=None):
        self.ph_key = ph_key


class _Patcher(contextlib.ExitStack):
    """Replaces names and attributes until the end of the block.

    A value that is already patched with deduplicate is not patched again.
    """

    def __init__(self):
        super().__init__()
        self._visited = set()

    def patch(self, frame_dict, name, new_fn, deduplicate=True):
        """Replace a name in a namespace."""
        old = frame_dict.get(name, _MISSING)
        if not getattr(old, "_fx_patched", False):
            new_fn._fx_patched = deduplicate
            self.callback(lambda: frame_dict.pop(name, None) if old is _MISSING else frame_dict.__setitem__(name, old))
            frame_dict[name] = new_fn

    def patch_method(self, cls, name, new_fn, deduplicate=True):
        """Replace an attribute of a class."""
        old = getattr(cls, name)
        if not getattr(old, "_fx_patched", False):
            new_fn._fx_patched = deduplicate
            self.callback(setattr, cls, name, old)
            setattr(cls, name, new_fn)

    def visit_once(self, thing):
        """Whether this is the first visit of an object."""
        before = len(self._visited)
        self._visited.add(id(thing))
        return len(self._visited) > before


def _patch_wrapped_functions(patcher):
    """Patch the functions that were passed to wrap()."""
    for owner, name in _wrapped_methods_to_patch:
        patcher.patch_method(owner, name, _recording(getattr(owner, name), name))
    for (_, name), namespace in list(_wrapped.items()):
        patcher.patch(namespace, name, _recording(namespace[name] if name in namespace else getattr(builtins, name)))


def _autowrap_check(patcher, frame_dict, function_ids):
    """Patch the functions of a namespace that are wrapped automatically."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _recording(value))


def _assert_is_none(value, msg):
    assert value is None, msg


class Tracer(TracerBase):
    """Traces modules and functions. Modules of torch.nn become single nodes; other modules are traced into."""

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_function_ids = {
            id(f) for m in autowrap_modules for n, f in vars(m).items() if not n.startswith("_") and callable(f)
        }
        self._autowrap_function_ids |= {id(f) for f in autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None

    def __deepcopy__(self, memo):
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        for k, v in self.__dict__.items():
            setattr(new, k, list(v) if k == "_autowrap_search" else copy.deepcopy(v, memo))
        return new

    def is_leaf_module(self, m, module_qualified_name):
        """Whether calls of the module are recorded as a single node."""
        return m.__module__.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod):
        """Return the path of the module in the root."""
        for name, m in self.root.named_modules(remove_duplicate=False):
            if m is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """Return the result of a submodule call: a node for a leaf module, otherwise the result of its forward."""
        name = self.path_of_module(m)
        if self.module_stack is None:
            return (
                self.create_proxy("call_module", name, args, kwargs)
                if self.is_leaf_module(m, name)
                else forward(*args, **kwargs)
            )
        times = self.num_calls[name] = self.num_calls.get(name, -1) + 1
        key = f"{name}@{times}" if times else name
        self.module_stack[key] = (name, type(m))
        try:
            return (
                self.create_proxy("call_module", name, args, kwargs)
                if self.is_leaf_module(m, name)
                else forward(*args, **kwargs)
            )
        finally:
            self.module_stack.popitem()

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """Return a module attribute while tracing: a proxy for parameters (and buffers, if requested)."""

        def proxy_for(named):
            for name, tensor in named:
                if tensor is attr_val:
                    if name not in parameter_proxy_cache:
                        factory = (
                            (lambda node: ParameterProxy(self, node, name, attr_val))
                            if self.param_shapes_constant
                            else None
                        )
                        parameter_proxy_cache[name] = self.create_proxy(
                            "get_attr", name, (), {}, proxy_factory_fn=factory
                        )
                    return parameter_proxy_cache[name]
            return None

        found = None
        if isinstance(attr_val, torch.nn.Parameter):
            found = proxy_for(self.root.named_parameters())
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            found = proxy_for(self.root.named_buffers())
        return attr_val if found is None else found

    def create_arg(self, a):
        if isinstance(a, torch.nn.Parameter):
            for name, p in self.root.named_parameters():
                if p is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            name = self.tensor_attrs.get(a)
            if name is None:
                name = next(
                    n for i in range(len(self.tensor_attrs) + 1) if not hasattr(self.root, n := f"_tensor_constant{i}")
                )
                self.tensor_attrs[a] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, torch.nn.Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if type(a) in _proxyable_classes:  # created without symbolic values: a constant of the module
            name = next(n for i in range(10**6) if not hasattr(self.root, n := f"_{type(a).__name__}_constant_{i}"))
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """Return (function, its symbolic arguments).

        All arguments are positional, so the function may be a modified copy.
        """
        code = inspect.unwrap(root_fn).__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:total])
        signature, args = inspect.signature(root_fn), []
        if is_module:
            if not names:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            names = names[1:]
        concrete = dict(zip(names, concrete_args)) if isinstance(concrete_args, tuple) else concrete_args or {}

        def symbolic(name):
            parameter = signature.parameters.get(name.lstrip("*"))
            default = () if parameter is None or parameter.default is parameter.empty else (parameter.default,)
            if name not in concrete:
                return self.create_proxy(
                    "placeholder", name, default, {}, type_expr=getattr(root_fn, "__annotations__", {}).get(name)
                )
            return pytree.tree_map(functools.partial(self._concrete, name, default, itertools.count(1)), concrete[name])

        args += [symbolic(n) for n in names]
        given = len(args)
        if code.co_flags & inspect.CO_VARARGS:
            args.append(symbolic("*" + code.co_varnames[total]))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            args.append(symbolic("**" + code.co_varnames[total + len(args) - given]))
        fn = _by_position(root_fn, len(args))
        if concrete_args is not None and len(args) == given:
            return self._nested(fn, root_fn, is_module, args), args
        return fn, args

    def _concrete(self, name, default, counter, value):
        """Return the concrete value of an argument or a part of it, and record a check of it in the graph.

        For PH, return a placeholder.
        """
        number = next(counter)
        if isinstance(value, PHBase):
            proxy = self.create_proxy("placeholder", f"{name}_{number}", default, {})
            for k, v in value.__dict__.items():
                if not hasattr(proxy.node, k):
                    setattr(proxy.node, k, v)
            return proxy
        proxy = self.create_proxy("placeholder", f"{name}_{number}", default, {})
        if value is None:
            message = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        elif isinstance(value, (bool, int, float, str)):
            message = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", torch._assert, (proxy == value, message), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. "
                "It is up to the user to make sure that your inputs match the inputs you specialized the function "
                "with."
            )
        return value

    def _nested(self, fn, root_fn, is_module, args):
        """Return the function, or for nested arguments one that returns the leaves of its results.

        The graph's codegen then flattens the arguments and unflattens the results.
        """
        given, leaf = args[is_module:], pytree.tree_structure(0)
        if all(pytree.tree_structure(a) == leaf for a in given):
            return fn

        def flat(*args):
            leaves, out_spec = pytree.tree_flatten(fn(*args))
            names = inspect.unwrap(root_fn).__code__.co_varnames[is_module : is_module + len(given)]
            self.graph.set_codegen(
                _PyTreeCodeGen(_PyTreeInfo(list(names), pytree.tree_structure((list(given), {})), out_spec))
            )
            return leaves

        return flat

    def trace(self, root, concrete_args=None):
        """Return the graph of a module's forward or of a function."""
        global _is_fx_tracing_flag
        if isinstance(root, torch.nn.Module):
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            self.root, fn, is_module = root, getattr(type(root), self.traced_func_name), True
            self.root_module_name = root._get_name()
        else:
            if not isinstance(root, types.FunctionType):
                raise AssertionError(f"Expected FunctionType, got {type(root)}")
            self.root, fn, is_module = torch.nn.Module(), root, False
            self.root_module_name = ""
        self.graph = Graph(tracer_cls=type(self))
        code = getattr(inspect.unwrap(fn), "__code__", None)
        if code is not None:
            self.graph._traced_from = f" from {code.co_filename}:{code.co_firstlineno} in {code.co_name}"
        self.module_stack, self.num_calls = collections.OrderedDict(), {}
        self.tensor_attrs = {t: n for n, t in self._tensors(self.root)}
        namespace, annotation = (
            getattr(inspect.unwrap(fn), "__globals__", {}),
            getattr(fn, "__annotations__", {}).get("return"),
        )
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            with _Patcher() as patcher:
                self._patch_modules(patcher)
                _patch_wrapped_functions(patcher)
                for names in (namespace, *map(vars, self._autowrap_search)):
                    _autowrap_check(patcher, names, self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(fn(*args)),), {}, type_expr=annotation)
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    def _patch_modules(self, patcher):
        """Redirect module calls and module attributes to the tracer."""
        cache = {}

        @functools.wraps(_orig_module_getattr)
        def module_getattr(mod, attr):
            return self.getattr(attr, _orig_module_getattr(mod, attr), cache)

        @functools.wraps(_orig_module_call)
        def module_call(mod, *args, **kwargs):
            _autowrap_check(patcher, getattr(mod.forward, "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, lambda *a, **k: _orig_module_call(mod, *a, **k), args, kwargs)

        patcher.patch_method(torch.nn.Module, "__getattr__", module_getattr, deduplicate=False)
        patcher.patch_method(torch.nn.Module, "__call__", module_call, deduplicate=False)

    @staticmethod
    def _tensors(root):
        """Yield tensors that are plain attributes or buffers, with their paths."""
        for path, m in root.named_modules():
            for name, value in (*m.__dict__.items(), *m._buffers.items()):
                if isinstance(value, torch.Tensor):
                    yield f"{path}.{name}" if path else name, value


_proxyable_classes: dict = {}


class ProxyableClassMeta(type):
    """A metaclass: creating an instance from symbolic values is recorded as a node."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        instance, found = cls.__new__(cls), []
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)
            return instance
        map_aggregate((args, kwargs), lambda a: found.append(a.tracer) if isinstance(a, Proxy) else None)
        if found:
            return found[0].create_proxy("call_function", cls, args, kwargs)
        cls.__init__(instance, *args, **kwargs)
        return instance


def _by_position(fn, count):
    """Return the function, or a copy that takes all arguments by position.

    ``*args`` and ``**kwargs`` become one argument each, because proxies cannot be passed for them otherwise.
    """
    real = inspect.unwrap(fn)
    code = real.__code__
    if not code.co_kwonlyargcount and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return fn
    code = code.replace(
        co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS), co_argcount=count, co_kwonlyargcount=0
    )
    return FunctionType(code, real.__globals__, real.__name__, None, real.__closure__)


def symbolic_trace(root, concrete_args=None):
    """Trace a module or a function and return a GraphModule."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, root._get_name() if isinstance(root, torch.nn.Module) else root.__name__)
