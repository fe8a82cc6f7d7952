"""Variables, and what they have to be for two structures to be equal."""

import contextlib
import itertools

__all__ = ["Var", "isvar", "reify", "unify", "var", "variables", "vars"]
_variables = set()


class Var:
    """A variable: those of one token are the same."""

    _id = itertools.count(1)

    def __init__(self, *token):
        self.token = token[0] if token else f"_{next(Var._id)}"

    def __str__(self):
        return f"~{self.token}"

    __repr__ = __str__

    def __eq__(self, other):
        return type(self) is type(other) and self.token == other.token

    def __hash__(self):
        return hash((type(self), self.token))


def var():
    """A function that makes variables."""
    return lambda *token: Var(*token)


def vars():
    """A function that makes lists of such functions."""
    return lambda n: [var() for _ in range(n)]


@contextlib.contextmanager
def variables(*values):
    """Within this block these values are variables, too."""
    before = set(_variables)
    _variables.update(values)
    try:
        yield
    finally:
        _variables.clear()
        _variables.update(before)


def isvar(o):
    """Whether a value is a variable."""
    try:
        return isinstance(o, Var) or o in _variables
    except TypeError:  # not hashable
        return False


def reify(e, s):
    """A structure, its variables replaced by what ``s`` says of them."""
    if isvar(e):
        return reify(s[e], s) if e in s else e
    if isinstance(e, (tuple, list)):
        return type(e)(reify(x, s) for x in e)
    return {k: reify(v, s) for k, v in e.items()} if isinstance(e, dict) else e


def _known(e, s):
    """What a value is by ``s``."""
    while isvar(e) and e in s:
        e = s[e]
    return e


def unify(u, v, s=None):
    """``s`` and what else variables have to be for u and v to be equal; False where they cannot be."""
    s = {} if s is None else s
    u, v = _known(u, s), _known(v, s)
    if u == v:
        return s
    if isvar(u) or isvar(v):
        return {**s, u: v} if isvar(u) else {**s, v: u}
    if isinstance(u, (tuple, list)) and isinstance(v, (tuple, list)):
        if len(u) != len(v):
            return False
        for a, b in zip(u, v):
            s = unify(a, b, s)
            if s is False:
                return False
        return s
    raise NotImplementedError(f"Could not find signature for _unify: <{type(u).__name__}, {type(v).__name__}, {type(s).__name__}>")
