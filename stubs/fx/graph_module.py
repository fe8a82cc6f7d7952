"""A module whose forward is written from a graph."""
import copy
import linecache

import torch

__all__ = ["GraphModule"]


class GraphModule(torch.nn.Module):
    """GraphModule(root, graph): root is a Module or a dict of what the graph names."""
    _count = 0

    def __new__(cls, *args, **kwargs):
        # forward is code of its own for each instance, so each has a class of its own
        base = next(c for c in cls.__mro__ if "_instance_class" not in c.__dict__)
        return object.__new__(type(base.__name__, (base,), {"_instance_class": True, "__module__": base.__module__, "__qualname__": base.__qualname__}))

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, torch.nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for n in graph.nodes:
                if n.op in ("get_attr", "call_module"):
                    self._take(root, n.target)
        else:
            for name, value in sorted(root.items(), key=lambda kv: kv[0].count(".")):
                self._place(name, value)
        self.graph = graph

    def _take(self, root, target):
        value = root
        for p in target.split("."):
            value = getattr(value, p)
        self._place(target, value)

    def _place(self, target, value):
        *path, name = target.split(".")
        home = self
        for p in path:
            if not hasattr(home, p):
                home.add_module(p, torch.nn.Module())
            home = getattr(home, p)
        if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
            home.register_buffer(name, value)
        else:
            setattr(home, name, value)

    @property
    def graph(self):
        return self._graph

    @graph.setter
    def graph(self, g):
        self._graph = g
        g.owning_module = self
        self.recompile()

    def recompile(self):
        """Write forward anew; call it after changing the graph."""
        code = self._graph.python_code("self")
        self._code = code.src
        GraphModule._count += 1
        name = f"<eval_with_key>.{GraphModule._count}"
        linecache.cache[name] = (len(code.src), None, code.src.splitlines(True), name)
        env = dict(code.globals)
        exec(compile(code.src, name, "exec"), env)
        type(self).forward = env["forward"]
        return code

    @property
    def code(self):
        return self._code

    def print_readable(self, print_output=True, **kwargs):
        text = f"class {type(self).__name__}(torch.nn.Module):" + self._code.replace("\n", "\n    ")
        if print_output:
            print(text)
        return text

    def delete_submodule(self, target):
        *path, name = target.split(".")
        home = self.get_submodule(".".join(path))
        if name not in home._modules:
            return False
        delattr(home, name)
        return True

    def add_submodule(self, target, m):
        self._place(target, m)
        return True

    def delete_all_unused_submodules(self):
        used = {n.target for n in self._graph.nodes if n.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_modules()):
            if name and not any(u == name or u.startswith(name + ".") or name.startswith(u + ".") for u in used):
                self.delete_submodule(name)

    def _state(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}

    def __deepcopy__(self, memo):
        return _restore(copy.deepcopy(self._state(), memo), copy.deepcopy(self._graph), type(self).__name__)

    def __copy__(self):
        return _restore(dict(self._state()), copy.copy(self._graph), type(self).__name__)

    def __reduce__(self):
        return _restore, (self._state(), self._graph, type(self).__name__)

    def __str__(self):
        return f"{super().__str__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"


def _restore(state, graph, class_name):
    m = GraphModule.__new__(GraphModule)
    torch.nn.Module.__init__(m)
    m.__dict__.update(state)
    type(m).__name__ = class_name
    m.graph = graph
    return m
