"""Helpers for pipes: checks of functions and columns, files and streams."""

import copy
import fnmatch
import functools
import importlib.util
import inspect
import os
import warnings
from collections.abc import Iterable, Sized

__all__ = [
    "validate_input_col",
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
]


def _lengths(pipe, *sources):
    """Return the lengths of the sources; raises TypeError if one has none."""
    if not all(isinstance(s, Sized) for s in sources):
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return [len(s) for s in sources]


class _AsLong:
    """Mixin for pipes with the length of their source."""

    def __len__(self):
        return _lengths(self, self.datapipe)[0]


class _KnownLength:
    """Mixin for pipes with a given length."""

    def __len__(self):
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


def _copied(kind, source, end=""):
    """Return a deep copy, or the object itself with a warning if it cannot be copied, such as a generator."""
    try:
        return copy.deepcopy(source)
    except TypeError:
        warnings.warn(
            f"The input {kind} can not be deepcopied, please be aware of in-place modification would affect source "
            f"data{end}",
            stacklevel=3,
        )
        return source


def _all(datapipes, *kinds):
    """Check that there is at least one pipe and that all are of these kinds, and return them."""
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    for kind in kinds:
        if not all(isinstance(d, kind) for d in datapipes):
            raise TypeError(f"Expected all inputs to be `{kind.__name__}`")
    return datapipes


def _check_unpickable_fn(fn):
    """Check that fn is callable; without dill, warn about functions that pickle does not support."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    fn = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    kind = "Local" if "<locals>" in name else "Lambda" if "<lambda>" in name else None
    if kind and importlib.util.find_spec("dill") is None:
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or functools.partial "
            f"instead.",
            stacklevel=3,
        )


def validate_input_col(fn, input_col):
    """Raise ValueError unless fn can be called with one argument for each column."""
    try:
        signature = inspect.signature(fn)
    except ValueError:  # a builtin without a signature
        return
    needed = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    inner = fn.func if isinstance(fn, functools.partial) else fn
    name, parameters = getattr(inner, "__name__", repr(inner)), signature.parameters.values()
    keywords = sum(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    if keywords:
        raise ValueError(
            f"The function {name} takes {keywords} non-default keyword-only parameters, which is not allowed."
        )
    try:
        signature.bind(*range(needed))
    except TypeError:
        found = f"{len(parameters)} parameters"
        if len(parameters) >= needed:
            found = (
                f"{sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)} positional "
                f"parameters"
            )
        raise ValueError(f"The function {name} takes {found}, but {needed} are required.") from None


def _call(fn, data, columns):
    """Call fn with a sample, or with some of its columns."""
    if columns is None:
        return fn(data)
    return fn(*(data[c] for c in columns)) if isinstance(columns, (list, tuple)) else fn(data[columns])


def match_masks(name, masks):
    """Whether a name matches one of the patterns; without patterns every name matches."""
    return not masks or any(fnmatch.fnmatch(name, m) for m in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(root, masks, recursive=False, abspath=False, non_deterministic=False):
    """Yield the files of a directory whose names match."""

    def fail(error):
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for folder, folders, files in os.walk(root, onerror=fail):
        folder = os.path.abspath(folder) if abspath else folder
        if not non_deterministic:
            files.sort()
            folders.sort()
        yield from (os.path.join(folder, f) for f in files if match_masks(f, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(pathnames, mode, encoding=None):
    """Yield pairs of a path and its opened file."""
    for path in pathnames if isinstance(pathnames, Iterable) else [pathnames]:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, f"r{mode}" if mode in ("b", "t") else mode, encoding=encoding))


class StreamWrapper:
    """A file that is closed when it is garbage-collected.

    It keeps the archive that it comes from open.
    """

    session_streams: dict = {}
    debug_unclosed_streams = False

    def __init__(self, file_obj, parent_stream=None, name=None):
        self.file_obj, self.parent_stream, self.name, self.closed = file_obj, parent_stream, name, False
        self.child_counter, self.close_on_last_child = 0, False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v, depth=0):
        """Close all streams in a sample."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, (dict, list, tuple)) and depth < 10:
            for x in v.values() if isinstance(v, dict) else v:
                cls.close_streams(x, depth + 1)

    def __getattr__(self, name):
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args, **kwargs):
        """Close the file, and its archive if that is set to close with its last file."""
        if self.closed:
            return
        self.closed, parent = True, self.__dict__.get("parent_stream")
        StreamWrapper.session_streams.pop(self, None)
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        if hasattr(self.file_obj, "close"):
            self.file_obj.close(*args, **kwargs)

    def autoclose(self):
        """Close the stream once all streams that come from it are closed."""
        self.close_on_last_child = True
        if not self.child_counter:
            self.close()

    def __del__(self):
        if not self.__dict__.get("closed", True):  # __init__ may have failed
            self.close()

    def __dir__(self):
        return sorted({*self.__dict__, *dir(type(self)), *dir(self.file_obj)})

    def __getstate__(self):
        return self.file_obj

    def __setstate__(self, obj):
        self.file_obj = obj

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __repr__(self):
        return (
            f"StreamWrapper<{self.file_obj!r}>"
            if self.name is None
            else f"StreamWrapper<{self.name},{self.file_obj!r}>"
        )
