"""torch._C._distributed_c10d: names of torch.distributed that are C++ in PyTorch and that some programs import here."""

import torch.distributed.distributed_c10d  # first, so that its modules are imported in their order
from torch.distributed._collectives import _make_nccl_premul_sum
from torch.distributed._errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from torch.distributed._fake import FakeProcessGroup, FakeWork
from torch.distributed._process_group import Backend, ProcessGroup
from torch.distributed._reducer import (
    _DEFAULT_FIRST_BUCKET_BYTES,
    GradBucket,
    Logger,
    Reducer,
    _broadcast_coalesced,
    _compute_bucket_assignment_by_size,
    _register_builtin_comm_hook,
    _register_comm_hook,
    _verify_params_across_processes,
)
from torch.distributed._store import FileStore, HashStore, PrefixStore, Store
from torch.distributed._tcp_store import TCPStore
from torch.distributed._types import *
from torch.distributed._types import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    BuiltinCommHookType,
    DebugLevel,
    GatherOptions,
    RedOpType,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    Work,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from torch.distributed._world import (
    _DistributedBackendOptions,
    _register_process_group,
    _resolve_process_group,
    _unregister_all_process_groups,
    _unregister_process_group,
)


def _create_work_from_future(future):
    """Return a Work that is done when the future is."""
    work = Work()

    def done(finished):
        try:
            work._finish(finished.value())
        except Exception as error:
            work._finish(None, error)

    future.add_done_callback(done)
    return work


def __getattr__(name):
    if name == "ProcessGroupGloo":  # imported late, because it loads what the backend needs
        from torch.distributed._gloo import ProcessGroupGloo

        return ProcessGroupGloo
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
