"""torch.utils.serialization."""

from . import config  # noqa: F401
