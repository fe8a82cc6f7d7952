"""Creates, finds and destroys the process groups of this process."""

import hashlib
import os
import threading
import time
import warnings
from dataclasses import dataclass, field
from datetime import timedelta

import torch

from ._errors import DistStoreError
from ._process_group import Backend as _Backend
from ._process_group import ProcessGroup
from ._store import PrefixStore, Store
from ._types import DebugLevel, get_debug_level
from .constants import default_pg_nccl_timeout, default_pg_timeout
from .rendezvous import rendezvous

STORE_BASED_BARRIER_PREFIX = "store_based_barrier_key"
PG_WRAPPER_STORE_PREFIX = "pg_wrapper"


class Backend(str):
    """The names of the backends; a call gives the lower-case name, a plain string.

    Whether a backend of that name exists is only checked when a group is created.
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    HCCL = "hccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE, HCCL]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO, "npu": HCCL}
    backend_capability = {
        GLOO: ["cpu", "cuda"],
        NCCL: ["cuda"],
        XCCL: ["xpu"],
        UCC: ["cpu", "cuda"],
        MPI: ["cpu", "cuda"],
        FAKE: ["cpu", "cuda", "hpu", "xpu"],
        HCCL: ["npu"],
    }
    backend_type_map = {
        UNDEFINED: ProcessGroup.BackendType.UNDEFINED,
        GLOO: ProcessGroup.BackendType.GLOO,
        NCCL: ProcessGroup.BackendType.NCCL,
        XCCL: ProcessGroup.BackendType.XCCL,
        UCC: ProcessGroup.BackendType.UCC,
        MPI: ProcessGroup.BackendType.MPI,
        HCCL: ProcessGroup.BackendType.CUSTOM,
    }
    _plugins: dict = {}

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        value = getattr(Backend, name.upper(), Backend.UNDEFINED)
        if not isinstance(value, str) or value == Backend.UNDEFINED:
            value = name.lower()
        return value

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        """Register ``func(store, rank, size, timeout)`` as the constructor of a backend's process group."""
        if hasattr(cls, name.upper()) and name.lower() != cls.FAKE:
            raise AssertionError(f"{name.upper()} c10d backend already exist")
        if name.upper() in cls._plugins:
            raise AssertionError(f"{name.upper()} c10d backend creator function already exist")
        setattr(cls, name.upper(), name.lower())
        if name.lower() not in cls.backend_list:
            cls.backend_list.append(name.lower())
        devices = [devices] if isinstance(devices, str) else list(devices or ("cpu", "cuda"))
        for device in devices:
            if device not in ("cpu", "cuda"):
                cls.default_device_backend_map[device] = name.lower()
        cls.backend_capability[name.lower()] = devices
        cls.backend_type_map[name.lower()] = ProcessGroup.BackendType.CUSTOM
        cls._plugins[name.upper()] = (func, extended_api)


@dataclass
class _DistributedBackendOptions:
    """The arguments with which a backend that uses the extended API is created."""

    store: Store | None = None
    group_rank: int = -1
    group_size: int = -1
    timeout: timedelta = default_pg_timeout
    group_id: str = ""
    global_ranks_in_group: list = field(default_factory=list)


class BackendConfig:
    """Which backend serves which device, parsed from ``gloo`` or ``cpu:gloo,cuda:nccl``."""

    def __init__(self, backend):
        self.device_backend_map = {}
        if backend == Backend.UNDEFINED:
            self.device_backend_map = {device: Backend(b) for device, b in Backend.default_device_backend_map.items()}
        elif ":" in str(backend):
            for pair in str(backend).lower().split(","):
                device, _, name = pair.partition(":")
                if not name or ":" in name:
                    raise ValueError(
                        f"The custom backend string argument is invalid: {backend}.\n Custom backend string is an "
                        f"experimental feature where the backend "
                        'string must be in the format: "<device_type1>:<backend1>,<device_type2>:<backend2>...". '
                        "e.g. 'cpu:gloo,cuda:nccl'"
                    )
                if device in self.device_backend_map:
                    raise ValueError(f"Duplicate device type {device} in backend string: {backend}. ")
                self.device_backend_map[device] = Backend(name)
        else:
            backend = Backend(backend)
            self.device_backend_map = {
                device: backend for device in Backend.backend_capability.get(backend, ["cpu", "cuda"])
            }

    def __repr__(self):
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self):
        """Return {device: backend}."""
        return self.device_backend_map


