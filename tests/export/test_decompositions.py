"""Each decomposition of torch/_decomp/composed.py gives what the operator gives."""

import pytest
import torch
from torch._decomp import composed, decomposition_table

aten = torch.ops.aten
X, Y = torch.tensor([[0.5, -1.5, 2.0], [-0.25, 0.0, 3.0]]), torch.tensor([[1.0, 0.25, 0.5], [0.75, 0.125, 1.0]])
NAN = torch.tensor([[float("nan"), -1.5, 2.0], [-0.25, float("nan"), 3.0]])
ROWS, PLACES = torch.tensor([1, 0]), torch.tensor([2, 0])
CASES = {
    aten.index_copy.default: [(X, 0, ROWS, Y), (X, 1, PLACES, Y[:, :2]), (X[0, 0], 0, torch.tensor([0]), Y[0, 0])],
    aten.index_add.default: [(X, 0, ROWS, Y), (X, -1, torch.tensor([2, 2]), Y[:, :2])],
    aten.index_fill.int_Scalar: [(X, 0, ROWS[:1], 7.0), (X, 1, PLACES, 2)],
    aten.index_fill.int_Tensor: [(X, 1, PLACES, torch.tensor(5.0))],
    aten.take.default: [(X, torch.tensor([[5, 0], [2, 2]]))],
    aten.trace.default: [(X,)],
    aten.diagonal_scatter.default: [(X, Y[0, :2]), (X, Y[0, :2], 1)],
    aten.copysign.Tensor: [(Y, torch.tensor([0.0, -0.0, -2.0]))],
    aten.copysign.Scalar: [(X, -1.0), (X, 0.0), (X, -0.0)],
    aten.fmax.default: [(NAN, X), (X, NAN)],
    aten.fmin.default: [(NAN, X), (X, NAN)],
    aten.hypot.default: [(X, Y)],
    aten.hardshrink.default: [(X,), (NAN, 0.2)],
    aten.softshrink.default: [(X,), (NAN, 0.2)],
    aten.threshold.default: [(X, 0.25, 9.0)],
    aten.sgn.default: [(X,)],
    aten.ldexp.Tensor: [(X, torch.tensor([1, 2, -1]))],
    aten.floor_divide.Scalar: [(X, 0.75), (torch.tensor([7, -7]), 2)],
    aten.special_entr.default: [(X,), (NAN,)],
    aten.special_xlog1py.default: [(X, Y), (torch.zeros(2, 3), NAN)],
    aten.nansum.default: [(NAN,), (NAN, [1], True)],
    aten.count_nonzero.default: [(X,), (X, 1)],
    aten.count_nonzero.dim_IntList: [(X, [0, 1])],
    aten.var.correction: [(X,), (X, [1])],
    aten._fused_rms_norm.default: [(X, [3], Y[0], 1e-5), (X, [2, 3], None, 1e-6)],
    aten._adaptive_avg_pool2d.default: [(torch.arange(70.0).reshape(1, 2, 5, 7), size) for size in ([1, 1], [2, 3])],
    aten._adaptive_avg_pool3d.default: [
        (torch.arange(60.0).reshape(1, 1, 3, 4, 5), size) for size in ([1] * 3, [2, 4, 3])
    ],
    aten.norm.Scalar: [(X,), (X, 1)],
    aten.norm.ScalarOpt_dim: [(X, 2, [1]), (X, None, [0], True)],
    aten.dist.default: [(X, Y), (X, Y, 1)],
    aten.binary_cross_entropy.default: [
        (Y, Y.flip(0)),
        (Y, Y.flip(1), X.abs(), 0),
        (torch.tensor([0.0, 1]), torch.ones(2)),
    ],
    aten.binary_cross_entropy_with_logits.default: [(X, Y), (X, Y, None, Y, 2), (100 * X, Y, X.abs(), None, 0)],
    aten.soft_margin_loss.default: [(X, torch.ones(2, 3)), (X, -torch.ones(2, 3), 2)],
    aten.squeeze.dims: [(X[None, :, None], [0, 2]), (X[None], [0, 1])],
    aten.channel_shuffle.default: [(torch.arange(24.0).reshape(1, 6, 4), 3)],
    aten.rot90.default: [(X, k) for k in range(-1, 5)],
    aten.tril_indices.default: [(3, 4), (3, 2, 1)],
    aten.triu_indices.default: [(3, 4), (4, 3, -1)],
    aten.isin.Tensor_Tensor: [(X, Y), (torch.tensor([1, 5]), torch.tensor([5]))],
    aten.isin.Tensor_Scalar: [(torch.tensor([1, 5]), 5)],
}


@pytest.mark.parametrize(("op", "args"), [(op, args) for op, several in CASES.items() for args in several], ids=str)
def test_a_decomposition_gives_what_the_operator_gives(op, args):
    found = decomposition_table[op](*args)
    torch.testing.assert_close(found, op(*args), equal_nan=True)


def test_every_decomposition_is_tried():
    written = {op for op, fn in decomposition_table.items() if fn.__module__ == composed.__name__}
    untried = written - set(CASES)
    assert untried == {aten.norm.ScalarOpt_dtype, aten.norm.ScalarOpt_dim_dtype}
