"""Sharding rules of operators: the placements of arguments and results that are possible along one mesh dimension.

A rule takes (call, mesh dimension) and yields (placements of the tensor arguments, placement or placements of the
results). Replicating everything is always possible.
"""

import math
import numbers

import torch

from . import _rules_views  # noqa: F401
from ._call import LOCALIZE, RULES, choose, everything_replicated, handler, replicated, rule, run, spec_like
from ._collective_utils import all_reduce
from ._redistribute import redistribute_local_tensor
from ._spec import is_shard, local_shape
from .placement_types import Partial, Replicate, Shard, _StridedShard

R, P = Replicate(), Partial()


# ------------------------------------------------------------------------------------------------ elementwise
LINEAR = frozenset("add sub rsub neg positive _to_copy copy zero".split())  # linear in all tensor arguments together
SCALING = frozenset("mul div".split())  # linear in the first argument, if the other one is replicated


def _shards(call, ndim, i):
    """Return the placements that shard one of ``ndim`` dimensions: Shard, and the _StridedShard of arguments."""
    strided = {s.placements[i] for s in call.specs if isinstance(s.placements[i], _StridedShard) and s.ndim == ndim}
    return [*map(Shard, range(ndim)), *strided]


def pointwise(call, i):
    """All arguments sharded on the same dimension, or partial if the operator is linear."""
    shape = torch.broadcast_shapes(*(s.shape for s in call.specs))
    for placement in _shards(call, len(shape), i):
        inputs = []
        for s in call.specs:
            dim = placement.dim - (len(shape) - s.ndim)
            whole = dim < 0 or s.shape[dim] == 1 and shape[placement.dim] != 1
            inputs.append(R if whole else placement if dim == placement.dim else Shard(dim))
        yield inputs, placement
    yield from _partial(call, i)


def _partial(call, i):
    found = {s.placements[i] for s in call.specs if s.placements[i].is_partial()}
    for p in found:
        linear = p.reduce_op in Partial.LINEAR_REDUCE_OPS
        count = len(call.specs)
        if call.name in ("zero", "copy"):
            yield [p] * count, p
        elif call.name in LINEAR and linear and not _adds_number(call):
            yield [p] * count, p
        elif call.name in SCALING and linear and call.arg("rounding_mode") is None:
            yield [p] + [R] * (count - 1), p
            if call.name == "mul" and count == 2:
                yield [R, p], p


def _adds_number(call):
    return call.name in ("add", "sub", "rsub") and isinstance(call.arg("other"), numbers.Number)


_MORE = """
    clone _to_copy copy zero lift_fresh fill normal uniform bernoulli random exponential where masked_fill lerp addcmul
    addcdiv isclose sqrt rsqrt pow maximum minimum clamp clamp_min clamp_max logical_not logical_and logical_or
    logical_xor bitwise_and bitwise_or bitwise_not isnan isinf isfinite sign sgn abs ceil floor round trunc frac eq ne
    lt le gt ge nan_to_num silu_backward tanh_backward sigmoid_backward leaky_relu_backward hardtanh_backward
    elu_backward softplus_backward"""
for _name in _MORE.split():
    RULES[_name] = pointwise


@rule("detach", "alias")
def unchanged(call, i):
    """The same placement as the argument."""
    yield [call.specs[0].placements[i]], call.specs[0].placements[i]


@rule(*"ones_like zeros_like empty_like full_like rand_like randn_like randint_like bernoulli".split())
def like(call, i):
    """New tensors with the placement of the argument."""
    p = call.specs[0].placements[i]
    yield ([None], R) if p.is_partial() else ([p], p)


@rule(*"new_empty new_zeros new_ones new_full new_empty_strided".split())
def new(call, i):
    """New tensors with the placement of the argument if the shape is the same, otherwise replicated."""
    p = call.specs[0].placements[i]
    if is_shard(p) and tuple(call.arg("size")) == tuple(call.shape()):
        yield [p], p
    yield [None], R


def _new(call, args, kwargs, specs):
    shape = local_shape(specs[0])
    if call.name == "new_empty_strided":
        return args[0].new_empty(shape, **kwargs)
    return call.func(args[0], shape, *args[2:], **kwargs)