class _World:
    """The registry of all groups of this process."""

    def __init__(self):
        self.default_pg = None
        self.pg_map, self.pg_names, self.pg_group_ranks, self.pg_backend_config = {}, {}, {}, {}
        self.group_count = 0
        self.tags_to_pg, self.pg_to_tag, self.pg_coalesce_state = {}, {}, {}
        self.by_name, self.stores = {}, {}

    @property
    def pg_default_device(self):
        """Default devices of groups. Empty, because the CPU is always used."""
        return {}

    @property
    def pg_config_info(self):
        """The configuration of each group."""
        return [
            {
                "pg_name": name,
                "pg_desc": pg.group_desc,
                "backend_config": repr(self.pg_backend_config[pg]),
                "pg_size": pg.size(),
                "ranks": list(self.pg_group_ranks[pg]),
            }
            for pg, name in self.pg_names.items()
        ]

    def forget(self, pg):
        """Remove a group."""
        self.by_name.pop(self.pg_names.get(pg), None)
        tag = self.pg_to_tag.pop(pg, None)
        if pg in self.tags_to_pg.get(tag, ()):
            self.tags_to_pg[tag].remove(pg)
        for table in (
            self.pg_map,
            self.pg_names,
            self.pg_group_ranks,
            self.pg_backend_config,
            self.pg_coalesce_state,
            self.stores,
        ):
            table.pop(pg, None)


_world = _World()


class _WorldMeta(type):
    @property
    def WORLD(cls):
        """The group of all processes, or None."""
        return _world.default_pg

    @WORLD.setter
    def WORLD(cls, pg):
        _world.default_pg = pg


class group(metaclass=_WorldMeta):
    """Has ``group.WORLD``, the group of all processes."""


class GroupMember(metaclass=_WorldMeta):
    """Has ``GroupMember.WORLD``, and the value that means this process is not in a group."""

    NON_GROUP_MEMBER = -100


def is_initialized():
    """Whether the default group is initialized."""
    return _world.default_pg is not None


def is_mpi_available():
    """Whether the mpi backend is available, which is always False."""
    return False


def is_nccl_available():
    """Whether the nccl backend is available, which is always False."""
    return False


def is_ucc_available():
    """Whether the ucc backend is available, which is always False."""
    return False


def is_xccl_available():
    """Whether the xccl backend is available, which is always False."""
    return False


def is_hccl_available():
    """Whether the hccl backend is available, which it is where an NPU is usable."""
    return torch.npu.is_available()


def is_gloo_available():
    """Whether the gloo backend is available, which is always True.

    It needs the dependencies of the extra `distributed`; init_process_group raises an error if they are missing.
    """
    return True


def is_backend_available(backend):
    """Whether the backend of that name is available."""
    check = globals().get(f"is_{backend.lower()}_available")
    return check() if check is not None else backend.lower() in Backend.backend_list


def is_torchelastic_launched():
    """Whether torchrun or another elastic launcher started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _get_default_group():
    if _world.default_pg is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world.default_pg


def _get_default_store():
    return _world.pg_map[_get_default_group()][1]


def _group_or_default_group(pg=None):
    return _get_default_group() if pg is None or pg is group.WORLD else pg


def _rank_not_in_group(pg):
    return pg == GroupMember.NON_GROUP_MEMBER if pg is not None else False


def _warn_not_in_group(name):
    rank = -1 if group.WORLD is None else group.WORLD.rank()
    warnings.warn(f"Running {name} on global rank {rank} which does not belong to the given group.", stacklevel=3)


def get_rank(group=None):
    """Return this process's rank in a group, or -1 outside the group."""
    if _rank_not_in_group(group):
        return -1
    default = _get_default_group()
    return default.rank() if group is None or group is default else get_group_rank(group, default.rank())


def get_world_size(group=None):
    """Return the size of a group, or -1 outside the group."""
    return -1 if _rank_not_in_group(group) else _group_or_default_group(group).size()


_get_group_size = get_world_size


def get_backend_config(group=None):
    """Return the backends of a group as a string of device:backend pairs."""
    pg = _group_or_default_group(group)
    if _rank_not_in_group(pg):
        raise ValueError("Invalid process group specified")
    return str(_world.pg_backend_config[pg])


