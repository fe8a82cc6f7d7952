"""Hooks of tensors and nodes."""

import weakref

from ..tensor import Tensor, spoken_type


class RemovableHandle:
    """A handle that removes a hook; also a context manager. References the hooks' dictionary weakly if possible."""

    __module__ = "torch.utils.hooks"
    next_id = 0

    def __init__(self, hooks_dict, hook=None, *, extra_dict=None):
        self.hooks_dict_ref = _ref(hooks_dict)
        extra = extra_dict if isinstance(extra_dict, (list, tuple)) else () if extra_dict is None else (extra_dict,)
        self.extra_dict_ref = tuple(map(_ref, extra))
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if hook is not None:
            hooks_dict[self.id] = hook

    def remove(self):
        """Remove the hook. Further calls do nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            d = ref()
            if d is not None:
                d.pop(self.id, None)

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(r() for r in self.extra_dict_ref))

    def __setstate__(self, state):
        self.hooks_dict_ref = _ref({} if state[0] is None else state[0])
        self.id = state[1]
        self.extra_dict_ref = tuple(_ref({} if d is None else d) for d in (state[2] if len(state) > 2 else ()))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def _ref(d):
    try:
        return weakref.ref(d)
    except TypeError:
        return lambda: d


def run_hooks(hooks, g):
    """Return a gradient after the hooks of its tensor have run."""
    for h in list(hooks.values()):
        r = h(g)
        if r is not None:
            check_result(h, g, r)
            g = r
    return g


def check_results(hook, gradients, results):
    """Return what a hook of a node returned in place of gradients, or raise PyTorch's errors for it.

    None removes a gradient.
    """
    if not isinstance(results, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(results).__name__}'")
    if len(results) != len(gradients):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(results)}, "
            f"but expected {len(gradients)})"
        )
    for g, r in zip(gradients, results):
        if r is not None:
            check_result(hook, g, r)
    return results


def check_result(hook, g, r):
    """Raise PyTorch's errors for what a hook returned in place of a gradient."""
    if g is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    name = getattr(hook, "__name__", "<unknown>")
    if not isinstance(r, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(r).__name__}'")
    if r.dtype is not g.dtype or r.device.type != g.device.type or r._layout is not g._layout:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {spoken_type(g)} got {spoken_type(r)})")
    if r._shape != g._shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
