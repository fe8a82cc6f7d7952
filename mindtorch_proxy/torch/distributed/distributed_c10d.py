"""Process groups and collectives."""

import collections
import contextlib
import copy
import ctypes
import hashlib
import io
import itertools
import logging
import os
import pickle
import sys
import time
import warnings
from collections import namedtuple
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NewType

import torch

from ._collectives import *
from ._collectives import (
    _all_gather_base,
    _canonicalize_group_rank,
    _check_not_self_rank,
    _check_op,
    _check_p2p_op_list,
    _check_single_tensor,
    _check_tensor_list,
    _coalescing_manager,
    _CoalescingManager,
    _CollOp,
    _ensure_all_tensors_same_dtype,
    _IllegalWork,
    _make_nccl_premul_sum,
    _reduce_op,
    _reduce_scatter_base,
    _validate_output_list_for_rank,
)
from ._errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from ._objects import (
    _object_to_tensor,
    _pickler,
    _tensor_to_object,
    _unpickler,
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from ._process_group import Backend as _Backend
from ._process_group import ProcessGroup

from . import _operators as _operators  # isort: skip
from ._store import FileStore, HashStore, PrefixStore, Store
from ._tcp_store import TCPStore
from ._types import *
from ._types import DebugLevel, get_debug_level
from ._world import *
from ._world import (
    _abort_process_group,
    _check_valid_timeout,
    _create_process_group_wrapper,
    _device_capability,
    _find_or_create_pg_by_ranks_and_tag,
    _find_pg_by_ranks_and_tag,
    _get_default_group,
    _get_default_store,
    _get_default_timeout,
    _get_global_rank,
    _get_group_size,
    _get_group_size_by_name,
    _get_group_tag,
    _get_object_coll_device,
    _get_pg_config,
    _get_pg_default_device,
    _get_process_group_name,
    _get_process_group_store,
    _group_or_default_group,
    _hash_ranks_to_str,
    _new_group_with_tag,
    _new_process_group_helper,
    _process_group_name,
    _rank_not_in_group,
    _register_process_group,
    _resolve_group_name_by_ranks_and_tag,
    _resolve_process_group,
    _set_pg_timeout,
    _store_based_barrier,
    _unregister_all_process_groups,
    _unregister_process_group,
    _update_default_pg,
    _warn_not_in_group,
    _World,
    _world,
    _WorldMeta,
)
from .constants import default_pg_nccl_timeout, default_pg_timeout
from .rendezvous import register_rendezvous_handler, rendezvous

logger = logging.getLogger(__name__)
GroupName = NewType("GroupName", str)
_GLOO_AVAILABLE, _MPI_AVAILABLE, _NCCL_AVAILABLE, _UCC_AVAILABLE, _XCCL_AVAILABLE = True, False, False, False, False
_TORCHCOMM_AVAILABLE = False
_backend, _default_pg_init_method = "undefined", None
_pg_map, _pg_names, _pg_group_ranks, _pg_backend_config, _tags_to_pg, _pg_to_tag = (
    _world.pg_map,
    _world.pg_names,
    _world.pg_group_ranks,
    _world.pg_backend_config,
    _world.tags_to_pg,
    _world.pg_to_tag,
)


def _is_barrier_after_init():
    """Whether TORCH_DIST_INIT_BARRIER requests a barrier at the end of init_process_group.

    gloo always has one, through the store.
    """
    return int(os.environ.get("TORCH_DIST_INIT_BARRIER", "0"))


# the import system has set this name to the submodule, but it must be the function
torch.distributed.rendezvous = rendezvous


def __getattr__(name):
    if name == "ProcessGroupGloo":  # imported lazily, because it loads the backend's dependencies
        from ._gloo import ProcessGroupGloo

        return ProcessGroupGloo
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = [n for n in dir() if n[0] != "_"]
