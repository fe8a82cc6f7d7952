"""Matrix products: what the corpus of samples does not show."""

from collections import Counter

import pytest
import torch

from mindtorch_proxy.backends.cpu.kernels.matmul import _operand
from mindtorch_proxy.runtime.backend import CHOICE
from mindtorch_proxy.runtime.report import report

F = torch.nn.functional


def primitives():
    calls = Counter()
    for k in report()["kernels"]:
        if k["op"] in ("mm", "_mm", "_linear", "bmm", "_bmm"):
            calls[k["primitive"]] += k["calls"]
    return calls


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 2, 3, 4)])
def test_transposed_view_is_read_by_a_flag_without_a_copy(shape):
    x = torch.randn(shape)
    base, flag = _operand(x.transpose(-1, -2))
    assert flag and base.shape == x.shape and base._data_ptr() == x.data_ptr()
    heads = torch.randn(2, 5, 3, 4).permute(0, 2, 1, 3)
    assert not _operand(heads)[1] and _operand(heads.transpose(-1, -2))[1]


@pytest.mark.skipif(CHOICE == "fastest", reason="small products are NumPy's")
def test_one_primitive_for_each_product():
    x, w = torch.randn(2, 6, 8), torch.randn(7, 8)  # none so thin that NumPy is three times as fast
    F.linear(x, w)
    before = primitives()["MatMul"]
    F.linear(x, w)
    x @ w.t()
    assert primitives()["MatMul"] == before + 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64, torch.bfloat16])
def test_nothing_to_sum_gives_zeros(dtype):
    a, b = torch.empty(2, 0, dtype=dtype), torch.empty(0, 3, dtype=dtype)
    for r in (a @ b, a.unsqueeze(0) @ b.unsqueeze(0), F.linear(a, b.t()), torch.einsum("ij,jk->ik", a, b)):
        assert r.dtype is dtype and not r.any()
    assert torch.addmm(torch.ones(3, dtype=dtype), a, b).eq(1).all()


def test_transposes_of_complex_stacks_are_not_conjugated():
    a, b = torch.randn(2, 3, 4, dtype=torch.complex64), torch.randn(2, 5, 4, dtype=torch.complex64)
    torch.testing.assert_close(a @ b.transpose(1, 2), (a.unsqueeze(2) * b.unsqueeze(1)).sum(-1))


def test_low_precision_is_rounded_once():
    x, w, b = torch.randn(8, 64).bfloat16(), torch.randn(16, 64).bfloat16(), torch.randn(16).bfloat16()
    assert torch.equal(F.linear(x, w, b), (x.float() @ w.float().t() + b.float()).bfloat16())
    assert torch.equal(torch.addmm(b, x, w.t(), alpha=2), (2 * (x.float() @ w.float().t()) + b.float()).bfloat16())


def test_errors_come_before_the_kernel():
    a = torch.ones(2, 3)
    for call, text in (
        (lambda: a @ a, "cannot be multiplied"),
        (lambda: a @ torch.ones(3, 2, dtype=torch.float64), "same dtype"),
        (lambda: torch.bmm(a, a), "must be a 3D tensor"),
        (lambda: F.linear(a, torch.ones(4, 3), torch.ones(5)), "expanded size"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    assert (a @ a.t()).eq(3).all()


def test_attention_of_a_row_with_nothing_to_see_is_zero_and_so_is_its_gradient():
    q, k, v = (torch.randn(1, 2, 3, 4, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    for m in (mask, torch.zeros(3, 3).masked_fill(~mask, float("-inf"))):
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=m)
        assert not out[..., 1, :].any()
        grads = torch.autograd.grad(out.sum(), (q, k, v))
        assert not grads[0][..., 1, :].any() and all(g.isfinite().all() for g in grads)


def test_linear_has_second_derivatives():
    x, w = (
        torch.randn(3, 4, dtype=torch.float64, requires_grad=True),
        torch.randn(2, 4, dtype=torch.float64, requires_grad=True),
    )
    (g,) = torch.autograd.grad(F.linear(x, w).pow(3).sum(), w, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    h = 1e-6
    step = torch.zeros_like(x)
    step[1, 2] = h

    def first(x):
        return torch.autograd.grad(F.linear(x, w).pow(3).sum(), w)[0].sum()

    torch.testing.assert_close(
        second[1, 2], ((first(x + step) - first(x - step)) / (2 * h)).detach(), rtol=1e-6, atol=1e-6
    )


def test_einsum_on_meta():
    a, b = torch.empty(2, 3, 4, device="meta"), torch.empty(4, 5, 3, device="meta")
    assert torch.einsum("bij,jki->bk", a, b).shape == (2, 5)


@pytest.mark.skipif(CHOICE != "balanced", reason="the rule is that of this mode")
@pytest.mark.parametrize(
    ("rows", "columns", "kind"), [(1, 96, "numpy"), (4, 96, "numpy"), (5, 96, "pyboost"), (4, 2048, "pyboost")]
)
def test_products_of_few_rows_are_numpy_s(rows, columns, kind):
    """MatMul takes 11 to 20 times as long there, with 64k elements too."""
    x, w, b = torch.randn(rows, 64), torch.randn(columns, 64), torch.randn(columns)

    def calls():
        found = Counter()
        for k in report()["kernels"]:
            found[k["op"], k["kind"]] += k["calls"]
        return found

    before = calls()
    found = torch.nn.functional.linear(x, w, b), x @ w.t(), torch.addmm(b, x, w.t())
    assert {key for key, n in (calls() - before).items() if n} == {("_linear", kind), ("mm", kind), ("addmm", kind)}
    for y, bias in zip(found, (b, 0, b)):
        torch.testing.assert_close(y, (x.double() @ w.double().t() + bias).float(), atol=1e-4, rtol=1e-4)


def test_products_of_few_rows_in_a_stack():
    q, k = torch.randn(2, 3, 1, 8), torch.randn(2, 1, 5, 8)
    torch.testing.assert_close(q @ k.mT, (q.double() @ k.double().mT).float())
    assert (torch.ones(1, 0) @ torch.ones(0, 3)).tolist() == [[0, 0, 0]]
