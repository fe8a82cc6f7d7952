"""torch.utils.module_tracker: tracks which modules are running, in forward and backward."""

import weakref

import torch
from torch.autograd.graph import register_multi_grad_hook
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context in which `parents` is the set of names of the modules whose forward or backward is running.

    It always contains "Global". `is_bw` tells the direction.
    """

    def __init__(self):
        self.parents = {"Global"}
        self._known, self._seen, self._hooks = weakref.WeakKeyDictionary(), weakref.WeakSet(), []

    @property
    def is_bw(self):
        """Whether a backward pass is running."""
        return torch._C._current_graph_task_id() != -1

    def _name(self, module):
        if module not in self._known:
            self._known[module] = type(module).__name__
        name = self._known[module]
        if module not in self._seen:
            for child, submodule in module.named_children():
                self._known[submodule] = f"{name}.{child}"
                self._name(submodule)
            self._seen.add(module)
        return name

    def _leaving(self, name):
        def hook(*_):
            self.parents.discard(name)

        return hook

    def _entering(self, name):
        def hook(*_):
            self.parents.add(name)

        return hook

    def _before(self, module, args):
        name = self._name(module)
        self.parents.add(name)
        tensors = [a for a in torch.utils._pytree.tree_leaves(args) if isinstance(a, torch.Tensor) and a.requires_grad]
        if torch.is_grad_enabled() and tensors:
            self._hooks.append(register_multi_grad_hook(tensors, self._leaving(name)))

    def _after(self, module, args, output):
        name = self._name(module)
        self.parents.discard(name)
        tensors = [
            a for a in torch.utils._pytree.tree_leaves(output) if isinstance(a, torch.Tensor) and a.requires_grad
        ]
        if torch.is_grad_enabled() and tensors:
            self._hooks.append(register_multi_grad_hook(tensors, self._entering(name), mode="any"))

    def __enter__(self):
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *exc):
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._hooks.clear()
