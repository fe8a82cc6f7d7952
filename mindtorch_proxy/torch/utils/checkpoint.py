"""Activation checkpointing: discard the saved tensors of a forward, and run the forward again in the backward."""

import collections
import contextlib
import enum
import traceback
import warnings
import weakref

import torch
from torch.autograd.forward_ad import _carry, _set_fwd_grad_enabled
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode

from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_leaves, tree_map

__all__ = [
    "checkpoint",
    "checkpoint_sequential",
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "detach_variable",
    "get_device_states",
    "set_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "DefaultDeviceType",
    "set_checkpoint_debug_enabled",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
    "SAC_IGNORED_OPS",
]
_DEFAULT_DETERMINISM_MODE = "default"
_checkpoint_debug_enabled = _enable_checkpoint_early_stop = None
_EXPLICIT = (
    "the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
    "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, "
    "but if you need to preserve the current default behavior, you can pass use_reentrant=True."
)
_TIP = "\nTip: To see a more detailed error message, pass `debug=True` to `torch.utils.checkpoint.checkpoint(...)`."


class CheckpointError(RuntimeError):
    """The error for a recomputation that saved other tensors than the original forward."""


@contextlib.contextmanager
def _setting(name, value):
    old = globals()[name]
    globals()[name] = value
    try:
        yield
    finally:
        globals()[name] = old


def set_checkpoint_debug_enabled(enabled):
    """Override ``debug`` of all checkpoints within the block."""
    return _setting("_checkpoint_debug_enabled", enabled)


def set_checkpoint_early_stop(enable):
    """Set whether checkpoints stop the recomputation once all needed tensors are there, within the block."""
    return _setting("_enable_checkpoint_early_stop", enable)


