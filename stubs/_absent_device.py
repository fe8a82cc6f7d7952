"""Build the functions of torch.cuda, torch.xpu and others for a build without the device.

Queries return that there is no device, and functions that need one raise. Functions and classes are declared as text
such as ``memory.empty_cache() set_device(device)``: submodule, name and PyTorch's own parameters.
"""

import re
import sys
import types
from collections import OrderedDict
from contextlib import contextmanager
from importlib.machinery import ModuleSpec

_DECLARATION = re.compile(r"(?:(\w+)\.)?(\w+)\((.*?)\)")


class _Absent:
    """Base class of types that need the device; using one raises."""


def refuse(error):
    """Raise a new error with the type and arguments of this one."""
    raise type(error)(*error.args)


def without(name):
    """Return the error of a function that the C library lacks."""
    return AttributeError(f"module 'torch._C' has no attribute '{name}'")


def dummy(name):
    """Return the error of a dummy class or function that replaces one of the C library."""
    return RuntimeError(f"Tried to instantiate dummy base class {name}")


def on_entry(error):
    """Return a context manager that raises when it is entered."""

    @contextmanager
    def block(**arguments):
        refuse(error)
        yield

    return block


def functions(namespace, *declarations):
    """Add functions to a module, declared by pairs of an answer and text.

    The answer is an error to raise, a type to call, a function that gets the arguments, or a value to return.
    """
    for answer, text in declarations:
        for home, name, parameters in _declared(namespace, text):
            _adopt(home, namespace, _function(name, parameters, _answering(answer)), _description(answer))


def classes(namespace, *declarations):
    """Add types that exist (for isinstance) and cannot be created.

    A declaration has an error, or a function that raises it, the method that raises it, and the text.
    """
    for error, method, text in declarations:
        for home, name, parameters in _declared(namespace, text):
            filled = (
                type(error)(*[str(a).format(name=name) for a in error.args])
                if isinstance(error, BaseException)
                else error
            )
            made = type(name, (_Absent,), {method: _function(method, f"self, {parameters}", _answering(filled))})
            _adopt(home, namespace, made, _description(error))


def guards(namespace, error, names="device device_of StreamContext stream", first=0):
    """Add the context managers for devices and streams.

    An index below ``first`` and a stream of None have no effect; other arguments raise the error.
    """
    kind = namespace["__name__"].rpartition(".")[2]

    class device:
        """Context manager that selects a device; without one it accepts indices that select none."""

        def __init__(self, device):
            self.idx = index(kind, -1 if device is None else device)
            self.prev_idx = -1

        def __enter__(self):
            if self.idx >= first:
                refuse(error)

        def __exit__(self, *exc):
            return False

    class device_of(device):
        """Context manager that selects the device of an object."""

        def __init__(self, obj):
            super().__init__(obj.get_device() if getattr(obj, f"is_{kind}") else -1)

    class StreamContext:
        """Context manager that selects a stream; without a device only None is accepted."""

        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            if self.stream is not None:
                refuse(error)

        def __exit__(self, *exc):
            return False

    def stream(stream):
        """Return a context manager that selects the stream."""
        return StreamContext(stream)

    for f in (device, device_of, StreamContext, stream):
        if f.__name__ in names.split():
            _adopt(namespace, namespace, f, f.__doc__)


def index(kind, device):
    """Return the index of a device of this kind; it is negative for no device."""
    import torch

    if isinstance(device, (str, torch.device)):
        device = torch.device(device)
        if device.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {device}")
        return device.index or 0
    if not isinstance(device, int):
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    return device


