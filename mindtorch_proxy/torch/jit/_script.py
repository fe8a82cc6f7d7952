"""Script modules and functions, which run either the code of graphs or plain Python."""

import copy
import functools
import inspect
import pickle
import re

import torch

from ._errors import interpreted
from ._code import NO_GRAPH, Constants, code_of
from ._interpreter import function_of, parsed
from . import _state
from ._ir import ClassType, Graph, Node
from ._writing import write


def qualified_name(obj):
    """Return __torch__.module.Name, the TorchScript name of a class or function."""
    name = obj.__name__.replace("<lambda>", "_lambda")
    module = obj.__module__ or ""
    return (
        f"__torch__.{name}"
        if module in ("__main__", "")
        else f"__torch__.{module.removeprefix('torch._classes')}.{name}"
    )


class ConstMap:
    """The constants of code, by name."""

    def __init__(self, constants):
        self.const_mapping = {f"c{i}": t for i, t in enumerate(constants.tensors)}

    def __getattr__(self, name):
        if name in self.__dict__.get("const_mapping", {}):
            return self.const_mapping[name]
        raise AttributeError(name)


class Method:
    """A method of a script module, or a function: its graph, code and compiled Python function."""

    def __init__(self, name, graph=None, text=None, constants=None, namespace=None):
        self.name, self._graph, self.constants, self._namespace = (
            name,
            graph,
            constants if constants is not None else Constants(),
            namespace,
        )
        self._text, self._function = text, None

    @property
    def code(self):
        if self._text is None:
            self._text = code_of(self._graph, self.constants, self.name)
        return self._text

    @property
    def code_with_constants(self):
        return self.code, ConstMap(self.constants)

    @property
    def function(self):
        if self._function is None:
            (definition,) = parsed(self.code)
            self._function = function_of(definition, self.name, self.constants, self._namespace)
        return self._function

    @property
    def graph(self):
        if self._graph is None:
            raise NotImplementedError(f"{self.name} was loaded from code: there is no graph of it, only .code")
        return self._graph


class ScriptMethod:
    """A method bound to its module."""

    __module__ = "torch"

    def __init__(self, owner, method):
        self.owner, self._method, self.name, self.__name__ = owner, method, method.name, method.name

    def __call__(self, *args, **kwargs):
        return interpreted(self._method.function, self.owner, *args, **kwargs)

    code = property(lambda self: self._method.code, doc="The method's source.")
    code_with_constants = property(
        lambda self: self._method.code_with_constants, doc="The method's source, and the constants that it names."
    )
    graph = property(lambda self: self._method.graph, doc="The method's graph.")

    @property
    def inlined_graph(self):
        """The graph with calls of submodules replaced by the graphs of their methods."""
        graph = Graph()
        values = {}
        for v in self.graph.inputs():
            values[id(v)] = graph.addInput(v._name or "", v.type())
        owners = {id(next(self.graph.inputs())): (self.owner, "")}
        outputs = _inline(self.graph, graph, values, owners, "")
        for v in outputs:
            graph.registerOutput(v)
        return graph


def _inline(source, graph, values, owners, scope):
    """Copy the nodes of a method, with method calls replaced by their nodes.

    owners: {id of a value: (the module that it represents, its path)}
    """
    for node in source._nodes:
        if node.kind() == "prim::GetAttr" and id(node.input()) in owners:
            owner, path = owners[id(node.input())]
            child = getattr(owner, node.s("name"))
            if isinstance(child, torch.nn.Module):
                owners[id(node.output())] = child, f"{path}.{node.s('name')}" if path else node.s("name")
        if node.kind() == "prim::CallMethod":
            module, path = owners[id(node.inputsAt(0))]
            callee = module._script_methods[node.s("name")].graph
            inside = dict(zip(map(id, callee.inputs()), (values[id(v)] for v in node.inputs())))
            below = f"{scope}/__module.{path}" if scope else f"__module.{path}"
            results = _inline(callee, graph, inside, {id(next(callee.inputs())): (module, path)}, below)
            values.update(zip(map(id, node.outputs()), results))
            continue
        made = graph.insertNode(
            Node(
                graph,
                node.kind(),
                [values[id(v)] for v in node.inputs()],
                dict(node._attributes),
                scope,
                node.sourceRange(),
            )
        )
        made._op_schema = node._op_schema
        for v in node.outputs():
            values[id(v)] = made.addOutput(v.type())
            if v._name:
                values[id(v)].setDebugName(v._name)
    return [values[id(v)] for v in source.outputs()]


