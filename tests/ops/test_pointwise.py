"""Elementwise operators: what no sample of the corpus shows."""

import math

import numpy as np
import pytest
import torch

BIG = 1 << 15  # beyond the sizes from which NumPy takes over


@pytest.mark.parametrize("n", [6, BIG])
def test_nan_and_signed_zeros_at_every_size(n):
    x = torch.tensor([math.nan, 1.0, -1.0, math.inf, 0.0, -0.0]).repeat(-(-n // 6))
    y = x.roll(1)
    for f in (torch.maximum, torch.minimum):
        assert torch.equal(f(x, y).isnan(), x.isnan() | y.isnan())
    assert torch.equal(x.clamp(-0.5, 0.5).isnan(), x.isnan()) and torch.equal(x.relu().isnan(), x.isnan())
    assert (
        (x / 0)[0].isnan()
        and (1 / x)[5] == -math.inf
        and torch.equal((x / y).isnan(), (x.double() / y.double()).isnan())
    )
    assert torch.sign(x)[0] == 0


@pytest.mark.parametrize("n", [64, BIG])
@pytest.mark.parametrize("name", ["exp", "tanh", "expm1", "log1p", "sin", "erf", "rsqrt", "log2", "atan"])
def test_float32_is_as_exact_as_float64_rounded(name, n):
    x = torch.linspace(0.01, 9, n)
    torch.testing.assert_close(
        getattr(torch, name)(x), getattr(torch, name)(x.double()).float(), rtol=1.3e-6, atol=1e-7
    )


def test_integers_divided_by_zero_raise_and_leave_the_next_call_alone():
    a, b = torch.tensor([1, 2]), torch.tensor([0, 1])
    for f in (torch.floor_divide, torch.remainder, torch.fmod, lambda x, y: torch.div(x, y, rounding_mode="trunc")):
        for divisor in (b, 0):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                f(a, divisor)
    assert (a // torch.tensor([-2, -1])).tolist() == [-1, -2]


def test_the_short_way_keeps_the_checks():
    x = torch.ones(3)
    assert (x - 1).tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="bool tensor is not supported"):
        x - True
    with pytest.raises(RuntimeError, match="negative integer powers"):
        torch.tensor([2]) ** -1
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.atan2(x, 2)
    with pytest.raises(NotImplementedError):
        torch.ones(2, dtype=torch.complex64) < 1


def test_complex_half_is_stored_and_computed_in_complex64():
    h, x = torch.tensor([1.5, 2.0]).half(), torch.tensor([1 + 2j, 3.5 - 0.25j], dtype=torch.complex32)
    assert (h * 1j).dtype is (h + torch.tensor(1j)).dtype is torch.complex32 and x.element_size() == 4
    assert (
        (x * x + h).tolist() == [-1.5 + 4j, 14.1875 - 1.75j]
        and x.abs().dtype is torch.float16
        and (x == x).all()
        and x[1].item() == 3.5 - 0.25j
    )
    assert (
        torch.view_as_real(x).tolist() == [[1, 2], [3.5, -0.25]]
        and torch.cat([x, h]).to(torch.complex64).sum() == 8 + 1.75j
    )
    for f in (torch.exp, torch.sum, lambda v: v / v, lambda v: v @ v):
        with pytest.raises(NotImplementedError, match="ComplexHalf"):
            f(x)


def test_wrapped_numbers_and_zero_dimensional_tensors_do_not_widen():
    i, h = torch.ones(2, dtype=torch.int16), torch.ones(2, dtype=torch.float16)
    assert (i + 2).dtype is torch.int16 and (i * 1.5).dtype is torch.float32
    assert (h * torch.tensor(2.0, dtype=torch.float64)).dtype is torch.float16
    assert torch.where(i > 0, h, 2.0).dtype is torch.float16 and torch.where(i > 0, i, 1.5).dtype is torch.float32
    assert torch.add(2, 3).item() == 5 and (2**i).dtype is torch.int16 and (7 // i).dtype is torch.int16


def test_in_place_saves_the_value_before():
    for name, args in (("sin", ()), ("pow", (2,)), ("div", (2,)), ("clamp", (0, 1)), ("exp", ())):
        x, y = (torch.tensor([0.5, 2.0], requires_grad=True) for _ in range(2))
        getattr(x * 1, name + "_")(*args).sum().backward()
        getattr(torch, name)(y, *args).sum().backward()
        assert torch.equal(x.grad, y.grad)
    w, x = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0])
    (x * 1).mul_(w).backward()
    assert w.grad.item() == 2


def test_results_keep_the_order_of_dimensions():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for r in (
        x.exp(),
        x * 2,
        torch.where(x > 0, x, 0.0),
        torch.nn.functional.gelu(x),
        x[torch.tensor([1, 0])],
        x.roll(1, 1),
    ):
        assert r.stride() == x.stride()
    assert x.masked_fill(x > 0, 1).is_contiguous()


def test_attention_lies_in_memory_as_its_query():
    q = torch.randn(2, 5, 4, 8).transpose(1, 2)
    r = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert r.stride() == q.stride() and r.transpose(1, 2).is_contiguous()


@pytest.mark.parametrize(
    "number", [np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.uint8(2), np.bool_(True), np.complex128(2)]
)
def test_numpy_numbers_are_python_numbers(number):
    python = (
        complex(number)
        if isinstance(number, complex)
        else int(number)
        if isinstance(number, np.integer)
        else float(number.real)
    )
    for x in (torch.arange(1.0, 4.0), torch.arange(1, 4)):
        for f in (
            lambda x, n: n * x,
            lambda x, n: x - n,
            lambda x, n: n / x,
            lambda x, n: x == n,
            lambda x, n: torch.where(x > 1, x, n),
            lambda x, n: torch.full((2,), n),
            lambda x, n: x.pow(n),
        ):
            got, expected = f(x, number), f(x, python)
            assert got.dtype is expected.dtype and torch.equal(got, expected)


def test_numpy_numbers_as_sizes_and_indices():
    x = torch.arange(3.0)
    assert (
        x[np.int64(1)] == 1
        and x.view(np.int32(1), -1).shape == (1, 3)
        and x.sum(np.int8(0)) == 3
        and len(x.split(np.int64(2))) == 2
    )
    assert torch.linspace(0, 1, np.int32(3)).tolist() == torch.linspace(0, 1, torch.tensor(3)).tolist() == [0, 0.5, 1]
    assert x[np.array([2.0, 1.0])].tolist() == [2, 1] and x[[1.5]].tolist() == [1]
    for index in (0.5, np.float64(1)):
        with pytest.raises(IndexError, match="only integers, slices"):
            x[index]
    with pytest.raises(TypeError):
        x.size(np.float64(0))


def test_what_can_be_assigned_to_a_place():
    x = torch.zeros(3, requires_grad=True) * 2
    x[0], x[1:], x[torch.tensor([True, False, False])] = np.float64(1.5), np.int64(2), np.float64(3)
    assert x.tolist() == [3, 2, 2] and x.requires_grad
    for value in ([1, 2, 3], np.ones(3), np.float32(1), None, "a"):
        with pytest.raises(TypeError, match="can't assign a .* to a torch.FloatTensor"):
            x[:] = value
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = 2j
    half = torch.zeros(2, dtype=torch.float16)
    half[0] = 1e10
    assert half[0] == math.inf


@pytest.mark.parametrize("operator", ["add", "mul", "sub", "eq", "pow"])
def test_none_is_no_number(operator):
    with pytest.raises(TypeError):
        getattr(torch, operator)(torch.ones(2), None)
    with pytest.raises(TypeError):
        torch.ones(2) * None


def test_python_classes_are_dtypes():
    for name, d in ((int, torch.int64), (float, torch.float64), (bool, torch.bool), (complex, torch.complex128)):
        x = torch.ones(8)
        for t in (
            torch.tensor([1], dtype=name),
            torch.as_tensor([1], dtype=name),
            torch.asarray([1], dtype=name),
            x.new_tensor([1], dtype=name),
            torch.frombuffer(bytearray(16), dtype=name),
            torch.scalar_tensor(1, dtype=name),
            x.to(name),
            x.view(name),
            torch.zeros(2, dtype=name),
        ):
            assert t.dtype is d
        assert torch.promote_types(name, torch.uint8) is torch.promote_types(d, torch.uint8)
        with pytest.raises(ValueError, match="invalid type"):
            x.type(name)
    assert (
        torch.finfo(float).bits == 64
        and torch.iinfo(int).bits == 64
        and torch.nn.Linear(2, 2).to(float).weight.dtype is torch.float64
    )


def test_beside_numpy_arrays():
    x, a = torch.arange(3.0), np.array([0.0, 5.0, 2.0])
    assert (x == a).tolist() == (a == x).tolist() == [True, False, True] and (x == a).dtype is torch.bool
    assert torch.is_tensor(x + a) and torch.is_tensor(a / x) and np.isnan(x).dtype is torch.uint8
    for f in (lambda: a + x, lambda: a * x, lambda: x > a, lambda: torch.mul(x, a)):
        with pytest.raises(TypeError):
            f()


def test_arguments_may_not_share_part_of_what_is_written():
    def x():
        return torch.arange(9.0).view(3, 3)

    def overlapping(y):
        return (
            lambda: y.add_(y[0]),
            lambda: y.mul_(y.t()),
            lambda: y[1:].sub_(y[:-1]),
            lambda: torch.neg(y[1:], out=y[:2]),
            lambda: torch.cat([y, y], out=y),
        )

    for change in overlapping(x()):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            change()
    y = x()
    assert y.add_(y).sum() == 72 and torch.neg(y, out=y).sum() == -72 and y[0].add_(y[1]).tolist() == [-6, -10, -14]
    assert y.masked_fill_(y < -12, y[0, 0]).max() == -6 and y.view(-1)[:3].add_(y.view(-1)[3:6]).shape == (3,)


def test_strided_and_broadcast_operands_of_numpy_kernels_give_pytorch_s_strides():
    x = torch.arange(1.0, 25).reshape(2, 3, 4)
    columns, row, turned = x[:, 1], x[0, 0], x.mT
    for f in (torch.exp, torch.maximum, torch.remainder):  # NumPy's kernels at any size
        one = f is torch.exp
        for _ in range(3):
            for a, b in ((columns, columns * 2), (columns, row), (row, columns), (turned, turned), (turned, turned[0])):
                out = f(a) if one else f(a, b)
                dense = f(a.contiguous()) if one else f(a.contiguous(), b.contiguous())
                assert torch.equal(out, dense)
                expected = (12, 1, 4) if a is turned else (4, 1) if out.ndim == 2 else (1,)
                assert out.stride() == expected, (f, a.shape, out.stride())
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        torch.maximum(torch.ones(2, 3), torch.ones(2))
    out = torch.maximum(torch.ones(2, 3), torch.ones(3, dtype=torch.float64))
    assert out.dtype is torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_erfinv_and_digamma_beyond_where_they_are_defined(dtype):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([0.0, -0.0, 1, -1, 1.5, -inf, nan], dtype=dtype)
    found = torch.erfinv(x)
    assert str(found[:4].tolist()) == "[0.0, -0.0, inf, -inf]" and found[4:].isnan().all() and found.dtype is dtype
    y = torch.tensor([0.0, -0.0, -1, -7, -inf, inf, -0.5, -2.5, 2], dtype=dtype)
    found = torch.digamma(y)
    assert found.dtype is dtype and found[2:5].isnan().all() and str(found[:2].tolist()) == "[-inf, inf]"
    expected = torch.tensor([inf, 0.03648997397857645, 1.103156640645243, 0.42278433509846713], dtype=dtype)
    assert torch.allclose(found[5:], expected)
