"""Batching rules of the operators that functions call: convolutions, pooling, resizing, normalization, FFT and solvers.

Inside vmap, functions made of several operators are run operator by operator; these rules get positional arguments. A
rule returns NotImplemented if it does not apply, and the operator then runs once for each sample.
"""

import torch

from ._batched import _align, _is_batched, _shift, _shift_all, _value, _wrap, _wrap_tree


def _size(args, level):
    return next(x._value.shape[0] for x in args if _is_batched(x, level))


def _mapped(out, f):
    return tuple(map(f, out)) if isinstance(out, tuple) else f(out)


def _batched_at(args, places, level):
    return any(k < len(args) and _is_batched(args[k], level) for k in places)


def _passed(func, args, level):
    """Call the function on the batched values, which it must accept with leading dimensions.

    Only the first argument may be batched.
    """
    if not _is_batched(args[0], level) or _batched_at(args, range(1, len(args)), level):
        return NotImplemented
    return _wrap_tree(func(args[0]._value, *args[1:]), level)


def _matrices(func, args, level):
    """Handle functions of stacks of matrices that broadcast."""
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    n = max(x.dim() for x in tensors)
    if min(x.dim() for x in tensors) < 2:
        return NotImplemented
    return _wrap_tree(func(*(_align(x, n, level) if isinstance(x, torch.Tensor) else x for x in args)), level)


def _product(func, args, level):
    """Handle products of vectors or stacks of matrices, which broadcast."""
    n = max(x.dim() for x in args)
    return _wrap(torch.matmul(*(_align(x, n, level) for x in args)), level)


def _converted(func, args, level):
    """Handle (self, dtype, device, memory_format) and keep the memory layout."""
    x, *rest = args
    if len(rest) > 2 and isinstance(rest[2], tuple):  # the strides of a dense sample
        rest[2] = (x.numel(), *rest[2])
    elif len(rest) > 2 and rest[2] not in (None, torch.preserve_format):
        return NotImplemented
    return _wrap(func(x._value, *rest), level)


def _along(place):
    """Handle functions of tensors of equal rank, with dimensions in the argument at ``place``."""

    def rule(func, args, level):
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        n = tensors[0].dim()
        if not n or any(x.dim() != n for x in tensors):
            return NotImplemented
        size = _size(tensors, level)
        args = [_value(x, level, size) if isinstance(x, torch.Tensor) else x for x in args]
        args[place] = _shift_all(args[place], n)
        return _wrap_tree(func(*args), level)

    return rule


def _index_write(func, args, level):
    """Handle index_add and similar operators with the same index for every sample: (self, dim, index, source, ...)."""
    x, dim, index, source, *rest = args
    if not x.dim() or not isinstance(source, torch.Tensor) or source.dim() != x.dim() or _is_batched(index, level):
        return NotImplemented
    size = _size((x, source), level)
    return _wrap_tree(
        func(_value(x, level, size), _shift(dim, x.dim()), index, _value(source, level, size), *rest), level
    )


def _folded(rank, sizes=None):
    """Handle samples that are batches of `rank` dimensions by merging both batch dimensions.

    sizes: the position of the output size argument.
    """

    def rule(func, args, level):
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        if any(x.dim() != rank for x in tensors):
            return NotImplemented
        size = _size(tensors, level)
        args = [_value(x, level, size).flatten(0, 1) if isinstance(x, torch.Tensor) else x for x in args]
        if sizes is not None and len(args[sizes]) == rank:
            args[sizes] = (size * args[sizes][0], *args[sizes][1:])
        inner = tensors[0].shape[0]
        return _wrap_tree(_mapped(func(*args), lambda o: o.unflatten(0, (size, inner))), level)

    return rule


