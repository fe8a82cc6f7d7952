"""torch._weights_only_unpickler."""

from mindtorch_proxy.runtime.serialization.unpickler import (  # noqa: F401
    Unpickler,
    UnpicklingError,
    add_safe_globals as _add_safe_globals,
    allowed as _get_allowed_globals,
    clear_safe_globals as _clear_safe_globals,
    get_safe_globals as _get_safe_globals,
    load,
    safe_globals as _safe_globals,
)
