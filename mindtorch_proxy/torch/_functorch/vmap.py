"""vmap: run functions written for one sample on a whole batch.

A BatchedTensor has the shape of one sample and holds the values of all samples, batch first. A call with one goes to
the rule of the function's name, which makes a single call on the values. A function without a rule runs once for each
sample. Levels nest: the values may be batched themselves.
"""

import contextlib
import functools
import inspect
import math
import types
import warnings

import torch
from torch import Tensor  # noqa: F401
from torch.autograd.function import _batching, _for_each, _tensors_of, _transforming
from torch.overrides import TorchFunctionMode, _plain_name, _python_function

from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_iter, tree_map, tree_unflatten
from ._batched import BatchedTensor, _align, _is_batched, _shift, _shift_all, _value, _wrap, _wrap_tree
from ._kernel_rules import RULES as KERNEL_RULES
from ._random import Draws, draws
from ._refused import ISSUE, REFUSED, refuse
from .autograd_function import Batches
from .utils import argument

FALLBACK = types.SimpleNamespace(
    enabled=True, warns=False
)  # whether a function without a rule may run for each sample, and whether it warns
_LEVELS = []  # (level, batch size) of the active vmaps


class _VmapMode(TorchFunctionMode):
    """Intercepts calls without batched arguments: indexing of plain tensors, and random numbers."""

    def __init__(self, level, size, randomness):
        super().__init__()
        self.draw = Draws(level, size, randomness, _wrap, _is_batched, _each)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, in_place = _name(func)
        if draws(name, in_place, args, kwargs):
            return self.draw(func, name, in_place, args, kwargs)
        return _dispatch(func, args, kwargs)


def _name(func):
    """Return the function's name without underscores, and whether it works in-place."""
    name = _plain_name(func)
    if name == "__get__":  # a property: its getter may be a bound slot of the property or of a descriptor
        owner = getattr(func, "__self__", None)
        name = getattr(owner, "__name__", None) or getattr(getattr(owner, "fget", None), "__name__", "")
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
        in_place = name in _IN_PLACE
        return (name[1:] if in_place else name), in_place
    return name.rstrip("_"), name.endswith("_") and not name.startswith("requires_grad")


_IN_PLACE = frozenset("iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split())


def _dispatch(func, args, kwargs):
    level = max((t._level for t in _leaves((args, kwargs)) if isinstance(t, BatchedTensor)), default=None)
    if level is None:
        return func(*args, **kwargs)
    first = next((k for k in ("input", "tensors") if not args and k in kwargs), None)
    if first is not None:
        args, kwargs = (kwargs[first],), {k: v for k, v in kwargs.items() if k != first}
    name, in_place = _name(func)
    if name in _META:
        with torch._C.DisableTorchFunction():
            return func(*args, **kwargs)
    rule = _RULES.get(name) or (_POINTWISE_RULE if _is_pointwise(name, func) else None)
    if in_place and name in _WRITTEN_AT_AN_INDEX and not kwargs:
        rule = _written_at_an_index
    if name == "resize" and in_place and _is_batched(args[0], level):
        return _resized_in_place(args, kwargs)
    if in_place and name in _REARRANGING and _is_batched(args[0], level):
        return _rearranged_in_place(rule, name, args, kwargs, level)
    if (in_place or name == "setitem") and not _is_batched(args[0], level):
        raise _for_each(_too_small(name, args, level))
    if name in REFUSED:
        refuse(name, args, kwargs, lambda x: _is_batched(x, level))
    if name in _DYNAMIC:
        _refuse_dynamic(name, args, kwargs, level)
    if kwargs.get("out") is not None:
        raise RuntimeError(
            f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops."
        )
    try:
        result = NotImplemented if rule is None else rule(func, args, kwargs, level)
    except IndexError:
        result = NotImplemented  # the call for each sample raises the error with the sample's dimensions
    if result is NotImplemented:
        run = _by_parts if hasattr(_python_function(func), "ops") and not in_place and func not in _RUNNING else _each
        result = run(func, args, kwargs, level)
    return args[0] if in_place or name == "setitem" else result


BatchedTensor._dispatch = staticmethod(_dispatch)


def _is_pointwise(name, func):
    """Whether a function computes each element only from the elements at the same position."""
    ops = getattr(_python_function(func), "ops", ())
    return name in _ALSO_POINTWISE or bool(ops) and all(op.promote is not None for op in ops) or _is_tagged(name)


@functools.cache
def _is_tagged(name):
    """Whether PyTorch's operator of this name is tagged `pointwise` and suitable for the pointwise rule.

    Random operators are not, nor are backward operators, whose operands must have the same shape.
    """
    if name.endswith("_backward"):
        return False
    packet = getattr(torch.ops.aten, name, None)
    tags = {tag for overload in (packet.overloads() if packet else ()) for tag in getattr(packet, overload).tags}
    return torch.Tag.pointwise in tags and torch.Tag.nondeterministic_seeded not in tags


_WRITTEN_AT_AN_INDEX = frozenset("index_add index_copy".split())


def _written_at_an_index(func, args, kwargs, level):
    """Handle index_add_ and index_copy_, which write to the values of all samples."""
    return KERNEL_RULES[_name(func)[0]](func, args, level)


_REARRANGING = frozenset("squeeze unsqueeze transpose swapaxes swapdims t as_strided".split())


def _rearranged_in_place(rule, name, args, kwargs, level):
    """Handle in-place view operators: the tensor becomes the view."""
    x, view = args[0], rule(getattr(Tensor, name), args, kwargs, level)
    if view is NotImplemented:
        raise RuntimeError(f"vmap: {name}_ of samples that are no batch at this level has no rule")
    return x if view is x else _becoming(x, view)


def _becoming(x, other):
    x._value = other._value
    x.__dict__.pop("_given", None)
    with torch._C.DisableTorchFunction():
        torch.Tensor.data.__set__(x, other.detach())
    return x


def _resized_in_place(args, kwargs):
    """Resize the samples within the memory of the batch, whose dimension is first."""
    x, size = args[0], kwargs["size"] if "size" in kwargs else args[1:]
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    if _given(x)[1]:
        raise RuntimeError("NYI: resize_ batch rule for batch dim != 0")
    x._value.resize_((x._value.shape[0], *size))
    return _becoming(x, _wrap(x._value, x._level))


_DYNAMIC = {
    "nonzero": "nonzero",
    "unique": "_unique2",
    "unique_consecutive": "unique_consecutive",
    "where": "where",
    "masked_select": "masked_select",
}


def _refuse_dynamic(name, args, kwargs, level):
    """Raise the error for operators whose result shape depends on values."""
    if name == "masked_select":
        if not _is_batched(argument(args, kwargs, 1, "mask"), level):
            return
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because "
            f"for each batch this would return a differently shaped Tensor. {ISSUE}"
        )
    if name != "where" or len(args) + len(kwargs) == 1:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. "
            f"Attempted to vmap over aten::{_DYNAMIC[name]}. {ISSUE}"
        )