class ScriptModule(torch.nn.Module):
    """Base class of script modules.

    A subclass with ``script_method``s behaves like an ordinary module; its methods run as Python.
    """

    def save(self, f, **kwargs):
        """Write an archive for torch.jit.load."""
        write(self, RecursiveScriptModule, f, kwargs.get("_extra_files"))

    def save_to_buffer(self, *args, **kwargs):
        """Return the bytes of the archive."""
        import io

        stream = io.BytesIO()
        self.save(stream, **kwargs)
        return stream.getvalue()


class RecursiveScriptModule(ScriptModule):
    """A module that runs the code of graphs (traced or loaded), or a Python module (scripted)."""

    _shadow = None

    @classmethod
    def _made(cls, original_name, qualified, training=True):
        """Return a new module without parameters, submodules and methods."""
        self = object.__new__(cls)
        torch.nn.Module.__init__(self)
        self.__dict__.update(
            _original_name=original_name, _qualified_name=qualified, _script_methods={}, training=training
        )
        return self

    @property
    def original_name(self):
        return self.__dict__["_original_name"]

    @property
    def _c(self):
        return self

    def _type(self):
        return ClassType(self._qualified_name)

    def forward(self, *args, **kwargs):
        if self._shadow is not None:
            return interpreted(self._shadow.forward, *args, **kwargs)
        return interpreted(self._method("forward").function, self, *args, **kwargs)

    forward_magic_method = None

    def _method(self, name):
        method = self.__dict__["_script_methods"].get(name)
        if method is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return method

    def _forward(self, what):
        if self._shadow is not None:
            raise NotImplementedError(NO_GRAPH.format(self.original_name, what))
        return getattr(ScriptMethod(self, self._method("forward")), what)

    graph = property(lambda self: self._forward("graph"), doc="The graph of ``forward``.")
    inlined_graph = property(
        lambda self: self._forward("inlined_graph"),
        doc="The graph of ``forward``, with those of submodules in place of their calls.",
    )
    code = property(lambda self: self._forward("code"), doc="The graph of ``forward`` as Python.")
    code_with_constants = property(
        lambda self: self._forward("code_with_constants"), doc="The code, and the tensors that it names as constants."
    )

    def __getattr__(self, name):
        methods = self.__dict__.get("_script_methods", {})
        if name in methods:
            return ScriptMethod(self, methods[name])
        shadow = self.__dict__.get("_shadow")
        if shadow is not None and name not in self.__dict__.get("_modules", ()):
            return getattr(shadow, name)
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if self._shadow is not None and name in self.__dict__:
            self._shadow.__dict__[name] = value

    def __getattribute__(self, name):
        if name == "forward":
            found = object.__getattribute__(self, "__dict__")
            if found.get("_shadow") is None and "forward" in found.get("_script_methods", ()):
                return ScriptMethod(self, found["_script_methods"]["forward"])
        return object.__getattribute__(self, name)

    def _magic(self, name, *args):
        shadow = self._shadow
        if shadow is None or not hasattr(type(shadow), name):
            raise NotImplementedError(f"'{self.original_name}' has no {name}")
        return getattr(shadow, name)(*args)

    def __iter__(self):
        return self._magic("__iter__")

    def __len__(self):
        return self._magic("__len__")

    def __getitem__(self, key):
        return self._magic("__getitem__", key)

    def __contains__(self, key):
        return self._magic("__contains__", key)

    def __bool__(self):
        return True

    def __dir__(self):
        return sorted({*super().__dir__(), *self._script_methods})

    def extra_repr(self):
        return f"original_name={self.original_name}"

    def train(self, mode=True):
        super().train(mode)
        for m in self.modules():
            if isinstance(m, RecursiveScriptModule) and m._shadow is not None:
                m._shadow.__dict__["training"] = mode
        return self

    def copy(self):
        return copy.deepcopy(self)

    def __copy__(self):
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo):
        new = object.__new__(type(self))
        memo[id(self)] = new
        skipped = ("_shadow", "_script_methods")
        new.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k not in skipped})
        new.__dict__["_script_methods"] = self._script_methods
        if self._shadow is not None:
            _join(new, copy.copy(self._shadow))
        return new

    def __reduce_ex__(self, protocol):
        raise pickle.PickleError(
            "ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. "
            "Mixed serialization of script and non-script modules is not supported. For purely script modules use "
            "my_script_module.save(<filename>) instead."
        )

    def define(self, src):
        raise NotImplementedError("ScriptModule.define: TorchScript source cannot be compiled here")


