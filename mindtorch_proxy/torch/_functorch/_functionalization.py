"""The implementation of functionalize(), which replaces in-place operators, and optionally views.

Each tensor of the function represents a value. Outer modes only see functional operators on values. The memory of the
tensors is updated as well, hidden from these modes, so that any code that reads it (Python, autograd, another tensor on
the same storage) sees what was written. Tensors that share memory share the value of a base.

A view stores the view operators that lead from the base to it. A write to a view is propagated back along them to the
base, and other views are recomputed when they are used next.
"""

import torch

from ..utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ..utils.weak import WeakIdKeyDictionary

aten = torch.ops.aten


class _Memory:
    """The state shared by tensors on the same memory: the value of the base, and the number of writes to it."""

    def __init__(self, base):
        self.base, self.generation = base, 0


class _View:
    """One view operator between a tensor and a view of it."""

    def __init__(self, func, args, kwargs, index, copies):
        self.func, self.args, self.kwargs, self.index, self.copies = func, args, kwargs, index, copies

    def forward(self, base):
        out = _view_operator(self.func, self.copies)(base, *self.args, **self.kwargs)
        return out if self.index is None else out[self.index]

    def back(self, base, new):
        """Return the base with new values at the positions of the view."""
        rule = _BACK.get(self.func.overloadpacket.__name__)
        return _scattered(self, base, new) if rule is None else rule(self, base, new, **self._named())

    def _named(self):
        """Return the arguments after the tensor, by name."""
        given = self.func._schema.bound((None, *self.args), self.kwargs)
        arguments = self.func._schema.arguments[1:]
        return {a.name: given.get(a.name, a.default_value) for a in arguments}

    def again(self, name, x, *args):
        """Apply a view operator to a value, in its copying form if views are removed."""
        return _view_operator(getattr(aten, name).default if "." not in name else _overload(name), self.copies)(
            x, *args
        )


def _overload(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload)


def _view_operator(func, copies):
    if not copies:
        return func
    packet = getattr(aten, f"{func.overloadpacket.__name__}_copy", None)
    return func if packet is None else getattr(packet, func._overloadname)


# ---------------------------------------------------------------------------------------------- writes through views
def _scattered(view, base, new):
    """Write to a view by its strides and offset in memory.

    Not possible for views of another dtype.
    """
    base = base.contiguous()
    with _disable_current_modes():
        place = view.func(base, *view.args, **view.kwargs)
    place = place if view.index is None else place[view.index]
    if place.dtype is not base.dtype:
        raise NotImplementedError(
            f"functionalize: writing to what {view.func} gives ({place.dtype} on {place.device}) is not supported"
        )
    return aten.as_strided_scatter(
        base, new, place.shape, place.stride(), place.storage_offset() - base.storage_offset()
    )


def _permuted(view, base, new, dims):
    back = sorted(range(base.dim()), key=lambda k: dims[k] % base.dim())
    return view.again("permute", new, back)