def accelerator(namespace, error):
    """Add what torch.cuda and torch.xpu have in common."""
    kind = namespace["__name__"].rpartition(".")[2]
    functions(
        namespace,
        (
            error,
            f"""current_device() current_stream(device=None) get_device_capability(device=None)
            get_device_name(device=None) get_device_properties(device=None) init() _lazy_init()
            get_stream_from_external(data_ptr, device=None) synchronize(device=None) memory.mem_get_info(device=None)
            memory.get_per_process_memory_fraction(device=None)
            memory.set_per_process_memory_fraction(fraction, device=None)
            random.get_rng_state(device='{kind}') random.initial_seed()""",
        ),
        (
            0,
            """device_count() memory.memory_allocated(device=None) memory.max_memory_allocated(device=None)
            memory.memory_reserved(device=None) memory.max_memory_reserved(device=None)""",
        ),
        (
            False,
            "is_available() is_initialized() is_bf16_supported(including_emulation=True) is_tf32_supported() "
            "_is_compiled() _is_in_bad_fork()",
        ),
        (None, "memory.empty_cache() random.seed() random.seed_all()"),
        (copied, f"random.set_rng_state(new_state, device='{kind}')"),
        (all_copied, "random.set_rng_state_all(new_states)"),
        (seeded, "random.manual_seed(seed) random.manual_seed_all(seed)"),
        (list, "get_arch_list() random.get_rng_state_all()"),
        (str, "get_gencode_flags()"),
        (OrderedDict, "memory.memory_stats(device=None)"),
        (dict, "memory.memory_stats_as_nested_dict(device=None)"),
        (on_entry(error), "memory.use_mem_pool(pool, device=None)"),
        (
            error,
            "graphs.make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, "
            "pool=None)",
        ),
    )


def meters(namespace, error):
    """Add the queries to the vendor's monitoring library, which is not installed."""
    names = ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature", "utilization")
    functions(namespace, *((error, f"{name}(device=None)") for name in names))


def seeded(seed):
    """Check the seed; there is no generator to seed."""
    int(seed)


def copied(new_state, device):
    """Copy the state as for the device; there is no generator to set."""
    new_state.clone()


def all_copied(new_states):
    """Copy each state as for its device; there are no generators to set."""
    for state in new_states:
        copied(state, None)


def export(namespace, hidden=""):
    """Set ``__all__`` to all public names except the hidden ones."""
    namespace["__all__"] = [name for name in namespace if not name.startswith("_") and name not in hidden.split()]


def _declared(namespace, text):
    for submodule, name, parameters in _DECLARATION.findall(text):
        yield _submodule(namespace, submodule) if submodule else namespace, name, parameters


def _submodule(namespace, name):
    """Return the namespace of a submodule with some of the package's names, and create it at the first use."""
    if name not in namespace:
        module = namespace[name] = types.ModuleType(f"{namespace['__name__']}.{name}")
        module.__spec__, module.__all__ = ModuleSpec(module.__name__, None), []
        sys.modules[module.__name__] = module
    return vars(namespace[name])


def _adopt(home, namespace, made, doc):
    """Set the names and the docstring of a function or class, and enter it in its submodule and the package."""
    name = made.__name__
    for member in list(vars(made).values()) if isinstance(made, type) else ():
        method = getattr(member, "__func__", member)  # __new__ is a static method
        if isinstance(method, types.FunctionType):
            method.__qualname__ = f"{name}.{method.__name__}"
    made.__module__, made.__qualname__, made.__doc__ = home["__name__"], name, doc
    home[name] = made
    if home is not namespace and name[0] != "_":
        namespace[name] = made
        home["__all__"].append(name)


def _function(name, parameters, answer):
    """Return a function with these parameters, so that call errors and inspect.signature match PyTorch's."""
    scope = {"_answer": answer}
    exec(f"def {name}({parameters}): return _answer(**locals())", scope)
    return scope[name]


def _answering(answer):
    if isinstance(answer, BaseException):
        return lambda **arguments: refuse(answer)
    if isinstance(answer, type):
        return lambda **arguments: answer()
    return answer if callable(answer) else lambda **arguments: answer


def _description(answer):
    return (
        "Not in this build: raises."
        if isinstance(answer, BaseException)
        else f"Without the device: {getattr(answer, '__doc__', None) or repr(answer)}"
    )
