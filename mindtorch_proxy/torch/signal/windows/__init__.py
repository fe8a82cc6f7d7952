"""Window functions."""

from ..._namespace import serve

serve(globals(), "signal.windows")

from . import windows  # noqa: E402, F401
