"""torch._inductor: its settings, which programs set and read. The compiler itself is not here."""

from . import config

__all__ = ["config"]
