"""Activations: rows that mask everything, in place, sizes."""

import math

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
def test_a_row_of_minus_infinity_is_nan_and_spoils_no_other(f):
    x = torch.zeros(4, 5)
    x[1] = -math.inf
    x[2, 0] = -math.inf
    r = f(x, dim=-1)
    assert r[1].isnan().all() and not r[[0, 2, 3]].isnan().any()
    torch.testing.assert_close(r[3], f(torch.zeros(5), dim=0))


@pytest.mark.parametrize("n", [64, 1 << 14])
@pytest.mark.parametrize(
    "f",
    [
        F.gelu,
        lambda x: F.gelu(x, approximate="tanh"),
        F.elu,
        F.selu,
        F.softplus,
        F.logsigmoid,
        F.mish,
        F.silu,
        F.relu,
        F.leaky_relu,
    ],
)
def test_small_and_large_agree_with_float64(f, n):
    x = torch.linspace(-9, 9, n, requires_grad=True)
    y = x.detach().double().requires_grad_()
    a, b = f(x), f(y)
    a.sum().backward()
    b.sum().backward()
    torch.testing.assert_close(a, b.float())
    torch.testing.assert_close(x.grad, y.grad.float())


def test_gradients_at_nan_and_infinity():
    for f, want in ((F.hardtanh, [1.0, 0.0, 0.0, 1.0]), (F.leaky_relu, [0.01, 1.0, 0.01, 0.01])):
        x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0], requires_grad=True)
        f(x).sum().backward()
        torch.testing.assert_close(x.grad, torch.tensor(want))


def test_inplace_writes_and_returns_the_input():
    for f in (F.relu, F.silu, F.hardtanh, F.leaky_relu, F.elu, F.mish, F.hardswish):
        x = torch.linspace(-2, 2, 5)
        want = f(x.clone())
        assert f(x, inplace=True) is x
        torch.testing.assert_close(x, want)
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        F.relu(x, inplace=True)


def test_grad_fn_names_are_pytorchs():
    x = torch.randn(4, requires_grad=True)
    for f, name in (
        (F.gelu, "GeluBackward0"),
        (F.silu, "SiluBackward0"),
        (lambda t: F.softmax(t, 0), "SoftmaxBackward0"),
        (torch.relu, "ReluBackward0"),
        (lambda t: t / 2, "DivBackward0"),
        (lambda t: t**2, "PowBackward0"),
        (lambda t: torch.where(t > 0, t, 0), "WhereBackward0"),
    ):
        assert f(x).grad_fn.name() == name


IN_PLACE = {
    "relu_": (),
    "hardtanh_": (-0.5, 0.5),
    "leaky_relu_": (0.2,),
    "elu_": (),
    "threshold_": (0.1, 7.0),
    "celu_": (),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_functions_in_place(name):
    """Their plain forms have an argument called inplace."""
    x, args = torch.linspace(-1, 1, 5), IN_PLACE[name]
    expected = getattr(F, name[:-1])(x, *args)
    assert getattr(F, name)(x, *args) is x
    torch.testing.assert_close(x, expected)
