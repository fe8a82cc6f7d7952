"""torch.backends.mps without Metal."""

from .._absent_device import functions

functions(
    globals(),
    RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend."),
    "is_macos_or_newer is_macos13_or_newer get_core_count get_name",
    "",
    "is_available is_built",
    "",
)