def _refuse_mask(index):
    """Raise the error for indexing with a batched boolean mask."""
    if any(
        isinstance(i, BatchedTensor) and i.dtype in (torch.bool, torch.uint8)
        for i in (index if isinstance(index, tuple) else (index,))
    ):
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
            "indexing with a boolean mask."
        )


_ARITHMETIC = frozenset("mul sub div copy masked_fill setitem".split())
_BY_NAME = frozenset("fill index_add index_fill index_copy scatter scatter_add".split())


def _too_small(name, args, level):
    """Return the error for writing a batch to a tensor that is not batched."""
    if name in ("add", "atan2"):
        other = next(t for t in args[1:] if _is_batched(t, level))
        wide = (other._value.shape[0], *torch.broadcast_shapes(args[0].shape, other.shape))
        return RuntimeError(f"output with shape {list(args[0].shape)} doesn't match the broadcast shape {list(wide)}")
    what, where = (
        ("inplace arithmetic", "in a vmap")
        if name in _ARITHMETIC
        else ("inplace bernoulli", "in a vmap")
        if name == "bernoulli"
        else (f"{name}_", "in a vmap")
        if name in _BY_NAME
        else (f"aten::{name}_", f"at level {level}")
    )
    return RuntimeError(
        f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
        "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
        f"over {where}. Please try to use out-of-place operators instead of {what}. If said operator is being called "
        "inside the PyTorch framework, please file a bug report instead."
    )


def _leaves(tree):
    """Yield the leaves of the arguments, including those inside slices."""
    for x in tree_iter(tree):
        if isinstance(x, slice):
            yield from (x.start, x.stop, x.step)
        else:
            yield x


_RUNNING: list = []  # functions that are being run operator by operator


def _by_parts(func, args, kwargs, level):
    """Run a function on the whole batch, with the rules of the operators that it calls."""
    _RUNNING.append(func)
    try:
        with _batching(_call_operator), torch._C.DisableTorchFunction():
            return func(*args, **kwargs)
    except RuntimeError as e:
        if not getattr(e, "for_each", False):
            raise
    finally:
        _RUNNING.pop()
    return _each(func, args, kwargs, level)


def _each(func, args, kwargs, level, size=None):
    """Call a function for each sample and stack the results, for functions without a rule."""
    if not FALLBACK.enabled:
        raise RuntimeError(f"aten::{_name(func)[0]} hit the vmap fallback which is currently disabled")
    if FALLBACK.warns:
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"aten::{_name(func)[0]}. Please file us an issue on GitHub so that we can prioritize its implementation.",
            UserWarning,
            stacklevel=3,
        )
    leaves, spec = tree_flatten((args, kwargs))
    size = next(x._value.shape[0] for x in leaves if _is_batched(x, level)) if size is None else size
    apart = "as_strided" in _name(func)[0]  # as_strided depends on the position in memory

    def sample(x, i):
        return x._value[i].clone() if apart else x._value[i]

    results = []
    for i in range(size):
        a, k = tree_unflatten([sample(x, i) if _is_batched(x, level) else x for x in leaves], spec)
        results.append(tree_flatten(func(*a, **k)))
    if not results:
        raise RuntimeError(
            f"vmap: {getattr(func, '__name__', func)} has no batching rule, and a batch of size 0 shows no shape"
        )
    stacked = []
    for column in zip(*(r[0] for r in results)):
        if isinstance(column[0], torch.Tensor):
            stacked.append(_wrap(torch.stack(column), level))
        elif any(c != column[0] for c in column):
            raise RuntimeError(
                f"vmap: {getattr(func, '__name__', func)} gives different Python values for the samples: {column}"
            )
        else:
            stacked.append(column[0])
    return tree_unflatten(stacked, results[0][1])


# -----------------------------------------------------------------------------------------------------------------
# rules
_META = frozenset(
    """
    shape size dim ndim ndimension numel nelement stride dtype device layout is_floating_point is_complex element_size
    itemsize nbytes is_cuda is_cpu is_meta is_sparse requires_grad get_device len is_signed is_leaf is_quantized names
    grad_fn hash repr format is_nested is_same_size""".split()
)
# pointwise functions that are neither declared so nor have PyTorch's tag: Python's operators by the names of their
# methods, conversions, and functions composed of such operators
_ALSO_POINTWISE = frozenset(
    """
    and floordiv iadd invert lshift mod or pos radd rdiv rfloordiv rmod rmul ror rpow rshift rtruediv rxor truediv xor
    bfloat16 bool byte cdouble cfloat char cpu double float half int long short type conj copy detach divide empty_like
    full_like hardswish imag isclose isreal ones_like real softsign tanhshrink zero zeros_like""".split()
)
_PASS = frozenset(
    "resolve_conj resolve_neg view_as_real view_as_complex tril triu inverse _mt det logdet slogdet cholesky "
    "matrix_exp mT mH adjoint one_hot".split()
)


