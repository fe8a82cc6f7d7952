"""Settings of Inductor, which are stored but have no effect.

Their names and defaults are in config.json.
"""

from ..utils._config import config_module

config_module(__name__)