def _unsqueezed(view, base, new, dim=None):
    dims = (
        range(base.dim())
        if dim is None
        else [d % base.dim() for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
        if base.dim()
        else ()
    )
    for d in sorted(dims):
        if base.shape[d] == 1:
            new = view.again("unsqueeze", new, d)
    return new


def _part(view, base, new, split_size, dim):
    start = view.index * split_size
    return aten.slice_scatter(base, new, dim, start, start + new.shape[dim])


def _sized_part(view, base, new, split_sizes, dim):
    start = sum(split_sizes[: view.index])
    return aten.slice_scatter(base, new, dim, start, start + split_sizes[view.index])


_BACK = {
    "view": lambda view, base, new, size=None, dtype=None: (
        view.again("view", new, list(base.shape)) if size is not None else view.again("view.dtype", new, base.dtype)
    ),
    "_unsafe_view": lambda view, base, new, size: view.again("view", new, list(base.shape)),
    "detach": lambda view, base, new: new,
    "alias": lambda view, base, new: new,
    "t": lambda view, base, new: view.again("t", new),
    "transpose": lambda view, base, new, dim0, dim1: view.again("transpose.int", new, dim0, dim1),
    "permute": _permuted,
    "unsqueeze": lambda view, base, new, dim: view.again("squeeze.dim", new, dim),
    "squeeze": _unsqueezed,
    "view_as_real": lambda view, base, new: view.again("view_as_complex", new),
    "view_as_complex": lambda view, base, new: view.again("view_as_real", new),
    "select": lambda view, base, new, dim, index: aten.select_scatter(base, new, dim, index),
    "slice": lambda view, base, new, dim, start, end, step: aten.slice_scatter(base, new, dim, start, end, step),
    "diagonal": lambda view, base, new, offset, dim1, dim2: aten.diagonal_scatter(base, new, offset, dim1, dim2),
    "unbind": lambda view, base, new, dim: aten.select_scatter(base, new, dim, view.index),
    "split": _part,
    "split_with_sizes": _sized_part,
}


# ------------------------------------------------------------------------------------------------ tensors and values
class _Value:
    """The value that a tensor represents: its memory, the views that lead to it, and the value at a generation.

    As in PyTorch's traces, a view starts with a view of the current value, at generation 0. After a write it is
    recomputed when it is used next.
    """

    def __init__(self, memory, views, value, generation=0):
        self.memory, self.views, self.value, self.generation = memory, views, value, generation
        self.resized = False

    def get(self):
        memory = self.memory
        if self.generation != memory.generation:
            self.value, self.generation = memory.base, memory.generation
            for view in self.views:
                self.value = view.forward(self.value)
        return self.value

    def put(self, new):
        memory, views = self.memory, self.views
        before = [memory.base]
        for view in views[:-1]:
            before.append(view.forward(before[-1]))
        for view, base in zip(reversed(views), reversed(before)):
            new = view.back(base, new)
        memory.base = new
        memory.generation += 1
        self.get()


class Functionalizing(TorchDispatchMode):
    """A mode that passes on operators in a form without writes.

    `copies`: also replace views by copies.
    """

    def __init__(self, inputs, copies):
        super().__init__()
        self.copies = copies
        self.known = WeakIdKeyDictionary()  # tensor: the value it represents; None means the tensor itself
        for t in inputs:
            self.known[t] = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        first = args[0] if args else None
        if func._schema.is_mutable:
            return self._written(func, args, kwargs)
        if func.is_view and func is not aten.lift_fresh.default:
            return self._viewed(func, first, args[1:], kwargs) if self._is_known(first) else func(*args, **kwargs)
        return self._noted(func(*self._values(args), **self._values(kwargs)))

    def _is_known(self, t):
        return isinstance(t, torch.Tensor) and t in self.known

    def _noted(self, out):
        for t in tree_flatten(out)[0]:
            if isinstance(t, torch.Tensor) and t not in self.known:
                self.known[t] = None
        return out

    def _of(self, t):
        found = self.known[t]
        if found is None:
            found = self.known[t] = _Value(_Memory(t), (), t)
        return found

    def value(self, x):
        """Return the value that a tensor of the function represents, and any other object unchanged."""
        found = self.known.get(x) if isinstance(x, torch.Tensor) else None
        return x if found is None else found.get()

    def _values(self, tree):
        return tree_map(self.value, tree)

    def _viewed(self, func, t, args, kwargs):
        of = self._of(t)
        with _disable_current_modes():
            seen = func(t, *args, **kwargs)
        found = _view_operator(func, self.copies)(of.value, *args, **kwargs)
        for i, (part, value) in enumerate(zip(*(x if isinstance(x, (list, tuple)) else (x,) for x in (seen, found)))):
            step = _View(func, args, kwargs, i if isinstance(seen, (list, tuple)) else None, self.copies)
            self.known[part] = _Value(of.memory, (*of.views, step), value)
        return seen

    def _written(self, func, args, kwargs):
        schema = func._schema
        bound = schema.bound(args, kwargs)
        targets = [t for a in schema.arguments if a.is_write for t in tree_flatten(bound.get(a.name))[0]]
        if not all(map(self._is_known, targets)):
            if any(map(self._is_known, tree_flatten((args, kwargs))[0])):
                raise RuntimeError(
                    "mutating a non-functional tensor with a functional tensor is not allowed. "
                    "Please ensure that all of your inputs are wrapped inside of a functionalize() call."
                )
            return func(*args, **kwargs)
        twin = _without_writing(func)
        if func is aten.resize_.default:
            self._resized(twin, args, kwargs)
        elif torch.Tag.inplace_view in func.tags:
            self._turned(func, twin, args, kwargs)
        else:
            given = {name: v for name, v in kwargs.items() if not schema.by_name[name].is_out}
            results = tree_flatten(twin(*self._values(args), **self._values(given)))[0]
            for t, new in zip(targets, results):
                self._put(t, new, bool(schema.outs))
        return targets[0] if len(schema.returns) == 1 else tuple(targets) if schema.returns else None

    def _put(self, t, new, is_out):
        of = self._of(t)
        if new.dtype is not t.dtype:
            if not torch.can_cast(new.dtype, t.dtype):
                raise RuntimeError(f"result type {_spoken(new)} can't be cast to the desired output type {_spoken(t)}")
            new = aten._to_copy(new, dtype=t.dtype)
        if new.shape != t.shape and not is_out:
            raise RuntimeError(f"output with shape {list(t.shape)} doesn't match the broadcast shape {list(new.shape)}")
        with _disable_current_modes():
            if new.shape != t.shape:
                t.resize_(new.shape)
                of.resized = True
            t.copy_(new)
        of.put(new)

    def _resized(self, twin, args, kwargs):
        of = self._of(args[0])
        if of.views:
            raise RuntimeError("functionalize: the size of a view cannot be changed in place")
        new = twin(of.get(), *args[1:], **kwargs)
        with _disable_current_modes():
            args[0].resize_(*args[1:], **kwargs)
        of.resized = True
        of.put(new)

    def _turned(self, func, view, args, kwargs):
        """Handle an in-place view operator: the tensor becomes a view of itself."""
        t, of = args[0], self._of(args[0])
        value = _view_operator(view, self.copies)(of.get(), *args[1:], **kwargs)
        with _disable_current_modes():
            func(*args, **kwargs)
        step = _View(view, args[1:], kwargs, None, self.copies)
        self.known[t] = _Value(of.memory, (*of.views, step), value, of.memory.generation)

    def written(self, t):
        """Return (value, whether its size changed) of an input that was written to, else None."""
        found = self.known.get(t)
        return None if found is None or not found.memory.generation else (found.get(), found.resized)


def _spoken(t):
    return t.type().rpartition(".")[2].removesuffix("Tensor")


def _without_writing(func):
    """Return the functional form of an operator that writes.

    This is PyTorch's operator with the same arguments, except those that are only written to.
    """
    name, schema = func.overloadpacket.__name__, func._schema
    packet = getattr(aten, name[:-1] if name[-1] == "_" and not schema.outs else name, None)
    wanted = [a.name for a in schema.arguments if not a.is_out]
    for overload in () if packet is None else packet.overloads():
        found = getattr(packet, overload)
        if (
            not found._schema.is_mutable
            and [a.name for a in found._schema.arguments] == wanted
            and found._fn is not None
        ):
            return found
    raise NotImplementedError(f"functionalize: {func} has no form that writes to nothing")


def run(func, args, kwargs, inputs, copies, rewrap):
    """Call func functionalized and return its result.

    inputs: the tensors underlying its arguments
    rewrap(x, change): returns a result with its underlying tensor changed
    """
    mode = Functionalizing(inputs, copies)
    with mode:
        out = func(*args, **kwargs)
    with torch.no_grad():
        leaves, spec = tree_flatten(out)
        leaves = [rewrap(x, lambda t: _result(mode, t)) if isinstance(x, torch.Tensor) else x for x in leaves]
        for t in inputs:
            _hand_back(mode, t)
    return tree_unflatten(leaves, spec)


def _result(mode, t):
    """Return the value that a result represents.

    A tensor with autograd history is returned itself, and an outer trace records it under the same proxy as its value.
    """
    value = mode.value(t)
    if value is t or not t.requires_grad:
        return value
    tracing = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY)
    if tracing is not None and value in tracing.tracer.tensor_tracker:
        tracing.tracer.tensor_tracker[t] = tracing.tracer.tensor_tracker[value]
    return t


def _hand_back(mode, t):
    """Let outer modes see the final value of an input that was written to. Its memory already has it."""
    found = mode.written(t)
    if found is None or not torch._C._len_torch_dispatch_stack():
        return
    value, resized = found
    with torch.autograd._unsafe_preserve_version_counter(t):
        if resized:
            aten.resize_(t, list(value.shape))
        aten.copy_(t, value)
