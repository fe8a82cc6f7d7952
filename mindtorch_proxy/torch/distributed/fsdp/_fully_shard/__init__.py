"""fully_shard: module parameters become DTensors that are gathered only for computation."""

import functools

import torch
from torch import nn
from torch.utils._pytree import tree_map

from ..._composable.contract import contract
from ..._composable_state import _insert_module_state, _State
from ...device_mesh import init_device_mesh
from ...distributed_c10d import get_world_size
from ...tensor import DTensor, Shard
from ...utils import _get_root_modules
from ._fsdp_api import CPUOffloadPolicy, DataParallelMeshDims, MixedPrecisionPolicy, OffloadPolicy
from ._param_group import ParamGroup, ShardedParameter, freeing_hooks, runs_again, whole_in_backward

__all__ = [
    "CPUOffloadPolicy",
    "DataParallelMeshDims",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]


class FSDPState(_State):
    """The state of the modules of one fully_shard call."""

    def __init__(self):
        self.modules, self.group, self.policy, self.reshard_after_forward = [], None, MixedPrecisionPolicy(), None
        self.is_root = None
        self.running, self.hooks = 0, []
        self.forward_prefetch = []
        self.reshard_after_backward = self.is_last_backward = self.unshard_in_backward = True

    def lazy_init(self):
        """Determine the root at the first forward: units inside this one are not roots."""
        if self.is_root is not None:
            return
        self.is_root = True
        for module in self.modules:
            for child in module.modules():
                state = getattr(child, "_fsdp_state", None)
                if state is not None and state is not self:
                    state.is_root = False
                    state.resolve()
        self.resolve()

    def resolve(self):
        """Set the default of reshard_after_forward: a root keeps its parameters until backward."""
        if self.reshard_after_forward is None and self.is_root is not None:
            self.reshard_after_forward = not self.is_root

    def _whole_for_backward(self):
        return self.group.in_backward is not None and runs_again()

    def before(self, module, args, kwargs):
        """Before forward, gather the full parameters and cast the inputs."""
        self.lazy_init()
        if self.running == 0 and self.group is not None and not self._whole_for_backward():
            self.group.in_backward = None
            self.group.unshard()
            for state in self.forward_prefetch:
                if state.group is not None:
                    state.group.start_gather()
        self.running += 1
        if self.reshard_after_forward and torch.is_grad_enabled():
            hooks = freeing_hooks()
            hooks.__enter__()
            self.hooks.append(hooks)
        else:
            self.hooks.append(None)
        dtype = self.policy.param_dtype
        if dtype is not None and self.policy.cast_forward_inputs:
            args, kwargs = _cast(args, dtype), _cast(kwargs, dtype)
        return args, kwargs

    def after(self, module, args, output):
        """After forward, also if it raised, reshard the parameters unless they are kept until backward."""
        self.running -= 1
        hooks = self.hooks.pop()
        if hooks is not None:
            hooks.__exit__(None, None, None)
        if (
            self.running == 0
            and self.group is not None
            and self.reshard_after_forward
            and not self._whole_for_backward()
        ):
            self.group.reshard()
            if hooks is not None and self.unshard_in_backward:
                whole_in_backward(output, self.group)
        if self.policy.output_dtype is not None:
            output = _cast(output, self.policy.output_dtype)
        return output


def _cast(x, dtype):
    return tree_map(lambda t: t.to(dtype) if isinstance(t, torch.Tensor) and t.is_floating_point() else t, x)


class UnshardHandle:
    """A handle to wait for parameters that are being gathered."""

    def wait(self):
        """Wait until the full parameters are registered."""


class _Handle(UnshardHandle):
    def __init__(self, group):
        self.group = group

    def wait(self):
        if self.group is not None:
            self.group.unshard()
            self.group = None


