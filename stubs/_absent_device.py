"""What torch.cuda, torch.xpu, ... say in a build without that device: questions get a truthful no, uses an error."""

import sys
import types
from importlib.machinery import ModuleSpec

NO_OP = "empty_cache manual_seed manual_seed_all seed seed_all"
ZERO = "device_count memory_allocated max_memory_allocated memory_reserved max_memory_reserved"
FALSE = "is_available is_initialized is_bf16_supported is_tf32_supported _is_compiled _is_in_bad_fork"
RANDOM = "get_rng_state get_rng_state_all set_rng_state set_rng_state_all manual_seed manual_seed_all seed seed_all initial_seed"
MEMORY = (
    "empty_cache memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_stats mem_get_info "
    "memory_snapshot reset_peak_memory_stats reset_accumulated_memory_stats set_per_process_memory_fraction "
    "get_per_process_memory_fraction"
)


class _Absent:
    """Raises on every use; a base class for types that need the device."""


def functions(namespace, error, raising, zero=ZERO, false=FALSE, no_op=NO_OP, **values):
    """Fill a module: ``raising`` names raise ``error``, the others answer 0, False, None or what ``values`` says."""
    answers = [(raising, error), (zero, 0), (false, False), (no_op, None), *((k, v) for k, v in values.items())]
    for names, answer in answers:
        for name in names.split():
            namespace[name] = _function(name, answer, namespace["__name__"])


def _function(name, answer, module):
    def f(*args, **kwargs):
        if isinstance(answer, BaseException):
            raise type(answer)(*answer.args)
        return answer() if isinstance(answer, type) else answer

    f.__name__ = f.__qualname__ = name
    f.__module__ = module
    f.__doc__ = "Not in this build: raises." if isinstance(answer, BaseException) else f"Without the device: {answer!r}."
    return f


def classes(namespace, error, names):
    """Types that exist (for isinstance) and cannot be made."""
    for name in names.split():

        def __new__(cls, *args, _name=name, **kwargs):
            raise type(error)(*[str(a).format(name=_name) for a in error.args])

        namespace[name] = type(name, (_Absent,), {"__new__": __new__, "__module__": namespace["__name__"], "__doc__": "Not in this build: raises."})


def guards(namespace, error):
    """The context managers device, device_of, stream, StreamContext: an index below 0 and stream None change nothing."""
    import torch

    kind = namespace["__name__"].rpartition(".")[2]

    class device:
        """Select a device within a block; only -1, which selects none, is possible without one."""

        def __init__(self, device):
            if isinstance(device, (str, torch.device)):
                device = torch.device(device)
                if device.type != kind:
                    raise ValueError(f"Expected a {kind} device, but got: {device}")
                device = device.index or 0
            self.idx = -1 if device is None else device
            self.prev_idx = -1

        def __enter__(self):
            if self.idx >= 0:
                raise type(error)(*error.args)

        def __exit__(self, *exc):
            return False

    class device_of(device):
        """Select the device of an object within a block."""

        def __init__(self, obj):
            super().__init__(obj.get_device() if getattr(obj, f"is_{kind}", False) else -1)

    class StreamContext:
        """Select a stream within a block; None selects none."""

        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            if self.stream is not None:
                raise type(error)(*error.args)

        def __exit__(self, *exc):
            return False

    def stream(stream):
        """A context manager that selects the stream."""
        return StreamContext(stream)

    for f in (device, device_of, StreamContext, stream):
        f.__module__, f.__qualname__ = namespace["__name__"], f.__name__
        namespace[f.__name__] = f


def submodules(namespace, **names):
    """Real submodules (``random``, ``memory``) that hold some of the module's own names."""
    for name, members in names.items():
        module = types.ModuleType(f"{namespace['__name__']}.{name}")
        module.__dict__.update({m: namespace[m] for m in members.split()})
        module.__spec__ = ModuleSpec(module.__name__, None)
        sys.modules[module.__name__] = namespace[name] = module
