"""What the corpus of single operators does not ask of reductions, scans and sorts."""

import math

import pytest
import torch
from torch.autograd import grad


def test_integers_are_summed_exactly_and_small_ones_as_int64():
    big = 2**53 + 1
    assert torch.tensor([big, 2]).sum().item() == big + 2
    assert torch.full((1001,), big).sum().item() == 1001 * big
    assert torch.tensor([100, 100], dtype=torch.int8).sum().item() == 200
    assert torch.tensor([True, True]).cumsum(0).dtype is torch.int64


@pytest.mark.parametrize("n", [5, 5000])  # below and above the size where NumPy takes over
def test_nan_and_infinity_pass_through_extremes(n):
    x = torch.zeros(2, n)
    x[0, 3] = math.nan
    for r in (x.max(1).values, x.amax(1), x.min(1).values, x.amin(1)):
        assert r.isnan().tolist() == [True, False]
    assert x.max().isnan() and x.max(1).indices[0] == 3 and x.argmax() == 3
    assert x.sort(1, descending=True).values[0, 0].isnan() and x.topk(1).values[0, 0].isnan()
    assert x.logsumexp(1).isnan().tolist() == [True, False]


def test_a_long_column_of_floats_is_summed_in_blocks():
    x = torch.full((200_000, 2), 0.1)
    assert torch.allclose(x.sum(0).double(), x.double().sum(0), rtol=1e-6)
    assert torch.allclose(x.mean(0).double(), x.double().mean(0), rtol=1e-6)


@pytest.mark.parametrize("n", [1000, 5000])
def test_halves_are_summed_in_float_and_rounded_once(n):
    x = torch.full((n,), 1.001).bfloat16()
    assert x.sum() == x.float().sum().bfloat16() and x.half().sum() == x.half().float().sum().half()


def test_scans_accumulate_in_double():
    x = torch.full((100_000,), 1e-4)
    assert abs(x.cumsum(0)[-1].item() - x.double().sum().item()) < 1e-6


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_prod_differentiates_twice_through_zeros(zeros):
    x = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64)
    x[:zeros] = 0
    x.requires_grad_()
    (g,) = grad(x.prod(), x, create_graph=True)
    rest = [math.prod(v for j, v in enumerate(x.tolist()) if j != i) for i in range(3)]
    assert g.tolist() == rest
    (h,) = grad(g.sum(), x)
    pairs = [
        sum(math.prod(v for j, v in enumerate(x.tolist()) if j not in (i, k)) for k in range(3) if k != i)
        for i in range(3)
    ]
    assert h.tolist() == pairs


def test_cumprod_differentiates_through_zeros_in_linear_time():
    x = torch.rand(20000) + 0.5
    x[[7, 900]] = 0
    x.requires_grad_()
    x.cumprod(0)[:10].sum().backward()
    others = torch.cat([x[:7], torch.ones(3)]).detach()
    others[8:] = x[8:10].detach()
    assert x.grad[10:].count_nonzero() == 0 and x.grad[8:].sum() == 0
    torch.testing.assert_close(x.grad[7], others.cumprod(0)[7:].sum())
    twice = torch.tensor([2.0, 0.0, 3.0, 0.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(twice.cumprod(0).sum(), twice, create_graph=True)
    assert g.tolist() == torch.autograd.grad(twice.cumprod(0).sum(), twice)[0].tolist() == [1, 8, 0, 0]
    assert torch.autograd.grad(g.sum(), twice)[0].tolist() == [4, 12, 2, 6]


def test_sort_is_stable_both_ways_and_keeps_the_memory_order():
    x = torch.tensor([1, 0, 1, 0, 1.0])
    assert x.sort(stable=True).indices.tolist() == [1, 3, 0, 2, 4]
    assert x.sort(stable=True, descending=True).indices.tolist() == [0, 2, 4, 1, 3]
    d = torch.rand(4, dtype=torch.float64)  # Sort would round it to float32
    assert set(d.sort().values.tolist()) == set(d.tolist())
    t = torch.rand(4, 3).t()
    assert t.sort(0).values.stride() == t.stride()


def test_checks_come_before_the_kernel():
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.ones(2).sum(3)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        torch.ones(2).topk(3)
    with pytest.raises(RuntimeError, match="Got: Long"):
        torch.ones(2, dtype=torch.int64).mean()
    with pytest.raises(IndexError, match="non-zero size"):
        torch.ones(0, 2, device="meta").max(0)


def test_results_that_depend_on_values_say_so_on_meta():
    x = torch.empty(3, device="meta")
    for f in (x.unique, lambda: x.masked_select(x > 0), lambda: x.int().bincount()):
        with pytest.raises(NotImplementedError):
            f()
    assert x.sort().indices.dtype is torch.int64 and x.quantile(0.5).shape == ()


def test_results_over_one_number_are_not_its_memory():
    x = torch.tensor(3.0)
    for r in (
        x.cumsum(0),
        x.cumprod(0),
        x.cummax(0)[0],
        x.max(0)[0],
        x.median(0)[0],
        x.mode(0)[0],
        x.kthvalue(1, 0)[0],
        x.topk(1)[0],
        x.sort()[0],
        x.flip(()),
        x.index_select(0, torch.tensor([0])),
        torch.nn.functional.interpolate(x.expand(1, 1, 2), 2),
    ):
        r.zero_()
        assert x == 3


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float32, torch.complex64])
def test_any_and_all_give_zero_or_one(dtype):
    x = torch.full((1, 1), 4).to(dtype)
    for f in (torch.any, torch.all):
        for r in (f(x), f(x, 0), f(x, 1, keepdim=True), f(x, (0, 1)), f(x, dim=())):
            assert r.flatten().view(torch.uint8).tolist() == [1]
