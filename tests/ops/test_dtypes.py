"""Dtypes: what MindSpore's kernels get wrong, lack or take though PyTorch does not."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

BIG = 2**63 - 1
HALVES = [torch.float16, torch.bfloat16]


def test_int64_is_divided_exactly():
    a, b = torch.tensor([BIG, -BIG, 2**53 + 1, -7]), torch.tensor([3, 2, 2, 2])
    x, y = a.tolist(), b.tolist()
    assert (a // b).tolist() == [p // q for p, q in zip(x, y)]
    assert (a % b).tolist() == [p % q for p, q in zip(x, y)]
    assert torch.div(a, b, rounding_mode="trunc").tolist() == [abs(p) // q * (1 if p > 0 else -1) for p, q in zip(x, y)]
    assert [t.tolist() for t in torch.unravel_index(torch.tensor([BIG - 1]), (2, 2**62))] == [[1], [2**62 - 2]]


def test_float64_losses_are_computed_in_float64():
    x = torch.linspace(-3, 0, 12, dtype=torch.float64).reshape(4, 3).requires_grad_()
    loss = F.nll_loss(x, torch.tensor([0, 2, -100, 1]), torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64))
    loss.backward()
    assert abs(loss.item() - 31 / 22) < 1e-15 and abs(x.grad[1, 2].item() + 0.5) < 1e-15 and x.grad[2].eq(0).all()


@pytest.mark.parametrize("n", [8, 4096])
def test_logarithms_near_one_and_hardswish_at_infinity(n):
    x = torch.full((n,), 0.999999)
    assert abs(torch.log(x)[0].item() / torch.log(x.double())[0].item() - 1) < 1e-6
    assert F.hardswish(torch.full((n,), -float("inf"))).isnan().all() and F.hardswish(
        torch.tensor(float("inf"))
    ) == float("inf")


def test_the_gradient_of_tanh_is_conjugated_in_both_complex_types():
    grads = []
    for d in (torch.complex64, torch.complex128):
        z = torch.tensor([0.3 + 0.7j], dtype=d, requires_grad=True)
        z.tanh().backward(torch.ones(1, dtype=d))
        grads.append(z.grad.item())
    assert (
        abs(grads[0] - grads[1]) < 1e-5 and grads[1].imag * (1 - torch.tensor(0.3 + 0.7j).tanh() ** 2).imag.item() < 0
    )


@pytest.mark.parametrize("d", HALVES)
def test_half_types_round_numbers_before_they_compute(d):
    x = torch.tensor([0.7, 2.1], dtype=d)
    assert (x == 0.7).tolist() == [True, False] and (x == torch.tensor(0.7)).tolist() == [True, False]
    assert torch.equal(x + 0.1, x + torch.tensor(0.1, dtype=d))
    assert torch.equal(x * 0.1, (x.float() * 0.1).to(d))  # but a factor that is one number stays exact
    assert torch.equal(0.1 / x, (1 / x.float()).to(d) * 0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.abs(torch.tensor(True)),
        lambda: torch.tensor([1j]).lgamma(),
        lambda: torch.special.bessel_j0(torch.ones(2).half()),
        lambda: F.mse_loss(torch.ones(2).long(), torch.ones(2).long()),
        lambda: F.max_pool2d(torch.ones(1, 2, 2) + 0j, 2),
        lambda: F.layer_norm(torch.ones(0, 4, dtype=torch.int32), (4,)),
        lambda: F.conv2d(*[torch.ones(1, 1, 2, 2, dtype=torch.bool)] * 2),
        lambda: torch.linalg.eigh(torch.ones(2, 2).half()),
        lambda: F.pad(torch.ones(1, 4) > 0, (1, 1), "reflect"),
        lambda: F.max_unpool1d(torch.ones(1, 1, 2).int(), torch.zeros(1, 1, 2).long(), 2),
        lambda: torch.arange(3, dtype=torch.bool),
    ],
)
def test_dtypes_that_pytorch_refuses(call):
    with pytest.raises(NotImplementedError, match="not implemented for '"):
        call()


def test_empty_matrices_ask_for_no_kernel():
    assert torch.linalg.eigh(torch.ones(0, 0).half()).eigenvalues.shape == (0,)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.full((2,), 300, dtype=torch.uint8),
        lambda: torch.zeros(2, dtype=torch.int8).fill_(-129),
        lambda: torch.zeros(2).half().fill_(1e5),
        lambda: torch.zeros(2, dtype=torch.int8).clamp(max=200),
        lambda: torch.tensor([1, 256], dtype=torch.uint8),
        lambda: torch.zeros(2).long().masked_fill(torch.tensor([True, False]), float("nan")),
        lambda: torch.zeros(2, dtype=torch.int16) ** 40000,
        lambda: F.pad(torch.zeros(2, dtype=torch.uint8), (1, 1), value=256),
        lambda: torch.zeros(1, dtype=torch.int32).__setitem__(0, 2**31),
    ],
)
def test_numbers_that_do_not_fit(call):
    with pytest.raises(RuntimeError, match="cannot be converted to type .* without overflow"):
        call()


def test_numbers_that_wrap_or_become_infinite():
    assert (
        torch.full((1,), -1, dtype=torch.uint8).item() == 255
        and (torch.zeros(1, dtype=torch.uint8) + 2**63).item() == 0
    )
    x = torch.zeros(2).half()
    x[0] = torch.finfo(torch.float32).min
    assert x[0] == -float("inf")


@pytest.mark.parametrize(
    "norm",
    [
        lambda x, p: F.layer_norm(x, (4,), p, p),
        lambda x, p: F.group_norm(x, 2, p, p),
        lambda x, p: F.batch_norm(x, p, p, p, p),
    ],
)
def test_norms_share_a_dtype(norm):
    for x, p in ((torch.float64, torch.float32), (torch.float32, torch.bfloat16), (torch.float16, torch.float64)):
        with pytest.raises(RuntimeError, match="mixed dtype"):
            norm(torch.ones(2, 4, 4, dtype=x), torch.ones(4, dtype=p))
    assert norm(torch.ones(2, 4, 4).bfloat16(), torch.ones(4)).dtype is torch.bfloat16


def test_narrow_ranges_dropout_and_searches():
    assert torch.arange(0, 2.5, dtype=torch.int32).tolist() == [0, 1, 2] and torch.arange(
        0, 10, 2.7, dtype=torch.uint8
    ).tolist() == [0, 2, 4, 6]
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        F.dropout(torch.ones(4, dtype=torch.int64))
    assert torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([2.5, 3.5])).tolist() == [1, 2]
    assert torch.trapezoid(torch.full((4,), 200, dtype=torch.uint8)).item() != 0


@pytest.mark.parametrize(
    "dtype, expected",
    [(torch.float32, torch.complex64), (torch.bfloat16, torch.complex64), (torch.float64, torch.complex128)],
)
def test_a_complex_number_takes_the_precision_of_the_tensor(dtype, expected):
    x = torch.ones(2, dtype=dtype)
    for number in (1j, torch.tensor(1j), torch.tensor(1j, dtype=torch.complex128)):
        assert (x + number).dtype is (number * x).dtype is expected


PAIRS = """
import torch
kinds = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex32 complex64 complex128 float8_e4m3fn float8_e5m2"
)
kinds = [getattr(torch, name) for name in kinds.split()]
for a in kinds:
    for b in kinds:
        try:
            print(a, b, torch.promote_types(a, b))
        except RuntimeError as error:
            print(error)
