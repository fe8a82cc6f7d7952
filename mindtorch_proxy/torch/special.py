"""Special functions."""

from ._namespace import serve

serve(globals(), "special")