for _name in "new_empty new_zeros new_ones new_full new_empty_strided".split():
    LOCALIZE[_name] = _new


# ------------------------------------------------------------------------------------------------ reductions
def _dims(call, name="dim"):
    """Return the dimensions that an operator works along, which are all if none is given."""
    ndim, dims = len(call.shape()), call.arg(name)
    if dims is None or isinstance(dims, (list, tuple)) and not dims:
        return list(range(ndim))
    return [d % max(ndim, 1) for d in ([dims] if isinstance(dims, int) else dims)]


def _kept(call, dims, d):
    """Return the index in the result of a dimension that is not reduced."""
    return d if call.arg("keepdim", False) else d - sum(1 for r in dims if r < d)


_REDUCTIONS = {"sum": "sum", "mean": "avg", "amax": "max", "max": "max", "amin": "min", "min": "min", "prod": "product"}


@rule(
    "sum",
    "mean",
    "amax",
    "amin",
    "prod",
    "nansum",
    "any",
    "all",
    "var",
    "std",
    "var_mean",
    "std_mean",
    "logsumexp",
    "argmax",
    "argmin",
    "median",
    "nanmedian",
)
def reduction(call, i):
    """Shards on dimensions that are not reduced.

    Local reductions give Partial if reducing their results gives the full reduction.
    """
    if call.specs[0].ndim == 0:
        return
    dims, n = _dims(call), call.mesh.size(i)
    operation = _REDUCTIONS.get(call.name)
    for d, size in enumerate(call.shape()):
        if d not in dims:
            yield [Shard(d)], Shard(_kept(call, dims, d))
        elif (
            operation
            and (operation == "sum" or size % n == 0)
            and size >= n
            and call.specs[0].tensor_meta.dtype != torch.bool
        ):
            yield [Shard(d)], Partial(operation)
    if call.name in ("sum", "mean"):
        for p in (Partial("sum"), Partial("avg")):
            yield [p], p


@rule("max", "min")
def extremum(call, i):
    """max or min of all elements, or along one dimension with indices."""
    if call.arg("dim") is None:
        for d, size in enumerate(call.shape()):
            if size % call.mesh.size(i) == 0:
                yield [Shard(d)], Partial(call.name)
    else:
        yield from reduction_without_pieces(call, i)


@rule("aminmax")
def extrema(call, i):
    """The minimum and maximum of all elements or along one dimension."""
    dims = _dims(call)
    for d, size in enumerate(call.shape()):
        if d not in dims:
            yield [Shard(d)], Shard(_kept(call, dims, d))
        elif size >= call.mesh.size(i):
            yield [Shard(d)], [Partial("min"), Partial("max")]


def reduction_without_pieces(call, i):
    """Shards only on dimensions that are not reduced."""
    dims = _dims(call)
    for d in range(len(call.shape())):
        if d not in dims:
            yield [Shard(d)], Shard(_kept(call, dims, d))


RULES["max_dim"] = reduction_without_pieces


@handler("linalg_vector_norm", "norm")
def vector_norm(call):
    """Compute a norm from sums of powers, so that only the rule of sum is needed."""
    x, p = call.args[0], call.arg("ord", call.arg("p", 2))
    p = 2 if p is None else p
    dims, keepdim, dtype = _dims(call), call.arg("keepdim", False), call.arg("dtype")
    x = (x if dtype is None else x.to(dtype)).abs()
    if not dims:
        return x.clone()
    if math.isinf(p):
        return x.amax(dims, keepdim) if p > 0 else x.amin(dims, keepdim)
    if p == 0:
        return (x != 0).to(x.dtype).sum(dims, keepdim)
    if p == 1:
        return x.sum(dims, keepdim)
    return (x * x).sum(dims, keepdim).sqrt() if p == 2 else x.pow(p).sum(dims, keepdim).pow(1 / p)


def _along(*names, outputs=1):
    """Register operators that work along one dimension and can be sharded on the others."""

    def along(call, i):
        dim, ndim = call.arg("dim", -1), call.specs[0].ndim
        for d in range(ndim):
            if d != dim % ndim:
                yield [Shard(d)] * len(call.specs), Shard(d)

    for name in names:
        RULES[name] = along


