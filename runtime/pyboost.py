"""The only module that uses MindSpore.

MindSpore is imported by the first kernel. This module works around its problems on CPU: kernels run synchronously (see
launches.py) and under one lock (two Python threads inside kernels crash the process), fork handlers are registered,
oneDNN does not take the AVX-512 convolution path that falls back to a reference loop, and every primitive has its
target set explicitly.
"""

import _thread
import ast
import atexit
import concurrent.futures.thread  # noqa: F401  (before our handlers of forks, see there)
import ctypes
import gc
import io
import logging  # noqa: F401  (likewise)
import os
import signal
import sys
import threading
import warnings
from collections import deque
from contextlib import ExitStack, contextmanager
from functools import partial
from inspect import getsource, signature
from itertools import count
from textwrap import dedent

import numpy as np

from .. import progress
from ..installation import does_not_load
from . import launches, threads
from .forks import finish_imports, threads_sleep

LOCK = threading.RLock()
_cache = {}
LAST = "last_type", "last_value", "last_traceback", "last_exc"  # where Python's sys keeps the last uncaught error
NUMPY_1 = np.__version__.startswith("1.")
MADE = 128  # how many primitives with constructor arguments are cached
_made: deque = deque()
_on: list = []  # the targets of the blocks of on() that threads are in
_on_lock = threading.Lock()
_ms = _from_numpy = _data_ptr = _fork = None


def mindspore():
    """Return the mindspore module; it is imported and configured on the first call."""
    global _ms
    if _ms is None:
        with _signals_wait(), _told(), _uncollected(), _plain_object(), LOCK:
            if _ms is None:
                _ms = _load()
    return _ms


@contextmanager
def _plain_object():
    """Remove, for the block, the attributes that programs have added to `object`.

    pybind11 would take such a name for an existing method that it cannot overload.
    """
    given = {k: v for k, v in vars(object).items() if k[:2] != "__"}
    if not given:
        yield
        return
    members = gc.get_referents(vars(object))[0]  # the dict behind the mappingproxy
    try:
        for name in given:
            del members[name]
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(object))
        yield
    finally:
        members.update(given)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(object))


@contextmanager
def _signals_wait():
    """Postpone signal handlers to the end of the block.

    An exception from a handler (Ctrl-C, an alarm) would leave MindSpore half imported, and a second import does not
    repair it.
    """
    handlers, came, loading = {}, set(), True

    def wait(number, frame):
        came.add(number) if loading else handlers[number](number, frame)

    try:
        if threading.current_thread() is threading.main_thread():  # handlers run in no other thread
            for number in signal.valid_signals():
                if callable(handler := signal.getsignal(number)):
                    handlers[number] = handler
                    signal.signal(number, wait)
        yield
    finally:
        loading = False
        with ExitStack() as last:  # continues when a handler raises
            for number in came:
                last.callback(signal.raise_signal, number)
            for number, handler in handlers.items():
                if signal.getsignal(number) is wait:
                    last.callback(signal.signal, number, handler)


@contextmanager
def _told():
    """Show a loading message on a terminal during the block."""
    progress.show("mindtorch_proxy: MindSpore is being loaded, once in a process ...")
    try:
        yield
    finally:
        progress.show("")


