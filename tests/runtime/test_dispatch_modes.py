"""Modes that see operators below autograd."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_what_runs_forward_and_backward():
    x = torch.ones(2, requires_grad=True)
    with Seen() as mode:
        assert is_in_torch_dispatch_mode()
        (x * 2 + 1).sum().backward()
    assert not is_in_torch_dispatch_mode()
    forward, backward = (
        ["mul.Tensor", "add.Tensor", "sum.default"],
        ["ones_like.default", "expand.default", "mul.Tensor", "detach.default"],
    )
    assert mode.names == [f"aten.{name}" for name in forward + backward]
    assert x.grad.tolist() == [2, 2]


def test_the_result_of_a_mode_is_the_operators():
    class Tenfold(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 10 if func is torch.ops.aten.add.Tensor else out

    with Tenfold():
        assert (torch.ones(2) + 1).tolist() == [20, 20]


def test_modes_within_modes_and_arguments_by_name():
    class Arguments(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found.append((func.__name__, len(args), kwargs))
            return func(*args, **kwargs)

    found = []
    with Seen() as outer, Arguments():
        out = torch.add(torch.ones(2), torch.ones(2), alpha=3)
    assert out.tolist() == [4, 4] and found[-1] == ("add.Tensor", 2, {"alpha": 3})
    assert outer.names.count("aten.add.Tensor") == 1


def test_operators_in_place_stay_in_place():
    x = torch.ones(2, requires_grad=True)
    with Seen() as mode:
        y = x * 3
        alias = y.detach()
        assert y.mul_(2) is y
        y.sum().backward()
    assert y.tolist() == alias.tolist() == [6, 6] and alias._version == 1 and x.grad.tolist() == [6, 6]
    assert "aten.mul_.Tensor" in mode.names


def test_derivatives_that_have_no_public_name():
    x = torch.ones(2, requires_grad=True)
    with Seen() as mode:
        torch.relu(x).sum().backward()
    assert x.grad.tolist() == [1, 1] and mode.names[0] == "aten.relu.default"
