"""Backends that count graphs and operators."""


class CompileCounter:
    """A backend that returns the graph's own forward and counts graphs and operators."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self):
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """A CompileCounter with the name of a backend."""

    def __init__(self, backend, **kwargs):
        self.backend = backend
        super().__init__()

    def clear(self):
        super().clear()
        self.graphs = []
