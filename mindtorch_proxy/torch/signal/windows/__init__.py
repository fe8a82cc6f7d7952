"""Window functions."""

from ..._namespace import serve

serve(globals(), "signal.windows")
