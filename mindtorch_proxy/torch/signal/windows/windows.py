"""Window functions under their second path."""

from ..._namespace import serve

serve(globals(), "signal.windows")
