"""The rules of DTensor, without processes: what an operator gives for the parts that a rule allows is, put together,
what it gives for the whole.
"""

from types import SimpleNamespace

import pytest
import torch
from torch.distributed.tensor._call import RULES, Call
from torch.distributed.tensor._rules import pointwise
from torch.distributed.tensor._spec import DTensorSpec, TensorMeta
from torch.distributed.tensor.placement_types import Partial, Replicate, Shard

aten = torch.ops.aten
MESH = SimpleNamespace(ndim=1, size=lambda dim=None: 2)
X = (torch.rand(4, 2, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 0.5) * 8
Y = X.flip(0) + 1
ALONG = [
    aten.argmax.default,
    aten.argmin.default,
    aten.prod.dim_int,
    aten.any.dim,
    aten.all.dim,
    aten.max.dim,
    aten.min.dim,
    aten.median.dim,
]
OVER = [aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default, aten.logsumexp.default]
CALLS = [
    *((f, (X, [d] if f in OVER else d, keep), {}) for f in ALONG + OVER for d in (0, 1, -1) for keep in (False, True)),
    *((f, (X, [0, 2], keep), {}) for f in OVER for keep in (False, True)),
    *(
        (f, (X, [1]), {"correction": 0, "keepdim": keep})
        for f in (aten.var.correction, aten.std_mean.correction)
        for keep in (False, True)
    ),
    *(
        (f, (X,), {})
        for f in (
            aten.sum.default,
            aten.mean.default,
            aten.max.default,
            aten.min.default,
            aten.prod.default,
            aten.argmax.default,
        )
    ),
    *((aten.aminmax.default, (X,), {"dim": d, "keepdim": keep}) for d in (0, 1, 2) for keep in (False, True)),
    *((f, (X, d, False), {}) for f in (aten._softmax.default, aten._log_softmax.default) for d in (0, 1, 2)),
    *((f, (X, d), {}) for f in (aten.cumsum.default, aten.sort.default, aten.cumprod.default) for d in (0, 1, 2)),
    *((f, (X, Y), {}) for f in (aten.add.Tensor, aten.mul.Tensor, aten.maximum.default)),
    *((aten.div.Tensor_mode, (X, n), {"rounding_mode": m}) for n in (3.0, Y) for m in (None, "floor", "trunc")),
    *((f, (X, 3.0), {}) for f in (aten.mul.Scalar, aten.div.Scalar, aten.add.Scalar, aten.fmod.Scalar)),
    *((f, (X,), {}) for f in (aten.neg.default, aten.abs.default, aten.floor.default, aten.exp.default)),
    (aten.add.Tensor, (X, Y[0]), {}),
    (aten.mul.Tensor, (X, Y[:, :1]), {}),
    (aten.mm.default, (X[0], Y[1].T), {}),
    (aten.bmm.default, (X, Y.mT), {}),
]


def call_of(func, args, kwargs):
    """A call as rules see it, of tensors that are whole on both of two ranks."""
    call = object.__new__(Call)
    call.func, call.args, call.kwargs, call.full_name, call.schema = func, args, kwargs, str(func), func._schema
    call.name, call.mesh = call.full_name.split(".")[1], MESH
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    call.specs = [DTensorSpec(MESH, (Replicate(),), TensorMeta(t.shape, t.stride(), t.dtype)) for t in tensors]
    return call


def parts(t, placement):
    """What the two ranks have of a tensor."""
    if isinstance(placement, Shard):
        return t.tensor_split(2, placement.dim)
    if isinstance(placement, Partial):
        half = t * 0.25
        return (half, t - half) if placement.reduce_op == "sum" else (t + half, t - half)  # else the average
    return t, t


JOINED = {
    "sum": torch.add,
    "avg": lambda a, b: (a + b) / 2,
    "max": torch.maximum,
    "min": torch.minimum,
    "product": torch.mul,
}


def whole(pair, placement):
    if isinstance(placement, Shard):
        return torch.cat(pair, placement.dim)
    if isinstance(placement, Partial):
        return JOINED[placement.reduce_op](*pair)
    torch.testing.assert_close(*pair)
    return pair[0]


@pytest.mark.parametrize(
    "func, args, kwargs",
    [
        pytest.param(
            *c, id=f"{c[0]} {c[1][1:] if len(c[1]) > 1 and not isinstance(c[1][1], torch.Tensor) else ''}{c[2] or ''}"
        )
        for c in CALLS
    ],
)
def test_parts_are_put_together_to_the_whole(func, args, kwargs):
    call, expected = call_of(func, args, kwargs), func(*args, **kwargs)
    several, seen = isinstance(expected, (tuple, list)), 0
    for inputs, outputs in RULES.get(call.name, pointwise)(call, 0):
        given = [*zip(*(parts(t, placement) for t, placement in zip(args, inputs)))]
        results = [func(*local, *args[len(inputs) :], **kwargs) for local in given]
        pairs = [*zip(*results)] if several else [tuple(results)]
        outputs = outputs if isinstance(outputs, list) else [outputs] * len(pairs)
        for pair, placement, want in zip(pairs, outputs, expected if several else [expected]):
            torch.testing.assert_close(
                whole(pair, placement), want, msg=lambda m, i=inputs, o=outputs: f"{i} -> {o}: {m}"
            )
        seen += 1
    assert seen or isinstance(expected, torch.Tensor) and expected.dim() == 0
