import torch
import torch.nn.functional as F

from segments.data import Digits
from segments.model import Reader


def batch(count):
    digits = Digits(count, noise=0.2, seed=5)
    xs, ys = zip(*(digits[i] for i in range(count)))
    return torch.stack(xs), torch.tensor(ys)


def test_shapes():
    x, _ = batch(3)
    assert Reader(channels=4)(x).shape == (3, 10)


def test_every_parameter_gets_a_gradient():
    x, y = batch(8)
    model = Reader(channels=4)
    F.cross_entropy(model(x), y).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name


def test_it_learns_a_batch_by_heart():
    torch.manual_seed(0)
    x, y = batch(16)
    model = Reader(channels=8, dropout=0.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(40):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert (model(x).argmax(-1) == y).all()


def test_evaluation_is_deterministic():
    x, _ = batch(4)
    model = Reader(channels=4, dropout=0.5).eval()
    assert torch.equal(model(x), model(x))
