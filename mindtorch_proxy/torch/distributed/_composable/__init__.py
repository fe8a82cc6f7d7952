"""APIs that apply parallelism to modules in place."""

from .checkpoint_activation import checkpoint
from .contract import _get_registry, contract
from .replicate import replicate

__all__ = ["checkpoint", "contract", "replicate"]
