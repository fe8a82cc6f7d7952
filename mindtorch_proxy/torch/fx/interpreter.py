"""Running graphs node by node."""

from . import traceback as fx_traceback
from .graph import Graph
from .graph_module import GraphModule
from .node import map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph; methods named as the kinds of nodes can be overridden."""

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph, self.env = module, graph if graph is not None else module.graph, {}
        self.garbage_collect_values, self.submodules = garbage_collect_values, dict(module.named_modules())

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The result of the graph for these arguments."""
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
        """As run(), but empties the list of arguments, so that they may be freed on the way."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n):
        """The value of one node, by the method that is named as its op."""
        with fx_traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node, with values for nodes."""
        return map_arg((n.args, n.kwargs), lambda m: self.env[m])

    def map_nodes_to_values(self, args, n):
        """A nested argument with values for nodes."""
        return map_arg(args, lambda m: self.env[m])

    def fetch_attr(self, target):
        """The attribute of a dotted name; RuntimeError where there is none."""
        value = self.module
        for i, atom in enumerate(target.split(".")):
            if not hasattr(value, atom):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(target.split('.')[: i + 1])}")
            value = getattr(value, atom)
        return value

    def placeholder(self, target, args, kwargs):
        """The next argument, or the default."""
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
        """The attribute of the module."""
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
        """What the graph returns."""
        return args[0]


class Transformer(Interpreter):
    """Makes a new GraphModule from a graph; what methods return for a node takes its place."""

    def __init__(self, module):
        from ._symbolic_trace import Tracer

        super().__init__(module)
        self.new_graph, self.tracer = Graph(), Tracer()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer.graph, self.tracer.root, self.tracer.tensor_attrs = self.new_graph, module, {}

    def placeholder(self, target, args, kwargs):
        """A new argument of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A new reading of the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A new call of the function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A new call of the submodule."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self):
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_proxies(result))
        return GraphModule(self.module, self.new_graph)


def map_proxies(a):
    """The nodes in the place of their proxies."""
    from .node import map_aggregate

    return map_aggregate(a, lambda x: x.node if isinstance(x, Proxy) else x)