_along("glu", "glu_backward")
_along(
    *"_softmax _log_softmax _softmax_backward_data _log_softmax_backward_data softmax log_softmax cumsum cumprod "
    "cummax cummin sort topk".split()
)


# ------------------------------------------------------------------------------------------------ matrix products
def _operands(call):
    """Return the index of the first matrix.

    In addmm and similar operators, it comes after a tensor that broadcasts to the result.
    """
    return len(call.specs) - 2


def _with_added(call, inputs, out):
    """Prepend the placement of the added tensor, which broadcasts to the result."""
    if len(call.specs) == 2:
        return inputs, out
    added, shape = call.specs[0], call.out[0].shape if not call.inplace else call.specs[0].shape
    if is_shard(out):
        dim = out.dim - (len(shape) - added.ndim)
        first = R if dim < 0 or added.shape[dim] == 1 and shape[out.dim] != 1 else Shard(dim)
    else:
        first = out
    return [first, *inputs], out


@rule("mm", "addmm")
def product(call, i):
    """Matrix products sharded on rows, columns or the inner dimension."""
    for inputs, out in (
        ([Shard(0), R], Shard(0)),
        ([R, Shard(1)], Shard(1)),
        ([Shard(1), Shard(0)], P),
        ([P, R], P),
        ([R, P], P),
    ):
        yield _with_added(call, inputs, out)


@rule("bmm", "baddbmm")
def batched_product(call, i):
    """Batched matrix products sharded on the batch, rows, columns or the inner dimension."""
    plans = (
        ([Shard(0), Shard(0)], Shard(0)),
        ([Shard(1), R], Shard(1)),
        ([R, Shard(2)], Shard(2)),
        ([Shard(2), Shard(1)], P),
        ([P, R], P),
        ([R, P], P),
    )
    for inputs, out in plans:
        yield _with_added(call, inputs, out)


@rule("mv", "addmv")
def matrix_vector(call, i):
    """Matrix-vector products sharded on rows or the inner dimension."""
    for inputs, out in (([Shard(0), R], Shard(0)), ([Shard(1), Shard(0)], P), ([P, R], P), ([R, P], P)):
        yield _with_added(call, inputs, out)


@rule("dot", "vdot")
def inner_product(call, i):
    """Both vectors sharded."""
    yield [Shard(0), Shard(0)], P


@rule("convolution", "_convolution")
def convolution(call, i):
    """Sharded on the batch."""
    yield [Shard(0)] + [R] * (len(call.specs) - 1), Shard(0)


@rule("convolution_backward")
def convolution_backward(call, i):
    """Sharded on the batch; gradients of the weights are partial."""
    yield [Shard(0), Shard(0), R], [Shard(0), P, P]


# ------------------------------------------------------------------------------------------------ layers
@rule("native_layer_norm", "layer_norm", "_fused_rms_norm", "rms_norm")
def layer_norm(call, i):
    """Sharded on dimensions that are not normalized."""
    outer = call.specs[0].ndim - len(call.arg("normalized_shape"))
    for d in range(outer):
        yield [Shard(d)] + [R] * (len(call.specs) - 1), Shard(d)


@rule("native_group_norm")
def group_norm(call, i):
    """Sharded on the batch."""
    yield [Shard(0)] + [R] * (len(call.specs) - 1), Shard(0)


def _of_piece(call, args, kwargs, specs):
    """Call the operator with the local batch size."""
    at = next(i for i, a in enumerate(call.schema.arguments) if a.name == "N")
    return call.func(*args[:at], args[0].shape[0], *args[at + 1 :], **kwargs)


LOCALIZE["native_group_norm"] = LOCALIZE["native_group_norm_backward"] = _of_piece


@rule("native_group_norm_backward")
def group_norm_backward(call, i):
    """Sharded on the batch; gradients of the weights are partial."""
    weighted = len(call.specs) > 4
    yield [Shard(0)] * 4 + [R] * weighted, [Shard(0), P, P]


