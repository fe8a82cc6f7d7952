"""The old place of serialization/unpickler.py, for the served tree's imports."""

from .serialization.unpickler import *  # noqa: F403
