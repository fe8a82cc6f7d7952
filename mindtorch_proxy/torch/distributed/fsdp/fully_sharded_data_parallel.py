"""FullyShardedDataParallel: parameters, gradients and optimizer state are sharded over the ranks."""

import contextlib
import copy
import functools
import math
from enum import Enum, auto

import torch
from torch import nn
from torch.utils._pytree import tree_map

from .. import distributed_c10d as c10d
from .._composable_state import _State
from ..tensor import DTensor
from ._common_utils import FSDP_PREFIX, FSDP_WRAPPED_MODULE, clean_tensor_name
from ._flat_param import FlatParameter, FlatParamHandle
from ._fully_shard._param_group import freeing_hooks, runs_again, whole_in_backward
from ._optim_state import collect, distribute
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import CustomPolicy, ModuleWrapPolicy, _Policy, _recursive_wrap

__all__ = [
    "FullyShardedDataParallel",
    "OptimStateKeyType",
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]
FLAT_PARAM = "_flat_param"


class OptimStateKeyType(Enum):
    """How an optimizer's state dict identifies parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


_CONFIGS = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
}


def _groups(process_group, device_mesh, strategy):
    """Return (the group to shard over, the group to replicate over or None, the mesh or None)."""
    hybrid = strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
    if process_group is not None and device_mesh is not None:
        raise ValueError(
            "Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them."
        )
    if device_mesh is not None:
        if hybrid != (device_mesh.ndim == 2):
            raise RuntimeError("Expected device_mesh to have ndim=1 (or ndim=2 for HYBRID_SHARD strategies)")
        return device_mesh.get_group(device_mesh.ndim - 1), device_mesh.get_group(0) if hybrid else None, device_mesh
    if hybrid:
        if not isinstance(process_group, tuple):
            raise ValueError(
                f"Manual wrapping with {strategy} requires explicit specification of process group or device_mesh. "
                "Expected process_group to be a tuple of two groups: to shard over, and to replicate over."
            )
        return *process_group, None
    return process_group or c10d._get_default_group(), None, None


class FullyShardedDataParallel(nn.Module, _State):
    """Wraps a module and shards its parameters as one flat parameter, without nested units.

    Forward and backward gather the flat parameter; gradients are averaged and sharded. With ``use_orig_params``,
    optimizers see each parameter's piece under its own name.
    """

    def __init__(
        self,
        module,
        process_group=None,
        sharding_strategy=None,
        cpu_offload=None,
        auto_wrap_policy=None,
        backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
        mixed_precision=None,
        ignored_modules=None,
        param_init_fn=None,
        device_id=None,
        sync_module_states=False,
        forward_prefetch=False,
        limit_all_gathers=True,
        use_orig_params=False,
        ignored_states=None,
        device_mesh=None,
    ):
        super().__init__()
        if isinstance(module, FullyShardedDataParallel):
            raise RuntimeError("the module is wrapped in FullyShardedDataParallel already")
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        group, replicas, mesh = _groups(process_group, device_mesh, self.sharding_strategy)
        ignored, self._ignored_modules = _ignored(ignored_modules, ignored_states)
        self.process_group, self._device_mesh, self.mixed_precision = group, mesh, mixed_precision or MixedPrecision()
        self.cpu_offload, self.backward_prefetch, self.forward_prefetch = (
            cpu_offload or CPUOffload(),
            backward_prefetch,
            forward_prefetch,
        )
        if auto_wrap_policy is not None:
            options = dict(
                process_group=process_group,
                sharding_strategy=sharding_strategy,
                cpu_offload=cpu_offload,
                backward_prefetch=backward_prefetch,
                mixed_precision=mixed_precision,
                param_init_fn=param_init_fn,
                device_id=device_id,
                sync_module_states=sync_module_states,
                forward_prefetch=forward_prefetch,
                limit_all_gathers=limit_all_gathers,
                use_orig_params=use_orig_params,
                ignored_states=ignored_states,
                ignored_modules=ignored_modules,
                device_mesh=device_mesh,
            )
            _auto_wrap(module, auto_wrap_policy, options, self._ignored_modules, ignored)
        _materialize(module, param_init_fn, ignored)
        if sync_module_states:
            _broadcast(module, group, replicas, ignored)
        self._fsdp_wrapped_module = module
        named = _named(module, ignored, self._ignored_modules)
        options = {
            "sharded": self.sharding_strategy is not ShardingStrategy.NO_SHARD,
            "use_orig_params": use_orig_params,
            "policy": mixed_precision,
        }
        self._handle = FlatParamHandle(self, named, group, replicas, options) if named else None
        if self._handle is not None and not use_orig_params:
            module._parameters[FLAT_PARAM] = self._handle.flat
        self._use_orig_params, self._is_root, self._running, self._summoned = use_orig_params, None, 0, False
        self._state_dict_type, self._state_dict_config, self._optim_state_dict_config = (
            StateDictType.FULL_STATE_DICT,
            FullStateDictConfig(),
            FullOptimStateDictConfig(),
        )
        self.register_state_dict_pre_hook(_before_state_dict)
        self._register_state_dict_hook(_after_state_dict)
        self.register_load_state_dict_pre_hook(_before_load)
        self.register_load_state_dict_post_hook(_after_load)

    # ---- wrapped module
    @property
    def module(self):
        """The wrapped module."""
        return self._fsdp_wrapped_module

    @property
    def _flat_param(self):
        return self._handle.flat if self._handle is not None else None

    @property
    def _has_params(self):
        return self._handle is not None

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(FSDP_WRAPPED_MODULE), name)

    def __getitem__(self, key):
        return self._fsdp_wrapped_module[key]

    def check_is_root(self):
        """Whether no other unit contains this one. Determined once, here or at the first forward."""
        self._find_root()
        return self._is_root

    def _find_root(self):
        if self._is_root is None:
            self._is_root = True
            for unit in self.fsdp_modules(self):
                if unit is not self:
                    unit._is_root = False
            dtype = self.mixed_precision.buffer_dtype
            if dtype is not None:
                for module in self.modules():
                    for name, b in module._buffers.items():
                        if b is not None and b.is_floating_point():
                            module._buffers[name] = b.to(dtype)

    @staticmethod
    def fsdp_modules(module, root_only=False):
        """Return the units of a module."""
        units = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return [u for u in units if u.check_is_root()] if root_only else units

    def apply(self, fn):
        """Call Module.apply with full parameters."""
        with self.summon_full_params(self, recurse=False, writeback=True):
            return super().apply(fn)

    def named_parameters(self, *args, **kwargs):
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(FSDP_PREFIX, "") if self._summoned else name, p

    def named_buffers(self, *args, **kwargs):
        for name, b in super().named_buffers(*args, **kwargs):
            yield name.replace(FSDP_PREFIX, "") if self._summoned else name, b

    def _apply(self, fn, recurse=True):
        """Convert the flat parameter, and recreate the parameters' pieces from it."""
        handle = self._handle
        if handle is None:
            return super()._apply(fn, recurse)
        handle.reshard()
        for place in handle.places if self._use_orig_params else ():
            for module, name in place.places:
                module._parameters.pop(name, None)
        super()._apply(fn, recurse)
        if self._use_orig_params:
            with torch.no_grad():
                handle.flat.data = fn(handle.flat.data)
            for place in handle.places:
                a, b = handle.slice_of(place)
                place.own.data = handle.flat.data[a:b]
            handle.register_sharded()
        else:
            handle.flat = self._fsdp_wrapped_module._parameters[FLAT_PARAM]
        handle.dtype = handle.flat.dtype
        return self

    # ---- forward and backward
    def forward(self, *args, **kwargs):
        self._find_root()
        handle, policy = self._handle, self.mixed_precision
        if handle is None:
            return self._fsdp_wrapped_module(*args, **kwargs)
        if policy.param_dtype is not None and (
            policy.cast_root_forward_inputs if self._is_root else policy.cast_forward_inputs
        ):
            cast = lambda t: t.to(policy.param_dtype) if isinstance(t, torch.Tensor) and t.is_floating_point() else t
            args, kwargs = tree_map(cast, (args, kwargs))
        again = handle.in_backward is not None and runs_again()
        if self._running == 0 and not self._summoned and not again:
            handle.in_backward = None
            handle.unshard()
        self._running += 1
        grad = torch.is_grad_enabled()
        freed = self.sharding_strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD) and not (
            self._is_root and grad
        )
        try:
            with freeing_hooks() if freed and grad else contextlib.nullcontext():
                output = self._fsdp_wrapped_module(*args, **kwargs)
        finally:
            self._running -= 1
            if self._running == 0 and (freed or not grad) and not self._summoned and not again:
                handle.reshard()
        if freed and grad:
            whole_in_backward(output, handle)
        return output

    @contextlib.contextmanager
    def no_sync(self):
        """Context manager in which backward accumulates full gradients on each rank, without communication."""
        self._find_root()
        if not self._is_root:
            raise RuntimeError(
                "`no_sync()` on inner FSDP instances is not supported. Please call `no_sync()` on root FSDP module."
            )
        handles = [u._handle for u in self.fsdp_modules(self) if u._handle is not None]
        held = [h.sync for h in handles]
        for h in handles:
            h.sync = False
        try:
            yield
        finally:
            for h, sync in zip(handles, held):
                h.sync = sync

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """Scale gradients so that their total norm over all ranks is at most ``max_norm``, and return that norm."""
        self._find_root()
        if not self._is_root:
            raise RuntimeError("`clip_grad_norm_()` should only be called on the root FSDP instance")
        max_norm, norm_type = float(max_norm), float(norm_type)
        handles = [u._handle for u in self.fsdp_modules(self) if u._handle is not None]
        pieces = {id(p) for h in handles if h.sharded for p in h.trained()}
        grads = [p.grad for p in self.parameters() if p.grad is not None]
        if not grads:
            return torch.tensor(0.0)
        sharded = [p.grad for p in self.parameters() if p.grad is not None and id(p) in pieces]
        whole = [p.grad for p in self.parameters() if p.grad is not None and id(p) not in pieces]
        total = _norm_of(
            _reduced_norm(_norm(sharded, norm_type), norm_type, self.process_group), _norm(whole, norm_type), norm_type
        )
        scale = torch.clamp(max_norm / (total + 1e-6), max=1.0)
        for g in grads:
            g.mul_(scale.to(g.dtype))
        return total.to(max((g.dtype for g in grads), key=lambda d: d.itemsize))

    def register_comm_hook(self, state, hook):
        """Raise NotImplementedError."""
        raise NotImplementedError("register_comm_hook of FullyShardedDataParallel is not supported")

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module, recurse=True, writeback=True, rank0_only=False, offload_to_cpu=False, with_grads=False
    ):
        """Context manager in which parameters are full; with ``writeback``, changes to them are kept."""
        if writeback and rank0_only:
            raise NotImplementedError(
                "writeback=True and rank0_only=True is not supported, since it leads to inconsistent parameters "
                "across ranks"
            )
        units = [
            u
            for u in FullyShardedDataParallel.fsdp_modules(module)
            if u._handle is not None and (recurse or u is module)
        ]
        opened = []
        for u in units:
            if u._running:
                raise AssertionError("Cannot manually unshard parameters during forward/backward")
            if u._summoned:
                continue
            handle, keep = u._handle, not rank0_only or u._handle.group.rank() == 0
            full = handle.full()
            grads = handle.local_grad() if with_grads else None
            if grads is not None:
                for p, g in zip(full, handle.split(handle.gathered(grads))):
                    p.grad = g.clone() if p.requires_grad else None
            u._fsdp_wrapped_module._parameters.pop(FLAT_PARAM, None)
            handle.reshard()
            if keep:
                handle.put(full, register=True)
            u._summoned = True
            opened.append(u)
        try:
            yield
        finally:
            for u in opened:
                handle = u._handle
                if writeback:
                    handle.write_back([p.places[0][0]._parameters[p.places[0][1]] for p in handle.places])
                handle.register_sharded()
                if not u._use_orig_params:
                    u._fsdp_wrapped_module._parameters[FLAT_PARAM] = handle.flat
                u._summoned = False

    # ---- state dicts
    @staticmethod
    def set_state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """Set the type of state dicts that a module's units make, and return the previous settings."""
        own, of_optimizer = _CONFIGS[state_dict_type]
        state_dict_config, optim_state_dict_config = (
            state_dict_config or own(),
            optim_state_dict_config or of_optimizer(),
        )
        if type(state_dict_config) is not own:
            raise RuntimeError(f"Expected state_dict_config of type {own} but got {type(state_dict_config)}")
        if type(optim_state_dict_config) is not of_optimizer:
            raise RuntimeError(
                f"Expected optim_state_dict_config of type {of_optimizer} but got {type(optim_state_dict_config)}"
            )
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for u in FullyShardedDataParallel.fsdp_modules(module):
            u._state_dict_type, u._state_dict_config, u._optim_state_dict_config = (
                state_dict_type,
                state_dict_config,
                optim_state_dict_config,
            )
        return before

    @staticmethod
    def get_state_dict_type(module):
        """Return the state dict settings of a module's units."""
        for u in FullyShardedDataParallel.fsdp_modules(module):
            return StateDictSettings(u._state_dict_type, u._state_dict_config, u._optim_state_dict_config)
        return StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """Context manager in which a module's units make state dicts of a type."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(
                module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config
            )

    @staticmethod
    def optim_state_dict(model, optim, optim_state_dict=None, group=None):
        """Return the optimizer state by parameter name, full or sharded as the state dict type requests."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        return collect(
            model,
            _handles(model),
            optim,
            optim_state_dict or optim.state_dict(),
            settings.state_dict_type,
            settings.optim_state_dict_config,
        )

    @staticmethod
    def optim_state_dict_to_load(
        model, optim, optim_state_dict, is_named_optimizer=False, load_directly=False, group=None
    ):
        """Convert the result of optim_state_dict to the form of the optimizer's load_state_dict."""
        made = distribute(model, _handles(model), optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def full_optim_state_dict(model, optim, optim_input=None, rank0_only=True, group=None):
        """Return the full optimizer state, on rank 0 or on all ranks."""
        return collect(
            model,
            _handles(model),
            optim,
            optim.state_dict(),
            StateDictType.FULL_STATE_DICT,
            FullOptimStateDictConfig(rank0_only=rank0_only),
        )

    @staticmethod
    def sharded_optim_state_dict(model, optim, group=None):
        """Return the sharded optimizer state."""
        return collect(
            model,
            _handles(model),
            optim,
            optim.state_dict(),
            StateDictType.SHARDED_STATE_DICT,
            ShardedOptimStateDictConfig(),
        )

    @staticmethod
    def shard_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None):
        """Convert a full state to the form of the optimizer's load_state_dict."""
        return distribute(model, _handles(model), optim, full_optim_state_dict)

    @staticmethod
    def flatten_sharded_optim_state_dict(sharded_optim_state_dict, model, optim):
        """Convert a sharded state to the form of the optimizer's load_state_dict."""
        return distribute(model, _handles(model), optim, sharded_optim_state_dict)

    @staticmethod
    def scatter_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None, group=None):
        """Do what shard_full_optim_state_dict does, for a state that only rank 0 has."""
        held = [full_optim_state_dict]
        c10d.broadcast_object_list(held, src=0, group=group)
        return FullyShardedDataParallel.shard_full_optim_state_dict(held[0], model, optim=optim)

    @staticmethod
    def rekey_optim_state_dict(optim_state_dict, optim_state_key_type, model, optim_input=None, optim=None):
        """Rename the parameters of a full state to numbers or to names."""
        names = [clean_tensor_name(n) for n, _ in model.named_parameters()]
        by_name = optim_state_key_type is OptimStateKeyType.PARAM_NAME
        rename = (
            (lambda k: names[k] if isinstance(k, int) else k)
            if by_name
            else (lambda k: names.index(k) if isinstance(k, str) else k)
        )
        return {
            "state": {rename(k): copy.copy(v) for k, v in optim_state_dict["state"].items()},
            "param_groups": [
                {**g, "params": [rename(k) for k in g["params"]]} for g in optim_state_dict["param_groups"]
            ],
        }