@rule("norm_backward")
def norm_backward(call, i):
    """Sharded on dimensions that are not normalized.

    Gradients of weights that do not vary along that dimension are partial.
    """
    stats, params = call.args[5], call.args[6]
    shape = call.shape(1)
    for d in range(len(shape)):
        if d not in stats:
            inputs = [_along_with(s.shape, d - len(shape) + s.ndim, shape[d]) for s in call.specs]
            of_weights = P if d in params else Shard(d)
            yield inputs, [Shard(d), of_weights, of_weights]


def _along_with(shape, dim, size):
    """Return the placement of a tensor that broadcasts to a sharded dimension of that size."""
    return Shard(dim) if dim >= 0 and shape[dim] == size != 1 else R


@rule("embedding")
def embedding(call, i):
    """The weight sharded on columns, or the indices sharded."""
    ndim = call.specs[1].ndim
    yield [Shard(1), R], Shard(ndim)
    for d in range(ndim):
        yield [R, Shard(d)], Shard(d)


@handler("embedding")
def embedding_of_rows(call):
    """Apply the rule, or handle a weight that is sharded on rows.

    Each rank then looks up the rows that it has, and the other entries are zeros; the result is partial.
    """
    weight, indices = call.args[0], call.args[1]
    mesh, rows = call.mesh, [i for i, p in enumerate(weight.placements) if p == Shard(0)]
    if (
        len(rows) != 1
        or any(p != Replicate() for j, p in enumerate(weight.placements) if j not in rows)
        or not isinstance(indices, type(weight))
    ):
        candidates = [_cheapest(call, embedding, i) for i in range(mesh.ndim)]
        return run(call, [inputs for inputs, _ in candidates], [out for _, out in candidates])
    row, spec = rows[0], indices._spec
    wanted = tuple(R if i == row or p.is_partial() else p for i, p in enumerate(spec.placements))
    local = redistribute_local_tensor(indices._local_tensor, spec, wanted)
    size, offset = Shard.local_shard_size_and_offset(weight.shape[0], mesh.size(row), mesh.get_local_rank(row))
    here = (local >= offset) & (local < offset + size)
    if size:
        found = torch.nn.functional.embedding((local - offset) * here, weight._local_tensor) * here.unsqueeze(-1)
    else:
        found = weight._local_tensor.new_zeros((*local.shape, weight.shape[1]))
    placements = tuple(P if i == row else p for i, p in enumerate(wanted))
    return call.wrap(found, [spec_like(mesh, placements, (*indices.shape, weight.shape[1]), weight.dtype)])


def _cheapest(call, chosen, i):
    return choose(call, [*chosen(call, i), everything_replicated(call)], i)


@rule("embedding_dense_backward")
def embedding_backward(call, i):
    """Sharded on columns; for sharded indices the result is partial."""
    ndim = call.specs[1].ndim
    yield [Shard(ndim), R], Shard(1)
    for d in range(ndim):
        yield [Shard(d), Shard(d)], P
    yield [P, R], P


@rule("nll_loss", "nll_loss_forward", "nll_loss2d", "nll_loss2d_forward")
def nll_loss(call, i):
    """Sharded on the batch, if the losses are not averaged."""
    if call.specs[0].ndim > 1 and call.arg("reduction", 1) in (0, 2):
        sums = call.arg("reduction", 1) == 2
        yield [Shard(0), Shard(0)] + [R] * (len(call.specs) - 2), [P if sums else Shard(0), P if sums else R]


