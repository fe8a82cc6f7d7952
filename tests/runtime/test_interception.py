"""Below autograd there is one place where operators can be intercepted, under PyTorch's names."""

import threading
from collections import Counter

import torch

from mindtorch_proxy.runtime.call.dispatch import intercept
from mindtorch_proxy.runtime.context import PROCESS


def counting(calls):
    def handler(name, args, proceed):
        calls[name] += 1
        return proceed(*args)

    return handler


def test_calls_are_counted_under_pytorch_s_names():
    calls, x, y = Counter(), torch.rand(2, 3), torch.rand(2, 3)
    with intercept(counting(calls)):
        x + y
        torch.mul(x, 2)
        x.exp_()
        x.t()
        torch.mm(x, y.t())
        torch.nn.functional.linear(x, y)
    assert calls["aten.add.Tensor"] == calls["aten.mul.Tensor"] == calls["aten.exp_.default"] == 1
    assert (
        calls["aten.mm.default"] == 2 and calls["aten.t.default"] == 3
    )  # a layer is a product with the transposed weight
    before = +calls
    x + y
    assert calls == before and PROCESS.active == 0


def test_it_is_below_autograd_and_the_node_hangs_on_the_result():
    seen, x = [], torch.rand(3, requires_grad=True)

    def handler(name, args, proceed):
        seen.append((name, torch.is_grad_enabled()))
        return proceed(*args)

    with intercept(handler):
        y = (x * x).exp()
        assert y.grad_fn.name() == "ExpBackward0"
        y.backward(torch.ones(3))
    assert [name for name, _ in seen][:2] == ["aten.mul.Tensor", "aten.exp.default"] and len(
        seen
    ) > 2  # backward is seen too
    assert not any(enabled for _, enabled in seen)
    torch.testing.assert_close(x.grad, (2 * x * (x * x).exp()).detach())


def test_it_is_below_autocast():
    dtypes = []

    def handler(name, args, proceed):
        if name == "aten.mm.default":
            dtypes.append(args[0].dtype)
        return proceed(*args)

    with intercept(handler), torch.autocast("cpu"):
        torch.rand(2, 2) @ torch.rand(2, 2)
    assert dtypes == [torch.bfloat16]


def test_the_handler_decides_on_the_result():
    with intercept(lambda name, args, proceed: torch.full((2,), 7.0) if name == "aten.add.Tensor" else proceed(*args)):
        assert (torch.ones(2) + 1).tolist() == [7, 7]
        assert (torch.ones(2) * 2).tolist() == [2, 2]


def test_handlers_nest_and_functions_over_operators_are_seen_by_what_they_call():
    inner, outer = Counter(), Counter()
    with intercept(counting(outer)):
        with intercept(counting(inner)):
            torch.matmul(torch.ones(2, 2), torch.ones(2, 2))
        torch.ones(2) - 1
    assert inner["aten.mm.default"] == outer["aten.mm.default"] == 1
    assert "aten.sub.Tensor" in outer and "aten.sub.Tensor" not in inner


def test_other_threads_are_not_intercepted():
    calls = Counter()
    with intercept(counting(calls)):
        t = threading.Thread(target=lambda: torch.ones(2) + torch.ones(2))
        t.start()
        t.join()
    assert not calls


def test_gradients_of_in_place_operators():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    calls = Counter()
    with intercept(counting(calls)):
        y = x * 1
        y.mul_(x).exp_()
    assert calls["aten.mul_.Tensor"] == calls["aten.exp_.default"] == 1
    y.sum().backward()
    torch.testing.assert_close(x.grad, (2 * x * (x * x).exp()).detach())


def test_saved_memory_is_copied_before_a_write_wherever_in_it_that_begins():
    """PyTorch tells memory by the address of a tensor's first element, and hands out what was written over."""
    saved = {"a view is saved": lambda b: b[1:], "the other end": lambda b: b[:1], "all of it": lambda b: b}
    written = {
        "the base": lambda b: b,
        "a view": lambda b: b[1:],
        "the other end first": lambda b: (b[2:].mul_(3), b)[1],
    }
    for (what, view), (where, write) in ((s, w) for s in saved.items() for w in written.items()):
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            b, w = torch.arange(1.0, 5.0), torch.ones(4, requires_grad=True)
            out, want = (view(w) * view(b)).sum(), view(b).clone()
            write(b).mul_(2)
            out.backward()
        assert torch.equal(view(w.grad), want), (what, where)


def test_what_is_saved_at_the_address_of_what_was_copied_is_another_tensor():
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        w, b = torch.ones(2, requires_grad=True), torch.ones(2)
        first = w * b
        b.add_(1)
        (old,) = context.cloned
        context.tid_to_weakhandle[id(b), b.data_ptr(), b._version] = (
            old  # as if b were new, with the identity and the version of what is gone
        )
        second = w * b
        assert torch.equal(torch.autograd.grad(second.sum(), w)[0], torch.full((2,), 2.0))
        assert torch.equal(torch.autograd.grad(first.sum(), w)[0], torch.ones(2))