def detach_variable(inputs):
    """Detach the tensors of a tuple; the new ones have the same requires_grad."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warn if no input requires grad."""
    if not any(x.requires_grad for x in inputs if isinstance(x, torch.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """The device type whose random state is saved if no argument is on an accelerator."""

    _default_device_type = None

    @staticmethod
    def set_device_type(device="cuda"):
        """Set the device type whose random state is saved if no argument is on an accelerator."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        """Return the device type whose random state is saved if no argument is on an accelerator."""
        if DefaultDeviceType._default_device_type is None:
            accelerator = torch.accelerator.current_accelerator(True)
            DefaultDeviceType._default_device_type = accelerator.type if accelerator else "cpu"
        return DefaultDeviceType._default_device_type


def _device_tensors(args):
    return [x for x in tree_leaves(args) if isinstance(x, torch.Tensor) and x.device.type not in ("cpu", "meta")]


def _infer_device_type(*args):
    types = [x.device.type for x in _device_tensors(args)]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. "
            "Device state will only be saved for devices of a single device type, and the remaining devices will be "
            f"ignored. Device types: {sorted(set(types))} first device type: {types[0]}",
            stacklevel=3,
        )
    return types[0] if types else DefaultDeviceType.get_device_type()


def get_device_states(*args):
    """Return the indices and the random states of the accelerator devices of the arguments."""
    tensors, states = _device_tensors(args), []
    for x in tensors:
        states.append(getattr(torch, x.device.type).get_rng_state(x.get_device()))
    return [x.get_device() for x in tensors], states


def set_device_states(devices, states, *, device_type=None):
    """Restore random states from ``get_device_states``."""
    module = getattr(torch, device_type or DefaultDeviceType.get_device_type())
    for index, state in zip(devices, states):
        module.set_rng_state(state, index)


class _Surroundings:
    """The random states and autocast settings of the original forward, which the recomputation restores."""

    def __init__(self, preserve_rng_state, args):
        self.device_type = _infer_device_type(*args)
        types = {"cpu", self.device_type}
        self.autocast = {
            t: {
                "enabled": torch.is_autocast_enabled(t),
                "dtype": torch.get_autocast_dtype(t),
                "cache_enabled": torch.is_autocast_cache_enabled(),
            }
            for t in types
            if torch.amp.is_autocast_available(t)
        }
        self.rng = (torch.get_rng_state(), *get_device_states(*args)) if preserve_rng_state else None

    @contextlib.contextmanager
    def restored(self):
        with contextlib.ExitStack() as stack:
            if self.rng is not None:
                cpu, devices, states = self.rng
                stack.enter_context(torch.random.fork_rng(devices=devices, device_type=self.device_type))
                torch.set_rng_state(cpu)
                set_device_states(devices, states, device_type=self.device_type)
            for device_type, setting in self.autocast.items():
                stack.enter_context(torch.amp.autocast(device_type, **setting))
            stack.enter_context(torch.enable_grad())
            yield


class CheckpointFunction(torch.autograd.Function):
    """The reentrant checkpoint: an autograd function whose backward runs a nested backward."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        """Run the function without grad and save its arguments."""
        check_backward_validity(args)
        ctx.run_function, ctx.surroundings = run_function, _Surroundings(preserve_rng_state, args)
        ctx.positions = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        ctx.others = [None if isinstance(x, torch.Tensor) else x for x in args]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        """Run the function again with grad enabled, then its backward."""
        if not torch.autograd._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, "
                "or call .backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for i, x in zip(ctx.positions, ctx.saved_tensors):
            inputs[i] = x
        inputs = detach_variable(tuple(inputs))
        with ctx.surroundings.restored():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
        wanted = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, torch.Tensor) and o.requires_grad]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward(*zip(*wanted))
        return None, None, *(x.grad if isinstance(x, torch.Tensor) else None for x in inputs)


def noop_context_fn():
    """Return the default contexts of the forward and the recomputation, which do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class _StopRecomputationError(Exception):
    """Raised to stop the recomputation once all needed tensors are there."""


class _SaveInputs(torch.autograd.Function):
    """Keeps the arguments as saved tensors: an outer checkpoint discards them, and in-place changes are detected."""

    @staticmethod
    def forward(dummy, *tensors):
        return dummy.new_empty(0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx, *grads):
        raise AssertionError("Did not expect to backward on this graph")


class _Log(TorchFunctionMode):
    """Records the called functions, each with its stack trace."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((getattr(func, "__qualname__", str(func)), "".join(traceback.format_stack(limit=8)[:-1])))
        return func(*args, **(kwargs or {}))

    def __str__(self):
        return "\n".join(f"{name}\n{stack}" for name, stack in self.calls)


def _default_meta_extractor(x):
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


_allowed_determinism_checks_to_fns = {_DEFAULT_DETERMINISM_MODE: _default_meta_extractor, "none": lambda x: None}


class _Frame:
    """The state of one checkpointed call: saved tensors are replaced by positions, which ``get`` recomputes."""

    def __init__(self, function, args, kwargs, preserve_rng_state, contexts, determinism_check, early_stop, debug):
        self.function, self.kwargs, self.early_stop, self.debug = function, kwargs, early_stop, debug
        self.metadata_fn = _allowed_determinism_checks_to_fns[determinism_check]
        self.surroundings, (self.forward_context, self.recompute_context) = (
            _Surroundings(preserve_rng_state, args),
            contexts,
        )
        self.positions = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        self.others = [None if isinstance(x, torch.Tensor) else x for x in args]
        self.requires_grad = [args[i].requires_grad for i in self.positions]
        dummy = torch.empty((0,), requires_grad=True)
        with _set_fwd_grad_enabled(False):  # forward-mode AD applies to the function itself only
            self.saver = _SaveInputs.apply(dummy, *(args[i] for i in self.positions)).grad_fn
        self.metadata, self.holders, self.recomputed, self.logs = [], [], {}, [_Log(), _Log()]
        self.completed = self.inside = (
            False  # inside: a backward ran within the function, before all tensors were saved
        )

    def pack(self, x):
        holder = _Holder(self, len(self.metadata))
        self.metadata.append(self.metadata_fn(x))
        self.holders.append(weakref.ref(holder))
        return holder

    def get(self, position):
        """Return the saved tensor at a position. Each backward recomputes once, and can get each tensor once."""
        task = torch._C._current_graph_task_id()
        if task == -1 or task not in self.recomputed:
            self.recomputed[task] = self.recompute()
        if position not in self.recomputed[task]:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                "If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
                "Otherwise please open an issue with details on your use case."
            )
        return self.recomputed[task].pop(position)

    def recompute(self):
        args, count, found = list(self.others), 0, {}
        for i, x, requires_grad in zip(self.positions, self.saver.saved_tensors, self.requires_grad):
            args[i] = _carry(x, x.detach()).requires_grad_() if requires_grad else x

        def pack(x):
            nonlocal count
            count += 1
            self.inside |= count > len(self.holders) and not self.completed
            if count <= len(self.holders) and self.holders[count - 1]() is not None:
                found[count - 1] = _carry(x, x.detach()) if x.requires_grad else x
            if count == len(self.metadata) and self.early_stop:
                raise _StopRecomputationError
            return _carry(x, x.detach())

        log = self.logs[1] if self.debug else contextlib.nullcontext()
        try:
            with (
                self.surroundings.restored(),
                torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x),
                self.recompute_context,
                log,
            ):
                self.function(*args, **self.kwargs)
        except _StopRecomputationError:
            pass
        try:
            self.check(count, found)
        except CheckpointError as e:
            if not self.debug:
                raise
            raise CheckpointError(
                f"An error happened while unpacking tensors; the functions of the original forward:\n{self.logs[0]}\n"
                f"The functions of the recomputation:\n{self.logs[1]}\n{e}"
            ) from e
        return found

    def check(self, count, found):
        if self.inside:
            return
        if count != len(self.metadata):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.metadata)}\nNumber of tensors "
                f"saved during recomputation: {count}.\n{_TIP}"
            )
        wrong = [
            (i, self.metadata[i], self.metadata_fn(x))
            for i, x in found.items()
            if self.metadata[i] != self.metadata_fn(x)
        ]
        if wrong:
            text = "".join(
                f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}\n" for i, a, b in wrong
            )
            raise CheckpointError(
                f"torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{text}.\n{_TIP}"
            )


class _Holder:
    """Replaces a discarded saved tensor in the graph."""

    def __init__(self, frame, position):
        self.frame, self.position = frame, position

    def unpack(self):
        return self.frame.get(self.position)


def _checkpoint_without_reentrant_generator(
    fn,
    preserve_rng_state=True,
    context_fn=noop_context_fn,
    determinism_check=_DEFAULT_DETERMINISM_MODE,
    debug=False,
    early_stop=True,
    /,
    *args,
    **kwargs,
):
    """Yield once; code that runs until the generator resumes is the original forward of ``fn(*args, **kwargs)``.

    Of the tensors that it saves, only the arguments are kept.
    """
    if determinism_check not in _allowed_determinism_checks_to_fns:
        raise ValueError(
            f"determinism_check should be one of {list(_allowed_determinism_checks_to_fns)}, "
            f"but got {determinism_check}"
        )
    contexts = context_fn()
    if not torch.is_grad_enabled():
        with contexts[0]:
            yield
        return
    early_stop = early_stop if _enable_checkpoint_early_stop is None else _enable_checkpoint_early_stop
    debug = debug if _checkpoint_debug_enabled is None else _checkpoint_debug_enabled
    frame = _Frame(fn, args, kwargs, preserve_rng_state, contexts, determinism_check, early_stop, debug)
    log = frame.logs[0] if debug else contextlib.nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(frame.pack, _Holder.unpack), frame.forward_context, log:
        yield
    frame.completed = True


_recording = contextlib.contextmanager(_checkpoint_without_reentrant_generator)


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check=_DEFAULT_DETERMINISM_MODE,
    debug=False,
    early_stop=True,
    **kwargs,
):
    """Run ``function(*args)`` without keeping its saved tensors; the backward recomputes them."""
    if use_reentrant is None:
        warnings.warn(f"torch.utils.checkpoint: {_EXPLICIT}", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    with _recording(function, preserve, context_fn, determinism_check, debug, early_stop, *args, **kwargs):
        return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Run a sequence of modules in ``segments`` parts, of which all but the last are checkpointed."""
    if use_reentrant is None:
        warnings.warn(f"torch.utils.checkpoint.checkpoint_sequential: {_EXPLICIT}", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if isinstance(functions, torch.nn.Sequential) else functions
    size = len(functions) // segments

    def run(part):
        def forward(x):
            for f in part:
                x = f(x)
            return x

        return forward

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(
            run(functions[start : start + size]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return run(functions[last:])(input)


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with the result of an operator.

    The offload policies do not save the result; they recompute it.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The first argument of a policy: has the result of the operator. Policies are called in the forward only."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


# Operators that the policy ignores: comparing the two runs reads metadata of saved tensors and detaches them, a
# different number of times in each.
SAC_IGNORED_OPS = {
    getattr(torch.ops.aten, name).default for name in ("detach", "dim", "is_contiguous", "is_non_overlapping_and_dense")
}
SAC_IGNORED_OPS |= {
    getattr(torch.ops.aten, name).default
    for name in ("is_strides_like_format", "numel", "size", "storage_offset", "stride")
}
SAC_IGNORED_OPS |= {
    getattr(torch.ops.aten, "sym_" + name).default for name in ("numel", "size", "storage_offset", "stride")
}
SAC_IGNORED_OPS.add(torch.ops.aten.is_contiguous.memory_format)
_SAVED_BY = {CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True}
_RECOMPUTE, _CONSUMED = object(), object()
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class _Versioned:
    """A saved result and its version counter when it was saved."""

    def __init__(self, value):
        self.val = value.detach() if isinstance(value, torch.Tensor) else value
        self.version = getattr(value, "_version", None)

    def get_val(self, allow_cache_entry_mutation):
        if not allow_cache_entry_mutation and self.version is not None and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


class _Counting(TorchDispatchMode):
    """The base of the two modes: numbers the calls of each operator."""

    def __init__(self, policy_fn, storage):
        super().__init__()
        self.policy_fn, self.storage, self.func_counter = policy_fn, storage, collections.Counter()

    def __enter__(self):
        self.func_counter.clear()
        return super().__enter__()

    @classmethod
    def ignore_compile_internals(cls):
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        self.func_counter[func] += 1
        return self._run(func, self.func_counter[func] - 1, args, kwargs)


class _CachingTorchDispatchMode(_Counting):
    """The mode of the forward: saves the results that the policy selects."""

    def _run(self, func, number, args, kwargs):
        out = func(*args, **kwargs)
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        self.storage.setdefault(func, {})[number] = tree_map(_Versioned, out) if policy in _SAVED_BY else _RECOMPUTE
        return out


class _CachedTorchDispatchMode(_Counting):
    """The mode of the recomputation: returns each saved result once. It does not call policy_fn."""

    def __init__(self, policy_fn, storage, allow_cache_entry_mutation=False):
        super().__init__(policy_fn, storage)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def _run(self, func, number, args, kwargs):
        entries = self.storage.get(func)
        if entries is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        entry = entries.get(number)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {number} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed "
                "under selective activation checkpoint."
            )
        if entry is _RECOMPUTE:
            return func(*args, **kwargs)
        entries[number] = _CONSUMED
        return tree_map(lambda saved: saved.get_val(self.allow_cache_entry_mutation), entry)


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Return the contexts for the forward and the recomputation of a checkpoint that saves some operators' results.

    policy_fn_or_list: a list of the overloads to save, or policy(context, overload, *args, **kwargs), which returns a
    CheckpointPolicy or a bool.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                extra = (
                    "Please update the OpOverloadPacket to a specific OpOverload.For example, "
                    "if you have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                    if isinstance(op, OpOverloadPacket)
                    else ""
                )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {extra}"
                )
        saved = policy_fn_or_list
        policy = lambda ctx, op, *args, **kwargs: op in saved  # noqa: E731
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict = {}
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(
        policy, storage, allow_cache_entry_mutation
    )