@contextmanager
def _uncollected():
    """Disable garbage collection during the block.

    MindSpore's import makes 150,000 objects; searching them repeatedly takes a fifteenth of its time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _before_fork():
    """Wait until no other thread is inside a kernel, imports MindSpore or imports one of our modules.

    The lock is held during the fork, so that none of this begins meanwhile.
    """
    finish_imports()
    LOCK.acquire()
    if _fork is not None:
        _fork.prepare_before_fork()
        threads.before_fork()
        threads_sleep("KernelThread_", "ActorThread_")


def _after_fork_in_parent():
    if _fork is not None:
        _fork.parent_at_fork()
        threads.after_fork()
    LOCK.release()


def _after_fork_in_child():
    if _fork is not None:
        _fork.child_at_fork()
    threads.in_child()
    LOCK._at_fork_reinit()  # type: ignore[attr-defined]


# Registered after the handlers of logging and thread pools, so that it runs before them. Otherwise a fork could hold
# their locks and wait for ours, while a thread that imports MindSpore under our lock waits for theirs.
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def loaded():
    return _ms is not None


def _load():
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")
    # oneDNN caches what it compiles for each shape: 24 kB, on MindSpore 2.10 half a megabyte. Compiling again takes no
    # measurable time. The oneDNN of MindSpore 2.7.2 knows only this name of the variable.
    os.environ.setdefault("DNNL_PRIMITIVE_CACHE_CAPACITY", "64")
    os.environ.setdefault("GLOG_v", "3")
    try:
        import mindspore as ms
        from mindspore import _c_expression as c
        from mindspore.ops.auto_generate import gen_ops_prim
    except Exception as error:  # a broken installation can raise any error
        raise does_not_load(error) from error

    _at_exit()
    launches.decide(ms)
    if not NUMPY_1:
        _refused(c, gen_ops_prim)
    # With CANN on the machine, legacy primitives on the CPU would also be checked by Ascend's rules.
    if ms.get_context("device_target") != "CPU":
        _set_target("CPU")
    if threads.few():
        ms.device_context.cpu.op_tuning.threads_num(1)
        threads.work_alone(os.path.join(os.path.dirname(ms.__file__), "lib", "libmindspore_core.so"))
    elif n := threads.asked():
        ms.device_context.cpu.op_tuning.threads_num(n)
    global _fork
    _fork = c.fork_utils
    return ms


def _at_exit():
    """Let MindSpore's function at exit run without its own DeprecationWarning, an error under -W error and -X dev."""
    from mindspore.train import serialization

    waits = getattr(serialization, "_async_save_close", None)
    if waits is None:
        return
    atexit.unregister(waits)

    def quietly():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            waits()

    atexit.register(quietly)


def _refused(c, primitives):
    """Make one call with invalid arguments, after which MindSpore 2.10 works with NumPy 2.

    Once in a process, at the first argument that is not a tensor, its argument parser imports NumPy 1's C interface.
    With NumPy 2 that fails: NumPy writes to sys.stderr, MindSpore passes the ImportError to sys.excepthook and leaves
    it set, so that the call ends in SystemError. Later calls work.
    """
    kept = {name: getattr(sys, name) for name in ("excepthook", "stderr", *LAST) if hasattr(sys, name)}
    sys.excepthook, sys.stderr = _unseen, io.StringIO()
    try:
        c.pyboost_add(primitives.Add(), [object(), object()])
    except (TypeError, SystemError):
        pass
    finally:
        for name in LAST:
            if hasattr(sys, name):
                delattr(sys, name)
        for name, value in kept.items():
            setattr(sys, name, value)


def _unseen(kind, error, traceback):
    """Replace sys.excepthook and do nothing."""


def _set_target(target):
    from mindspore import _c_expression as c

    context = c.MSContext.get_instance()
    context.set_param(c.ms_ctx_param.device_target, target)  # mindspore.set_device() could not be taken back
    if target != "CPU":
        # The environment has been checked once. MindSpore would check it again each time, which takes 3 ms, and append
        # folders to a variable, which after a thousand times is too long for any process to start.
        context.register_set_env_callback(_nothing)


def _nothing(target, library):
    """Replace MindSpore's check of the environment and do nothing."""


def set_device_id(number):
    """Select which of several devices this process uses. Must be called before its first kernel."""
    from mindspore import _c_expression as c

    mindspore()
    c.MSContext.get_instance().set_param(c.ms_ctx_param.device_id, number)


@contextmanager
def on(target):
    """Apply MindSpore's functions for memory, streams and events, which take no device, to `target` in the block.

    Several threads may be in such a block; the target, which is the process's, is the CPU again after the last of them.
    """
    with _on_lock:
        _on.append(target)
        _set_target(target)
    try:
        yield mindspore()
    finally:
        with _on_lock:
            _on.pop()
            if not _on:
                _set_target("CPU")


def version():
    from importlib.metadata import version

    return version("mindspore")


