"""Classes with a __torch_dispatch__, with memory and without, and operators under their schemas."""

import copy
import pickle

import pytest
import torch
from torch.utils._pytree import tree_map


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, requires_grad=inner.requires_grad
        )

    def __init__(self, inner):
        self.inner = inner

    def __repr__(self):
        return f"Wrapper({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append(str(func))
        args, kwargs_ = tree_map(lambda t: t.inner if isinstance(t, Wrapper) else t, (args, kwargs or {}))
        out = func(*args, **kwargs_)
        return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, out)


seen = []


def test_a_wrapper_has_no_memory_and_its_class_answers_every_operator():
    seen.clear()
    x = Wrapper(torch.arange(6.0).reshape(2, 3)).requires_grad_()
    y = torch.nn.functional.linear(x, torch.ones(4, 3), torch.zeros(4)).softmax(-1)
    y[:, 1:].sum().backward()
    assert type(y) is type(x.grad) is Wrapper and x.grad.inner.abs().max() < 1e-6
    assert seen[:6] == [
        "aten.addmm.default",
        "aten._softmax.default",
        "aten.detach.default",
        "aten.slice.Tensor",
        "aten.sum.default",
        "aten.ones_like.default",
    ]
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        x.detach().numpy()
    with pytest.raises(RuntimeError, match="without memory"):
        x.untyped_storage().tolist()


def test_in_place_operators_of_wrappers_count_versions():
    x = Wrapper(torch.zeros(2))
    assert x.add_(1) is x and x.inner.tolist() == [1, 1] and x._version == 1
    x.fill_(3), x.copy_(torch.ones(2)), x.zero_()
    assert x.inner.tolist() == [0, 0] and x._version == 4


def test_a_subclass_with_memory_hands_on():
    class Logged(torch.Tensor):
        names = []

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.names.append(func.name())
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = torch.Tensor._make_subclass(Logged, torch.ones(2, 2))
    assert torch.equal(
        x @ x + 1, torch.full((2, 2), 3.0)
    )  # what a class gives is no more than that: above autograd it takes no part
    assert Logged.names[0] == "aten::mm" and "aten::add.Tensor" not in Logged.names and type(x + 1) is torch.Tensor


def test_no_class_that_answers():
    class Nothing(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
        torch.Tensor._make_subclass(Nothing, torch.ones(2)) + 1


def test_overloads_have_schemas():
    add = torch.ops.aten.add
    assert add.overloads() == ["Tensor", "Scalar", "out", "Scalar_out"]
    assert str(add.Tensor._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert [a.name for a in add.Tensor._schema.arguments] == [
        "self",
        "other",
        "alpha",
    ] and add.Tensor._schema.arguments[2].kwarg_only
    assert (
        add.out._schema.is_mutable
        and not add.Tensor._schema.is_mutable
        and torch.ops.aten.add_.Tensor._schema.arguments[0].is_write
    )
    assert (
        add.Tensor.name() == "aten::add.Tensor"
        and str(add.Tensor) == "aten.add.Tensor"
        and add.Tensor.namespace == "aten"
    )
    assert copy.deepcopy(add.Tensor) is pickle.loads(pickle.dumps(add.Tensor)) is add.Tensor
    assert torch.ops.aten.sum.dim_IntList(torch.ones(2, 3), [1]).tolist() == [3, 3]
    assert torch.ops.aten._softmax.default(torch.zeros(2), 0, False).tolist() == [0.5, 0.5]
    with pytest.raises(AttributeError, match="no overload name 'Nothing'"):
        add.Nothing


def test_new_tensors_like_a_parameter_are_its_class_s():
    x = Wrapper(torch.ones(2)).requires_grad_()
    assert all(
        type(f(x)) is Wrapper for f in (torch.zeros_like, torch.empty_like, torch.rand_like, lambda t: t.new_zeros(3))
    )
    assert torch.ones_like(x, requires_grad=True).requires_grad and not torch.ones_like(x).requires_grad


def test_functions_that_change_their_arguments_are_seen_in_parts():
    p = Wrapper(torch.ones(2)).requires_grad_()
    p.grad = Wrapper(torch.ones(2))
    torch.optim.AdamW([p], lr=0.1, foreach=False).step()
    assert type(p) is Wrapper and (p.inner < 1).all()


def test_calls_look_at_classes_from_the_first_instance_on(python):
    """A class alone costs nothing: torch.distributed.tensor has one, and transformers imports that."""
    code = """
import torch, torch.distributed.tensor
from mindtorch_proxy.runtime.context import PROCESS
class Logged(torch.Tensor):
    seen = []
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        return torch.ones(2)
x = torch.ones(2) + 1
print(PROCESS.interceptors)
{make}
y + 1
print(PROCESS.interceptors, Logged.seen[0])
"""
    for make in (
        "y = x.as_subclass(Logged)",
        "y = torch.Tensor._make_subclass(Logged, x)",
        "y = torch.Tensor._make_wrapper_subclass(Logged, (2,))",
        "y = Logged([1.0, 2])",
    ):
        assert python("-m", "mindtorch_proxy", "-c", code.replace("{make}", make)).split() == [
            "0",
            "1",
            "aten.add.Tensor",
        ], make
