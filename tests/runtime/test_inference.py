"""Tensors made in inference mode."""

import threading

import pytest
import torch


def test_marks():
    normal = torch.ones(2, 2)
    with torch.inference_mode():
        made, view = torch.ones(2, 2), normal.view(4)
        assert [x.is_inference() for x in (made, made.view(4), normal + 1, normal, view, normal.clone())] == [
            True,
            True,
            True,
            False,
            False,
            True,
        ]
        made.add_(1)
        normal.add_(1)
        with torch.enable_grad():
            assert not (torch.ones(1, requires_grad=True) * 2).requires_grad
        with torch.inference_mode(False):
            assert not torch.ones(1).is_inference()
        other = []
        t = threading.Thread(target=lambda: other.append(torch.ones(1).is_inference()))
        t.start()
        t.join()
        assert other == [False]
    assert (
        made.is_inference()
        and torch.is_inference(made[0])
        and not (made + 1).is_inference()
        and not made.clone().is_inference()
    )
    view.add_(1)
    assert normal._version == 2


def test_errors():
    with torch.inference_mode():
        made = torch.ones(2)
    weight = torch.ones(2, requires_grad=True)
    changes = (
        lambda: made.add_(1),
        lambda: made.zero_(),
        lambda: made.copy_(weight.detach()),
        lambda: made.__setitem__(0, 1.0),
        lambda: made.view(2).mul_(2),
        lambda: torch.neg(made, out=made),
        lambda: made.resize_(1),
        lambda: made.unsqueeze_(0),
        lambda: made.normal_(),
    )
    for change in changes:
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            change()
    assert made.tolist() == [1, 1]
    for saving in (
        lambda: made * weight,
        lambda: torch.dot(made, weight),
        lambda: torch.stack([weight, made]).prod(0) * made,
    ):
        with pytest.raises(RuntimeError, match="cannot be saved for backward"):
            saving()
    assert (made + weight).requires_grad
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        made.requires_grad_()
    with pytest.raises(RuntimeError, match="do not track version"):
        made._version  # noqa: B018
