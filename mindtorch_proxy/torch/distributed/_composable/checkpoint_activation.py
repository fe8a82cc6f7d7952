"""Activation checkpointing applied to a module in place."""

import contextlib

from torch.utils.checkpoint import _DEFAULT_DETERMINISM_MODE, _recording

from .._composable_state import _State
from .contract import contract

__all__ = []


class _CheckpointState(_State):
    enable_hook = False
    recording = None


@contextlib.contextmanager
def _second_run(state, context):
    """Disable the module's checkpoint hooks while backward runs its forward again."""
    before, state.enable_hook = state.enable_hook, False
    try:
        with context:
            yield
    finally:
        state.enable_hook = before


@contract(_CheckpointState)
def checkpoint(module, **kwargs):
    """Save only the inputs of a module's forward, and run the forward again in backward.

    The module's structure and the names of its parameters do not change.
    """
    if kwargs.pop("use_reentrant", False):
        raise NotImplementedError(
            "use_reentrant=True is not supported in composable checkpoint. "
            "Please use torch.utils.checkpoint.checkpoint instead."
        )
    preserve, contexts = kwargs.pop("preserve_rng_state", True), kwargs.pop("context_fn", None)
    check, debug = kwargs.pop("determinism_check", _DEFAULT_DETERMINISM_MODE), kwargs.pop("debug", False)
    early_stop = kwargs.pop("early_stop", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    state = checkpoint.state(module)

    def both_runs():
        first, second = contexts() if contexts is not None else (contextlib.nullcontext(), contextlib.nullcontext())
        return first, _second_run(state, second)

    def before(module, args, kwargs):
        if state.enable_hook:
            state.recording = _recording(module, preserve, both_runs, check, debug, early_stop, *args, **kwargs)
            state.recording.__enter__()

    def after(module, args, output):
        if state.enable_hook and state.recording is not None:
            recording, state.recording = state.recording, None
            recording.__exit__(None, None, None)

    state.enable_hook = True
    module.register_forward_pre_hook(before, with_kwargs=True)
    module.register_forward_hook(after, prepend=True, always_call=True)
    return module