def get_backend(group=None):
    """Return the name of a group's backend."""
    pg = _group_or_default_group(group)
    if _rank_not_in_group(pg) or pg not in _world.pg_map:
        raise ValueError("Invalid process group specified")
    return Backend(_world.pg_map[pg][0])


def get_default_backend_for_device(device):
    """Return the default backend of a device."""
    name = torch.device(device).type
    found = Backend.default_device_backend_map.get(name)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found


def get_pg_count():
    """Return the number of groups."""
    return _world.group_count


def get_node_local_rank(fallback_rank=None):
    """Return this process's rank on its machine, from LOCAL_RANK."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def get_process_group_ranks(group):
    """Return the global ranks of a group, in the order of their group ranks."""
    return list(_world.pg_group_ranks[_group_or_default_group(group)])


def get_group_rank(group, global_rank):
    """Convert a global rank to a rank in the group."""
    if group is GroupMember.WORLD:
        return global_rank
    if group not in _world.pg_group_ranks:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    ranks = _world.pg_group_ranks[group]
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks[global_rank]


def get_global_rank(group, group_rank):
    """Convert a rank in the group to a global rank."""
    if group is GroupMember.WORLD:
        return group_rank
    if group not in _world.pg_group_ranks:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    for rank, inside in _world.pg_group_ranks[group].items():
        if inside == group_rank:
            return rank
    raise ValueError(f"Group rank {group_rank} is not part of group {group}")


def _get_global_rank(group, rank):
    return get_global_rank(group, rank)


def _check_valid_timeout(timeout):
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")


def _get_default_timeout(backend):
    if backend == Backend.NCCL:
        warnings.warn(
            "Attempted to get default timeout for nccl backend, but NCCL support is not compiled", stacklevel=2
        )
    return default_pg_timeout


def _set_pg_timeout(timeout, group=None):
    """Set the timeout of a group's collectives."""
    _check_valid_timeout(timeout)
    _group_or_default_group(group).set_timeout(timeout)


def _store_based_barrier(rank, store, group_name, rendezvous_count, timeout, logging_interval=None):
    """Wait until all processes have arrived, using only the store."""
    key = f"{STORE_BASED_BARRIER_PREFIX}:{group_name}"
    came = store.add(key, 1)
    if came == rendezvous_count:
        store.set(f"{key}:last_worker", "1")
    try:
        store.wait([f"{key}:last_worker"], timeout)
    except RuntimeError as error:
        came = store.add(key, 0)
        raise DistStoreError(
            f"Timed out initializing process group in store based barrier on rank {rank}, for key: "
            f"{key} (world_size={rendezvous_count}, num_workers_joined={came}, timeout={timeout} error={error})"
        ) from None


def _meet(backend, *arguments):
    """Wait until all members of a new group have arrived, because gloo connects only later.

    For other backends this is skipped, unless TORCH_DIST_INIT_BARRIER is 1.
    """
    built_in = Backend.GLOO in BackendConfig(Backend(backend)).device_backend_map.values()
    if built_in or os.environ.get("TORCH_DIST_INIT_BARRIER", "0") == "1":
        _store_based_barrier(*arguments)


def _unavailable(name):
    return RuntimeError(f"Distributed package doesn't have {name.upper()} built in")


def _make_backend(name, store, rank, size, timeout, options, ranks, group):
    """Create the backend of that name."""
    if name == Backend.GLOO:
        from ._gloo import ProcessGroupGloo, _GlooOptions

        given = options if isinstance(options, _GlooOptions) else _GlooOptions(timeout)
        given.global_ranks_in_group = list(ranks)
        return ProcessGroupGloo(store, rank, size, given)
    if name == Backend.HCCL and is_hccl_available():
        from ._hccl import ProcessGroupHCCL, _HcclOptions

        given = options if isinstance(options, _HcclOptions) else _HcclOptions(timeout)
        return ProcessGroupHCCL(store, rank, size, given, group, ranks)
    if name.upper() in Backend._plugins:
        function, extended = Backend._plugins[name.upper()]
        if not extended:
            return function(store, rank, size, timeout)
        return function(
            _DistributedBackendOptions(
                store, rank, size, timeout, group, [] if _world.default_pg is None else list(ranks)
            ),
            options,
        )
    if name in (Backend.NCCL, Backend.MPI, Backend.UCC, Backend.XCCL, Backend.HCCL):
        raise _unavailable(name)
    raise AssertionError(f"Unknown backend type {name}")