class FSDPModule:
    """Mixin class that fully_shard adds to a module's class."""

    def __new__(cls, *args, **kwargs):
        original = cls.__mro__[2]
        made = original.__new__(original, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def _get_fsdp_state(self):
        return self._fsdp_state

    def _states(self, recurse=True):
        modules = self.modules() if recurse else [self]
        return [m._fsdp_state for m in modules if isinstance(m, FSDPModule)]

    def reshard(self):
        """Free the full parameters and register the sharded ones."""
        if self._fsdp_state.group is not None:
            self._fsdp_state.group.reshard()

    def unshard(self, async_op=False):
        """Gather and register the full parameters.

        With ``async_op``, they are registered by the returned handle's wait() or by the next forward.
        """
        state = self._fsdp_state
        state.lazy_init()
        if state.group is not None:
            state.group.start_gather()
        handle = _Handle(state.group)
        if async_op:
            return handle
        handle.wait()
        return None

    def reset_iter_state(self):
        """Reset the state after a forward or backward that raised.

        All parameters are resharded, and pending communication and accumulated gradients are dropped.
        """
        for state in self._states():
            state.running, state.hooks = 0, []
            if state.group is not None:
                state.group.reshard()
                state.group.in_backward = state.group.pending = state.group.partly_reduced = None
                for p in state.group.parameters:
                    p.accumulated = None

    def set_is_last_backward(self, is_last_backward):
        """Set whether the next backward is the last before a step. Gradients are reduced in every backward."""
        for state in self._states():
            state.is_last_backward = is_last_backward

    def set_requires_gradient_sync(self, requires_gradient_sync, *, recurse=True):
        """Set whether backward reduces gradients; if not, full gradients accumulate on each rank."""
        for state in self._states(recurse):
            if state.group is not None:
                state.group.sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce, *, recurse=True):
        """Set whether backward also reduces gradients over replicas."""
        for state in self._states(recurse):
            if state.group is not None:
                state.group.all_reduce = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward, recurse=True):
        """Set whether parameters are freed after forward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward, *, recurse=True):
        """Raise NotImplementedError for False: parameters are always resharded after backward."""
        if not reshard_after_backward:
            raise NotImplementedError(
                "set_reshard_after_backward(False) is not supported: parameters are sharded after backward"
            )

    def set_modules_to_forward_prefetch(self, modules):
        """Set the units whose parameters are gathered during this unit's forward."""
        self._fsdp_state.forward_prefetch = [m._fsdp_state for m in _units(modules)]

    def set_modules_to_backward_prefetch(self, modules):
        """Set the units whose parameters are gathered during this unit's backward."""
        if self._fsdp_state.group is not None:
            self._fsdp_state.group.backward_prefetch = [
                m._fsdp_state.group for m in _units(modules) if m._fsdp_state.group is not None
            ]

    def set_all_reduce_hook(self, hook, *, stream=None):
        """Set a hook that gets the flat tensor of reduced gradients before they are divided."""
        if self._fsdp_state.group is not None:
            self._fsdp_state.group.hook = hook

    def set_gradient_divide_factor(self, factor):
        """Set the divisor of the summed gradients, instead of the number of ranks."""
        if self._fsdp_state.group is not None:
            self._fsdp_state.group.divide_by = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_unshard_in_backward(self, unshard_in_backward):
        """Set whether all parameters are gathered at the start of backward.

        If not, they are gathered only when a saved parameter is unpacked.
        """
        self._fsdp_state.unshard_in_backward = unshard_in_backward

    def set_force_sum_reduction_for_comms(self, enable):
        """Do nothing: gradients are always summed and then divided, as True requests."""
        if not enable:
            return

    def set_custom_all_gather(self, comm):
        """Raise NotImplementedError."""
        raise NotImplementedError("set_custom_all_gather is not supported")

    def set_custom_reduce_scatter(self, comm):
        """Raise NotImplementedError."""
        raise NotImplementedError("set_custom_reduce_scatter is not supported")

    def set_post_optim_event(self, event):
        """Raise NotImplementedError, because there are no streams."""
        raise NotImplementedError("set_post_optim_event is not supported: there are no streams")

    def _apply(self, *args, **kwargs):
        self.reshard()
        return super()._apply(*args, **kwargs)


def _units(modules):
    modules = list(modules)
    if not all(isinstance(m, FSDPModule) for m in modules):
        raise ValueError("expects modules that fully_shard was applied to")
    return modules


def _no_deepcopy(*args, **kwargs):
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


@functools.cache
def _class_of(original):
    return type(f"FSDP{original.__name__}", (FSDPModule, original), {"__deepcopy__": _no_deepcopy})


def _check(module, mesh, reshard_after_forward):
    if isinstance(module, (nn.ModuleList, nn.ModuleDict)) and type(module).forward is nn.Module.forward:
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError("reshard_after_forward as a number of ranks is not supported: True or False")


