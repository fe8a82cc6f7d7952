"""What is computed in another way from some size on is tested at small sizes too, and large results are those of their
parts.

backends/thresholds.py has the sizes. With all of them at 8 the samples of PyTorch's own tests reach what is made for
large tensors.
"""

from pathlib import Path

import pytest
import torch

from mindtorch_proxy.backends import thresholds
from mindtorch_proxy.backends.cpu import table
from mindtorch_proxy.backends.plan import SPREAD
from mindtorch_proxy.runtime.backend import CHOICE
from mindtorch_proxy.runtime.registry import operators

F = torch.nn.functional


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_samples_with_all_thresholds_at_8(python):
    tests = Path(__file__).parent / "test_operators.py"
    done = python(
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        tests,
        check=False,
        cwd=tests.parents[2],
        timeout=900,
        MINDTORCH_TEST_THRESHOLD=8,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def switches():
    """(operator, dtype, the size from which on another kernel computes it) of the elementwise operators in the CPU's
    table.
    """
    for op in operators():
        for dtype in (torch.float32, torch.float64, torch.int64) if op.promote is not None else ():
            sizes = [kernel.above for kernel in table.kernels(op) if 0 < kernel.above < SPREAD and kernel.takes(dtype)]
            if sizes:
                yield op, dtype, max(sizes)


SWITCHES = [pytest.param(*found, id=f"{found[0].full} {found[1]}") for found in switches()]


def operands(op, n, dtype, number=1):
    """A value for each required argument of an elementwise operator: tensors of n elements, and the number."""
    generator = torch.Generator().manual_seed(n)
    for i, (argument, is_tensor) in enumerate(zip(op.schema.arguments, op.is_tensor)):
        if is_tensor:
            x = torch.rand(n, generator=generator, dtype=torch.float64) * 4 - 2
            yield (x.abs() + 0.5 if i else x).to(dtype) if dtype.is_floating_point else (x * 40 + 100).to(dtype)
        elif argument.default is None or argument.required:
            yield number


@pytest.mark.parametrize("op, dtype, size", SWITCHES)
def test_an_elementwise_result_is_that_of_its_parts(op, dtype, size):
    n, half = size + 1001, size // 2
    for number in (1, 2, 3, -1, -2, 0.5, -0.5):  # some of which have algorithms of their own
        args = [*operands(op, n, dtype, number)]
        if number != 1 and (all(isinstance(a, torch.Tensor) for a in args) or not dtype.is_floating_point):
            break
        parts = [
            op.call(*(a[i : i + half].clone() if isinstance(a, torch.Tensor) else a for a in args))
            for i in range(0, n, half)
        ]
        torch.testing.assert_close(op.call(*args), torch.cat(parts), equal_nan=True)


def rows(n):
    """600 rows of n numbers, and of how many rows a part consists that lies below all sizes at which something
    changes.
    """
    x = torch.rand(600, n, generator=torch.Generator().manual_seed(0)) * 4 - 2
    x[::3].mul_(4).round_().div_(4)  # a third of the rows has zeros, and numbers that occur several times
    return x, max(1, 1024 // n)


def backward(f):
    def gradient(x):
        x = x.detach().clone().requires_grad_()
        f(x).exp().sum().backward()  # of which no part is 0
        return x.grad

    return gradient


BY_ROWS = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "gradient of softmax": backward(lambda x: x.softmax(1)),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "gradient of layer_norm": backward(lambda x: F.layer_norm(x, x.shape[1:])),
    "group_norm": lambda x: F.group_norm(x.unflatten(1, (4, -1)), 2),
    "gradient of group_norm": backward(lambda x: F.group_norm(x.unflatten(1, (4, -1)), 2)),
    "batch_norm in evaluation": lambda x: F.batch_norm(
        x.unflatten(1, (4, -1)), torch.arange(4.0), torch.arange(4.0) + 1
    ),
    "topk": lambda x: x.topk(5)[0],
    "smallest": lambda x: x.topk(5, largest=False)[0],
    "sort": lambda x: x.sort(1)[0],
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(1),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "sum": lambda x: x.sum(1),
    "norm": lambda x: x.norm(dim=1),
    "max_pool1d": lambda x: F.max_pool1d(x[:, None], 3, 2),
    "gradient of max_pool1d": backward(lambda x: F.max_pool1d(x[:, None], 3, 2)),
    "avg_pool1d": lambda x: F.avg_pool1d(x[:, None], 3, 2),
    "relu's gradient": backward(torch.relu),
    "gelu's gradient": backward(F.gelu),
    "hardtanh's gradient": backward(F.hardtanh),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "where": lambda x: torch.where(x > 0, x, -x),
    "clamp": lambda x: x.clamp(-1, 1),
    "tril of each": lambda x: x.unflatten(1, (-1, 8)).tril(),
}


@pytest.mark.parametrize("name", BY_ROWS)
def test_rows_of_a_large_result_are_those_of_small_ones(name):
    f = BY_ROWS[name]
    x, few = rows(256)
    assert x.numel() > max(v for k, v in vars(thresholds).items() if k.isupper() and k != "_FOR_TESTS")
    torch.testing.assert_close(f(x), torch.cat([f(x[i : i + few]) for i in range(0, len(x), few)]))


def test_sums_over_a_large_tensor_are_those_of_its_parts():
    x, few = rows(256)
    parts = x.split(few)
    torch.testing.assert_close(x.norm(), torch.stack([p.norm() for p in parts]).norm())
    torch.testing.assert_close(x.sum(0), torch.stack([p.sum(0) for p in parts]).sum(0), rtol=0, atol=5e-5)
    assert (x > 0).nonzero().tolist() == [
        [i * few + r, c] for i, p in enumerate(parts) for r, c in (p > 0).nonzero().tolist()
    ]


def test_gradients_of_a_large_batch_are_sums_over_its_parts():
    index = torch.randint(0, 64, (600,), generator=torch.Generator().manual_seed(1))
    weight, scale = torch.zeros(64, 256, requires_grad=True), rows(256)[0]

    def gradient(i, s):
        return torch.autograd.grad((F.embedding(i, weight) * s).sum(), weight)[0]

    torch.testing.assert_close(
        gradient(index, scale), sum(gradient(*pair) for pair in zip(index.split(4), scale.split(4)))
    )


def test_the_gradient_of_batch_norm_by_channels_is_that_of_each_channel():
    x = torch.rand(2, 300, 8, 8, generator=torch.Generator().manual_seed(2), requires_grad=True)
    g = torch.rand(2, 300, 8, 8, generator=torch.Generator().manual_seed(3))
    whole = torch.autograd.grad(F.batch_norm(x, None, None, training=True), x, g)[0]
    parts = []
    for k in range(0, 300, 10):
        part = x[:, k : k + 10].detach().clone().requires_grad_()
        parts.append(
            torch.autograd.grad(F.batch_norm(part, None, None, training=True), part, g[:, k : k + 10].contiguous())[0]
        )
    torch.testing.assert_close(whole, torch.cat(parts, 1))


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_large_images_is_that_of_each_channel(training):
    c, generator = 200, torch.Generator().manual_seed(4)
    x, g = (torch.rand(3, c, 16, 40, dtype=torch.float64, generator=generator) for _ in range(2))
    weight, bias, mean, var = (torch.rand(c, dtype=torch.float64, generator=generator) + 0.5 for _ in range(4))

    def results(of):
        a, w, b = (t.detach().clone().requires_grad_() for t in (x[:, of], weight[of], bias[of]))
        m, v = mean[of].clone(), var[of].clone()
        out = F.batch_norm(a, m, v, w, b, training, 0.3)
        return [out.detach(), *torch.autograd.grad(out, (a, w, b), g[:, of].contiguous()), m, v]

    assert x.numel() > thresholds.NORM >= x[:, 0].numel()
    parts = zip(*(results(slice(k, k + 1)) for k in range(c)))
    for whole, part in zip(results(slice(c)), parts):
        torch.testing.assert_close(whole, torch.cat(part, part[0].dim() // 4))


def test_sums_of_columns_of_every_length():
    for n in [*range(60, 100), 1041, 4097]:
        x = torch.arange(3.0 * n, dtype=torch.float64).view(n, 3)
        assert x.sum(0).tolist() == [sum(range(c, 3 * n, 3)) for c in range(3)], n


def test_what_is_not_finite_in_a_large_row():
    """Infinities and NaN at every place where a row may be cut into pieces."""
    n = 3 * thresholds.PIECE + 5
    for value in (float("inf"), -float("inf"), float("nan")):
        for at in (0, thresholds.PIECE - 1, n // 2, n - 6, n - 1):
            x = torch.linspace(-1, 1, n).repeat(2, 1)
            x[0, at] = value
            assert F.softmax(x, 1)[0].isnan().all() == (value != -float("inf")), (value, at)
            torch.testing.assert_close(F.softmax(x, 1)[1], F.softmax(x[1], 0))
            top, index = x.topk(2)
            assert index[0, 0] == (n - 1 if value == -float("inf") and at != n - 1 else n - 2 if value < 0 else at)
            assert (top[0, 0] == value or value != value and top[0, 0].isnan()) == (value != -float("inf"))
            assert x.argmax(1)[0] == index[0, 0] and x.isfinite().sum() == 2 * n - 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool])
def test_conversions_of_large_tensors_are_those_of_their_parts(dtype):
    x = (torch.arange((1 << 21) + 3) % 409600).float() / 2048  # many lie halfway between two numbers of 16 bits
    few = 1000
    assert torch.equal(x.to(dtype), torch.cat([part.to(dtype) for part in x.split(few)]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_losses_with_operands_of_other_shapes(dtype):
    x, target = (torch.rand(1500, 40, dtype=dtype, generator=torch.Generator().manual_seed(k)) for k in (1, 2))
    weight = torch.linspace(0.5, 2, 40, dtype=dtype)
    for name, kwargs in (
        ("binary_cross_entropy", dict(weight=weight)),
        ("binary_cross_entropy_with_logits", dict(weight=weight)),
        ("binary_cross_entropy_with_logits", dict(pos_weight=weight)),
    ):
        whole, loss = x.clone().requires_grad_(), getattr(F, name)
        loss(whole, target, reduction="sum", **kwargs).backward()
        parts = x.clone().requires_grad_()
        for a, b in zip(parts.split(10), target.split(10)):
            loss(a, b, reduction="sum", **kwargs).backward()
        torch.testing.assert_close(whole.grad, parts.grad)
        torch.testing.assert_close(
            loss(x, target, reduction="none", **kwargs),
            torch.cat([loss(a, b, reduction="none", **kwargs) for a, b in zip(x.split(10), target.split(10))]),
        )


assert len(SWITCHES) > 50 or CHOICE == "pyboost"  # else the table was empty


def matrices(n, hermitian=False):
    """Forty matrices of one size, of magnitudes from 1e-3 to 1e2, some of them singular or triangular."""
    a = torch.rand(40, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n)) - 0.5
    a[::5] = a[::5].triu()
    a = a @ a.mT + torch.eye(n, dtype=torch.float64) if hermitian else a
    a *= torch.logspace(-3, 2, 40, dtype=torch.float64)[torch.randperm(40, generator=torch.Generator().manual_seed(1))][
        :, None, None
    ]
    return a


L = torch.linalg
OF_MATRICES = {
    "matrix_exp": lambda a: L.matrix_exp(a),
    "inv": lambda a: L.inv(a),
    "inv_ex": lambda a: L.inv_ex(_singular(a))[1],
    "det": lambda a: L.det(a),
    "slogdet": lambda a: L.slogdet(a),
    "lu": lambda a: L.lu(a),
    "lu_factor": lambda a: L.lu_factor(a),
    "lu_factor_ex": lambda a: L.lu_factor_ex(_singular(a)),
    "solve": lambda a: L.solve(a, a.mT.contiguous()),
    "solve_ex": lambda a: L.solve_ex(_singular(a), a)[1],
    "triangular": lambda a: L.solve_triangular(a, a.mT.contiguous(), upper=False),
    "unitriangular": lambda a: L.solve_triangular(a, a, upper=True, unitriangular=True),
    "matrix_power": lambda a: L.matrix_power(a, 5),
    "svdvals": lambda a: L.svdvals(a),
    "eigvalsh": lambda a: L.eigvalsh(a),
    "norm": lambda a: L.matrix_norm(a, 2),
    "cond": lambda a: L.cond(a),
    "pinv": lambda a: L.pinv(a),
    "qr": lambda a: L.qr(a)[1].abs(),
    "gradient of inv": lambda a: backward(L.inv)(a * 0.1 + torch.eye(a.shape[-1], dtype=a.dtype)),
    "gradient of det": lambda a: backward(L.det)(a.clamp(-0.3, 0.3)),
    "gradient of matrix_exp": lambda a: backward(L.matrix_exp)(a.clamp(-0.1, 0.1)),
}
OF_DEFINITE = {
    "cholesky": lambda a: L.cholesky(a),
    "cholesky_ex": lambda a: L.cholesky_ex(_singular(a))[1],
    "cholesky_inverse": lambda a: torch.cholesky_inverse(L.cholesky(a)),
    "ldl_factor": lambda a: L.ldl_factor(a),
}


def _singular(a):
    """The matrices with a row of zeros, at another place in each, and another one in every third."""
    a, n = a.clone(), a.shape[-1]
    for i in range(len(a)):
        at = int(a[i, 0, 0].abs().frexp()[1]) % n
        a[i, at] = a[i, :, at] = 0
        if at % 3 == 0:
            a[i, -1] = a[i, :, -1] = 0
    return a


def _parts(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("n", [1, 3, 7, 20])
@pytest.mark.parametrize("name", [*OF_MATRICES, *OF_DEFINITE])
def test_a_stack_of_matrices_is_what_each_of_them_is(name, n):
    f, a = (OF_MATRICES | OF_DEFINITE)[name], matrices(n, name in OF_DEFINITE)
    each = zip(*(_parts(f(a[i : i + 1])) for i in range(len(a))))
    for whole, parts in zip(_parts(f(a)), each):
        torch.testing.assert_close(whole, torch.cat(parts), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seen", ["transposed", "every second column", "part of it"])
def test_in_place_operators_write_into_large_views(seen):
    base = torch.zeros(400, 300)
    view = {"transposed": base.t(), "every second column": base[:, ::2], "part of it": base[100:, 7:]}[seen]
    one = torch.ones(view.shape)
    for change in (
        lambda t, one: t.add_(one, alpha=2),
        lambda t, one: t.sub_(one, alpha=3),
        lambda t, one: t.addcmul_(one, one, value=5),
        lambda t, one: t.addcdiv_(one, one, value=7),
        lambda t, one: t.lerp_(one * 9, 0.5),
        lambda t, one: t.mul_(2),
    ):
        small = view[:1, :1].clone()
        change(view, one)
        change(small, one[:1, :1])
        torch.testing.assert_close(view, small.expand(view.shape))