def _POINTWISE_RULE(func, args, kwargs, level):
    tensors = [x for x in tree_iter((args, kwargs)) if isinstance(x, torch.Tensor)]
    n, name = max(x.dim() for x in tensors), _name(func)[0]
    if name == "requires_grad":
        return NotImplemented
    operands = [x for x in tensors if name != "where" or x.dtype is not torch.bool]
    dtype = None
    if (
        len(operands) > 1
        and len({x.dtype for x in operands}) > 1
        and min(x.dim() for x in operands) == 0
        and name != "masked_fill"
    ):
        with torch._C.DisableTorchFunction():
            dtype = torch.result_type(*operands[:2])  # a 0-dim sample promotes differently from a batch of them

    def value(x):
        v = _align(x, n, level)
        return (
            v.to(dtype)
            if dtype is not None and any(x is o for o in operands) and v is not x and not _name(func)[1]
            else v
        )

    args, kwargs = tree_map(value, (args, kwargs))
    return _wrap_tree(func(*args, **kwargs), level)


def _move(args, kwargs, position, name, value):
    """Return the arguments with a new value for one that may be given by position or by name."""
    if len(args) > position:
        return (*args[:position], value, *args[position + 1 :]), kwargs
    return args, kwargs | {name: value}


def _dims(*specs, extra=0, batched=1):
    """Return a rule that shifts dimension arguments, given as (position, name, default)."""

    def rule(func, args, kwargs, level):
        x = args[0]
        if any(_is_batched(t, level) for t in tree_iter((args[batched:], kwargs))) or not x.dim() + extra:
            return NotImplemented
        n, args = x.dim() + extra, (x._value, *args[1:])
        for position, name, default in specs:
            d = argument(args, kwargs, position, name, default)
            if d is None or d == ():
                return NotImplemented
            args, kwargs = _move(args, kwargs, position, name, _shift_all(d, n))
        return _wrap_tree(func(*args, **kwargs), level)

    return rule


def _reduction(func, args, kwargs, level):
    x, dim = args[0], argument(args, kwargs, 1, "dim", kwargs.get("axis"))
    if isinstance(dim, torch.Tensor):  # max or min of two tensors
        return _POINTWISE_RULE(func, args, kwargs, level)
    if isinstance(dim, bool):  # torch.var(x, unbiased)
        args, kwargs, dim = (
            args[:1],
            {"dim": tuple(range(args[0].dim())), "correction": int(dim)},
            tuple(range(args[0].dim())),
        )
    if not _is_batched(x, level):
        return NotImplemented
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        if len(args) > 1 or kwargs.keys() - {"dtype", "dim"}:
            return NotImplemented
        kwargs = {k: v for k, v in kwargs.items() if k != "dim"}
        flat = x._value.flatten(1) if x.dim() else x._value.unsqueeze(1)
        result = func(flat, dim=1, **kwargs)
        if isinstance(result, tuple) and _name(func)[0] in (
            "max",
            "min",
            "median",
        ):  # without dim, these functions return no indices
            result = result[0]
        return _wrap_tree(result, level)
    if x.dim() == 0:
        return NotImplemented
    if "axis" in kwargs:
        kwargs = {("dim" if k == "axis" else k): v for k, v in kwargs.items()}
    args, kwargs = _move((x._value, *args[1:]), kwargs, 1, "dim", _shift_all(dim, x.dim()))
    return _wrap_tree(func(*args, **kwargs), level)


def _sizes(args):
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list, range)) else args


