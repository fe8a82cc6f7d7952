"""Random numbers: PyTorch 2.13's own, as it prints them, and the state of the generator around them."""

import pytest
import torch
import torch.nn.functional as F


def seeded(f):
    torch.manual_seed(0)
    return f()


def test_the_stream_is_pytorchs():
    assert (
        seeded(lambda: torch.rand(3)).tolist()
        == torch.tensor([0.49625658988952637, 0.7682217955589294, 0.08847743272781372]).tolist()
    )
    assert seeded(lambda: torch.randperm(5)).tolist() == [4, 0, 1, 3, 2]
    torch.testing.assert_close(
        seeded(lambda: torch.randn(3)), torch.tensor([1.5409960746765137, -0.293428897857666, -2.1787893772125244])
    )


def test_a_fill_follows_memory_not_indices():
    a = seeded(lambda: torch.empty(3, 4).t().uniform_())
    assert torch.equal(a.t(), seeded(lambda: torch.empty(3, 4).uniform_()))


def test_a_refused_fill_draws_nothing():
    w = torch.ones(3, requires_grad=True)
    torch.manual_seed(0)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        w.uniform_()
    assert torch.rand(1) == seeded(lambda: torch.rand(1))


def test_state_goes_out_and_in():
    state = torch.get_rng_state()
    a = torch.rand(2)
    with torch.random.fork_rng():
        torch.rand(5)
    b = torch.rand(2)
    torch.set_rng_state(state)
    assert torch.equal(torch.cat((a, b)), torch.rand(4))


def test_dropout_scales_what_it_keeps_and_differentiates_through_the_mask():
    x = torch.ones(4, 50, requires_grad=True)
    y = seeded(lambda: F.dropout(x, 0.25))
    assert set(y.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    assert F.dropout(x, 0.25, training=False) is x
    channels = F.dropout2d(torch.ones(2, 8, 3, 3), 0.5)
    assert ((channels == 0).all((2, 3)) | (channels == 2).all((2, 3))).all()


def test_meta_draws_have_shapes_only():
    assert torch.rand(2, device="meta").is_meta and torch.empty(3, device="meta").normal_().is_meta
    assert F.dropout(torch.empty(3, device="meta")).is_meta and torch.randperm(4, device="meta").shape == (4,)