def tensor_from_array(array):
    """Return a MindSpore tensor over the memory of a contiguous, aligned NumPy array."""
    return (_from_numpy or _functions()[0])(array)


def _functions():
    """Return the C functions behind Tensor.from_numpy and Tensor._data_ptr.

    On 2.7.2 and 2.10 the methods only check their arguments and call these.
    """
    global _from_numpy, _data_ptr
    ms = mindspore()
    base = getattr(sys.modules[ms.Tensor.__module__], "TensorPy_", ms.Tensor)
    _from_numpy, _data_ptr = base.from_numpy, base._data_ptr
    return _from_numpy, _data_ptr


_DLPACK = {"bool": (6, 8), "bfloat16": (4, 16)} | {
    f"{k}{n}": (c, n) for k, c in (("int", 0), ("uint", 1), ("float", 2)) for n in (8, 16, 32, 64)
}


def reinterpreted(ms, dtype_name, count):
    """Return a flat tensor of `count` elements of another dtype over the memory of a contiguous tensor.

    It is passed through DLPack with a changed dtype and shape.
    """
    from mindspore.utils import dlpack

    capsule = dlpack.to_dlpack(ms)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    at = pointer(capsule, b"dltensor")  # data, device type and id, dimensions, (code, bits, lanes), shape, strides
    code, bits = _DLPACK[dtype_name]
    ctypes.c_uint8.from_address(at + 20).value, ctypes.c_uint8.from_address(at + 21).value = code, bits
    for where, value in ((24, count), (32, 1)):
        ctypes.c_int64.from_address(ctypes.c_void_p.from_address(at + where).value).value = value
    return dlpack.from_dlpack(capsule)


def tensor_from_capsule(capsule):
    """Return the MindSpore tensor over the device memory of a DLPack capsule."""
    from mindspore.utils import dlpack

    return dlpack.from_dlpack(capsule)


_buffers: dict = {}


def array_of(ms, shape, np_dtype):
    """Return a writable NumPy array over the memory of a contiguous CPU tensor, five times as fast as asnumpy().

    The array keeps the tensor alive.
    """
    if 0 in shape:
        return np.empty(shape, np_dtype)
    n = np_dtype.itemsize
    for s in shape:
        n *= s
    k = n.bit_length()
    t = _buffers.get(k)
    if t is None:
        # ctypes types are never freed, so there is only one for each power of two
        t = _buffers[k] = ctypes.c_char * (1 << k)
    b = t.from_address((_data_ptr or _functions()[1])(ms))
    b._owner = ms
    return np.ndarray(shape, np_dtype, b)


def ms_dtype(d):
    """Return MindSpore's type object for a runtime dtype."""
    return getattr(_ms or mindspore(), "bool_" if d.name == "bool" else d.name)


def primitive_class(name, legacy=False):
    """Return the Python class of a primitive: PyBoost's, else the legacy one, else None."""
    ms = mindspore()
    from mindspore.ops.auto_generate import gen_ops_prim

    cls = None if legacy else getattr(gen_ops_prim, name, None)
    return cls or next((getattr(m, name) for m in _legacy_homes(ms) if hasattr(m, name)), None)


def _legacy_homes(ms):
    from mindspore.ops.operations import _grad_ops, _inner_ops

    return ms.ops.operations, _inner_ops, _grad_ops


def primitive(name, *init, target="CPU", legacy=False, **attrs):
    """Return a callable that runs a MindSpore primitive on `target`, with arguments in the primitive's own order.

    PyBoost primitives whose Python class only passes its arguments on are called directly, which saves a microsecond.
    `.of(*init, **attrs)` of the result is the same primitive with other constructor arguments, for arguments that
    differ from call to call.
    """
    key = (name, init, target, legacy, tuple(attrs.items()))
    try:
        return _cache[key]
    except (KeyError, TypeError):
        pass
    with LOCK:
        call = _build(name, init, target, legacy, attrs)
        if target != "CPU":
            call = launches.reporting(call)
        elif not launches.wait():
            call = launches.waiting(call)
        call.of = lambda *init, **attrs: primitive(name, *init, target=target, legacy=legacy, **attrs)
        try:
            _cache[key] = call
            if init or attrs:  # there may be any number of these, so only the latest are kept
                if len(_made) >= MADE:
                    _cache.pop(_made.popleft(), None)  # two threads may have made the same one
                _made.append(key)
        except TypeError:
            pass
        return call


