"""The launcher's logs."""

import logging
import os


def get_logger(name=None):
    """A logger, at the level of the environment variable LOGLEVEL, or WARNING."""
    found = logging.getLogger(name or __name__)
    found.setLevel(os.environ.get("LOGLEVEL", "WARNING").upper())
    return found
