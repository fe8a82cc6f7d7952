"""Logging of the launcher."""

import logging
import os


def get_logger(name=None):
    """Return a logger whose level comes from the environment variable LOGLEVEL, or is WARNING."""
    found = logging.getLogger(name or __name__)
    found.setLevel(os.environ.get("LOGLEVEL", "WARNING").upper())
    return found