def _reshape(func, args, kwargs, level):
    x, given = args[0], args[1:] or tuple(kwargs.values())
    sizes = _sizes(given)
    if sizes and isinstance(sizes[0], torch.dtype):
        return _wrap(x._value.view(*sizes), level) if x.dim() else NotImplemented
    sizes = (
        tuple(x.shape)
        if not given
        else ()
        if not sizes
        else tuple(sizes[0].shape)
        if isinstance(sizes[0], torch.Tensor)
        else sizes
    )
    if not _is_batched(x, level):  # view_as a batched tensor: only its shape is used
        return torch.Tensor.view(x, sizes) if _name(func)[0] == "view_as" else x.reshape(sizes)
    if -1 in sizes:  # resolve -1 here, because it is ambiguous for an empty batch
        known = math.prod(s for s in sizes if s != -1)
        sizes = tuple(x.numel() // max(known, 1) if s == -1 else s for s in sizes)
    shaped = x._value.view if _name(func)[0] in ("view", "view_as") else x._value.reshape
    return _wrap(shaped(x._value.shape[0], *sizes), level)


def _expand(func, args, kwargs, level):
    x, sizes = args[0], args[1:] or tuple(kwargs.values())
    sizes = _sizes(sizes[:1] if isinstance(sizes[0], (tuple, list)) else sizes)
    sizes = tuple(sizes[0].shape) if sizes and isinstance(sizes[0], torch.Tensor) else sizes
    if not _is_batched(x, level):
        return x.expand(sizes)
    return _wrap(_align(x, len(sizes), level).expand(x._value.shape[0], *sizes), level)


def _permute(func, args, kwargs, level):
    x = args[0]
    return _wrap(x._value.permute(0, *(_shift(d, x.dim()) for d in _sizes(args[1:] or tuple(kwargs.values())))), level)


def _copied(func, args, kwargs, level):
    """Handle clone, contiguous and is_contiguous with the strides of a sample."""
    x, name = args[0], _name(func)[0]
    format = argument(
        args, kwargs, 1, "memory_format", torch.preserve_format if name == "clone" else torch.contiguous_format
    )
    if name == "clone" and format is torch.preserve_format:
        return _wrap(x._value.clone(), level)
    if format is not torch.contiguous_format:
        error = RuntimeError(
            f"NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
            f"torch.preserve_format or torch.contiguous_format (got {format})"
            if name == "clone"
            else "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format"
        )
        raise _for_each(error)
    with torch._C.DisableTorchFunction():
        contiguous = torch.Tensor.is_contiguous(x)
    if name == "is_contiguous":
        return contiguous
    return (
        x
        if contiguous and name == "contiguous"
        else _wrap(x._value.clone(memory_format=torch.contiguous_format), level)
    )


def _masked_fill(func, args, kwargs, level):
    """Handle masked_fill with one value for each sample."""
    x, mask, value = (argument(args, kwargs, i, name) for i, name in enumerate(("input", "mask", "value")))
    if not _is_batched(value, level):
        return _POINTWISE_RULE(func, args, kwargs, level)
    n = max(x.dim(), mask.dim())
    filled = torch.where(_align(mask, n, level), _align(value, n, level).to(x.dtype), _align(x, n, level))
    return _wrap(x._value.copy_(filled) if _name(func)[1] else filled, level)


def _fill(func, args, kwargs, level):
    """Handle fill, in-place or not, with one value for each sample."""
    x, value = args[0], argument(args, kwargs, 1, "value")
    if not _is_batched(value, level):
        return _wrap(func(x._value, value), level)
    target = (
        x._value
        if _name(func)[1]
        else x._value.clone()
        if _is_batched(x, level)
        else x.expand(value._value.shape[0], *x.shape).clone()
    )
    return _wrap(target.copy_(_align(value, x.dim(), level)), level)


def _new(func, args, kwargs, level):
    """Create a new tensor for each sample, so that batches can be written to it."""
    x, size, rest = args[0], argument(args, kwargs, 1, "size"), args[2:]
    if isinstance(size, int):  # sizes given as separate arguments
        size, rest = args[1:], ()
    kwargs = {k: v for k, v in kwargs.items() if k != "size"}
    batch = x._value.shape[0]
    if _name(func)[0] != "new_empty_strided":
        return _wrap(func(x._value, (batch, *size), *rest, **kwargs), level)
    stride = rest[0] if rest else kwargs.pop("stride")
    length = 0 if 0 in size else 1 + sum((n - 1) * st for n, st in zip(size, stride))
    return _wrap(func(x._value, (batch, *size), (length, *stride), *rest[1:], **kwargs), level)


def _as_strided(func, args, kwargs, level):
    x, size, stride = args[0], argument(args, kwargs, 1, "size"), argument(args, kwargs, 2, "stride")
    if not _is_batched(x, level) or isinstance(x._value, BatchedTensor):
        return NotImplemented
    with torch._C.DisableTorchFunction():
        start, strides = x._value.storage_offset(), x.stride()
    offset = argument(args, kwargs, 3, "storage_offset")
    offset = start if offset is None else offset

    def end(n, st):
        return sum((k - 1) * d for k, d in zip(n, st)) if 0 not in n else -1

    last, own = offset + end(size, stride), start + end(x.shape, strides)
    if 0 not in size and (offset < start or last > own):
        raise RuntimeError(
            f"result = tensor.as_strided({list(size)}, {list(stride)}, {offset}) can access memory outside of "
            f"`tensor`. `result` can access some memory in range [{offset}, {last}], but `tensor` can only access "
            f"some memory in range [{start}, {own}]. This is not supported inside of vmap, please try to rewrite the "
            "`as_strided` call as a sequence of PyTorch view operations"
        )
    return _wrap(x._value.as_strided((x._value.shape[0], *size), (x._value.stride(0), *stride), offset), level)


def _like_other(func, args, kwargs, level):
    """Handle to and type_as, for which only the properties of the other argument matter."""
    batched = _is_batched(args[0], level)
    args, kwargs = tree_map(lambda t: t._value if _is_batched(t, level) else t, (args, kwargs))
    return _wrap(func(*args, **kwargs), level) if batched else func(*args, **kwargs)


_along_dimension, _of_two_dims = _dims((1, "dimension", None)), _dims((1, "dim0", None), (2, "dim1", None))


def _unfold(func, args, kwargs, level):
    return NotImplemented if func is torch.nn.functional.unfold else _along_dimension(func, args, kwargs, level)


def _transpose(func, args, kwargs, level):
    if not args[0].dim():
        for position, name in ((1, "dim0"), (2, "dim1")):
            _shift(argument(args, kwargs, position, name), 0)
        return args[0]
    return _of_two_dims(func, args, kwargs, level)


def _flip(func, args, kwargs, level):
    x = args[0]
    dims = _sizes(args[1:] or tuple(kwargs.values()))
    return _wrap(x._value.flip([_shift(d, x.dim()) for d in dims]), level) if x.dim() else NotImplemented


def _repeat(func, args, kwargs, level):
    sizes = _sizes(args[1:] or tuple(kwargs.values()))
    return _wrap(_align(args[0], len(sizes), level).repeat(1, *sizes), level)


def _squeeze(func, args, kwargs, level):
    x, dim = args[0], argument(args, kwargs, 1, "dim")
    dims = range(x.dim()) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    if not x.dim() and any(d not in (0, -1) for d in dims):
        raise RuntimeError(f"Dimension is out of range (expected to be in range of [-1, 0], but got {list(dims)}")
    drop = {d for d in (_shift(d, x.dim()) - 1 for d in dims) if x.shape[d] == 1} if x.dim() else set()
    return _wrap(x._value.reshape(x._value.shape[0], *(s for d, s in enumerate(x.shape) if d not in drop)), level)


def _flatten(func, args, kwargs, level):
    x = args[0]
    start, end = argument(args, kwargs, 1, "start_dim", 0), argument(args, kwargs, 2, "end_dim", -1)
    return _wrap(
        x._value.flatten(_shift(start, x.dim()), _shift(end, x.dim())) if x.dim() else x._value.unsqueeze(1), level
    )


def _transpose_last(func, args, kwargs, level):
    x = args[0]
    if _name(func)[0] != "t" and x.dim() > 2:
        func(torch.empty(x.shape, device="meta"))  # warns
        return _wrap(x._value.permute(0, *range(x.dim(), 0, -1)), level)
    return _wrap(x._value.transpose(1, 2) if x.dim() == 2 else x._value, level) if x.dim() <= 2 else NotImplemented


def _join(func, args, kwargs, level):
    """Handle cat and stack."""
    tensors, dim = args[0], argument(args, kwargs, 1, "dim", 0)
    size = next(t._value.shape[0] for t in tensors if _is_batched(t, level))
    n, stacked = max(t.dim() for t in tensors), _name(func)[0] == "stack"
    tensors = (
        tensors if stacked or n < 2 else [t for t in tensors if t.shape != (0,)]
    )  # cat accepts empty tensors beside any other shape
    values = [t._value if _is_batched(t, level) else t.expand(size, *t.shape) for t in tensors]
    n += stacked
    return _wrap(func(values, _shift(dim, n)), level)


_PRODUCTS = {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3), "dot": (1, 1), "vdot": (1, 1)}  # dimensions of the operands


