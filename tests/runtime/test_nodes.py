"""A node of the graph has the name and the edges of PyTorch's from the moment when it is read."""

import torch
from torch.utils.checkpoint import checkpoint


def test_reading_a_node_within_a_backward_changes_no_other():
    """Linear's node is taken apart when it is read outside of a backward pass, and only renamed within one."""
    torch.manual_seed(0)
    net, read = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)), []
    x = torch.randn(5, 3, requires_grad=True)
    net(x).sum().backward()
    want, x.grad = x.grad, None
    for layer in (net[0], net[2]):
        layer.register_forward_hook(lambda m, i, o: read.append(o.grad_fn and o.grad_fn.name()))
    net(x).sum().backward()
    torch.testing.assert_close(x.grad, want)
    x.grad = None
    checkpoint(net, x, use_reentrant=True).sum().backward()  # computes again within the backward pass
    torch.testing.assert_close(x.grad, want)
    assert read == ["AddmmBackward0"] * 2 + [None] * 2 + ["AddmmBackward0"] * 2
    assert [type(f[0]).__name__ for f in net[0](x).grad_fn.next_functions][-1] == "TBackward0"