def _norm(grads, norm_type):
    if not grads:
        return torch.tensor(0.0)
    return torch.linalg.vector_norm(
        torch.stack([torch.linalg.vector_norm(g.detach(), norm_type, dtype=torch.float32) for g in grads]), norm_type
    )


def _reduced_norm(local, norm_type, group):
    """Combine the norms of all ranks' pieces."""
    if math.isinf(norm_type):
        c10d.all_reduce(local, c10d.ReduceOp.MAX, group)
        return local
    total = local**norm_type
    c10d.all_reduce(total, group=group)
    return total ** (1.0 / norm_type)


def _norm_of(a, b, norm_type):
    return torch.maximum(a, b) if math.isinf(norm_type) else (a**norm_type + b**norm_type) ** (1.0 / norm_type)


def _ignored(modules, states):
    """Return (parameters, modules) that are ignored."""
    given = list(states or ())
    found = set(modules or ()) | {m for m in given if isinstance(m, nn.Module)}
    found = {child for m in found for child in m.modules()}
    return {p for m in found for p in m.parameters()} | {p for p in given if isinstance(p, torch.Tensor)}, found


def _auto_wrap(module, policy, options, ignored_modules, ignored):
    if isinstance(policy, (_Policy, ModuleWrapPolicy, CustomPolicy)):
        chosen = policy._run_policy(module, ignored_modules, options)
        chosen.pop(module, None)

        def visit(parent):
            for name, child in parent.named_children():
                visit(child)
                if child in chosen:
                    setattr(parent, name, FullyShardedDataParallel(child, **chosen[child]))

        visit(module)
    else:
        _recursive_wrap(
            module,
            policy,
            functools.partial(FullyShardedDataParallel, **options),
            ignored_modules,
            ignored,
            only_wrap_children=True,
        )