@rule("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(call, i):
    """Sharded on the batch. The output gradient is sharded too if there is one for each sample."""
    grad, x = call.specs[0], call.specs[1]
    if x.ndim > 1:
        each = grad.ndim > 0
        yield [Shard(0) if each else R, Shard(0), Shard(0)] + [R] * (len(call.specs) - 3), Shard(0)


@handler(
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "soft_margin_loss",
    "kl_div",
)
def elementwise_loss(call):
    """Compute the loss of each element, then the mean or sum."""
    each = _without_reduction(call)
    reduction = call.arg("reduction", 1)
    return each if reduction == 0 else each.mean() if reduction == 1 else each.sum()


@handler(
    *(f"{name}_backward" for name in "mse_loss smooth_l1_loss huber_loss binary_cross_entropy soft_margin_loss".split())
)
def elementwise_loss_backward(call):
    """Compute the gradient of each element; the gradient of a mean is divided by the number of elements first."""
    args = list(call.args)
    if call.arg("reduction", 1) == 1:
        args[0] = args[0] / max(1, math.prod(torch.broadcast_shapes(call.specs[1].shape, call.specs[2].shape)))
    return _without_reduction(call, args)


def _without_reduction(call, given=None):
    """Call a loss or its backward without reduction."""
    i = next(i for i, a in enumerate(call.schema.arguments) if a.name == "reduction")
    if call.arg("reduction", 1) == 0:
        chosen = [_cheapest(call, pointwise, k) for k in range(call.mesh.ndim)]
        return run(call, [inputs for inputs, _ in chosen], [out for _, out in chosen])
    args = list(given or call.args) + [a.default_value for a in call.schema.arguments[len(call.args) : i + 1]]
    args[i] = 0
    return call.func(*args, **{k: v for k, v in call.kwargs.items() if k != "reduction"})


@rule("gather")
def gather(call, i):
    """Sharded on dimensions of equal size other than the gathered one."""
    dim, x, index = call.arg("dim"), call.specs[0], call.specs[1]
    for d in range(x.ndim):
        if d != dim % max(x.ndim, 1) and x.shape[d] == index.shape[d]:
            yield [Shard(d), Shard(d)], Shard(d)


@rule("index_select")
def index_select(call, i):
    """Sharded on other dimensions, or with the index sharded."""
    dim, ndim = call.arg("dim"), call.specs[0].ndim
    for d in range(ndim):
        yield ([R, Shard(0)] if d == dim % max(ndim, 1) else [Shard(d), R]), Shard(d)


@rule("tril", "triu")
def triangle(call, i):
    """Sharded on batch dimensions."""
    for d in range(call.specs[0].ndim - 2):
        yield [Shard(d)], Shard(d)


@rule("flip", "roll")
def flip(call, i):
    """Sharded on other dimensions. Without dimensions, roll works on the flattened tensor."""
    dims = _dims(call, "dims")
    for d in range(call.specs[0].ndim):
        if d not in dims:
            yield [Shard(d)], Shard(d)
    yield [P], P


@rule("one_hot")
def one_hot(call, i):
    """Sharded on any dimension if the number of classes is given; otherwise all elements are needed."""
    if call.arg("num_classes", -1) >= 0:
        for d in range(call.specs[0].ndim):
            yield [Shard(d)], Shard(d)


@rule("view_as_complex", "view_as_real")
def pairs(call, i):
    """Sharded on all dimensions except that of the real and imaginary parts."""
    for d in range(call.specs[0].ndim - (call.name == "view_as_complex")):
        yield [Shard(d)], Shard(d)
    yield [P], P


@rule("index_add")
def index_add(call, i):
    """Sharded on other dimensions."""
    dim, ndim = call.arg("dim"), call.specs[0].ndim
    for d in range(ndim):
        if d != dim % max(ndim, 1) and call.shape(0)[d] == call.shape(2)[d]:
            yield [Shard(d), R, Shard(d)], Shard(d)


# ------------------------------------------------------------------------------------------------ Python values
@handler("_local_scalar_dense", "item")
def scalar(call):
    """Return the number in a tensor."""
    return replicated(call.args[0]).item()


@handler("equal")
def equal(call):
    """Return, on every rank, whether all elements are equal."""
    a, b = (replicated(x) if isinstance(x, type(call.args[0])) else x for x in call.args)
    return torch.equal(a, b)


@handler("_amp_foreach_non_finite_check_and_unscale")
def unscale(call):
    """Scale the local parts of gradients in place, and let every rank of the mesh know of inf or NaN in any of them."""
    grads, found, inverse = call.args
    found, inverse, *grads = (t._local_tensor if isinstance(t, call.kind) else t for t in (found, inverse, *grads))
    call.func(grads, found, inverse)
    for i in range(call.mesh.ndim):
        found.copy_(all_reduce(found, "max", call.mesh, i))


@handler("nonzero")
def nonzero(call):
    """Compute the result from the full tensor."""
    found = replicated(call.args[0]).nonzero()
    return call.wrap(found, [spec_like(call.mesh, (R,) * call.mesh.ndim, found.shape, found.dtype)])
