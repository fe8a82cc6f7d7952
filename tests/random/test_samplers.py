"""The samplers that loop over elements give the same numbers bit for bit, as Python and compiled by Cython."""

import importlib.util
import re
from array import array
from pathlib import Path

import numpy as np
import pytest
import torch

from mindtorch_proxy.runtime import samplers

SOURCE = Path(samplers.__file__).with_name("samplers.py")
N = 3000


@pytest.fixture(scope="module")
def plain():
    """The same file as a Python module, whatever is installed."""
    spec = importlib.util.spec_from_file_location("plain_samplers", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def columns(*arrays):
    return [array("d", np.ascontiguousarray(a, np.float64).tobytes()) for a in arrays]


def gammas(low, high):
    alpha = np.random.default_rng(1).uniform(low, high, N)
    alpha[::100] = 0
    power = np.divide(1, alpha, out=np.zeros(N), where=(alpha < 1) & (alpha > 0))
    d = np.where(alpha < 1, alpha + 1, alpha) - 1 / 3
    return columns(alpha, power, d, 1 / np.sqrt(9 * d))


def binomials(count):
    prob = np.random.default_rng(2).uniform(0.001, 0.999, N)
    prob[:4] = 0, 1, np.nan, 0.5
    n = np.full(N, float(count))
    q = np.where(prob > 0.5, 1 - prob, prob)
    mean = n * q
    with np.errstate(all="ignore"):
        return columns(
            n, prob, q, np.log1p(-q), np.sqrt(mean * (1 - q)), q / (1 - q), mean, np.floor(np.nan_to_num((n + 1) * q))
        )


CASES = {
    "small rates": ("poisson", columns(np.linspace(0, 9.9, N))),
    "large rates": ("poisson", columns(np.linspace(10, 1e6, N))),
    "a rate that is not a number": ("poisson", columns([np.nan, 3.0])),
    "shapes below 1": ("gamma", gammas(0.01, 1)),
    "shapes above 1": ("gamma", gammas(1, 50)),
    "shapes on both sides": ("gamma", gammas(0.5, 1.5)),
    "small counts": ("binomial", binomials(5)),
    "large counts": ("binomial", binomials(1000)),
}


def drawn(module, name, arguments, waiting):
    """Return the samples, how many numbers they took and the normal that was left."""
    random = np.random.default_rng(3)
    stream = module.Stream(random.random, waiting)
    out = np.asarray(getattr(module, name)(stream, *arguments))
    return out, stream.used(), stream.waiting if stream.has_waiting else None


@pytest.mark.parametrize("waiting", [None, 0.25], ids=["nothing left", "a normal left"])
@pytest.mark.parametrize("case", CASES)
def test_both_ways_give_the_same_numbers(plain, case, waiting):
    name, arguments = CASES[case]
    here, there = drawn(samplers, name, arguments, waiting), drawn(plain, name, arguments, waiting)
    np.testing.assert_array_equal(here[0], there[0])
    assert here[1:] == there[1:]
    assert len(here[0]) < 10 or len(set(here[0])) > 3


def test_the_types_name_every_function(plain):
    """A function without types would be called as Python from compiled code, and slow."""
    names = {n for n, v in vars(plain).items() if callable(v) and getattr(v, "__module__", "") == "plain_samplers"}
    declared = (
        set(re.findall(r"(\w+)\(", SOURCE.with_suffix(".pxd").read_text()))
        if SOURCE.with_suffix(".pxd").exists()
        else None
    )
    assert not plain.COMPILED and (declared is None or names - {"Stream"} <= declared)


def test_the_report_says_which_it_is():
    import mindtorch_proxy

    assert ("samplers" in mindtorch_proxy.report()["compiled"]) is samplers.COMPILED


def test_generators_that_are_gone_leave_nothing_to_new_ones():
    first = torch.Generator().manual_seed(3)
    torch.randn(7, generator=first)
    expected = torch.randn(5, generator=torch.Generator().manual_seed(9))
    del first
    many = [torch.Generator().manual_seed(9) for _ in range(3)]
    assert all(torch.equal(torch.randn(5, generator=g), expected) for g in many)
    again = torch.rand(3, generator=many[0]), torch.rand(3, generator=many[1])
    assert torch.equal(*again)
    assert torch.Generator().initial_seed() == torch.Generator.DEFAULT_SEED
