"""torch.utils.hooks."""

import warnings

import torch
from mindtorch_proxy.runtime.autograd import RemovableHandle
from mindtorch_proxy.runtime.serialization.tensors import warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


def unserializable_hook(f):
    """Mark a hook as one that is not serialized with its tensor."""
    f.__torch_unserializable__ = True
    return f


class BackwardHook:
    """Runs the full backward hooks of a module, with identity nodes at its inputs and outputs for the gradients."""

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs = None
        self.n_inputs = self.n_outputs = -1
        self.input_index = self.output_index = None
        self.input_hooked = False

    def _pack(self, grads, index, n):
        out = [None] * n
        for g, i in zip(grads, index):
            out[i] = g
        return tuple(out)

    def _apply(self, fn, args):
        """Pass the tensors of args through an identity node and call fn(node); return (args, indices of the tensors).

        Without tensors that require grad, there is no node.
        """
        index = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        tensors = [args[i] for i in index]
        if not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return args, index
        from torch.nn.modules._functions import BackwardHookFunction

        new = BackwardHookFunction.apply(*tensors)
        new = (new,) if isinstance(new, torch.Tensor) else new
        node = next((t.grad_fn for t in new if t.grad_fn is not None), None)
        if node is None:
            raise RuntimeError(
                "Error while setting up backward hooks. Please open an issue with a code sample to reproduce this."
            )
        fn(node)
        out = list(args)
        for i, t in zip(index, new):
            out[i] = t
        return tuple(out), index

    def setup_input_hook(self, args):
        """Insert an identity node after the inputs of a module, whose gradients run the hooks."""
        self.n_inputs = len(args)

        def on_node(node):
            self.input_hooked = True

            def hook(grad_input, _):
                if self.grad_outputs is None:
                    return None
                res = self._pack(grad_input, self.input_index, self.n_inputs)
                for h in self.user_hooks:
                    r = h(self.module, res, self.grad_outputs)
                    if r is None:
                        continue
                    if len(r) != len(res):
                        raise RuntimeError(
                            f"Backward hook returned an invalid number of grad_input, got {len(r)}, "
                            f"but expected {len(res)}"
                        )
                    res = r
                self.grad_outputs = None
                return tuple(res[i] for i in self.input_index)

            node.register_hook(hook)

        res, self.input_index = self._apply(on_node, args)
        return res

    def setup_output_hook(self, args):
        """Insert an identity node after the outputs of a module, which collects their gradients."""
        is_tuple = isinstance(args, (tuple, list))
        items = tuple(args) if is_tuple else (args,)
        self.n_outputs = len(items)

        def on_node(node):
            def hook(grad_output):
                self.grad_outputs = self._pack(grad_output, self.output_index, self.n_outputs)
                for h in self.user_pre_hooks or ():
                    r = h(self.module, self.grad_outputs)
                    if r is None:
                        continue
                    if len(r) != len(self.grad_outputs):
                        raise RuntimeError(
                            f"Backward pre hook returned an invalid number of grad_output, got {len(r)}, "
                            f"but expected {len(self.grad_outputs)}"
                        )
                    self.grad_outputs = r
                local = self.grad_outputs
                if not self.input_hooked:
                    if self.user_hooks:
                        warnings.warn(
                            "Full backward hook is firing when gradients are computed with respect to module outputs "
                            "since no inputs require gradients. "
                            "See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                            "#torch.nn.Module.register_full_backward_hook for more details.",
                            stacklevel=5,
                        )
                    res = tuple(None for _ in range(max(self.n_inputs, 1)))
                    for h in self.user_hooks:
                        r = h(self.module, res, self.grad_outputs)
                        if r is not None and not (isinstance(r, tuple) and all(x is None for x in r)):
                            raise RuntimeError(
                                "Backward hook for Modules where no input requires gradient should always return "
                                "None or None for all gradients."
                            )
                    self.grad_outputs = None
                return tuple(local[i] for i in self.output_index)

            node.register_prehook(hook)

        res, self.output_index = self._apply(on_node, items)
        return (
            type(args)(res) if is_tuple and not hasattr(args, "_fields") else type(args)(*res) if is_tuple else res[0]
        )
