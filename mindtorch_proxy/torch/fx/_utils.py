"""Formatting of graphs for logs."""

__all__ = ["first_call_function_nn_module_stack", "get_node_context", "lazy_format_graph_code"]


class _Lazy:
    """A text that is computed when it is used."""

    def __init__(self, make):
        self._make = make

    def __str__(self):
        return self._make()


def lazy_format_graph_code(name, gm, maybe_id=None, **kwargs):
    """Return the titled code of a module, formatted only when the text is used."""
    title = f"{name} {maybe_id}" if maybe_id is not None else name

    def text():
        code = gm.print_readable(print_output=False, **kwargs)
        return f"TRACED GRAPH\n ===== {title} =====\n {getattr(gm.forward, '__code__', gm.forward).co_filename} {code}"

    return _Lazy(text)


def first_call_function_nn_module_stack(graph):
    """Return the nn_module_stack of the first function call that has one, or None."""
    return next(
        (n.meta["nn_module_stack"] for n in graph.nodes if n.op == "call_function" and "nn_module_stack" in n.meta),
        None,
    )


def get_node_context(node, num_nodes=2):
    """Return a node and the nodes before it as lines of text."""
    lines, current = [], node
    for i in range(num_nodes):
        if current.op == "root":
            break
        lines.insert(0, f"{' ' * 5 if i else ' --> '}{current.format_node()}")
        current = current.prev
    return "\n".join(lines)
