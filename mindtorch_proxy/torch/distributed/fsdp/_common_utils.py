"""Name prefixes of FSDP's wrapper modules."""

from ..algorithms._checkpoint.checkpoint_wrapper import _CHECKPOINT_PREFIX

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDP_PREFIX = FSDP_WRAPPED_MODULE + "."


def clean_tensor_name(tensor_name):
    """Remove the prefixes of FSDP and checkpoint wrappers from the name of a parameter or buffer."""
    return tensor_name.replace(FSDP_PREFIX, "").replace(_CHECKPOINT_PREFIX, "")
