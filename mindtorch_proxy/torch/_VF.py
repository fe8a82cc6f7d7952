"""The functions of the root namespace, without what torch itself wraps."""

from ._namespace import serve

serve(globals(), "torch")