def _join(module, shadow):
    """Make a script module run a Python module.

    They share their parameters, buffers and submodules.
    """
    shared = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
    shadow.__dict__.update({name: module.__dict__[name] for name in shared})
    module.__dict__["_shadow"] = shadow


def scripted_module(module):
    """Return a script module that runs the code of a Python module, with its tensors."""
    if isinstance(module, ScriptModule):
        return module
    made = RecursiveScriptModule._made(type(module).__name__, qualified_name(type(module)), module.training)
    made._parameters.update(module._parameters)
    made._buffers.update(module._buffers)
    made._non_persistent_buffers_set.update(module._non_persistent_buffers_set)
    made._modules.update((name, None if m is None else scripted_module(m)) for name, m in module._modules.items())
    for name in (
        "_forward_hooks",
        "_forward_pre_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_pre_hooks_with_kwargs",
        "_forward_hooks_always_called",
    ):
        getattr(made, name).update(getattr(module, name))
    shadow = object.__new__(type(module))
    shadow.__dict__.update(module.__dict__)
    _join(made, shadow)
    return made


class ScriptFunction:
    """A function that runs the code of a traced graph, or a scripted Python function."""

    __module__ = "torch.jit"

    def __init__(self, name, method=None, function=None):
        self.name, self.qualified_name, self._method, self._python = name, f"__torch__.{name}", method, function
        self.__name__ = name
        if function is not None:
            functools.update_wrapper(self, function)
            self.qualified_name = qualified_name(function)
            self.__signature__ = inspect.signature(function)

    def __call__(self, *args, **kwargs):
        return interpreted(self._python or self._method.function, *args, **kwargs)

    def _of_graph(self, what):
        if self._method is None:
            raise NotImplementedError(NO_GRAPH.format(self.name, what))
        return getattr(self._method, what)

    graph = property(lambda self: self._of_graph("graph"), doc="The graph of the function.")
    inlined_graph = property(
        lambda self: self._of_graph("graph"), doc="The same: it calls no other function of TorchScript."
    )
    code = property(lambda self: self._of_graph("code"), doc="The graph as Python.")
    code_with_constants = property(
        lambda self: self._of_graph("code_with_constants"), doc="The code, and the tensors that it names as constants."
    )

    def save(self, f, _extra_files=None):
        """Write an archive for torch.jit.load."""
        if self._method is None:
            raise NotImplementedError(NO_GRAPH.format(self.name, "code to save"))
        # a function is saved as a module with the function as its forward
        module = RecursiveScriptModule._made("PlaceholderModule", "__torch__.PlaceholderModule")
        code = re.sub(r"^def \w+\(", "def forward(self, ", self.code, count=1).replace("(self, )", "(self)")
        module._script_methods["forward"] = Method("forward", text=code, constants=self._method.constants)
        module.save(f, _extra_files=_extra_files)

    save_to_buffer = ScriptModule.save_to_buffer

    def __reduce__(self):
        raise pickle.PickleError("ScriptFunction cannot be pickled")

    def __repr__(self):
        return f"<torch.jit.ScriptFunction object at {id(self):#x}>"


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Return a module as a script module and a function as a ScriptFunction; they run as plain Python.

    Classes are returned unchanged.
    """
    if not _state._enabled or isinstance(obj, (ScriptModule, ScriptFunction)):
        return obj
    if isinstance(obj, torch.nn.Module):
        prepared = obj.__prepare_scriptable__() if hasattr(obj, "__prepare_scriptable__") else obj
        return scripted_module(prepared)
    if inspect.isclass(obj):
        if issubclass(obj, torch.nn.Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an instance "
                f"instead"
            )
        return obj
    if isinstance(obj, (dict, list)):
        return obj
    if not callable(obj):
        raise TypeError(f"{type(obj).__name__} cannot be scripted")
    if not hasattr(obj, "__name__"):
        return script(type(obj).__call__.__get__(obj))
    if hasattr(obj, "__script_if_tracing_wrapper"):
        obj = obj.__original_fn
    return ScriptFunction(obj.__name__, function=obj)


def script_method(fn):
    """Return the method unchanged."""
    return fn
