"""Settings of the compiler; only recompile_limit and suppress_errors have an effect (capture.py).

Their names and defaults are in config.json.
"""

from ..utils._config import config_module

config_module(__name__, reorderable_logging_functions=set())
