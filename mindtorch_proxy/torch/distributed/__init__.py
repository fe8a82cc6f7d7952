"""torch.distributed: process groups, collectives, and the features built on them."""

import importlib as _importlib
import sys
import types as _types

from ._errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError


def is_available():
    """Whether torch.distributed is available, which is always True.

    The gloo backend needs the optional dependencies of the extra `distributed`.
    """
    return True


# names defined in other submodules; all others come from distributed_c10d
_ELSEWHERE = {
    "DeviceMesh": "device_mesh",
    "init_device_mesh": "device_mesh",
    "_remote_device": "remote_device",
    "Reducer": "_reducer",
    "GradBucket": "_reducer",
    "Logger": "_reducer",
    "_broadcast_coalesced": "_reducer",
    "_compute_bucket_assignment_by_size": "_reducer",
    "_verify_params_across_processes": "_reducer",
    "_DEFAULT_FIRST_BUCKET_BYTES": "_reducer",
    "_register_comm_hook": "_reducer",
    "_register_builtin_comm_hook": "_reducer",
    "breakpoint": "_debugger",
}
_FROM_C10D = frozenset(
    """_make_nccl_premul_sum _Backend _Work _coalescing_manager _CoalescingManager _rank_not_in_group _all_gather_base
 _reduce_scatter_base _create_process_group_wrapper _get_process_group_name _world""".split()
)


def __dir__():
    c10d = _importlib.import_module(".distributed_c10d", __name__)
    return sorted({*globals(), *_ELSEWHERE, *_FROM_C10D, *(n for n in dir(c10d) if n[:1] != "_")})


def __getattr__(name):
    if name == "__all__":  # the names that `from torch.distributed import *` imports
        return [n for n in __dir__() if n[:1] != "_"]
    if name in _ELSEWHERE:
        return getattr(_importlib.import_module(f".{_ELSEWHERE[name]}", __name__), name)
    if name[:1] != "_" or name in _FROM_C10D:
        module = _importlib.import_module(".distributed_c10d", __name__)
        if name == "_Work":
            name = "Work"
        if hasattr(module, name):
            value = globals()[name] = getattr(module, name)
            return value
    try:
        return _importlib.import_module(f".{name}", __name__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
