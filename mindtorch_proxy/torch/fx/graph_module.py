"""GraphModule: a module generated from a graph."""

import copy
import linecache
import sys
import traceback

import torch

from .graph import CodeGen, Graph
from .node import Node, map_arg

__all__ = ["GraphModule", "reduce_graph_module"]


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # key in GraphModule.meta: attributes that copies keep


class _CodeOnlyModule(torch.nn.Module):
    """A module with the given dict of attributes."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module, to_module, target):
    """Copy an attribute with a dotted name to another module, and create missing modules on the way."""
    *path, last = target.split(".")
    for atom in path:
        below = getattr(from_module, atom)
        if getattr(to_module, atom, None) is below:
            return
        if getattr(to_module, atom, None) is None:
            setattr(to_module, atom, torch.nn.Module())
        from_module, to_module = below, getattr(to_module, atom)
    _assign_attr(getattr(from_module, last), to_module, last)


def _assign_attr(from_obj, to_module, target):
    """Set an attribute with a dotted name, and create missing modules on the way.

    Tensors that are not parameters become buffers.
    """
    *path, last = target.split(".")
    for atom in path:
        if getattr(to_module, atom, None) is None:
            setattr(to_module, atom, torch.nn.Module())
        to_module = getattr(to_module, atom)
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, torch.nn.Parameter):
        to_module.register_buffer(last, from_obj)
    else:
        setattr(to_module, last, from_obj)


def _get_attr(model, attr_name):
    """Return the attribute with a dotted name; raise AssertionError if a module on the way is missing."""
    *path, last = attr_name.split(".")
    for atom in path:
        model = getattr(model, atom, None)
        if model is None:
            raise AssertionError(f"Attribute '{atom}' not found in model")
    return getattr(model, last)


def _explain(error):
    """Print to stderr which line of generated code raised an error; return whether it was printed.

    Only done if the generated code itself called what failed.
    """
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__) if not _of_operator(f)]
    if not frames or "eval_with_key" not in frames[-1][0]:
        return False
    lines, at = linecache.getlines(frames[-1][0]), frames[-1][1]
    where = f"Call using an FX-traced Module, line {at} of the traced Module's generated forward function:"
    marker = "~" * len(lines[at - 1].strip()) + "~~~ <--- HERE"
    print(
        "\n".join([traceback.format_exc(), where, "".join(lines[at - 2 : at]), marker, "\n".join(lines[at : at + 2])]),
        file=sys.stderr,
    )
    return True


def _of_operator(frame):
    """Whether a frame belongs to the implementation of an operator, which has no Python frames in PyTorch."""
    name = frame.f_code.co_filename
    return (
        frame.f_globals.get("__name__", "").startswith("mindtorch_proxy.")
        or name.startswith("<")
        and "eval_with_key" not in name
    )


class GraphModule(torch.nn.Module):
    """A module whose forward is the code of a graph.

    It has copies of the attributes of ``root`` (a module, or a dict by name) that the graph uses.
    """

    _count = 0

    def __new__(cls, *args, **kwargs):
        # forward is a class attribute, so each instance gets its own class
        for c in cls.__mro__:
            if c.__qualname__.split(".")[-1] != "GraphModuleImpl":
                cls = c
                break
        return super().__new__(type("GraphModuleImpl", (cls,), {"__module__": cls.__module__}))

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, torch.nn.Module):
            self.training = root.training
            for t in targets:
                _copy_attr(root, self, t)
        else:
            for t in sorted(targets, key=lambda t: t.count(".")):
                if t not in root:
                    raise RuntimeError(
                        f"Node in graph referenced target {t} but that target was not provided in `root`!"
                    )
                _assign_attr(root[t], self, t)
        self.graph, self.meta = graph, {}

    def __call__(self, *args, **kwargs):
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            if _explain(error):
                raise error.with_traceback(None)  # noqa: B904  (the same error)
            raise

    @property
    def graph(self):
        """The graph; assigning to it regenerates the code."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g if g.owning_module is None else copy.deepcopy(g)
        self._graph.owning_module = self
        self.recompile()

    def recompile(self):
        """Regenerate forward from the current graph and return the code."""
        code = self._graph.python_code("self")
        self._code, namespace = code.src, dict(code.globals)
        self._lineno_map, self._prologue_start = code._lineno_map, code._prologue_start
        GraphModule._count += 1
        filename = f"<eval_with_key>.{GraphModule._count}{self._graph._traced_from}"
        exec(compile(code.src, filename, "exec"), namespace)
        linecache.cache[filename] = (len(code.src), None, code.src.splitlines(True), filename)
        type(self).forward = namespace["forward"]
        return code

    @property
    def _in_spec(self):
        return self._graph._codegen.pytree_info.in_spec

    @property
    def _out_spec(self):
        return self._graph._codegen.pytree_info.out_spec

    @property
    def code(self):
        """The generated Python code."""
        return self._code

    def print_readable(
        self,
        print_output=True,
        include_stride=False,
        include_device=False,
        colored=False,
        *,
        fast_sympy_print=False,
        expanded_def=False,
        additional_meta=None,
    ):
        """Print and return the code of the module."""
        text = f"class {self._get_name()}(torch.nn.Module):\n    " + self._code.strip().replace("\n", "\n    ")
        if print_output:
            print(text)
        return text

    def add_submodule(self, target, m):
        """Add a module at ``a.b.c``, and create missing modules on the way."""
        *path, last = target.split(".")
        place = self
        for atom in path:
            if not hasattr(place, atom):
                setattr(place, atom, torch.nn.Module())
            place = getattr(place, atom)
            if not isinstance(place, torch.nn.Module):
                return False
        place.add_module(last, m)
        return True

    def delete_submodule(self, target):
        """Remove the module at ``a.b.c``; return whether there was one."""
        path, _, last = target.rpartition(".")
        place = self
        for atom in path.split(".") if path else ():
            place = getattr(place, atom, None)
            if not isinstance(place, torch.nn.Module):
                return False
        if not isinstance(getattr(place, last, None), torch.nn.Module):
            return False
        delattr(place, last)
        return True

    def _replicate_for_data_parallel(self):
        replica = self.__copy__()
        replica._is_replica = True
        return replica

    def delete_all_unused_submodules(self):
        """Remove the submodules that the graph does not use."""
        used = {n.target for n in self._graph.nodes if n.op in ("get_attr", "call_module")}
        for name, _ in list(self.named_modules()):
            if name and not any(u == name or u.startswith(name + ".") or name.startswith(u + ".") for u in used):
                self.delete_submodule(name)  # False where the module that held it is gone already

    def __deepcopy__(self, memo):
        new = self.__class__.__new__(self.__class__)
        memo[id(self)] = new
        state = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        torch.nn.Module.__init__(new)
        new.__dict__.update(copy.deepcopy(state, memo))
        new.__class__.__name__ = "GraphModule"
        new.graph = copy.deepcopy(self._graph)
        for name, value in new.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(new, name, value)
        return new

    def __copy__(self):
        return GraphModule(self, self._graph)

    def __reduce__(self):
        index = {n: i for i, n in enumerate(self._graph.nodes)}
        nodes = [
            (n.op, n.target, *map_arg((n.args, n.kwargs), lambda m: _Index(index[m])), n.name, n.type)
            for n in self._graph.nodes
        ]
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        codegen = self._graph._codegen
        return reduce_graph_module, (state, nodes, None if type(codegen) is CodeGen else codegen)

    def __str__(self):
        return "\n".join(
            [super().__str__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )


class _Index(int):
    """The index of a node, used in pickles."""


def reduce_graph_module(state, nodes, codegen=None):
    """Restore a pickled GraphModule; ``codegen`` is its CodeGen if it is not the default."""
    from .node import map_aggregate

    graph, made = Graph(), []
    for op, target, args, kwargs, name, type_expr in nodes:
        args, kwargs = map_aggregate((args, kwargs), lambda a: made[a] if isinstance(a, _Index) else a)
        made.append(graph.create_node(op, target, args, kwargs, name, type_expr))
    if codegen is not None:
        graph.set_codegen(codegen)
    new = GraphModule.__new__(GraphModule)
    torch.nn.Module.__init__(new)
    new.__dict__.update(state)
    new.__class__.__name__ = "GraphModule"
    new.graph = graph
    return new
