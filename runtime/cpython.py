"""What CPython's C interface gives without a compiler: builtin functions, and slots that programs cannot set.

PyTorch's functions are of the class builtin_function_or_method. One does not become a method of the class that it is an
attribute of: `conv = torch.conv2d` in the body of a module's class is called without the module. A builtin is made of a
function of Python here: what it calls is PyObject_Vectorcall, whose arguments are those of a builtin with METH_FASTCALL
and METH_KEYWORDS, and what it is bound to is the function. A call costs 3 ns more than that of the function.
"""

import copyreg
import ctypes
import importlib
import inspect
import math
from types import BuiltinFunctionType, FunctionType

_FASTCALL, _KEYWORDS, _READ_ONLY = 0x80, 0x2, 1  # METH_FASTCALL, METH_KEYWORDS, READONLY


class _MethodDef(ctypes.Structure):
    """CPython's struct PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _MemberDef(ctypes.Structure):
    """CPython's struct PyMemberDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _MemberDescriptor(ctypes.Structure):
    """CPython's struct PyMemberDescrObject."""

    _fields_ = [
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("owner", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("qualified_name", ctypes.c_void_p),
        ("member", ctypes.POINTER(_MemberDef)),
    ]


_vectorcall = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_new_member = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.POINTER(_MemberDef))(
    ("PyDescr_NewMember", ctypes.pythonapi)
)
_definitions: list = []  # what builtins and members point to, for as long as the process runs


def builtin(f, module, parent=None):
    """Return the builtin that calls a function of Python, with its name, its docstring and what fits of its signature.

    module is the __module__. Pickles name the function as an attribute of that module, or of parent, a pair of a
    module's name and a class's name.
    """
    doc = "\n--\n\n".join(filter(None, (_text_signature(f), f.__doc__)))
    definition = _MethodDef(f.__name__.encode(), _vectorcall, _FASTCALL | _KEYWORDS, doc.encode())
    _definitions.append(definition)
    f._parent = parent
    f._builtin = _new(ctypes.byref(definition), f, module)
    return f._builtin


def public_function(f):
    """Return the builtin that was made of a function, or the function itself where none was made."""
    return getattr(f, "_builtin", f)


def python_function(f):
    """Return the function of Python that a builtin made here calls; anything else is returned itself."""
    return f.__self__ if f.__class__ is BuiltinFunctionType and f.__self__.__class__ is FunctionType else f


def plain_name(f):
    """Return a function's name in its namespace: PyTorch's builtins of torch.linalg, special and fft begin with it."""
    return getattr(python_function(f), "_name", None) or getattr(f, "__name__", "")


def read_only(cls, slot, name):
    """Return a descriptor that reads a slot of a class under another name; setting it raises AttributeError.

    Reading it is as fast as reading the slot.
    """
    of_slot = _MemberDescriptor.from_address(id(vars(cls)[slot])).member.contents
    definition = _MemberDef(name.encode(), of_slot.kind, of_slot.offset, _READ_ONLY, None)
    _definitions.append(definition)
    return _new_member(cls, ctypes.byref(definition))


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
    if parent := f.__self__._parent:
        module, name = parent
        return getattr, (getattr(importlib.import_module(module), name), f.__name__)
    return f.__name__


copyreg.pickle(BuiltinFunctionType, _reduce)
