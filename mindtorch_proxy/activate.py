"""Turns the answer to `import torch` on and off: in this process, in its children, in a shell, in an environment."""

import importlib.util
import os
import sys
import threading

from .finder import HERE, TorchFinder

VARIABLE = "MINDTORCH_ACTIVATE"  # holds the folder of the environment that is meant, or 1 for any
PREFIX = os.path.realpath(sys.prefix)
SITE = os.path.join(HERE, "_site")

# MindSpore's generated protobuf code is old and fails on other implementations. Read when protobuf is first imported,
# which may be before MindSpore is.
PROTOBUF = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"

_finder = TorchFinder()
_lock = threading.RLock()
_hidden: dict = {}  # entries of sys.modules that said "there is no torch" when we came
_kept: dict = {}  # our modules while uninstalled: one process has one tree, and its classes stay the same
_environment: list = []  # (name, before, after) for each variable set


class Activation:
    """What install() returns: a context manager that uninstalls at its end, if this call was the one that installed."""

    def __init__(self, owner):
        self.owner = owner

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.owner:
            uninstall()


def installed():
    """Whether `import torch` is ours in this process."""
    return any(finder is _finder for finder in sys.meta_path)


def _torch_modules():
    return {
        name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in ("torch", "functorch")
    }


def _check_one_root():
    """A checkout that is first on sys.path has its own hook.

    An editable install would answer for its runtime with another checkout's.
    """
    spec = importlib.util.find_spec("mindtorch_proxy.runtime")
    if spec is None or spec.origin is None:  # not installed: `import torch` says so
        return
    where = os.path.dirname(spec.origin)
    if not any(
        os.path.realpath(where) == os.path.realpath(os.path.join(root, "runtime"))
        for root in (HERE, os.path.dirname(HERE))
    ):
        raise RuntimeError(
            f"two copies of mindtorch_proxy meet: the hook is that of {HERE}, the runtime that of {where}. "
            "Install the one that is meant (`pip install -e .` in its folder), or take the other off sys.path."
        )


def install():
    """Answer `import torch` in this process and its future children.

    Idempotent. RuntimeError if another torch is imported already.
    """
    with _lock:
        if installed():
            return Activation(owner=False)
        _check_one_root()
        present = _torch_modules()
        if foreign := [name for name, module in present.items() if module is not None]:
            names = ", ".join(sorted(foreign)[:5]) + (f" and {len(foreign) - 5} more" if len(foreign) > 5 else "")
            where = getattr(sys.modules.get("torch"), "__file__", None)
            raise RuntimeError(
                f"another torch is imported already (modules {names}; from {where}). Call mindtorch_proxy.install() "
                "before anything imports torch, or start the program with `python -m mindtorch_proxy`."
            )
        for name in present:
            _hidden[name] = sys.modules.pop(name)
        sys.modules.update(_kept)
        _kept.clear()
        sys.meta_path.insert(0, _finder)
        for name, after in {**child_environment(), PROTOBUF: os.environ.get(PROTOBUF, "python")}.items():
            _environment.append((name, os.environ.get(name), after))
            os.environ[name] = after
        return Activation(owner=True)


def install_if_asked():
    """install() where the variable asks for this environment's Python; whether it did.

    The .pth file calls it at the start of Python.
    """
    return os.environ.get(VARIABLE) in ("1", PREFIX) and install() is not None


def uninstall():
    """Undo install(): meta path, modules and environment are as before.

    References that others hold stay what they are. Idempotent.
    """
    with _lock:
        if not installed():
            return
        sys.meta_path.remove(_finder)
        ours = _torch_modules()
        for name in ours:
            del sys.modules[name]
        if not any(getattr(getattr(module, "__spec__", None), "_initializing", False) for module in ours.values()):
            _kept.update(ours)
        sys.modules.update(_hidden)
        _hidden.clear()
        inactive = child_environment(active=False)
        for name, before, after in _environment:
            now = os.environ.get(name)
            value = before if now == after != before else inactive.get(name, now)
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _environment.clear()


def child_environment(active=True):
    """The variables, and their values (None: unset), with which child processes are activated, or are not."""
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != SITE]
    if active:
        return {VARIABLE: PREFIX, "PYTHONPATH": os.pathsep.join([SITE, *paths])}
    return {VARIABLE: None, "PYTHONPATH": os.pathsep.join(paths) or None}