def _materialize(module, param_init_fn, ignored):
    """Allocate parameters on the meta device, and initialize them by the function or reset_parameters."""
    empty = [
        m
        for m in module.modules()
        if not isinstance(m, FullyShardedDataParallel)
        and any(t is not None and t.device.type == "meta" and t not in ignored for t in m._parameters.values())
    ]
    for m in empty:
        if param_init_fn is not None:
            param_init_fn(m)
        else:
            m.to_empty(device="cpu", recurse=False)
            with torch.no_grad():
                m.reset_parameters()


def _broadcast(module, group, replicas, ignored):
    states = [p.detach() for p in module.parameters() if p not in ignored and not isinstance(p, FlatParameter)] + [
        b.detach() for b in module.buffers()
    ]
    for t in states:
        for g in (replicas, group):
            if g is not None:
                c10d.broadcast(t, group=g, group_src=0)


def _named(module, ignored, ignored_modules):
    """Return [(name, places, parameter)] of a unit.

    Shared parameters appear once; parameters of nested units are left out.
    """
    found, order = {}, []

    def visit(m, prefix):
        if isinstance(m, FullyShardedDataParallel) or m in ignored_modules:
            return
        for name, p in m._parameters.items():
            if p is not None and p not in ignored:
                if p not in found:
                    found[p] = []
                    order.append((prefix + name, p))
                found[p].append((m, name))
        for name, child in m.named_children():
            visit(child, f"{prefix}{name}.")

    visit(module, "")
    return [(name, found[p], p) for name, p in order]