def _convolution(func, args, level):
    """Merge the batch dimensions if all samples share the weight; otherwise make the samples' channels groups."""
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups = args
    size, batch = _size(args[:3], level), x.shape[0]
    rest = (stride, padding, dilation, transposed, output_padding)
    if not _batched_at(args, (1, 2), level):
        return _wrap(func(x._value.flatten(0, 1), weight, bias, *rest, groups).unflatten(0, (size, batch)), level)
    x, weight = _value(x, level, size).movedim(0, 1).flatten(1, 2), _value(weight, level, size).flatten(0, 1)
    bias = None if bias is None else _value(bias, level, size).flatten()
    out = func(x, weight, bias, *rest, groups * size)
    return _wrap(out.unflatten(1, (size, out.shape[1] // size)).movedim(1, 0), level)


def _convolution_weight(func, args, level):
    """Compute the gradients of the samples' weights, with the samples' channels as groups."""
    x, g, *rest, groups = args
    size = _size((x, g), level)
    x, g = (_value(t, level, size).movedim(0, 1).flatten(1, 2) for t in (x, g))
    out = func(x, g, *rest, groups * size)
    return _wrap(out.unflatten(0, (size, out.shape[0] // size)), level)


def _batch_norm(func, args, level):
    """Handle (input, weight, bias, running_mean, running_var, training, ...) by merging samples into channels."""
    x, *vectors, training = args[:6]
    if not _is_batched(x, level) or training and any(v is not None for v in vectors[2:]):
        return NotImplemented
    size, channels = x._value.shape[0], x.shape[1]
    vectors = [None if v is None else _value(v, level, size).flatten() for v in vectors]
    out, *statistics = func(x._value.movedim(0, 1).flatten(1, 2), *vectors, *args[5:])
    statistics = [s.unflatten(0, (size, channels)) if s.numel() else s.expand(size, 0) for s in statistics]
    return _wrap_tree((out.unflatten(1, (size, channels)).movedim(1, 0), *statistics), level)


def _group_norm(func, args, level):
    """Handle (input, weight, bias, N, ...) by merging the batch dimensions.

    Batched weights are applied afterwards.
    """
    x, weight, bias, n, *rest = args
    size, own = _size(args[:3], level), _batched_at(args, (1, 2), level)
    given = (None, None) if own else (weight, bias)
    out = _mapped(
        func(_value(x, level, size).flatten(0, 1), *given, n * size, *rest), lambda o: o.unflatten(0, (size, n))
    )
    if own:
        result = out[0]
        weight, bias = (
            t if t is None else _value(t, level, size).reshape(size, 1, -1, *(1,) * (x.dim() - 2))
            for t in (weight, bias)
        )
        result = result if weight is None else result * weight
        out = (result if bias is None else result + bias, *out[1:])
    return _wrap_tree(out, level)


def _scores(func, args, level):
    """Handle (query, key, mask, ...) of attention."""
    q, k, mask, *rest = args
    if q.dim() != k.dim():
        return NotImplemented
    size = _size((q, k, mask), level)
    mask = mask if mask is None else _align(mask, q.dim(), level)
    return _wrap(func(_value(q, level, size), _value(k, level, size), mask, *rest), level)


def _over_rows(func, args, level):
    """Sum the outer products of rows: (..., n), (..., m) -> (n, m)."""
    a, b = (x._value if _is_batched(x, level) else x.unsqueeze(0) for x in args)
    a, b = a.flatten(1, -2), b.flatten(1, -2)
    return _wrap(torch.matmul(a.transpose(1, 2), b), level)


def _reduced(place):
    """Handle elementwise losses; ``place`` is the position of the reduction (0 none, 1 mean, 2 sum)."""

    def rule(func, args, level):
        tensors = [x for x in args[:place] if isinstance(x, torch.Tensor)]
        n, size = max(x.dim() for x in tensors), _size(tensors, level)
        values = [
            _value(_wrap(_align(x, n, level), level) if _is_batched(x, level) else x, level, size) for x in tensors
        ]
        given = iter(values)
        args, reduction = [next(given) if isinstance(x, torch.Tensor) else x for x in args], args[place]
        args[place] = 0
        out = func(*args).reshape((size, -1)) if reduction else func(*args)
        return _wrap(out.mean(1) if reduction == 1 else out.sum(1) if reduction else out, level)

    return rule


def _nll_loss(func, args, level):
    """Handle (self, target, weight, reduction, ignore_index) -> (loss, total weight)."""
    x, target, weight, reduction, ignored = args
    if _is_batched(weight, level) or x.dim() != 2:
        return NotImplemented
    size = _size((x, target), level)
    x, target = (_value(t, level, size) for t in (x, target))
    losses = func(x.flatten(0, 1), target.flatten(), weight, 0, ignored)[0].reshape(target.shape)
    counts = (target != ignored).to(x.dtype)
    if weight is not None:
        counts = counts * weight[target.masked_fill(target == ignored, 0)]
    total = counts.sum(1)
    if reduction:
        losses = losses.sum(1)
    return _wrap_tree((losses / total if reduction == 1 else losses, total if reduction else total * 0), level)


RULES = {
    name: rule
    for names, rule in (
        (
            "constant_pad_nd _linalg_inv_ex _linalg_svd _linalg_eigh _linalg_lu_factor_ex _linalg_cholesky_ex "
            "_linalg_det _linalg_slogdet",
            _passed,
        ),
        ("linalg_qr geqrf native_layer_norm _fused_rms_norm", _passed),
        ("_to_copy", _converted),
        ("_mm _bmm", _product),
        ("solve_triangular cholesky_solve", _matrices),
        (
            "_softmax _log_softmax _safe_softmax _fft_c2c _fft_r2c _fft_c2r scatter scatter_add gather scatter_reduce",
            _along(1),
        ),
        ("_softmax_backward_data _log_softmax_backward_data", _along(2)),
        ("index_add index_copy", _index_write),
        ("convolution", _convolution),
        ("convolution_weight", _convolution_weight),
        ("native_batch_norm", _batch_norm),
        ("native_group_norm", _group_norm),
        ("_attention_scores", _scores),
        ("_over_rows", _over_rows),
        ("mse_loss huber_loss smooth_l1_loss soft_margin_loss", _reduced(2)),
        ("binary_cross_entropy", _reduced(3)),
        ("binary_cross_entropy_with_logits", _reduced(4)),
        ("nll_loss", _nll_loss),
        ("im2col", _folded(4)),
        ("col2im", _folded(3)),
    )
    for name in names.split()
}
for _n, _d in ((1, "1d"), (2, "2d"), (3, "3d")):
    _rule = _folded(_n + 2)
    for _kind in (
        "max_pool{}_with_indices",
        "adaptive_max_pool{}",
        "avg_pool{}",
        "reflection_pad{}",
        "replication_pad{}",
        "reflection_pad{}_backward",
    ):
        RULES[_kind.format(_d)] = _rule
    RULES[f"replication_pad{_d}_backward"] = RULES[f"max_pool{_d}_with_indices_backward"] = _rule
    RULES[f"avg_pool{_d}_backward"] = _folded(_n + 2, sizes=1)
    for _kind in ("nearest", "linear", "bilinear", "bicubic", "trilinear"):
        RULES[f"upsample_{_kind}{_d}"] = _rule
        RULES[f"upsample_{_kind}{_d}_backward"] = _folded(_n + 2, sizes=1)
    RULES[f"_upsample_nearest_exact{_d}"], RULES[f"_upsample_nearest_exact{_d}_backward"] = (
        _rule,
        _folded(_n + 2, sizes=1),
    )