def _matmul(func, args, kwargs, level):
    if kwargs or len(args) != 2:
        return NotImplemented
    name = _name(func)[0]
    a, b = args[::-1] if name == "rmatmul" else args
    da, db = a.dim(), b.dim()
    if name in _PRODUCTS and (da, db) != _PRODUCTS[name]:
        wanted = _PRODUCTS[name]
        raise RuntimeError(
            "Got wrong shapes for dot"
            if wanted == (1, 1)
            else f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {da}and b has dim {db}but expected "
            f"them to have dim {wanted[0]} and dim {wanted[1]}"
        )
    if not da or not db:
        return NotImplemented
    n = max(da, db, 2)

    def value(x, column):
        v = x._value if _is_batched(x, level) else x
        if x.dim() == 1:
            v = v.unsqueeze(-1 if column else -2)
        for _ in range((n - max(x.dim(), 2)) if _is_batched(x, level) else 0):
            v = v.unsqueeze(1)
        return v

    r = torch.matmul(value(a, False), value(b, True))
    r = r.squeeze(-1) if db == 1 else r
    return _wrap(r.squeeze(-1 if db == 1 else -2) if da == 1 else r, level)


def _outer(func, args, kwargs, level):
    for x, which in zip(args, ("self", "vec2")):
        if x.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {which}, but got {x.dim()}-D")
    a, b = (x._value if _is_batched(x, level) else x for x in args)
    return _wrap(a.unsqueeze(-1) * b.unsqueeze(-2), level)


def _linear(func, args, kwargs, level):
    x, w, bias = (
        argument(args, kwargs, 0, "input"),
        argument(args, kwargs, 1, "weight"),
        argument(args, kwargs, 2, "bias"),
    )
    if not _is_batched(w, level) and not _is_batched(bias, level):
        return _wrap(func(x._value, w, bias), level)
    y = torch.matmul(x, w.mT if w.dim() == 2 else w)
    return y if bias is None else y + bias


_LEAST_DIMS = {
    "view_as_complex": 1,
    **dict.fromkeys("tril triu inverse _mt mT mH adjoint det logdet slogdet cholesky matrix_exp".split(), 2),
}


def _pass(func, args, kwargs, level):
    """Handle functions that accept leading dimensions; only the first argument may be batched."""
    if args[0].dim() < _LEAST_DIMS.get(_name(func)[0], 0) or any(
        _is_batched(t, level) for t in tree_iter((args[1:], kwargs))
    ):
        return NotImplemented
    return _wrap_tree(func(args[0]._value, *args[1:], **kwargs), level)


def _norm_over_last(func, args, kwargs, level):
    """Handle layer_norm and rms_norm; weights are applied afterwards, so that they may be batched."""
    if any(_is_batched(t, level) for t in tree_iter((args[1:2], kwargs.get("normalized_shape")))):
        return NotImplemented
    x, shape = args[0], argument(args, kwargs, 1, "normalized_shape")
    weight, bias = argument(args, kwargs, 2, "weight"), None
    if _name(func)[0] == "layer_norm":
        bias, eps = argument(args, kwargs, 3, "bias"), argument(args, kwargs, 4, "eps", 1e-5)
    else:
        eps = argument(args, kwargs, 3, "eps")
    if not _is_batched(x, level):
        return NotImplemented
    y = _wrap(func(x._value, shape, eps=eps), level)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _softmax(func, args, kwargs, level):
    x, dim = args[0], argument(args, kwargs, 1, "dim")
    if dim is None or not x.dim():
        return NotImplemented
    args, kwargs = _move((x._value, *args[1:]), kwargs, 1, "dim", _shift(dim, x.dim()))
    return _wrap(func(*args, **kwargs), level)


def _gather(func, args, kwargs, level):
    x, dim, index = args[0], argument(args, kwargs, 1, "dim"), argument(args, kwargs, 2, "index")
    if not x.dim() or not isinstance(index, torch.Tensor) or x.dim() != index.dim():
        return NotImplemented
    size = (x if _is_batched(x, level) else index)._value.shape[0]
    x, index = (t._value if _is_batched(t, level) else t.expand(size, *t.shape) for t in (x, index))
    return _wrap(torch.gather(x, _shift(dim, x.dim() - 1), index), level)


