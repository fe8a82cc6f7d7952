"""torch.backends.mps without Metal, which is not available."""

from .. import _absent_device as _absent

_absent.functions(
    globals(),
    (False, "is_available() is_built()"),
    (
        RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend."),
        "is_macos_or_newer(major, minor) is_macos13_or_newer(minor=0)",
    ),
    (_absent.without("_mps_get_core_count"), "get_core_count()"),
    (_absent.without("_mps_get_name"), "get_name()"),
)
_absent.export(globals())