def _new_process_group_helper(
    ranks, rank, backend, store, name, timeout, options=None, device_id=None, description=None
):
    """Create a group that this process is a member of."""
    if name in _world.by_name:
        raise ValueError("The specified group name has already been created, please use a different group name")
    size = len(ranks)
    config = BackendConfig(Backend(backend))
    prefixed = PrefixStore(f"{name}/", store)
    made, pg = {}, ProcessGroup(prefixed, rank, size)
    served = config.device_backend_map
    if backend == Backend.UNDEFINED:  # of the devices' default backends, use only those that are built in
        built_in = [Backend.GLOO, Backend.HCCL] if is_hccl_available() else [Backend.GLOO]
        served = {device: b for device, b in served.items() if b in built_in}
    if device_id is not None and device_id.type == "npu":
        torch.npu.set_device(device_id)  # before hccl starts on it: one NPU in a process
    for device, backend_name in served.items():
        if backend_name not in made:
            made[backend_name] = _make_backend(
                backend_name, PrefixStore(f"{device}/", prefixed), rank, size, timeout, options, ranks, name
            )
        if isinstance(made[backend_name], ProcessGroup):  # a plugin may create the whole process group
            pg = made[backend_name]
            break
        pg._register_backend(
            device, Backend.backend_type_map.get(backend_name, ProcessGroup.BackendType.CUSTOM), made[backend_name]
        )
    pg._set_group_name(name)
    pg._set_group_desc(description or "undefined")
    pg.bound_device_id = device_id
    _register(pg, name, backend, config, prefixed, ranks)
    return pg, prefixed


def _register(pg, name, backend, config, store, ranks, tag=None):
    _world.pg_map[pg] = (Backend(backend), store)
    _world.pg_names[pg] = name
    _world.by_name[name] = pg
    _world.pg_backend_config[pg] = str(config)
    _world.pg_group_ranks[pg] = {global_rank: i for i, global_rank in enumerate(ranks)}
    tag = f"ptd:{name}" if tag is None else tag
    _world.tags_to_pg.setdefault(tag, []).append(pg)
    _world.tags_to_pg.setdefault("", []).append(pg)
    _world.pg_to_tag[pg] = tag


def _get_process_group_name(pg):
    return _world.pg_names.get(pg, "None")


def _get_process_group_store(pg):
    return _world.pg_map[pg][1]


def _register_process_group(name, pg):
    _world.by_name[name] = pg


def _unregister_process_group(name):
    _world.by_name.pop(name, None)


def _unregister_all_process_groups():
    _world.by_name.clear()


def _resolve_process_group(name):
    """Return the group of that name."""
    if name not in _world.by_name:
        raise LookupError(f"Could not resolve the process group registered under the name {name}")
    return _world.by_name[name]


def _update_default_pg(pg):
    _world.default_pg = pg


def _check_init(store, init_method, world_size, rank):
    if _world.default_pg is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None:
        if init_method is not None:
            raise AssertionError("Cannot specify both init_method and store.")
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
        if not isinstance(store, Store):
            raise TypeError(f"store must be a torch.distributed.Store, not {type(store).__name__}")


def init_process_group(
    backend=None,
    init_method=None,
    timeout=None,
    world_size=-1,
    rank=-1,
    store=None,
    group_name="",
    pg_options=None,
    device_id=None,
    _ranks=None,
):
    """Initialize the default group, with a store or with the URL of a rendezvous (default env://)."""
    _check_init(store, init_method, world_size, rank)
    if device_id is not None and isinstance(device_id, int):
        device_id = torch.device(torch.accelerator.current_accelerator() or "cpu", device_id)
    backend = Backend(backend) if backend else Backend(Backend.UNDEFINED)
    timeout = _get_default_timeout(backend) if timeout is None else timeout
    _check_valid_timeout(timeout)
    if store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
        store.set_timeout(timeout)
        store = PrefixStore("default_pg", store)
    name = str(group_name or "0")
    pg, _ = _new_process_group_helper(
        range(world_size), rank, backend, store, name, timeout, pg_options, device_id, "default_pg"
    )
    _update_default_pg(pg)
    _world.group_count = 1
    _meet(backend, rank, store, name, world_size, timeout)


