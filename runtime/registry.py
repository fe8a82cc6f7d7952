"""Registry of declared operators, and of the functions that are made from them on first use.

It imports only the descriptions and what makes builtins, so that every module can import it: tensors look up their
methods here, autograd its operators.
"""

import os
import sys
from types import FunctionType

from .cpython import builtin, python_function
from .describe import describe

_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = tuple(os.path.join(_ROOM, name, "") for name in ("runtime", "backends"))  # the folders whose modules declare

# namespace -> name -> operators in the order of declaration, in which overloads are tried; "Tensor": methods only
OPERATORS: dict = {}
# an operator's full name -> its decomposition into other operators, for backends without a kernel for it
DECOMPOSITIONS: dict = {}
WHOLE_IN_TRACES: set = set()  # the operators of IMPLICIT that torch.jit.trace records as one call
# an operator's full name -> PyTorch's decomposition above its dispatcher, where ours is one kernel
IMPLICIT: dict = {}
_made: dict = {}  # (namespace, name) -> the function made for it
_absent: set = set()  # (namespace, name) without an operator, cached because libraries probe tensors for attributes
# Set by call/public.py. _make(namespace, name) returns a function or None, _names(namespace) the names it can make.
_make = _names = None


def declared_at():
    """Return (file, line) of the running top-level statement of one of our modules while it is imported, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return (frame.f_code.co_filename, frame.f_lineno) if frame.f_code.co_filename.startswith(OURS) else None
        frame = frame.f_back
    return None


def declare(op):
    """Register an operator under its name and its aliases."""
    _absent.clear()
    op.where = declared_at()
    for full in (op.name, *op.options.alias):
        ns, _, name = full.rpartition(".")
        OPERATORS.setdefault(ns or op.namespace, {}).setdefault(name, []).append(op)
    return op


def operators():
    """Return every declared operator once."""
    return list(dict.fromkeys(o for names in list(OPERATORS.values()) for group in list(names.values()) for o in group))


def made_by(make, all_names):
    """Set make(namespace, name), which makes functions, and all_names(namespace), which lists those that exist."""
    global _make, _names
    _make, _names = make, all_names


def names(ns):
    """Return the names of a namespace's functions."""
    return _names(ns)


def function(ns, name):
    """Return torch.<ns>.<name>, or for ns "Tensor" the method. Return None if there is no such operator."""
    key = (ns, name)
    f = _made.get(key)
    if f is None and key not in _absent:
        f = _make(ns, name)
        if f is None:
            _absent.add(key)
        else:
            f = _made[key] = _as_in_torch(ns, name, f)
    return f


# {namespace: (module, beginning of the names)} of the functions that are no functions of Python in PyTorch
_BUILTINS = {
    "torch": ("torch", ""),
    "linalg": ("torch._C._linalg", "linalg_"),
    "special": ("torch._C._special", "special_"),
    "fft": ("torch._C._fft", "fft_"),
    "nn.functional": ("torch._C._nn", ""),
    "_C._nn": ("torch._C._nn", ""),
    "_C._sparse": ("torch._C._sparse", ""),
}


def _as_in_torch(ns, name, f):
    """Give a public function its docstring, and return it, or the builtin for it where PyTorch has one."""
    f = describe(ns, name, f)
    ops = getattr(f, "ops", None)
    in_python = f.__module__ != "torch"
    if ops:  # a function of torch that nn.functional has as well is called by one of Python there
        in_python = ops[0].python and name[-1:] != "_" or ns == "nn.functional" and ops[0].namespace == "torch"
    if in_python or ns not in _BUILTINS or f.__class__ is not FunctionType:
        return f
    if ns == "torch":
        return of_torch(f)
    module, prefix = _BUILTINS[ns]
    f._name, f.__name__, f.__qualname__ = name, *(prefix + name,) * 2
    return builtin(f, module)


def of_torch(f):
    """Return the builtin of torch for a function."""
    return builtin(f, "torch", ("torch._C", "_VariableFunctionsClass"))


def method(name):
    """Return the method Tensor.<name>, or None."""
    return function("Tensor", name)


def provide(ns, name, f):
    """Register a handwritten function, or a method as a function."""
    _made[ns, name] = describe(ns, name, f) if f.__qualname__.startswith("Tensor.") else _as_in_torch(ns, name, f)
    return f


def provided(ns):
    """Return the names of a namespace whose functions have already been made or registered."""
    return {name for space, name in _made if space == ns}


class Namespace:
    """Access to operators by name, looked up on first use: `T.add(x, y)` is torch.add."""

    def __init__(self, ns):
        self._ns = ns

    def __getattr__(self, name):
        f = function(self._ns, name)
        if f is None:
            raise AttributeError(f"no operator {self._ns}.{name}")
        f = python_function(f)
        setattr(self, name, f)
        return f


T, F, M, LINALG, SPECIAL, ATEN = map(Namespace, ("torch", "nn.functional", "Tensor", "linalg", "special", "aten"))


def implicit(*names, traced=True):
    """Decorator that registers PyTorch's implicit decomposition of operators, as in @implicit("_linear").

    The decorated function is called instead of the operator while interceptors see the calls below autograd. Where it
    returns NotImplemented, the operator itself is called. traced: whether torch.jit.trace also records the parts
    rather than the one call.
    """

    def deco(fn):
        IMPLICIT.update(dict.fromkeys(names, fn))
        if not traced:
            WHOLE_IN_TRACES.update(names)
        return fn

    return deco


def decomposition(*names):
    """Decorator that registers a decomposition of operators into others, as in @decomposition("log2").

    It is used where a backend has no better kernel.
    """

    def deco(fn):
        DECOMPOSITIONS.update(dict.fromkeys(names, fn))
        return fn

    return deco
