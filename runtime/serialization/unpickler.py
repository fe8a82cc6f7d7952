"""The unpickler of weights_only loads: pickle's own, with opcodes that could run code refused or restricted."""

import pickle
import warnings
from _codecs import encode
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from pickle import UnpicklingError
from typing import Any

UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, "
    "but it can result in arbitrary code execution. Do it only if you got the file from a trusted source."
)
BLOCKED = frozenset(("sys", "os", "posix", "nt"))  # never allowed, even if the user adds them
ALLOWED: dict = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": encode,
    "builtins.set": set,
    "builtins.bytearray": bytearray,
    "builtins.complex": complex,
}
# further entries of ALLOWED, for classes that are imported lazily: functions called when a pickle names them
LATE: dict = {}
_user: dict = {}  # what the user allowed, in order


def allow(*objects):
    """Allow functions and classes under their own full names."""
    ALLOWED.update({f"{o.__module__}.{o.__qualname__}": o for o in objects})


def add_safe_globals(safe_globals):
    """Let weights_only loads use these functions and classes; pass (object, "full.path") to name one differently."""
    _user.update(dict.fromkeys(safe_globals))


def get_safe_globals():
    """Return what add_safe_globals added."""
    return list(_user)


def clear_safe_globals():
    """Remove what add_safe_globals added."""
    _user.clear()


class safe_globals:
    """add_safe_globals for the duration of a `with` block."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        self.before = dict(_user)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc):
        _user.clear()
        _user.update(self.before)


def allowed():
    """Return everything that a pickle may name, by full path."""
    table = dict(ALLOWED)
    for item in _user:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                    f"{len(item)}"
                )
            if type(item[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
                )
            table[item[1]] = item[0]
        else:
            table[f"{item.__module__}.{item.__qualname__}"] = item
    return table


def _today(module, name):
    """Return Python 3's name for a global; protocol 2 files may hold Python 2's."""
    if (module, name) in NAME_MAPPING:
        return NAME_MAPPING[module, name]
    return IMPORT_MAPPING.get(module, module), name


class _Opcodes(dict):
    def __missing__(self, code):
        raise UnpicklingError(f"Unsupported operand {code}")


_base: Any = pickle._Unpickler  # type: ignore[attr-defined]
_PLAIN = (
    "GLOBAL MARK TUPLE TUPLE1 TUPLE2 TUPLE3 NONE NEWFALSE NEWTRUE EMPTY_TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET BININT "
    "BININT1 BININT2 BINFLOAT BINUNICODE SHORT_BINSTRING BINPUT LONG_BINPUT LONG1 STOP"
).split()


_dispatch = _Opcodes((getattr(pickle, name)[0], _base.dispatch[getattr(pickle, name)[0]]) for name in _PLAIN)


def _on(code):
    return lambda f: _dispatch.__setitem__(code[0], f)


class Unpickler(_base):
    """Unpickles tensors, numbers, strings, plain containers and allowed globals.

    Anything else raises an UnpicklingError, or whatever error a damaged stream causes.
    """

    dispatch = _dispatch

    def __init__(self, file, *, encoding="bytes", **ignored):
        super().__init__(file, encoding=encoding)
        self.allowed = allowed()
        self.known = {id(o) for o in self.allowed.values()}

    def find_class(self, module, name):
        module, name = _today(module, name)
        path = f"{module}.{name}"
        if module in BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        if path in LATE and path not in self.allowed:
            self.allowed[path] = LATE[path]()
            self.known.add(id(self.allowed[path]))
        if path in self.allowed:
            return self.allowed[path]
        path = path.removeprefix("builtins.")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{path}])` or the "
            f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this global if you trust this "
            "class/function."
        )

    @_on(pickle.PROTO)
    def _proto(self):
        self.proto = self.read(1)[0]
        if self.proto != 2:
            warnings.warn(
                f"Detected pickle protocol {self.proto} in the checkpoint, which was not the default pickle protocol "
                "used by `torch.load` (2). The weights_only Unpickler might not support all instructions implemented "
                "by this protocol, please file an issue for adding support if you encounter this.",
                stacklevel=2,
            )

    @_on(pickle.BINGET)
    def _get(self):
        self.append(self.memo[self.read(1)[0]])  # a KeyError if nothing was stored there, as in PyTorch

    @_on(pickle.LONG_BINGET)
    def _get_far(self):
        self.append(self.memo[int.from_bytes(self.read(4), "little")])

    @_on(pickle.REDUCE)
    def _reduce(self):
        args, func = self.stack.pop(), self.stack.pop()
        if id(func) not in self.known:
            raise UnpicklingError(
                f"Trying to call reduce for unrecognized function {func}"
                + (f" which belongs to {func.__self__}" if hasattr(func, "__self__") else "")
            )
        self.append(func(*args))

    @_on(pickle.NEWOBJ)
    def _newobj(self):
        args, cls = self.stack.pop(), self.stack.pop()
        if id(cls) not in self.known or not isinstance(cls, type):
            raise UnpicklingError(
                f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                f"{cls}"
            )
        self.append(cls.__new__(cls, *args))

    @_on(pickle.BUILD)
    def _build(self):
        state, inst = self.stack.pop(), self.stack[-1]
        if id(type(inst)) not in self.known:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(inst)}"
            )
        if hasattr(inst, "__setstate__"):
            inst.__setstate__(state)
            return
        state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        inst.__dict__.update(state or {})
        for name, value in (slots or {}).items():
            setattr(inst, name, value)

    def _target(self, doing, *types):
        if type(self.stack[-1]) not in types:
            names = ", ".join(f"{t.__module__}.{t.__name__}".removeprefix("builtins.") for t in types)
            raise UnpicklingError(f"Can only {doing} {names}, but got {type(self.stack[-1])}")
        return self.stack[-1]

    @_on(pickle.APPEND)
    def _append(self):
        item = self.stack.pop()
        self._target("append to", list).append(item)

    @_on(pickle.APPENDS)
    def _appends(self):
        items = self.pop_mark()
        self._target("extend", list).extend(items)

    @_on(pickle.SETITEM)
    def _setitem(self):
        value, key = self.stack.pop(), self.stack.pop()
        self._target("SETITEM for", dict, OrderedDict, Counter)[key] = value

    @_on(pickle.SETITEMS)
    def _setitems(self):
        items = self.pop_mark()
        target = self._target("SETITEMS for", dict, OrderedDict, Counter)
        for i in range(0, len(items), 2):
            target[items[i]] = items[i + 1]

    @_on(pickle.BINPERSID)
    def _persid(self):
        pid = self.stack.pop()
        if type(pid) not in (tuple, int):
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if type(pid) is tuple and pid and pid[0] not in ("storage", b"storage"):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0])}")
        self.append(self.persistent_load(pid))


def globals_in(data):
    """Return the full paths that a pickle names; UnpicklingError if it needs more than Unpickler supports."""
    import pickletools  # large, and rarely asked for

    found = set()
    try:
        for op, arg, _ in pickletools.genops(data):
            Unpickler.dispatch[ord(op.code)]
            if op.name == "GLOBAL" and arg:
                found.add(".".join(_today(*arg.split(" ", 1))))
    except ValueError as e:
        raise UnpicklingError(str(e)) from e
    return found


def load(file, *, encoding="ASCII"):
    return Unpickler(file, encoding=encoding).load()