def destroy_process_group(group=None):
    """Destroy a group, or all groups if none is given."""
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    pg = GroupMember.WORLD if group is None else group
    if pg is None:
        raise AssertionError("Process group cannot be None")
    if pg not in _world.pg_map:
        raise ValueError("Invalid process group specified")
    if pg is GroupMember.WORLD:
        for other in list(_world.pg_map):
            other.shutdown()
            _world.forget(other)
        _update_default_pg(None)
        _world.group_count = 0
        _world.__init__()
    else:
        pg.shutdown()
        _world.forget(pg)


def _abort_process_group(group=None):
    """Destroy a group and abort its collectives in flight."""
    destroy_process_group(group)


def _hash_ranks_to_str(ranks):
    return hashlib.sha1("_".join(map(str, ranks)).encode(), usedforsecurity=False).hexdigest()


def _process_group_name(ranks, use_hashed_name):
    if not use_hashed_name:
        name = str(_world.group_count)
        _world.group_count += 1
        return name
    name, base = _hash_ranks_to_str(ranks), _hash_ranks_to_str(ranks)
    while name in _world.by_name:
        name = hashlib.sha1(f"{base}_{len(_world.pg_names)}".encode(), usedforsecurity=False).hexdigest()
        base = name
    return name


def new_group(
    ranks=None,
    timeout=None,
    backend=None,
    pg_options=None,
    use_local_synchronization=False,
    group_desc=None,
    device_id=None,
    sort_ranks=True,
):
    """Create a group of some ranks.

    All processes of the job must call this in the same order, whether they are members or not. With
    ``use_local_synchronization``, only the members call it.
    """
    return _new_group_with_tag(
        ranks, timeout, backend, pg_options, None, use_local_synchronization, group_desc, device_id, sort_ranks
    )


