"""Declared operators by name, and the functions that are made of them when they are first asked for.

Nothing but their descriptions is imported here, so that everything may import this: tensors find their methods here,
autograd its operators.
"""

import os
import sys

from .describe import describe

_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = tuple(os.path.join(_ROOM, name, "") for name in ("runtime", "backends"))  # the folders whose modules declare

# namespace -> name -> operators in the order of declaration, which is that of overloads; "Tensor": methods only
OPERATORS: dict = {}
# an operator's full name -> a function over other operators, for backends without a kernel of their own
DECOMPOSITIONS: dict = {}
WHOLE_IN_TRACES: set = set()  # those of IMPLICIT that torch.jit.trace notes as they are
# an operator's full name -> how PyTorch decomposes it above its dispatcher, where ours is one kernel
IMPLICIT: dict = {}
_made: dict = {}  # (namespace, name) -> function
_absent: set = (
    set()
)  # (namespace, name) of what no operator has: libraries ask tensors for attributes that they may have
_make = _names = (
    None  # call/public.py, once it is imported: makes a function of a namespace, or None; the names that it can make
)


def declared_at():
    """(file, line) of the statement of one of our modules that is being run while it is imported.

    None outside of an import.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return (frame.f_code.co_filename, frame.f_lineno) if frame.f_code.co_filename.startswith(OURS) else None
        frame = frame.f_back
    return None


def declare(op):
    """Enter an operator under its name and its aliases."""
    _absent.clear()
    op.where = declared_at()
    for full in (op.name, *op.options.alias):
        ns, _, name = full.rpartition(".")
        OPERATORS.setdefault(ns or op.namespace, {}).setdefault(name, []).append(op)
    return op


def operators():
    """Every declared operator, once."""
    return list(dict.fromkeys(o for names in list(OPERATORS.values()) for group in list(names.values()) for o in group))


def made_by(make, all_names):
    """From now on functions are made by make(namespace, name); all_names(namespace) are those that exist."""
    global _make, _names
    _make, _names = make, all_names


def names(ns):
    """The names of a namespace's functions."""
    return _names(ns)


def function(ns, name):
    """torch.<ns>.<name>, for ns "Tensor" the method; None if there is no such operator."""
    key = (ns, name)
    f = _made.get(key)
    if f is None and key not in _absent:
        f = _make(ns, name)
        if f is None:
            _absent.add(key)
        else:
            _made[key] = describe(ns, name, f)
    return f


def method(name):
    """Tensor.<name>; None if there is none."""
    return function("Tensor", name)


def provide(ns, name, f):
    """Enter a function that is written by hand."""
    _made[ns, name] = describe(ns, name, f)
    return f


def provided(ns):
    """The names of a namespace for which functions exist already."""
    return {name for space, name in _made if space == ns}


class Namespace:
    """`T.add(x, y)` is torch.add: operators by name, looked up when first used."""

    def __init__(self, ns):
        self._ns = ns

    def __getattr__(self, name):
        f = function(self._ns, name)
        if f is None:
            raise AttributeError(f"no operator {self._ns}.{name}")
        setattr(self, name, f)
        return f


T, F, M, LINALG, SPECIAL, ATEN = map(Namespace, ("torch", "nn.functional", "Tensor", "linalg", "special", "aten"))


def implicit(*names, traced=True):
    """@implicit("_linear"): a function over other operators that is called instead while calls below autograd are
    handed over.

    Where it gives NotImplemented the call goes on as it is. traced: whether torch.jit.trace notes the parts too; else
    it notes the call, as PyTorch's.
    """

    def deco(fn):
        IMPLICIT.update(dict.fromkeys(names, fn))
        if not traced:
            WHOLE_IN_TRACES.update(names)
        return fn

    return deco


def decomposition(*names):
    """@decomposition("log2"): a function over other operators that computes an operator where a backend has no better
    kernel.
    """

    def deco(fn):
        DECOMPOSITIONS.update(dict.fromkeys(names, fn))
        return fn

    return deco
