"""Errors of scripted and traced code, told as PyTorch's TorchScript interpreter tells them.

What is scripted runs as Python here. Where it fails, PyTorch's interpreter raises RuntimeError, whatever the operator
raised, and torch.jit.Error for the program's own `raise` and `assert`, with the lines that failed.
"""

import ast
import dis
import functools
import inspect
import linecache
import textwrap
import threading

import torch

_AROUND = 2  # lines that are shown before and after the one that failed
_running = threading.local()


class Error(Exception):
    """An error that scripted code raised itself, by `raise` or `assert`."""

    __module__ = "torch.jit"


def interpreted(function, *args, **kwargs):
    """Call a function as the interpreter does: an error leaves the outermost call as RuntimeError or Error.

    An error of memory keeps its class, as do those that are no Exception.
    """
    if getattr(_running, "inside", False):
        return function(*args, **kwargs)
    _running.inside = True
    try:
        return function(*args, **kwargs)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        told = _told(error) if error.__traceback__.tb_next else _not_called(function, args, kwargs, error)
    finally:
        _running.inside = False
    raise told


def _told(error):
    """Return the exception that tells of an error in the words of the interpreter."""
    frames, at = [], error.__traceback__.tb_next  # the first is interpreted()
    last = None
    while at is not None:
        last = at
        if _is_scripted(at.tb_frame):
            frames.append(at)
        at = at.tb_next
    own = bool(frames) and frames[-1] is last and _raises(last)
    shown = frames[-1:] if own else frames
    text = "The following operation failed in the TorchScript interpreter.\n"
    text += "Traceback of TorchScript (most recent call last):\n" + "".join(map(_lines_of, shown))
    kind = type(error)
    if own and kind is not AssertionError:
        return Error(f"{text}{kind.__module__}.{kind.__qualname__}: {error}\n")
    return (Error if own else RuntimeError)(f"{text}RuntimeError: {'AssertionError: ' * own}{error}\n")


def _not_called(function, args, kwargs, error):
    """Return the exception for a call whose arguments do not fit."""
    signature, name = inspect.signature(function), function.__name__
    kinds = {p: "Tensor" if p.annotation is p.empty else _kind(p.annotation) for p in signature.parameters.values()}
    result = "Tensor" if signature.return_annotation is signature.empty else _kind(signature.return_annotation)
    declared = f"Declaration: {name}({', '.join(f'{kind} {p.name}' for p, kind in kinds.items())}) -> {result}"
    missing = [p for p in list(kinds)[len(args) :] if p.default is p.empty and p.name not in kwargs]
    if len(args) > len(kinds):
        counts = f"expected at most {len(kinds)} argument(s) but received {len(args)} argument(s)"
        return RuntimeError(f"{name}() {counts}. {declared}")
    if missing:
        return RuntimeError(f"{name}() is missing value for argument '{missing[0].name}'. {declared}")
    return RuntimeError(f"{error}. {declared}")


def _kind(annotation):
    return getattr(annotation, "__name__", str(annotation))


def _is_scripted(frame):
    """Whether a frame's code is the program's, or the forward method of one of torch's modules."""
    module = frame.f_globals.get("__name__") or ""
    if module.startswith("torch.nn.modules."):
        return module != "torch.nn.modules.module"
    return frame.f_code.co_filename[:1] != "<" and module.partition(".")[0] not in ("torch", "mindtorch_proxy")


def _raises(at):
    """Whether a traceback's frame stopped at a `raise` or an `assert`."""
    code = at.tb_frame.f_code.co_code
    return code[at.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _lines_of(at):
    """Return the lines of a frame: where it is, its source, and a mark below what failed."""
    code, line = at.tb_frame.f_code, at.tb_lineno
    head = f'  File "{code.co_filename}", line {line}, in {code.co_name}\n'
    try:
        source, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return head
    start, end = _marked(at, source, first) or (None, None)
    shown = []
    for n in range(max(first, line - _AROUND), min(first + len(source), line + _AROUND + 1)):
        text = linecache.getline(code.co_filename, n).rstrip("\n")
        shown.append(text)
        if n == line:
            if start is None:
                start, end = len(text) - len(text.lstrip()), len(text)
            shown.append(" " * start + "~" * (end - start) + " <--- HERE")
    return head + "".join(text + "\n" for text in shown)


def _marked(at, source, first):
    """Return (first column, end column) of the expression or statement that failed, or None where it is not known.

    Of a call, what is called is marked, and a `raise` or `assert` is marked as a whole.
    """
    places = getattr(at.tb_frame.f_code, "co_positions", None)
    if places is None:  # before Python 3.11
        return None
    line, end_line, column, end = next(p for i, p in enumerate(places()) if i == at.tb_lasti // 2)
    if line != end_line or column is None:
        return None
    for node in _nodes(textwrap.dedent("".join(source))):
        indent = len(source[0]) - len(source[0].lstrip())
        if node.lineno + first - 1 != line or node.end_lineno != node.lineno:
            continue
        begins, ends = node.col_offset + indent, node.end_col_offset + indent
        if isinstance(node, (ast.Raise, ast.Assert)) and begins <= column and end <= ends and _raises(at):
            return begins, ends
        if isinstance(node, ast.Call) and (begins, ends) == (column, end):
            return begins, node.func.end_col_offset + indent
    return column, end


@functools.lru_cache(maxsize=100)
def _nodes(source):
    try:
        return [n for n in ast.walk(ast.parse(source)) if hasattr(n, "lineno")]
    except SyntaxError:  # a lambda's line
        return []
