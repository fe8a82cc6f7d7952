"""Which nodes a backward pass runs."""

import itertools

import torch
from torch.autograd.graph import GradientEdge


def test_gradients_of_tensors_of_which_one_lies_behind_another():
    x, w = (torch.tensor([v, 2.0], requires_grad=True) for v in (0.5, 1.5))
    a = x * 2
    b = a.sin()
    c = b * w + a
    d = c.exp()
    e = d.cos() + b
    every = {"x": x, "w": w, "a": a, "b": b, "c": c, "d": d, "e": e}
    alone = {n: torch.autograd.grad(e.sum(), t, retain_graph=True)[0] for n, t in every.items()}
    for names in itertools.permutations(every, 3):
        found = torch.autograd.grad(e.sum(), [every[n] for n in names], retain_graph=True)
        assert all(torch.equal(g, alone[n]) for g, n in zip(found, names, strict=True)), names
    edges = [GradientEdge(t.grad_fn, 0) for t in (c, e)]
    found = torch.autograd.grad(e.sum(), [x, *edges], retain_graph=True)
    assert all(torch.equal(g, alone[n]) for g, n in zip(found, "xce", strict=True))
    torch.autograd.backward(e.sum(), inputs=[x, c])
    assert torch.equal(x.grad, alone["x"]) and torch.equal(c.grad, alone["c"])
