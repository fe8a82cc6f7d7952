"""Data parallelism applied to a module in place."""

import torch
from torch.distributed.tensor.parallel.ddp import _localize_dtensor, _reconstruct_dtensor
from torch.nn import ParameterList
from torch.nn.parallel import DistributedDataParallel

from .._composable_state import _State
from .contract import _get_registry, contract

__all__ = []


def _is_fully_sharded(module):
    return "fully_shard" in (_get_registry(module) or ())


def _parameters(module, ignored):
    """Yield the parameters of a module and its children, without ignored and fully sharded modules."""
    if module in ignored or _is_fully_sharded(module):
        return
    yield from module._parameters.values()
    for child in module.children():
        yield from _parameters(child, ignored)


class _ReplicateState(_State):
    """Holds the DistributedDataParallel instance of a module.

    The instance wraps only the module's parameters and is created in the first forward.
    """

    def __init__(self):
        self._ddp, self._no_sync = None, False
        self._comm_hook_args = []

    def start(self, module, ignored_modules, options):
        """Create the DistributedDataParallel instance."""
        ignored = {p for m in module.modules() if m in ignored_modules or _is_fully_sharded(m) for p in m.parameters()}
        _localize_dtensor(module, ignored_params=ignored)
        mine = ParameterList(p for p in _parameters(module, ignored_modules) if p is not None and p not in ignored)
        self._ddp = DistributedDataParallel(mine, **options)
        for args, kwargs in self._comm_hook_args:
            self._ddp.register_comm_hook(*args, **kwargs)

    def after(self, module, args, output):
        """Finish a forward: run the post-forward step of DistributedDataParallel on the output."""
        DistributedDataParallel._active_ddp_module = None
        return self._ddp._post_forward(output)


class DDP:
    """Mixin class that replicate adds to a module's class."""

    def __new__(cls, *args, **kwargs):
        original = cls.__mro__[2]  # a slice of a container has the original class
        return original.__new__(original, *args, **kwargs)

    def set_requires_gradient_sync(self, requires_gradient_sync):
        """Set whether backward averages gradients; if not, they accumulate on each rank."""
        replicate.state(self)._no_sync = not requires_gradient_sync

    def register_comm_hook(self, *args, **kwargs):
        """Register a hook that reduces the gradients, as in DistributedDataParallel.

        Must be called before the first forward.
        """
        replicate.state(self)._comm_hook_args.append((args, kwargs))


def _no_deepcopy(*args, **kwargs):
    raise AssertionError("DDP does not support deepcopy. Please use state dict for serialization.")


@contract(state_cls=_ReplicateState)
def replicate(module, ignored_modules=None, **kwargs):
    """Average the gradients of a module's parameters over all processes.

    The keyword arguments are those of DistributedDataParallel, and ``device_id``.
    """
    options = dict(kwargs)
    if "device_id" in options:
        device = options.pop("device_id")
        if not isinstance(device, (int, torch.device)):
            raise RuntimeError(f"Expected device_id to be int or torch.device, but got {type(device)}")
        options["device_ids"] = None if isinstance(device, torch.device) and device.type == "cpu" else [device]
    if _is_fully_sharded(module):
        raise RuntimeError("Cannot apply `replicate()` on a Module already managed by `fully_shard`")
    state, ignored_modules = replicate.state(module), set(ignored_modules or ())

    def before(module, args, kwargs):
        if state._ddp is None:
            state.start(module, ignored_modules, options)
        state._ddp.require_backward_grad_sync = not state._no_sync
        DistributedDataParallel._active_ddp_module = state._ddp
        return state._ddp._pre_forward(*args, **kwargs)

    module.register_forward_pre_hook(before, with_kwargs=True)
    mesh = options.get("device_mesh")
    if (
        mesh is not None and mesh._get_root_mesh() != mesh
    ):  # DistributedDataParallel sees the DTensors of other mesh dimensions as local tensors
        module.register_forward_pre_hook(_reconstruct_dtensor)
        module.register_forward_hook(_localize_dtensor)
    module.register_forward_hook(state.after)
    cls = type(module)
    module.__class__ = type(f"DDP{cls.__name__}", (DDP, cls), {"__deepcopy__": _no_deepcopy})
    return module