def _new_group_with_tag(
    ranks=None,
    timeout=None,
    backend=None,
    backend_options=None,
    pg_tag=None,
    use_local_synchronization=False,
    group_desc=None,
    device_id=None,
    sort_ranks=True,
):
    default = _get_default_group()
    default_backend, default_store = _world.pg_map[default]
    rank, world_size = default.rank(), default.size()
    backend = default_backend if backend is None else Backend(backend)
    timeout = default_pg_timeout if timeout is None else timeout
    _check_valid_timeout(timeout)
    if ranks is None:
        ranks = list(range(world_size))
    else:
        ranks = sorted(ranks) if sort_ranks else list(ranks)
        if len(ranks) > world_size:
            raise ValueError(
                "the new group's world size should be less or equal to the world size set by init_process_group"
            )
        if len(set(ranks)) != len(ranks):
            raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
        if (outside := next((r for r in ranks if not 0 <= r < world_size), None)) is not None:
            raise ValueError(
                f"Rank {outside} is out of range. Valid ranks are 0 to {world_size - 1} (world_size={world_size})"
            )
    if use_local_synchronization and rank not in ranks:
        return None
    name = _process_group_name(ranks, use_local_synchronization)
    pg = GroupMember.NON_GROUP_MEMBER
    if rank in ranks:
        pg, _ = _new_process_group_helper(
            ranks, ranks.index(rank), backend, default_store, name, timeout, backend_options, device_id, group_desc
        )
        if pg_tag is not None:
            _world.tags_to_pg.setdefault(f"user:{pg_tag}", []).append(pg)
            _world.pg_to_tag[pg] = f"user:{pg_tag}"
    barrier_store = PrefixStore("new_group", default_store)
    members = len(ranks) if use_local_synchronization else world_size
    _meet(backend, rank, barrier_store, name, members, timeout)
    return pg


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Create groups of ``group_size`` consecutive ranks; return (this process's group, all groups)."""
    if group_size is None:
        raise ValueError("group_size must be given: there are no accelerators of which to take the number")
    size = get_world_size()
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    lists = [list(range(start, start + group_size)) for start in range(0, size, group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Create groups from disjoint lists of ranks; return (this process's group, all groups)."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen, current, groups = {}, None, []
    for ranks in ranks_per_subgroup_list:
        made = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        groups.append(made)
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
            if rank == get_rank():
                current = made
    return current, groups


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None):
    """Create and return the group among ``split_ranks`` (ranks in the parent) that contains this process."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = _group_or_default_group(parent_pg)
    if parent.bound_device_id is None:
        raise RuntimeError("No device associated with the default pg, not safe to split any process groups")
    return _split(parent, split_ranks, timeout, pg_options, group_desc)


def _split(parent, split_ranks, timeout, pg_options, group_desc):
    """Split a group; every rank of the parent must call this.

    The new group's name is made of its ranks and the parent's number of splits so far.
    """
    backend, store = _world.pg_map[parent]
    globally = get_process_group_ranks(parent)
    _world.pg_coalesce_state.setdefault(parent, 0)
    parent._splits = getattr(parent, "_splits", 0) + 1
    mine = None
    for ranks in split_ranks:
        if parent.rank() in ranks:
            if mine is not None:
                raise ValueError("Split group cannot have overlapping ranks")
            mine = list(ranks)
    if mine is None:
        return None
    name = f"{_get_process_group_name(parent)}:split:{parent._splits}:{_hash_ranks_to_str(mine)}"
    members = [globally[r] for r in mine]
    pg, prefixed = _new_process_group_helper(
        members,
        mine.index(parent.rank()),
        backend,
        store,
        name,
        timeout or default_pg_timeout,
        pg_options,
        parent.bound_device_id,
        group_desc,
    )
    _meet(backend, get_rank(), prefixed, name, len(mine), timeout or default_pg_timeout)
    return pg


def shrink_group(ranks_to_exclude, group=None, shrink_flags=0, pg_options=None):
    """Raise an error: only backends that support shrinking can remove ranks, and gloo does not."""
    raise RuntimeError("Backend gloo does not support shrinking")


SHRINK_DEFAULT, SHRINK_ABORT = 0, 1


def _find_pg_by_ranks_and_tag(tag, ranks):
    if tag and not tag.startswith("ptd:") and not tag.startswith("user:"):
        tag = f"user:{tag}"
    return next((pg for pg in _world.tags_to_pg.get(tag, ()) if get_process_group_ranks(pg) == list(ranks)), None)


def _find_or_create_pg_by_ranks_and_tag(tag, ranks, stride):
    if len(ranks) % stride:
        raise ValueError(f"group_size ({stride}) must divide the number of ranks ({len(ranks)})")
    rank = get_rank()
    mine = next(ranks[i : i + stride] for i in range(0, len(ranks), stride) if rank in ranks[i : i + stride])
    found = _find_pg_by_ranks_and_tag(tag, sorted(mine))
    if found is not None:
        return found
    if tag == "":
        raise ValueError("Cannot automatically create PG with empty tag")
    return _new_group_with_tag(mine, pg_tag=tag)


def _resolve_group_name_by_ranks_and_tag(ranks, tag):
    pg = _find_pg_by_ranks_and_tag(tag, ranks)
    if pg is None:
        raise ValueError("no group has these ranks")
    return pg.group_name


def _get_group_tag(pg):
    tag = _world.pg_to_tag[pg]
    return tag.removeprefix("user:")


def _get_group_size_by_name(name):
    return _resolve_process_group(name).size()


def _create_process_group_wrapper(wrapped_pg, store_prefix, store, rank, world_size, timeout=default_pg_timeout):
    """Return a group that checks that all ranks run the same collectives.

    The group itself does this with TORCH_DISTRIBUTED_DEBUG=DETAIL, so it is returned unchanged.
    """
    if get_debug_level() is not DebugLevel.DETAIL:
        raise RuntimeError("the comparing of collectives is switched on by TORCH_DISTRIBUTED_DEBUG=DETAIL")
    return wrapped_pg


def _get_pg_default_device(group=None):
    """Return the device of the tensors that carry objects and numbers: the CPU, where the group serves it."""
    return _group_or_default_group(group)._default_device()


_get_object_coll_device = _get_pg_default_device


def _device_capability(group=None):
    """Return the device types that a group supports."""
    return [d.type for d in _group_or_default_group(group)._device_types]


def _get_pg_config(group=None):
    return {"pg_name": _get_process_group_name(_group_or_default_group(group)), "ranks": get_process_group_ranks(group)}


Backend.__module__ = BackendConfig.__module__ = group.__module__ = GroupMember.__module__ = (
    "torch.distributed.distributed_c10d"
)
