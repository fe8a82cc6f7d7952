"""Small methods, and torch.ops by names that only the dispatcher has."""

import itertools

import pytest
import torch

from mindtorch_proxy.backends.cpu import table
from mindtorch_proxy.runtime.backend import CHOICE
from mindtorch_proxy.runtime.registry import OPERATORS, operators

BOTH = ((False, True),) * 2


def test_values_through_python_functions():
    t = torch.ones(2, 3).t()
    assert t.apply_(lambda v: v + 1) is t and t.tolist() == [[2, 2]] * 3
    assert torch.arange(3).apply_(lambda v: v * 1.5).tolist() == [0, 1, 3]
    assert torch.zeros(2, 2).map_(torch.arange(2.0), lambda a, b: a + b).tolist() == [[0, 1], [0, 1]]
    assert torch.ones(2).map2_(torch.ones(2), torch.ones(1), lambda a, b, c: a + b + c).tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(2, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match=r"expected torch.FloatTensor for 'other' \(got torch.IntTensor\)"):
        torch.ones(2).map_(torch.ones(2).int(), max)


def test_dispatcher_names():
    aten, x = torch.ops.aten, torch.arange(6.0).view(2, 3)
    assert (
        aten.slice.Tensor(x, 1, 0, 2).tolist() == [[0, 1], [3, 4]]
        and aten.sym_size.int(x, 1) == 3
        and aten.view.default(x, [6]).shape == (6,)
    )
    assert (
        aten.add_.Tensor(x.clone(), 1).sum() == 21
        and aten._local_scalar_dense(x[1, 2]) == 5
        and aten.detach(x)._base is None
    )
    with pytest.raises(AttributeError):
        aten.no_such_operator  # noqa: B018


def test_float8_products_are_scaled():
    a, b = torch.eye(16).to(torch.float8_e4m3fn), (torch.arange(256.0).view(16, 16) / 64).to(torch.float8_e4m3fn).t()
    out = torch._scaled_mm(a, b, torch.tensor(2.0), torch.tensor(0.5), out_dtype=torch.bfloat16)
    assert torch.equal(out.float(), b.float())


def test_hand_written_methods_ask_for_overrides():
    asked = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    s = torch.ones(1).as_subclass(Sub)
    assert (
        type(s.detach()) is Sub
        and type(s.data) is Sub
        and s.item() == 1.0
        and s.tolist() == [1.0]
        and len(s) == 1
        and s.size() == (1,)
    )
    assert asked == [
        torch.Tensor.detach,
        torch.Tensor.data.__get__,
        torch.Tensor.item,
        torch.Tensor.tolist,
        torch.Tensor.__len__,
        torch.Tensor.size,
    ]


def test_streams_of_the_cpu():
    with torch.Stream() as s:
        assert s.query() and s == torch.Stream("cpu")
    with pytest.raises(RuntimeError, match="doesn't support events"):
        torch.Event().record()


def test_libraries_built_for_pytorch_do_not_load():
    with pytest.raises(OSError, match="no_such_library"):
        torch.ops.load_library("/no_such_library.so")
    assert not torch.ops.loaded_libraries


def rows(*shapes):
    """For each shape a parameter, its gradient and two averages, of which the first gradient is 0 somewhere."""
    generator = torch.Generator().manual_seed(0)
    tensors = [[torch.rand(shape, generator=generator, dtype=torch.float64) for shape in shapes] for _ in range(4)]
    tensors[1][0][0] = tensors[2][0][0] = tensors[3][0][0] = 0
    return tensors


STEPS = {
    "_adam_step_": [
        (0.1, 0.9, 0.99, decay, 0.05, decoupled, maximize)
        for decay in (0.0, 0.2)
        for decoupled in (False, True)
        for maximize in (False, True)
    ],
    "_sgd_step_": [
        (0.1, 0.9, damping, decay, nesterov, maximize)
        for damping, decay, nesterov, maximize in itertools.product((0.0, 0.3), (0.0, 0.2), *BOTH)
    ],
}


@pytest.mark.parametrize("name, numbers", [(name, numbers) for name, several in STEPS.items() for numbers in several])
def test_an_optimizers_step_in_one_kernel_is_that_of_operators(name, numbers):
    (op,) = OPERATORS["torch"][name]
    found = []
    for step in (getattr(torch, name), op.fn):  # the kernel, and the function over operators for devices that have none
        lists = rows((3, 4), (5,), (3000,))
        lists = lists[:3] if name == "_sgd_step_" else [*lists, [torch.tensor(2.0)] * 3]
        lists = [[t.clone() for t in tensors] for tensors in lists]
        for _ in range(2):
            step(*lists, *numbers)
        found.append(lists)
    torch.testing.assert_close(*found)


@pytest.mark.skipif(CHOICE == "pyboost", reason="parameters are updated by primitives there")
def test_all_optimizers_steps_in_one_kernel_are_compared():
    assert {op.name for op in operators() if op.options.mutates and op.full in table.updates} == set(STEPS)
