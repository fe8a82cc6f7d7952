"""Operators whose results depend on the values of fake tensors: symbols stand for what is not known."""

import torch

aten = torch.ops.aten

__all__ = ["data_dependent"]


def data_dependent(mode, func, args, kwargs):
    """Return the result of an operator on fake tensors, with new symbols; NotImplemented for all other operators."""
    rule = _RULES.get(func)
    if rule is None:
        return NotImplemented
    return rule(mode, *args, **kwargs)


def _memo(t, name, make):
    """Return what was made for a tensor of this version, so that two reads of one value give one symbol."""
    memo = t.__dict__.setdefault("_memos", {})
    found = memo.get(name)
    if found is None or found[0] != t._version:
        found = memo[name] = t._version, make()
    return found[1]


def _number(mode, t):
    if not mode.shape_env.allow_scalar_outputs or t.dtype.is_complex:
        return NotImplemented
    if t.dtype is torch.bool:
        make = mode.shape_env.create_unbacked_symbool
    elif t.dtype.is_floating_point:
        make = mode.shape_env.create_unbacked_symfloat
    else:
        make = mode.shape_env.create_unbacked_symint
    return _memo(t, "item", make)


def _size(mode, t, name, low, high):
    """Return the symbol of a size that the values of a tensor determine."""

    def make():
        n = mode.shape_env.create_unbacked_symint()
        mode.shape_env.size_like.add(n.node._expr)
        mode.shape_env.constrain_symbol_range(n.node._expr, low, None if high is None else max(high, low))
        return n

    return _memo(t, name, make)


def _new(t, shape, dtype=None):
    return t.new_empty(shape, dtype=dtype or t.dtype)


def _of_static(n):
    return n if isinstance(n, int) else None


def _nonzero(mode, t):
    with mode:
        return _new(t, (_size(mode, t, "nonzero", 0, _of_static(t.numel())), t.dim()), torch.int64)


def _masked_select(mode, t, mask):
    with mode:
        t, mask = torch.broadcast_tensors(t, mask)
        return _new(t, (_size(mode, mask, "nonzero", 0, _of_static(mask.numel())),))


def _index(mode, t, indices):
    """Index with masks: each is replaced by the index tensors of its true elements."""
    if not any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices):
        return NotImplemented
    found = []
    with mode:
        for i in indices:
            if i is not None and i.dtype in (torch.bool, torch.uint8):
                found += aten.nonzero.default(i).unbind(1)
            else:
                found.append(i)
        return aten.index.Tensor(t, found)


def _unique2(mode, t, sorted=True, return_inverse=False, return_counts=False):
    n = _size(mode, t, "unique", 0 if t.numel() == 0 else 1, _of_static(t.numel()))
    with mode:
        inverse = _new(t, t.shape if return_inverse or return_counts else (0,), torch.int64)
        return _new(t, (n,)), inverse, _new(t, (n,) if return_counts else (0,), torch.int64)


def _unique_dim(mode, t, dim, sorted=True, return_inverse=False, return_counts=False):
    n = _size(mode, t, f"unique_dim{dim}", 0, _of_static(t.shape[dim]))
    with mode:
        shape = [*t.shape]
        inverse = _new(t, (shape[dim],) if return_inverse or return_counts else (0,), torch.int64)
        shape[dim] = n
        return _new(t, shape), inverse, _new(t, (n,) if return_counts else (0,), torch.int64)


def _unique_consecutive(mode, t, return_inverse=False, return_counts=False, dim=None):
    if dim is not None:
        return _unique_dim(mode, t, dim, True, return_inverse, return_counts)
    n = _size(mode, t, "unique_consecutive", 0, _of_static(t.numel()))
    with mode:
        inverse = _new(t, t.shape if return_inverse else (0,), torch.int64)
        return _new(t, (n,)), inverse, _new(t, (n,) if return_counts else (0,), torch.int64)


def _repeat_interleave(mode, repeats, *, output_size=None):
    with mode:
        n = _size(mode, repeats, "repeat_interleave", 0, None) if output_size is None else output_size
        return _new(repeats, (n,))


def _repeat_interleave_self(mode, t, repeats, dim=None, *, output_size=None):
    with mode:
        if dim is None:
            t, dim = t.flatten(), 0
        if repeats.numel() == 1:
            repeats = repeats.reshape(-1).expand(t.shape[dim])
        return t.index_select(dim, aten.repeat_interleave.Tensor(repeats, output_size=output_size))


def _bincount(mode, t, weights=None, minlength=0):
    n = _size(mode, t, "bincount", minlength, None)
    with mode:
        return _new(t, (n,), torch.int64 if weights is None else torch.float64)


def _argwhere(mode, t):
    with mode:
        return aten.nonzero.default(t)


def _where(mode, t):
    with mode:
        return list(aten.nonzero.default(t).unbind(1))


_RULES = {
    aten._local_scalar_dense.default: _number,
    aten.item.default: _number,
    aten.nonzero.default: _nonzero,
    aten.argwhere.default: _argwhere,
    aten.where.default: _where,
    aten.masked_select.default: _masked_select,
    aten.index.Tensor: _index,
    aten._unique2.default: _unique2,
    aten.unique_dim.default: _unique_dim,
    aten.unique_consecutive.default: _unique_consecutive,
    aten.repeat_interleave.Tensor: _repeat_interleave,
    aten.repeat_interleave.self_Tensor: _repeat_interleave_self,
    aten.bincount.default: _bincount,
}
