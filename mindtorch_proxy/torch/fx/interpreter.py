"""Execution of graphs node by node."""

from . import traceback as fx_traceback
from .graph import Graph
from .graph_module import GraphModule
from .node import map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph; the methods named like node kinds can be overridden."""

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph, self.env = module, graph if graph is not None else module.graph, {}
        self.garbage_collect_values, self.submodules = garbage_collect_values, dict(module.named_modules())

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """Run the graph with these arguments and return its result."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        left = {n: len(n.users) for n in self.graph.nodes}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.graph.process_outputs(self.env[node]) if enable_io_processing else self.env[node]
            if self.garbage_collect_values:
                for n in node.all_input_nodes:
                    left[n] -= 1
                    if not left[n]:
                        del self.env[n]
        return None

    def boxed_run(self, args_list):
        """Run like run(), but clear the list of arguments, so that they can be freed during the run."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n):
        """Return the value of a node, computed by the method named like its op."""
        with fx_traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n):
        """Return the arguments of a node, with nodes replaced by their values."""
        return map_arg((n.args, n.kwargs), lambda m: self.env[m])

    def map_nodes_to_values(self, args, n):
        """Replace nodes by their values in a nested argument."""
        return map_arg(args, lambda m: self.env[m])

    def fetch_attr(self, target):
        """Return the attribute with a dotted name; raise RuntimeError if it does not exist."""
        value = self.module
        for i, atom in enumerate(target.split(".")):
            if not hasattr(value, atom):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(target.split('.')[: i + 1])}")
            value = getattr(value, atom)
        return value

    def placeholder(self, target, args, kwargs):
        """Return the next argument, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args, kwargs):
        """Return the attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """Call the function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """Call the method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args, kwargs):
        """Call the submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """Return the result of the graph."""
        return args[0]


class Transformer(Interpreter):
    """Creates a new GraphModule from a graph; the values that methods return replace the nodes."""

    def __init__(self, module):
        from ._symbolic_trace import Tracer

        super().__init__(module)
        self.new_graph, self.tracer = Graph(), Tracer()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer.graph, self.tracer.root, self.tracer.tensor_attrs = self.new_graph, module, {}

    def placeholder(self, target, args, kwargs):
        """Create a placeholder in the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target, args, kwargs):
        """Create a get_attr node in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """Create a function call in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """Create a submodule call in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self):
        """Run the transformation and return the new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_proxies(result))
        return GraphModule(self.module, self.new_graph)


def map_proxies(a):
    """Replace proxies by their nodes."""
    from .node import map_aggregate

    return map_aggregate(a, lambda x: x.node if isinstance(x, Proxy) else x)