def _mesh(mesh, dims):
    if mesh is None:
        return init_device_mesh("cpu", (get_world_size(),))
    if dims is None:
        return mesh
    joined = [
        mesh[names] if len(names) == 1 else mesh[names]._flatten()
        for names in (dims.replicate_names, dims.shard_names)
        if names
    ]
    if not dims.shard_names:
        raise NotImplementedError(
            "DataParallelMeshDims without a dimension to shard over is not supported: use DistributedDataParallel"
        )
    return joined[0] if len(joined) == 1 else type(mesh)._concatenate(joined)


def _parameters(modules, ignored):
    """Return {parameter: places} and the visited modules, without nested units."""
    found, seen = {}, set()

    def visit(module):
        if module in seen or isinstance(module, FSDPModule) and module not in modules:
            return
        seen.add(module)
        for name, p in module._parameters.items():
            if p is not None and p not in ignored:
                found.setdefault(p, []).append((module, name))
        for child in module.children():
            visit(child)

    for module in modules:
        visit(module)
    return found, seen


@contract(FSDPState)
def fully_shard(
    module,
    *,
    mesh=None,
    reshard_after_forward=None,
    shard_placement_fn=None,
    mp_policy=MixedPrecisionPolicy(),
    offload_policy=OffloadPolicy(),
    ignored_params=None,
    dp_mesh_dims=None,
):
    """Shard the parameters of a module, or of several modules as one unit, over a mesh.

    Parameters of nested units are not included. Parameters become DTensors, which optimizers and state dicts see;
    forward and backward gather them. On a 2D mesh, the first dimension replicates.
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    mesh = _mesh(mesh, dp_mesh_dims)
    for m in modules:
        _check(m, mesh, reshard_after_forward)
    found, managed = _parameters(modules, ignored_params or set())
    parameters = []
    for p, places in found.items():
        placement = (shard_placement_fn(p) if shard_placement_fn is not None else None) or Shard(0)
        if not isinstance(placement, Shard):
            raise NotImplementedError(f"shard_placement_fn may give a Shard or None, not {placement!r}")
        if p.ndim == 0:
            raise ValueError(
                "fully_shard does not support scalar parameters. Change the parameter to a 1D tensor with numel "
                "equal to 1."
            )
        dim = placement.dim % p.ndim
        if isinstance(p, DTensor) and p.device_mesh._get_root_mesh() != mesh._get_root_mesh():
            raise AssertionError("FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh")
        made = ShardedParameter(places, p, mesh, Shard(dim))
        made.put(made.sharded)
        parameters.append(made)
    state = fully_shard.state(_get_root_modules(modules)[0])
    state.modules, state.policy, state.reshard_after_forward = modules, mp_policy, reshard_after_forward
    state.group = ParamGroup(parameters, mesh, mp_policy) if parameters else None
    for m in modules:
        _insert_module_state(m, state)
        m._fsdp_state = state
        m.__class__ = _class_of(type(m))
        m.register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
        m.register_forward_hook(state.after, prepend=False, always_call=True)
        m.register_state_dict_pre_hook(lambda m, prefix, keep_vars: m.reshard())
        m.register_load_state_dict_pre_hook(lambda m, *args: m.reshard())
    for m in managed:
        m._is_fsdp_managed_module, m._fsdp_use_orig_params = True, True
    return module


def register_fsdp_forward_method(module, method_name):
    """Gather the parameters in a method as in forward."""
    if not isinstance(module, FSDPModule):
        return  # as in PyTorch, so that a model works with and without fully_shard
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    original = getattr(module, method_name)

    @functools.wraps(original)
    def wrapped(*args, **kwargs):
        state = module._fsdp_state
        args, kwargs = state.before(module, args, kwargs)
        try:
            output = original(*args, **kwargs)
        except BaseException:
            state.after(module, args, None)
            raise
        return state.after(module, args, output)

    setattr(module, method_name, wrapped)


def share_comm_ctx(modules):
    """Check the modules.

    Units of different models do not share communication resources here; each communicates in the order of the program.
    """
    _units(modules)


for _object in (
    CPUOffloadPolicy,
    DataParallelMeshDims,
    FSDPModule,
    fully_shard,
    MixedPrecisionPolicy,
    OffloadPolicy,
    register_fsdp_forward_method,
):
    _object.__module__ = "torch.distributed.fsdp"
UnshardHandle.__module__ = share_comm_ctx.__module__ = "torch.distributed.fsdp"
