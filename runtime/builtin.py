"""Functions of the class that PyTorch's own have, builtin_function_or_method, which calls a function of Python.

A builtin does not become a method of the class that it is an attribute of: `conv = torch.conv2d` in the body of a
module's class is called without the module, as with PyTorch. CPython's interface makes one without a compiler: what it
calls is PyObject_Vectorcall, whose arguments are those of a builtin with METH_FASTCALL and METH_KEYWORDS, and what it
is bound to is the function. A call costs 3 ns more than that of the function.
"""

import copyreg
import ctypes
import importlib
import inspect
import math
from types import BuiltinFunctionType, FunctionType

_FASTCALL, _KEYWORDS = 0x80, 0x2  # METH_FASTCALL, METH_KEYWORDS


class _MethodDef(ctypes.Structure):
    """CPython's struct PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_vectorcall = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_definitions: list = []  # what builtins point to, for as long as the process runs
_PARENTS: dict = {}  # __module__ -> (module, class): where pickles look for a builtin of that module


def builtin(f, module, parent=None):
    """Return the builtin that calls a function of Python, with its name, its docstring and what fits of its signature.

    module is the __module__. Pickles name the function as an attribute of that module, or of parent, a pair of a
    module's name and a class's name.
    """
    doc = "\n--\n\n".join(filter(None, (_text_signature(f), f.__doc__)))
    definition = _MethodDef(f.__name__.encode(), _vectorcall, _FASTCALL | _KEYWORDS, doc.encode())
    _definitions.append(definition)
    if parent is not None:
        _PARENTS[module] = parent
    f._builtin = _new(ctypes.byref(definition), f, module)
    return f._builtin


def public_function(f):
    """Return the builtin that was made of a function, or the function itself where none was made."""
    return getattr(f, "_builtin", f)


def python_function(f):
    """Return the function of Python that a builtin made here calls; anything else is returned itself."""
    return f.__self__ if f.__class__ is BuiltinFunctionType and f.__self__.__class__ is FunctionType else f


def _text_signature(f):
    """Return a signature as the docstrings of builtins begin with it; a default that is no literal becomes `...`."""
    signature = inspect.signature(f)
    parameters = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else _Text(_literal(p.default)))
        for p in signature.parameters.values()
    ]
    return f.__name__ + str(signature.replace(parameters=parameters, return_annotation=signature.empty))


class _Text(str):
    """A string whose repr is itself."""

    __repr__ = str.__str__


def _literal(value):
    simple = value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and math.isfinite(value)
    if simple or isinstance(value, (tuple, list)) and "..." not in map(_literal, value):
        return repr(value)
    return "..."


def _reduce(f):
    """Return what a pickle holds of a builtin function."""
    if python_function(f) is f:
        return f.__reduce__()
    if f.__module__ in _PARENTS:
        module, name = _PARENTS[f.__module__]
        return getattr, (getattr(importlib.import_module(module), name), f.__name__)
    return f.__name__


copyreg.pickle(BuiltinFunctionType, _reduce)