def _getitem(func, args, kwargs, level):
    x, index = args
    _refuse_mask(index)
    index = index if isinstance(index, tuple) else (index,)
    if any(
        isinstance(i, (list, bool)) or (isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8))
        for i in index
    ):
        return NotImplemented
    taken = sum(i is not None and i is not Ellipsis for i in index)
    dots = next((k for k, i in enumerate(index) if i is Ellipsis), len(index))
    index = index[:dots] + (slice(None),) * (x.dim() - taken) + index[dots + 1 :]
    advanced = [k for k, i in enumerate(index) if isinstance(i, torch.Tensor)]
    if not advanced:
        return _wrap(x._value[(slice(None), *index)], level)
    if any(isinstance(i, int) for i in index):  # integers take part in advanced indexing, so convert them to tensors
        index = tuple(torch.tensor(i) if isinstance(i, int) else i for i in index)
        advanced = [k for k, i in enumerate(index) if isinstance(i, torch.Tensor)]
    # apply the basic part of the index, move the dimensions with tensor indices to the front, index them in one call,
    # then move the result's dimensions into place
    batched, v = _is_batched(x, level), x._value if _is_batched(x, level) else x
    lead = int(batched)
    v = v[(slice(None),) * lead + tuple(slice(None) if k in advanced else i for k, i in enumerate(index))]
    rest = [k for k in range(len(index)) if k not in advanced]
    v = v.permute(*range(lead), *(k + lead for k in advanced), *(k + lead for k in rest))
    tensors = [index[k] for k in advanced]
    n = max(i.dim() for i in tensors)
    picks = [_align(i, n, level) for i in tensors]
    if batched:
        batch = torch.arange(v.shape[0], device=v.device)
        picks.insert(0, batch.reshape(-1, *(1,) * n))
        v = v[tuple(picks)]
    else:
        v = v[tuple(picks)]
    adjacent = advanced == list(range(advanced[0], advanced[0] + len(advanced)))
    if adjacent and advanced[0] and n:
        at = advanced[0]
        v = v.movedim(tuple(range(1, 1 + n)), tuple(range(1 + at, 1 + at + n)))
    return _wrap(v, level)


def _embedding(func, args, kwargs, level):
    """Handle batched indices into one table.

    The table is the second argument of the function and the first of the operator.
    """
    tensors = [x for x in tree_iter((args, kwargs)) if isinstance(x, torch.Tensor)]
    if any(_is_batched(x, level) and x.is_floating_point() for x in tensors):
        return NotImplemented
    args, kwargs = tree_map(lambda x: x._value if _is_batched(x, level) else x, (args, kwargs))
    return _wrap(func(*args, **kwargs), level)


def _trace(func, args, kwargs, level):
    if args[0].dim() != 2:
        raise RuntimeError("trace: expected a matrix")
    return _wrap(args[0]._value.diagonal(0, -2, -1).sum(-1), level)


def _basic_index(func, args, kwargs, level):
    return _wrap(func(args[0]._value, (slice(None), *args[1])), level)


def _setitem(func, args, kwargs, level):
    x, index, value = args
    _refuse_mask(index)
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, (torch.Tensor, list, bool)) for i in index):
        return NotImplemented
    n = x[index].dim()
    x._value[(slice(None), *index)] = _align(value, n, level) if isinstance(value, torch.Tensor) else value
    return None


def _of_all(func, args, kwargs, level):
    """Return one result for all samples."""
    return func(args[0]._value)


def _autograd_grad(func, args, kwargs, level):
    """Run one backward pass for all cotangents, if the graph itself is not batched.

    Otherwise the same graph serves all samples, and no call may free it.
    """
    if func is not torch.autograd.grad:
        return _each(func, args, kwargs, level)
    given = _GRAD.bind(*args, **kwargs).arguments
    roots, cotangents = tree_flatten((given["outputs"], given["inputs"]))[0], given.get("grad_outputs")
    if given.get("is_grads_batched") or cotangents is None or any(isinstance(x, BatchedTensor) for x in roots):
        return _each(func, args, kwargs | {"retain_graph": True}, level)
    size = next(x._value.shape[0] for x in tree_iter(cotangents) if _is_batched(x, level))
    outputs, several = given["outputs"], isinstance(cotangents, (tuple, list))
    pairs = zip(outputs, cotangents) if several else ((outputs, cotangents),)
    # a missing cotangent means 1, which must be given explicitly for a batch
    values = [_value(c if c is not None or o.numel() != 1 else torch.ones_like(o), level, size) for o, c in pairs]
    return _wrap_tree(
        func(
            **given | {"grad_outputs": values if several else values[0], "retain_graph": True, "is_grads_batched": True}
        ),
        level,
    )


_GRAD = inspect.signature(torch.autograd.grad)


_diff_alone = _dims((2, "dim", -1))


def _diff(func, args, kwargs, level):
    several = any(
        argument(args, kwargs, position, name) is not None for position, name in ((3, "prepend"), (4, "append"))
    )
    return NotImplemented if several else _diff_alone(func, args, kwargs, level)


def _sum_to_size(func, args, kwargs, level):
    x, size = args[0], _sizes(args[1:])
    v = x._value
    return _wrap(
        (v.sum(tuple(range(1, 1 + x.dim() - len(size)))) if x.dim() > len(size) else v).sum_to_size(v.shape[0], *size),
        level,
    )


