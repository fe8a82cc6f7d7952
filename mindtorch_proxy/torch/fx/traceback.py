"""What nodes keep of the node that is being run, and where they were made."""

import contextlib
import copy
import traceback

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
    """Within this block nodes that are made get the meta of the node that an Interpreter runs."""
    global _preserving, _current
    before, _preserving = (_preserving, _current), enable
    _current = dict(_current)
    try:
        yield
    finally:
        _preserving, _current = before


def has_preserved_node_meta():
    """Whether meta is handed on."""
    return _preserving


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Within this block ``node`` is the one that is run."""
    global _current
    before = _current
    if _preserving and node.meta:
        _current = dict(node.meta)
    try:
        yield
    finally:
        _current = before


_KEPT = frozenset(
    "nn_module_stack torch_fn source_fn_stack original_aten recompute ac_graph_id from_node quantization_tag custom "
    "partitioner_tag stack_trace".split()
)


def kept_meta():
    """What a new node gets of the meta of the one that is run."""
    return {k: copy.copy(v) for k, v in _current.items() if k in _KEPT}


def get_current_meta():
    """The meta that a new node gets."""
    return _current


@contextlib.contextmanager
def annotate(annotation_dict):
    """Within this block nodes that are made carry this under ``custom``, where meta is handed on."""
    global _current
    before = _current
    _current = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        _current = before


def set_stack_trace(stack):
    """The lines that new nodes name as their origin."""
    if _preserving and stack:
        _current["stack_trace"] = "".join(stack)


def format_stack():
    """The lines of the node that is run, else of the program."""
    if _preserving:
        return [_current.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])
