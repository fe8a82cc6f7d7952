"""Activates and deactivates the import hook for `torch`: in this process, its children, a shell or an environment."""

import importlib.util
import os
import sys
import threading

from .finder import HERE, TorchFinder

VARIABLE = "MINDTORCH_ACTIVATE"  # holds the folder of the environment to activate, or 1 for any
PREFIX = os.path.realpath(sys.prefix)
SITE = os.path.join(HERE, "_site")

# MindSpore's generated protobuf code is old and works only with the Python implementation. protobuf reads the variable
# at its first import, which may be before MindSpore's.
PROTOBUF = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"

_finder = TorchFinder()
_lock = threading.RLock()
_hidden: dict = {}  # None entries for torch that were in sys.modules before install()
_kept: dict = {}  # our modules while uninstalled, so that their classes stay the same after the next install()
_environment: list = []  # (name, before, after) for each variable set


class Activation:
    """The result of install(): a context manager that uninstalls at its end, if that call installed the hook."""

    def __init__(self, owner):
        self.owner = owner

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.owner:
            uninstall()


def installed():
    """Whether the hook for `import torch` is installed in this process."""
    return any(finder is _finder for finder in sys.meta_path)


def _torch_modules():
    return {
        name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in ("torch", "functorch")
    }


def _check_one_root():
    """Raise RuntimeError where the hook and the runtime come from different copies of mindtorch_proxy.

    This happens when a checkout is first on sys.path while an editable install of another one finds the runtime.
    """
    spec = importlib.util.find_spec("mindtorch_proxy.runtime")
    if spec is None or spec.origin is None:  # not installed: `import torch` reports it
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
    """Install the hook for `import torch` in this process and its future children.

    Idempotent. Raises RuntimeError if another torch is imported already.
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
    """Call install() if MINDTORCH_ACTIVATE names this environment or is 1. Return whether it did.

    The .pth file calls this at the start of Python.
    """
    return os.environ.get(VARIABLE) in ("1", PREFIX) and install() is not None


def uninstall():
    """Undo install(): restore the meta path, the modules and the environment.

    References to our modules that other code holds are not changed. Idempotent.
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
    """Return {variable: value} that activates child processes, or that does not; the value None means unset."""
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != SITE]
    if active:
        return {VARIABLE: PREFIX, "PYTHONPATH": os.pathsep.join([SITE, *paths])}
    return {VARIABLE: None, "PYTHONPATH": os.pathsep.join(paths) or None}