def _call_operator(op, args):
    """Handle an operator that is called inside a derivative formula with batched tensors.

    It does for operators what BatchedTensor's __torch_function__ does for functions.
    """
    level = max((t._level for t in _tensors_of(args) if isinstance(t, BatchedTensor)), default=None)
    if level is None:
        return NotImplemented
    func = _function_of(op)
    if op.fn is not None:
        with _batching(_call_operator):
            return op.fn(*args, *(a.default for a in op.schema.arguments[len(args) :]))
    if op.promote is not None:  # kernels in formulas require tensors of equal shape
        size = next(t._value.shape[0] for t in _tensors_of(args) if _is_batched(t, level))
        args = [_wrap(_value(x, level, size), level) if isinstance(x, Tensor) else x for x in args]
    try:
        if op.promote is not None:
            result = _POINTWISE_RULE(func, args, {}, level)
        elif op.name in KERNEL_RULES:
            result = KERNEL_RULES[op.name](func, args, level)
        else:
            result = _RULES[op.name](func, args, {}, level)
    except LookupError:  # no rule, an invalid dimension, or an unknown argument
        result = NotImplemented
    return _each(func, args, {}, level) if result is NotImplemented else result


@functools.cache
def _function_of(op):
    """Return an operator as a function that accepts arguments by name."""

    def function(*args, **kwargs):
        rest = [kwargs.pop(a.name, a.default) for a in op.schema.arguments[len(args) :]] if kwargs else ()
        if kwargs:
            raise KeyError(f"{op.full} has no argument {', '.join(kwargs)}")
        return op.call(*args, *rest)

    function.__name__ = op.name
    return function


def run_batches(fn, gradients, size):
    """Call fn once for a batch of gradients and return the results of all of them."""
    with vmap_increment_nesting(size, "error", transforms=False) as level, _batching(_call_operator):
        found = fn([None if g is None else _wrap(g, level) for g in gradients])
        return [None if g is None else _maybe_remove_batch_dim("grad", g, level, size, 0) for g in found]


_D = ("dim", None)
_RULES = {
    name: rule
    for names, rule in (
        (
            "sum mean prod amax amin all any argmax argmin max min var std logsumexp nansum nanmean count_nonzero "
            "median cumsum cumprod logcumsumexp cummax cummin std_mean var_mean aminmax",
            _reduction,
        ),
        ("_is_all_true _is_any_true", _of_all),
        ("grad", _autograd_grad),
        ("sum_to_size", _sum_to_size),
        ("norm", _dims((2, "dim", None))),
        ("sort argsort", _dims((1, "dim", -1))),
        ("topk kthvalue", _dims((2, "dim", -1))),
        ("softmax log_softmax softmin", _softmax),
        ("transpose swapaxes swapdims", _transpose),
        ("unfold", _unfold),
        ("as_strided", _as_strided),
        ("clone contiguous is_contiguous", _copied),
        ("fill", _fill),
        ("masked_fill", _masked_fill),
        ("new_zeros new_ones new_full new_empty new_empty_strided", _new),
        ("to type_as", _like_other),
        ("unsqueeze", _dims((1, *_D), extra=1)),
        ("select narrow unflatten unbind index_select", _dims((1, "dim", 0))),
        ("diff", _diff),
        ("mode", _dims((1, "dim", -1))),
        ("flip", _flip),
        ("chunk split tensor_split", _dims((2, "dim", 0))),
        ("roll", _dims((2, "dims", None))),
        ("diagonal", _dims((2, "dim1", 0), (3, "dim2", 1))),
        ("movedim moveaxis", _dims((1, "source", None), (2, "destination", None))),
        ("squeeze", _squeeze),
        ("flatten", _flatten),
        ("reshape view view_as reshape_as", _reshape),
        ("expand expand_as broadcast_to", _expand),
        ("permute", _permute),
        ("repeat", _repeat),
        ("t T _reversed", _transpose_last),
        ("cat concat concatenate stack", _join),
        ("matmul rmatmul mm mv dot bmm vdot", _matmul),
        ("outer", _outer),
        ("linear", _linear),
        ("layer_norm rms_norm", _norm_over_last),
        ("gather", _gather),
        ("trace", _trace),
        ("embedding", _embedding),
        ("getitem", _getitem),
        ("_basic_index", _basic_index),
        ("setitem", _setitem),
        (" ".join(_PASS), _pass),
    )
    for name in names.split()
}


# ------------------------------------------------------------------------------------------------------------------
# vmap
def _get_name(func):
    return getattr(func, "__name__", repr(func))


