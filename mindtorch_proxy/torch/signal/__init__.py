"""torch.signal: signal processing."""

from . import windows

__all__ = ["windows"]