def _handles(model):
    """Return [(unit's name, handle)] for the units of a model that have parameters."""
    found = []
    for name, module in model.named_modules():
        if isinstance(module, FullyShardedDataParallel) and module._handle is not None:
            name = clean_tensor_name(f"{name}." if name else "")
            found.append((name, module._handle))
    return found


def _before_state_dict(unit, prefix, keep_vars):
    handle = unit._handle
    if unit._state_dict_type is StateDictType.LOCAL_STATE_DICT:
        raise NotImplementedError("LOCAL_STATE_DICT is not supported: FULL_STATE_DICT or SHARDED_STATE_DICT")
    if handle is not None and not unit._summoned:
        handle.reshard()
        unit._fsdp_wrapped_module._parameters.pop(FLAT_PARAM, None)
        handle.put(handle.full(), register=True)


def _after_state_dict(unit, state, prefix, metadata):
    handle, config = unit._handle, unit._state_dict_config
    own = set()
    if handle is not None:
        for place in handle.places:
            names = {id(m): n for n, m in unit._fsdp_wrapped_module.named_modules(remove_duplicate=False)}
            own |= {clean_tensor_name(f"{names[id(m)]}.{n}".lstrip(".")) for m, n in place.places}
        if not unit._summoned:
            handle.register_sharded()
            if not unit._use_orig_params:
                unit._fsdp_wrapped_module._parameters[FLAT_PARAM] = handle.flat
    inner = f"{prefix}{FSDP_WRAPPED_MODULE}."
    for key in [k for k in state if k.startswith(prefix)]:
        value = state.pop(key)
        name = prefix + key[len(inner) :] if key.startswith(inner) else key
        if name[len(prefix) :] in own:
            if unit._state_dict_type is StateDictType.SHARDED_STATE_DICT:
                value = handle.distributed(value)
            elif config.rank0_only and c10d.get_rank() != 0:
                continue
        elif unit._state_dict_type is StateDictType.FULL_STATE_DICT and config.rank0_only and c10d.get_rank() != 0:
            continue
        state[name] = value
    return state


def _before_load(unit, state, prefix, *args):
    inner = f"{prefix}{FSDP_WRAPPED_MODULE}."
    for key in [k for k in state if k.startswith(prefix) and not k.startswith(inner)]:
        value = state.pop(key)
        state[inner + key[len(prefix) :]] = value.full_tensor() if isinstance(value, DTensor) else value
    _before_state_dict(unit, prefix, False)


def _after_load(unit, incompatible):
    handle = unit._handle
    if handle is not None and not unit._summoned:
        handle.write_back([p.places[0][0]._parameters[p.places[0][1]] for p in handle.places])
        handle.register_sharded()
        if not unit._use_orig_params:
            unit._fsdp_wrapped_module._parameters[FLAT_PARAM] = handle.flat
    for names in (incompatible.missing_keys, incompatible.unexpected_keys):
        names[:] = [clean_tensor_name(n) for n in names]
