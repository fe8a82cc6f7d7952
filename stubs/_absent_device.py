"""What torch.cuda, torch.xpu, ... say in a build without that device: questions get a truthful no, uses an error.

Functions and classes are declared as texts, ``memory.empty_cache() set_device(device)``: submodule, name and PyTorch's
own parameters.
"""

import re
import sys
import types
from collections import OrderedDict
from contextlib import contextmanager
from importlib.machinery import ModuleSpec

_DECLARATION = re.compile(r"(?:(\w+)\.)?(\w+)\((.*?)\)")


class _Absent:
    """Raises on every use; a base class for types that need the device."""


def refuse(error):
    """Raise an error like this one."""
    raise type(error)(*error.args)


def without(name):
    """The error of a function that the C library lacks."""
    return AttributeError(f"module 'torch._C' has no attribute '{name}'")


def dummy(name):
    """The error of a class, or of a function, that stands in for the C library's."""
    return RuntimeError(f"Tried to instantiate dummy base class {name}")


def on_entry(error):
    """The answer of a context manager that raises when it is entered."""

    @contextmanager
    def block(**arguments):
        refuse(error)
        yield

    return block


def functions(namespace, *declarations):
    """Fill a module: pairs of an answer and the texts of its functions.

    The answer is an error to raise, a type to call, a function that gets the arguments, or a value.
    """
    for answer, text in declarations:
        for home, name, parameters in _declared(namespace, text):
            _adopt(home, namespace, _function(name, parameters, _answering(answer)), _description(answer))


def classes(namespace, *declarations):
    """Types that exist (for isinstance) and cannot be made: triples of an error or a function that raises it, the
    method, and the texts.
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
    """The context managers: an index below ``first`` and stream None change nothing, others are an error."""
    kind = namespace["__name__"].rpartition(".")[2]

    class device:
        """Select a device within a block; where -1 selects none, it is possible without one."""

        def __init__(self, device):
            self.idx = index(kind, -1 if device is None else device)
            self.prev_idx = -1

        def __enter__(self):
            if self.idx >= first:
                refuse(error)

        def __exit__(self, *exc):
            return False

    class device_of(device):
        """Select the device of an object within a block."""

        def __init__(self, obj):
            super().__init__(obj.get_device() if getattr(obj, f"is_{kind}") else -1)

    class StreamContext:
        """Select a stream within a block; without a device none is selected."""

        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            if self.stream is not None:
                refuse(error)

        def __exit__(self, *exc):
            return False

    def stream(stream):
        """A context manager that selects the stream."""
        return StreamContext(stream)

    for f in (device, device_of, StreamContext, stream):
        if f.__name__ in names.split():
            _adopt(namespace, namespace, f, f.__doc__)


def index(kind, device):
    """The number of a device of this kind, below 0 for none."""
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
    """What torch.cuda and torch.xpu have in common."""
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
    """The questions to the vendor's library of measurements, which is not installed."""
    names = ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature", "utilization")
    functions(namespace, *((error, f"{name}(device=None)") for name in names))


def seeded(seed):
    """A seed is looked at, and there is nothing to seed."""
    int(seed)


def copied(new_state, device):
    """A state is copied for the device, and there is nothing to set."""
    new_state.clone()


def all_copied(new_states):
    """One state after the other."""
    for state in new_states:
        copied(state, None)


def export(namespace, hidden=""):
    """Say ``__all__``: every public name but the hidden ones."""
    namespace["__all__"] = [name for name in namespace if not name.startswith("_") and name not in hidden.split()]


def _declared(namespace, text):
    for submodule, name, parameters in _DECLARATION.findall(text):
        yield _submodule(namespace, submodule) if submodule else namespace, name, parameters


def _submodule(namespace, name):
    """The namespace of a module that holds some of the package's names; it is made the first time."""
    if name not in namespace:
        module = namespace[name] = types.ModuleType(f"{namespace['__name__']}.{name}")
        module.__spec__, module.__all__ = ModuleSpec(module.__name__, None), []
        sys.modules[module.__name__] = module
    return vars(namespace[name])


def _adopt(home, namespace, made, doc):
    """Enter what was made under its name, where it is at home and in the package."""
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
    """A function of these parameters, so that wrong calls and inspect.signature say what PyTorch's say."""
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