"""


def test_every_pair_of_dtypes_promotes_as_in_pytorch(oracle_python, python):
    ours, theirs = (
        python("-m", "mindtorch_proxy", "-c", PAIRS).splitlines(),
        python("-c", PAIRS, executable=oracle_python).splitlines(),
    )
    assert len(ours) == 18**2 and [pair for pair in zip(ours, theirs) if pair[0] != pair[1]] == []


def test_half_precision_of_many_numbers():
    """Every pattern, all ties between neighbours and their neighbours, overflows, subnormals: as NumPy rounds each by
    itself.
    """
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert np.array_equal(torch.from_numpy(every).float().numpy(), every.astype(np.float32), equal_nan=True)
    finite = every[:0x7C00].astype(np.float32)
    ties = (finite[:-1] + finite[1:]) / 2
    numbers = np.concatenate([finite, ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(9e9))])
    numbers = np.concatenate(
        [
            numbers,
            np.float32([65519.996, 65520, 1e30, np.inf, np.nan, 2.9802322e-8, 2.98e-8, 1e-40]),
            (numbers * 1e-9).astype(np.float32),
        ]
    )
    for x in (numbers, -numbers, np.tile(numbers[:4096], 3).reshape(3, -1).T):
        with np.errstate(all="ignore"):
            expected = x.astype(np.float16)
        r = torch.from_numpy(x).half()
        assert np.array_equal(r.numpy(), expected, equal_nan=True) and np.array_equal(
            np.signbit(r.numpy()), np.signbit(expected)
        )


def test_tensors_of_long_lists():
    assert torch.equal(torch.tensor([[0.5] * 300] * 40), torch.full((40, 300), 0.5))
    assert torch.tensor([(1, 2), [3, 4]]).dtype is torch.int64 and torch.tensor([[True], [False]]).dtype is torch.bool
    assert torch.tensor([[True, 2]]).dtype is torch.int64 and torch.tensor([[[]]]).shape == (1, 1, 0)
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        torch.tensor([[1, 2], [3]])
    endless = []
    endless.append(endless)
    with pytest.raises((ValueError, TypeError)):
        torch.tensor(endless)
