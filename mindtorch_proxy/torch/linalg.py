"""Linear algebra."""

from mindtorch_proxy.runtime.ops.linalg import _LinAlgError as LinAlgError  # noqa: F401

from ._namespace import serve

serve(globals(), "linalg")