def _process_batched_inputs(in_dims, args, func):
    """Return (batch size, batch dimensions of the leaves, leaves, structure) of a call's arguments."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
            f"(potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_get_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, "
            "or you are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure "
            f"of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    for i, (x, d) in enumerate(zip(leaves, dims)):
        where = f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for"
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(f"{where} an input but in_dim must be either an integer dimension or None.")
        if not isinstance(x, torch.Tensor):
            raise ValueError(
                f"{where} an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, "
                f"please use None as the respective in_dim"
            )
        if not -x.dim() <= d < x.dim():
            raise ValueError(
                f"{where} some input, but that input is a Tensor of dimensionality {x.dim()} so expected in_dim to "
                f"satisfy -{x.dim()} <= in_dim < {x.dim()}."
            )
        dims[i] = d % x.dim()
    return _validate_and_get_batch_size(dims, leaves), dims, leaves, spec


def _validate_and_get_batch_size(flat_in_dims, flat_args):
    sizes = [x.size(d) for x, d in zip(flat_args, flat_in_dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            f"mapped dimension"
        )
    return sizes[0]


def _add_batch_dim(self, batch_dim, level):
    """Wrap a tensor as a BatchedTensor of a level, with the given batch dimension."""
    t = _wrap(self.movedim(batch_dim, 0) if batch_dim else self, level)
    t._given = self, batch_dim
    return t


def _given(x):
    """Return the tensor that was wrapped as ``x``, and its batch dimension.

    For a computed tensor these are its values and 0.
    """
    return getattr(x, "_given", (x._value, 0))


def _remove_batch_dim(self, level, batch_size, out_dim):
    """Return the values of a level's whole batch, with the batch dimension at ``out_dim``."""
    given, at = _given(self) if _is_batched(self, level) else (None, None)
    if at is not None and out_dim in (at, at - given.dim()):
        return given  # already has the batch at out_dim, as a tensor that was passed in and only written to
    values = self._value if _is_batched(self, level) else self.expand(batch_size, *self.shape)
    return values.movedim(0, out_dim) if out_dim else values


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    """Wrap the arguments with a batch dimension as BatchedTensors."""
    return tree_unflatten(
        [x if d is None else _add_batch_dim(x, d, vmap_level) for x, d in zip(flat_args, flat_in_dims)], args_spec
    )


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """Unwrap one result, or return it unchanged if out_dim is None."""
    if out_dim is None:
        if _is_batched(batched_output, vmap_level):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, torch.Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. "
            "Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    """Unwrap the results of a call to those of all samples."""
    outs, spec = tree_flatten(batched_outputs)
    if any(d is not None and not isinstance(d, int) for d in tree_iter(out_dims)):
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, "
            "None or a python collection of ints representing where in the outputs the vmapped dimension should "
            "appear."
        )
    flat = _broadcast_to_and_flatten(out_dims, spec)
    if flat is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf():
        flat = list(out_dims)
    if flat is None:
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
            f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure "
            f"{spec}."
        )
    return tree_unflatten(
        [_maybe_remove_batch_dim(_get_name(func), o, vmap_level, batch_size, d) for o, d in zip(outs, flat)], spec
    )


def _vmap_increment_nesting(batch_size, randomness, transforms=True):
    """Enter a level of vmap and return its number.

    transforms: whether the restrictions of torch.func, and its handling of custom functions, apply inside.
    """
    level, entered = len(_LEVELS) + 1, contextlib.ExitStack()
    batches = Batches(
        batch_size,
        randomness,
        _wrap,
        _is_batched,
        _given,
        lambda: vmap_increment_nesting(batch_size, randomness),
        _left,
    )
    _LEVELS.append((level, batch_size))
    entered.enter_context(_VmapMode(level, batch_size, randomness))
    if transforms:
        entered.enter_context(_transforming(batches.handler(level)))
    _ENTERED.append(entered)
    return level


def _vmap_decrement_nesting():
    """Leave the innermost level and return its number."""
    _ENTERED.pop().close()
    return _LEVELS.pop()[0]


_ENTERED: list = []


@contextlib.contextmanager
def _left():
    """Leave the innermost level temporarily."""
    level = _LEVELS.pop()
    try:
        yield
    finally:
        _LEVELS.append(level)


@contextlib.contextmanager
def vmap_increment_nesting(batch_size, randomness, transforms=True):
    """Context manager that enters a level of vmap."""
    try:
        yield _vmap_increment_nesting(batch_size, randomness, transforms)
    finally:
        _vmap_decrement_nesting()


def _check_randomness_arg(randomness):
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def _flat_vmap(func, batch_size, flat_in_dims, flat_args, args_spec, out_dims, randomness, **kwargs):
    with vmap_increment_nesting(batch_size, randomness) as level:
        out = func(*_create_batched_inputs(flat_in_dims, flat_args, level, args_spec), **kwargs)
        return _unwrap_batched(out, out_dims, level, batch_size, func)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """Return ``func`` vectorized over batches along ``in_dims``, with ``chunk_size`` samples at a time if given."""
    _check_randomness_arg(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is None or size <= chunk_size:
            return _flat_vmap(func, size, dims, leaves, spec, out_dims, randomness, **kwargs)
        parts, state = [], torch.get_rng_state() if randomness == "same" else None
        for start in range(0, size, chunk_size):
            n = min(chunk_size, size - start)
            if state is not None:  # use the same random numbers in all chunks
                torch.set_rng_state(state)
            part = [x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, dims)]
            parts.append(tree_flatten(_flat_vmap(func, n, dims, part, spec, out_dims, randomness, **kwargs)))
        out_spec = parts[0][1]
        at = _broadcast_to_and_flatten(out_dims, out_spec) or list(out_dims)
        return tree_unflatten([torch.cat(column, d) for column, d in zip(zip(*(p[0] for p in parts)), at)], out_spec)

    return wrapped


def unwrap_batched(args, level):
    """Return the values at a level in a structure, and the batch dimension of each (None if not batched)."""
    leaves, spec = tree_flatten(args)
    pairs = [_given(x) if _is_batched(x, level) else (x, None) for x in leaves]
    return tree_unflatten([x for x, _ in pairs], spec), tree_unflatten([d for _, d in pairs], spec)


def wrap_batched(args, bdims, level):
    """Wrap the tensors of a structure as batched at a level."""
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(bdims, spec)
    if dims is None:
        raise AssertionError("flat_bdims should not be None")
    return _create_batched_inputs(dims, leaves, level, spec)


def restore_vmap(func, in_dims, batch_size, randomness):
    """Return ``func`` run at its own level; it returns the values and their batch dimensions."""

    def inner(*args, **kwargs):
        with vmap_increment_nesting(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level), **kwargs), level)

    return inner


def debug_unwrap(tensor, *, recurse=True):
    """Return the tensor inside the wrapper of a transform, for debugging.

    With ``recurse``, remove all wrappers.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"debug_unwrap(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    if not isinstance(tensor, BatchedTensor):
        return tensor
    return debug_unwrap(tensor._value) if recurse else tensor._value


for _f in (vmap, debug_unwrap):
    _f.__module__ = "torch.func"
