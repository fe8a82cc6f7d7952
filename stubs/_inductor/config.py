"""Settings of Inductor: they keep what is set, nothing uses them. Their names and defaults are in config.json."""

from ..utils._config import config_module

config_module(__name__)
