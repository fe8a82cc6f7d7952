"""Conversions between float32 and the half types, by compiled loops and by NumPy, with the bits that PyTorch gives."""

import numpy as np
import pytest
import torch

from mindtorch_proxy.backends import host, thresholds

ALL = np.arange(1 << 16, dtype=np.uint16)
LOW = [host.HALF, host.BFLOAT]


def numbers():
    """Every value of float16 and what lies around it and around the middle to the next, and any bits."""
    values = ALL.view(np.float16).astype(np.float32).view(np.uint32)
    near = values[:, None] + np.array([-1, 0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001], np.int64)
    some = np.random.default_rng(0).integers(0, 1 << 32, 1 << 18, np.uint64)
    return np.concatenate([near.reshape(-1), some]).astype(np.uint32).view(np.float32)


@pytest.fixture
def without_compiled(monkeypatch):
    def set_to(compiled):
        if compiled and host.halves is None:
            pytest.skip("halves.c is not compiled here")
        if not compiled:
            monkeypatch.setattr(host, "halves", None)

    return set_to


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_values_are_converted_exactly_and_rounded_to_even(without_compiled, compiled):
    without_compiled(compiled)
    x = numbers()
    for low in LOW:
        expected = x.astype(low).view(np.uint16)
        found = host.narrowed(x, low).view(np.uint16)
        assert np.array_equal(found[~np.isnan(x)], expected[~np.isnan(x)])
        assert np.isnan(host.narrowed(x[np.isnan(x)], low).astype(np.float32)).all()
        wide = host.widened(ALL.view(low))
        exact = ALL.view(low).astype(np.float32)
        quiet = np.uint32(0x400000) * np.isnan(exact) * (low == host.HALF)  # which the processor sets
        assert np.array_equal(wide.view(np.uint32) | quiet, exact.view(np.uint32) | quiet)
        assert not compiled or np.array_equal(wide.view(np.uint32), exact.view(np.uint32) | quiet)
        assert np.array_equal(host.narrowed(wide, low)[~np.isnan(wide)], ALL.view(low)[~np.isnan(wide)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_both_ways_give_the_same_bits(without_compiled, monkeypatch):
    without_compiled(True)
    x = numbers()
    found = [host.narrowed(x, low).view(np.uint16) for low in LOW]
    monkeypatch.setattr(host, "halves", None)
    for low, bits in zip(LOW, found):
        assert np.array_equal(host.narrowed(x, low).view(np.uint16), bits)


def test_other_numbers_are_rounded_to_float32_first():
    number = 1 + 2**-11 + 2**-40  # PyTorch gives 1, although the nearest float16 is 1 + 2**-10
    x = torch.tensor([number], dtype=torch.float64)
    for y in (
        x.half(),
        torch.tensor([number], dtype=torch.float16),
        torch.full((1,), number, dtype=torch.float16),
        torch.zeros(1, dtype=torch.float16).copy_(x),
        torch.ones(1, dtype=torch.float16) * number,
    ):
        assert y.item() == 1
    assert torch.tensor([65519.999999], dtype=torch.float64).half().item() == float("inf")
    assert torch.tensor([65519]).half().item() == 65504 and torch.tensor([2049]).half().item() == 2048


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n", [1, 100, 2 * thresholds.PIECE + 5])
def test_operators_compute_in_float32_and_round_once(dtype, n):
    x, y = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    for f in (torch.mul, torch.sub, torch.div, torch.maximum, torch.atan2):
        for _ in range(2):  # the second call takes the direct way
            assert torch.equal(f(x, y), f(x.float(), y.float()).to(dtype))
            assert torch.equal(f(x, y[0]), f(x.float(), y[0].float()).to(dtype))
    for f in (torch.lt, torch.eq):
        assert torch.equal(f(x, y), f(x.float(), y.float())) and torch.equal(f(y, y), f(y.float(), y.float()))
    for f in (torch.exp, torch.neg, torch.sqrt, torch.floor, torch.isnan):
        assert torch.equal(f(x.abs()), f(x.abs().float()).to(f(x).dtype))
    assert torch.equal(x * 0.1, (x.float() * 0.1).to(dtype)) and torch.equal(0.1 * x, x * 0.1)
    assert torch.equal(x + 0.1, x + torch.tensor(0.1, dtype=dtype))
    assert torch.equal(x[::2] * y[::2], (x.float() * y.float()).to(dtype)[::2])
    mask = x > y
    assert torch.equal(torch.where(mask, x, y), torch.where(mask, x.float(), y.float()).to(dtype))
