"""The metadata of the currently executed node, which new nodes inherit, and their stack traces."""

import contextlib
import copy
import traceback

from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]
_current, _preserving = {}, False


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Context manager in which new nodes inherit the metadata of the node that an Interpreter runs."""
    global _preserving, _current
    before, _preserving = (_preserving, _current), enable
    _current = dict(_current)
    try:
        yield
    finally:
        _preserving, _current = before


def has_preserved_node_meta():
    """Whether new nodes inherit metadata."""
    return _preserving


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Context manager that sets ``node`` as the current node."""
    global _current
    before = _current
    if _preserving and node.meta:
        _current = dict(node.meta)
    try:
        yield
    finally:
        _current = before


@contextlib.contextmanager
def module_calls(names):
    """Context manager in which new nodes have the modules whose forward runs, as ``nn_module_stack``.

    names: {id of a module: its name}.
    """
    global _current
    outer, counts = [], {}

    def enter(module, args):
        global _current
        name = names.get(id(module))
        if name is not None:
            count = counts.get(name, 0)
            counts[name] = count + 1
            name += f"@{count}" if count else ""
            cls = type(module)
            stack = _current.get("nn_module_stack", {}) | {
                f"L__self__{name}": (name, f"{cls.__module__}.{cls.__qualname__}")
            }
            outer.append(_current)
            _current = {**_current, "nn_module_stack": stack}

    def leave(module, args, result):
        global _current
        if id(module) in names:
            _current = outer.pop()

    with preserve_node_meta():
        hooks = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()


_KEPT = frozenset(
    "nn_module_stack torch_fn source_fn_stack original_aten recompute ac_graph_id from_node quantization_tag custom "
    "partitioner_tag stack_trace".split()
)


def kept_meta():
    """Return the metadata that a new node inherits from the current node."""
    return {k: copy.copy(v) for k, v in _current.items() if k in _KEPT}


def get_current_meta():
    """Return the current metadata."""
    return _current


@contextlib.contextmanager
def annotate(annotation_dict):
    """Context manager that adds to the ``custom`` metadata of new nodes, if metadata is inherited."""
    global _current
    before = _current
    _current = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        _current = before


def set_stack_trace(stack):
    """Set the stack trace of new nodes."""
    if _preserving and stack:
        _current["stack_trace"] = "".join(stack)


def format_stack():
    """Return the stack trace of the current node, otherwise that of the program."""
    if _preserving:
        return [_current.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
