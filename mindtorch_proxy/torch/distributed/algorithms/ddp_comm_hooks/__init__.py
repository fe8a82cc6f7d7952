"""Communication hooks for ``DistributedDataParallel.register_comm_hook``."""

from enum import Enum

from . import debugging_hooks as debugging
from . import default_hooks as default
from . import powerSGD_hook as powerSGD

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class _Hook:
    """A hook, and the settings with which its state is created."""

    def __init__(self, hook, **settings):
        self.hook, self.settings = hook, settings

    def __call__(self, model, state=None):
        if self.settings:
            state = powerSGD.PowerSGDState(process_group=state, **self.settings)
        model.register_comm_hook(state, self.hook)


class DDPCommHookType(Enum):
    """The hooks by name.

    ``DDPCommHookType.ALLREDUCE.value(model=model, state=group)`` registers one.
    """

    ALLREDUCE = _Hook(default.allreduce_hook)
    FP16_COMPRESS = _Hook(default.fp16_compress_hook)
    BF16_COMPRESS = _Hook(default.bf16_compress_hook)
    POWER_SGD = _Hook(powerSGD.powerSGD_hook, matrix_approximation_rank=1)
    POWER_SGD_RANK2 = _Hook(powerSGD.powerSGD_hook, matrix_approximation_rank=2)
    BATCHED_POWER_SGD = _Hook(powerSGD.batched_powerSGD_hook, matrix_approximation_rank=1)
    BATCHED_POWER_SGD_RANK2 = _Hook(powerSGD.batched_powerSGD_hook, matrix_approximation_rank=2)
    NOOP = _Hook(debugging.noop_hook)


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Register one of these hooks on a model."""
    comm_hook_type.value(model=model, state=state)
