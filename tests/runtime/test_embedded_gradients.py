"""Gradients of views that a backward pass adds to the gradient of their base in place."""

import pytest
import torch

VIEWS = {
    "index": lambda x, i: x[i],
    "slice": lambda x, i: x[:, i : i + 2],
    "several": lambda x, i: x[i, 1:, ::2],
    "select": lambda x, i: x.select(1, i),
    "narrow": lambda x, i: x.narrow(2, i, 2),
    "diagonal": lambda x, i: x.diagonal(i - 1),
    "nothing": lambda x, i: x[i:i],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_many_views_add_up(view, dtype):
    x = torch.randn(4, 4, 4, dtype=dtype, requires_grad=True)
    weights = [torch.randn(()).to(dtype) for _ in range(3)]
    y = x * 2
    parts = [VIEWS[view](y, i) * w for i, w in enumerate(weights)]
    expected = torch.zeros(4, 4, 4, dtype=dtype)
    for i, w in reversed(list(enumerate(weights))):
        VIEWS[view](expected, i).add_(w)
    (found,) = torch.autograd.grad(sum(p.sum() for p in parts), x)
    assert torch.equal(found, expected * 2)


def test_a_gradient_that_somebody_else_has_stays():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    g = torch.tensor([1.0, 2.0, 3.0])
    torch.autograd.backward([y, y[0], y[1]], [g, torch.tensor(10.0), torch.tensor(20.0)])
    assert g.tolist() == [1, 2, 3] and x.grad.tolist() == [11, 22, 3]


def test_hooks_see_whole_gradients():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    seen = []
    rows = [y[i] for i in range(3)]
    for row in rows:
        row.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[0].tolist()))
    y.register_hook(lambda g: seen.append(g.tolist()))
    sum(r * (i + 1) for i, r in enumerate(rows)).backward()
    assert seen == [[0, 0, 3], [0, 2, 0], [1, 0, 0], [1, 2, 3]]


def test_gradients_can_be_differentiated_again():
    x = torch.randn(4, requires_grad=True)
    (g,) = torch.autograd.grad(sum(x[i] ** 3 for i in range(4)), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h, 6 * x)


def test_a_graph_that_is_kept_runs_again():
    x = torch.randn(4, requires_grad=True)
    y = sum(x[i] * i for i in range(4))
    first, again = (torch.autograd.grad(y, x, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, again) and first.tolist() == [0, 1, 2, 3]
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y, x)


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_node_computes_only_the_gradients_that_are_asked_for(wanted):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(func.overloadpacket._qualified_op_name)
            return func(*args, **kwargs or {})

    operands = [torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)]
    y = operands[0] @ operands[1]
    names: list = []
    with Names():
        torch.autograd.grad(y.sum(), operands[wanted])
    assert names.count("aten::mm") == 1
