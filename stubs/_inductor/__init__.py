"""torch._inductor: its settings, which programs read and set. The compiler itself does not exist here."""

from . import config

__all__ = ["config"]
