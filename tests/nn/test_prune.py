"""torch.nn.utils.prune beside the real torch: masks, order, errors."""

import copy

import pytest
import torch
from torch.nn.utils import prune

W = [[1.0, -3.0, 0.5, 2.0], [0.1, 0.2, -0.3, 4.0]]


def layer():
    m = torch.nn.Linear(4, 2)
    with torch.no_grad():
        m.weight.copy_(torch.tensor(W))
    return m


def test_the_smallest_go_first_and_what_is_removed_stays_away():
    m = layer()
    prune.l1_unstructured(m, "weight", 3)
    assert m.weight.tolist() == [[1, -3, 0.5, 2], [0, 0, 0, 4]] and sorted(m.state_dict()) == [
        "bias",
        "weight_mask",
        "weight_orig",
    ]
    prune.l1_unstructured(m, "weight", 0.4)  # of the five that are left
    assert m.weight.tolist() == [[0, -3, 0, 2], [0, 0, 0, 4]] and len(next(iter(m._forward_pre_hooks.values()))) == 2
    m(torch.ones(1, 4)).sum().backward()
    assert m.weight_orig.grad.tolist() == [[0, 1, 0, 1], [0, 0, 0, 1]] and prune.is_pruned(m)
    prune.remove(m, "weight")
    assert (
        sorted(m.state_dict()) == ["bias", "weight"]
        and isinstance(m.weight, torch.nn.Parameter)
        and not prune.is_pruned(m)
    )
    assert m.weight.tolist() == [[0, -3, 0, 2], [0, 0, 0, 4]]


def test_channels_masks_and_all_together():
    m = layer()
    prune.ln_structured(m, "weight", 1, n=2, dim=0)
    assert torch.equal(m.weight, torch.tensor([[0.0] * 4, W[1]]))
    m = layer()
    prune.custom_from_mask(m, "bias", torch.tensor([0.0, 1.0]))
    assert m.bias[0] == 0 and copy.deepcopy(m.bias_mask).tolist() == [0, 1]
    a, b = layer(), layer()
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=6)
    assert int((a.weight == 0).sum() + (b.weight == 0).sum()) == 6


@pytest.mark.parametrize("amount, error", [(-1, ValueError), (1.5, ValueError), ("a", TypeError), (100, ValueError)])
def test_amounts(amount, error):
    m = layer()
    with pytest.raises(error):
        prune.random_unstructured(m, "weight", amount)
    assert sorted(m.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(m, "weight")
