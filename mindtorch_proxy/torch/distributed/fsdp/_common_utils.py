"""Names of what fully sharded modules put around others."""

from ..algorithms._checkpoint.checkpoint_wrapper import _CHECKPOINT_PREFIX

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDP_PREFIX = FSDP_WRAPPED_MODULE + "."


def clean_tensor_name(tensor_name):
    """A parameter's or buffer's name without the wrappers' of full sharding and of checkpointing."""
    return tensor_name.replace(FSDP_PREFIX, "").replace(_CHECKPOINT_PREFIX, "")