def _build(name, init, target, legacy, attrs):
    ms = mindspore()
    from mindspore import _c_expression as c

    cls = primitive_class(name, legacy)
    if cls is None:
        raise NotImplementedError(f"MindSpore {ms.__version__} has no primitive {name}")
    if (
        not init
        and not attrs
        and any(p.default is p.empty and p.kind < 2 for p in [*signature(cls.__init__).parameters.values()][1:])
    ):
        return partial(_needs_init, name)
    prim = cls(*init, **attrs)
    prim.set_device(target) if hasattr(prim, "set_device") else prim.add_prim_attr("primitive_target", target)
    direct = _direct(prim, cls, c)
    if direct is not None:
        return direct

    number = next(_numbers)

    def call(*args):
        with LOCK:
            _count_compiled(number, args)
            return prim(*args)

    return call


# MindSpore keeps what it compiles for a legacy primitive for every shape and number it is called with: 35 to 130 kB
# each.
COMPILED = 512
_compiled: set = set()
_numbers = count()  # numbers of the primitives; id() may be reused after a primitive is freed


def _count_compiled(number, args):
    """Clear MindSpore's cache of compiled primitives when it holds COMPILED entries.

    MindSpore waits for running kernels first.
    """
    key = hash(
        (
            number,
            *[
                tuple([getattr(t, "_shape", t) for t in a]) if a.__class__ in (tuple, list) else getattr(a, "_shape", a)
                for a in args
            ],
        )
    )
    if key not in _compiled:
        if len(_compiled) >= COMPILED:
            from mindspore.common.api import _pynative_executor

            _pynative_executor.clear_res()
            _compiled.clear()
        _compiled.add(key)


def _needs_init(name, *args):
    raise TypeError(f"{name} needs constructor arguments: call .of(...) first")


def _direct(prim, cls, c):
    """Return a function that calls `pyboost_*` directly, with the arguments and the attributes of the primitive.

    It replaces the generated __call__ of the class. Return None where __call__ does anything else. Each microsecond
    saved is a twentieth of a small operator.
    """
    code = getattr(cls.__call__, "__code__", None)
    if code is None or sum(n.startswith("pyboost_") for n in code.co_names) != 1:
        return None
    function = ast.parse(dedent(getsource(cls.__call__))).body[0]
    calls = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id.startswith("pyboost_")
    ]
    if len(calls) != 1 or len(calls[0].args) != 2 or not isinstance(calls[0].args[1], ast.List) or function.args.vararg:
        return None
    env = {n: cls.__call__.__globals__[n] for n in code.co_names if n in cls.__call__.__globals__}
    env |= {"_fn": getattr(c, calls[0].func.id), "_prim": prim, "_lock": LOCK, "_threads": _thread._count}
    for n in ast.walk(calls[0]):
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self":
            env["_" + n.attr] = getattr(prim, n.attr)
    values = ast.unparse(_Constants().visit(calls[0].args[1]))
    # Without other threads no lock is needed: only a running thread can start another.
    exec(
        f"def call({', '.join(a.arg for a in function.args.args[1:])}):\n    if not _threads():\n        return "
        f"_fn(_prim, {values})\n"
        f"    with _lock:\n        return _fn(_prim, {values})",
        env,
    )
    env["call"].__defaults__ = cls.__call__.__defaults__
    # `call` adds nothing to the arguments
    if all(isinstance(e, ast.Name) for e in calls[0].args[1].elts) and not cls.__call__.__defaults__:
        env["call"].raw, env["call"].prim = env["_fn"], prim
    return env["call"]


class _Constants(ast.NodeTransformer):
    """Replaces self.attr, which is fixed when the primitive is made, by a global name."""

    def visit_Attribute(self, node):
        return (
            ast.Name("_" + node.attr, ast.Load())
            if isinstance(node.value, ast.Name) and node.value.id == "self"
            else self.generic_visit(node)
        )
