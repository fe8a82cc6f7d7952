"""Memory stays bounded: the short form of tools/long_run.py."""

import importlib.util
from pathlib import Path

import pytest
import torch

from mindtorch_proxy.runtime import pyboost

spec = importlib.util.spec_from_file_location("long_run", Path(__file__).parents[2] / "tools" / "long_run.py")
long_run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(long_run)


def grown(one, before, count):
    """Bytes that `count` calls add after `before` of them."""
    for _ in range(before):
        one()
    start = long_run.resident()
    for _ in range(count):
        one()
    return long_run.resident() - start


@pytest.mark.skipif(
    pyboost.version().startswith("2.1"), reason="MindSpore 2.10 itself loses memory in every call (docs/status.md)"
)
def test_training_steps():
    assert grown(long_run.trainer(1, (8, 8)), 30, 60) < 1 << 20


def test_new_shapes_of_a_legacy_primitive(monkeypatch):
    """MindSpore compiles a legacy primitive anew for each shape and forgets none of them by itself: 60 kB each."""
    monkeypatch.setattr(pyboost, "COMPILED", 100)
    sizes = iter(range(10, 2000))
    assert grown(lambda: torch.ones(1, next(sizes)).topk(2), 200, 400) < 8 << 20


def test_primitives_made_for_a_call(monkeypatch):
    """They are forgotten, and so is what was compiled for them; a later one at the same address counts as another."""
    monkeypatch.setattr(pyboost, "COMPILED", 100)
    x, epsilons = torch.randn(2, 4), iter(1e-5 * (1 + k / 1000) for k in range(1000))
    assert grown(lambda: torch.nn.functional.layer_norm(x, (4,), eps=next(epsilons)), 300, 600) < 8 << 20
    assert len(pyboost._made) <= pyboost.MADE


@pytest.mark.skipif(
    pyboost.version().startswith("2.1"), reason="MindSpore 2.10 itself loses memory in every call (docs/status.md)"
)
def test_new_shapes_of_a_product():
    """oneDNN compiles for each shape, and keeps a thousand unless it is told otherwise under the name it knows."""
    sizes = iter((torch.ones(a, b), torch.ones(b, c)) for a in range(2, 12) for b in range(2, 12) for c in range(2, 12))
    assert grown(lambda: torch.mm(*next(sizes)), 300, 600) < 4 << 20


def test_gradients_of_a_convolution(monkeypatch):
    """oneDNN's blocks leave holes in glibc's heap into which the next ones do not fit: those are given back."""
    arrays = pytest.importorskip("mindtorch_proxy.backends.cpu.arrays")
    monkeypatch.setattr(arrays, "KEPT", 64 << 20)
    x, w = torch.randn(4, 64, 56, 56, requires_grad=True), torch.randn(128, 64, 3, 3, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, None, 2, 1)

    def one():
        arrays.HOLES.next = 0.0
        torch.autograd.grad(y, x, y, retain_graph=True)

    assert grown(one, 60, 250) < 150 << 20


def test_primitives_made_twice_or_without_a_hash(monkeypatch):
    """They must not stand in the way of later ones."""
    torch.ones(2) + 1
    monkeypatch.setattr(pyboost, "MADE", 2)
    monkeypatch.setattr(pyboost, "_made", type(pyboost._made)())
    for dim in (-6, -5, -4, -3):
        pyboost.primitive("ReduceStd", [0], legacy=True)
        softmax = pyboost.primitive("Softmax", dim)
        pyboost._made.append(("Softmax", (dim,), "CPU", False, ()))  # as a second thread would that waited meanwhile
        assert pyboost.primitive("Softmax", dim) is softmax
