"""Tests the Ascend column of the kernel table with the installed wheel, without hardware."""

import os
import subprocess
import sys
import time

import pytest
import torch

from mindtorch_proxy.backends.ascend import bindings, devices, gradients, layouts, table
from mindtorch_proxy.runtime.registry import DECOMPOSITIONS, operators


def test_every_binding_exists_on_ascend_with_the_arity_used():
    wrong = [
        (op, prim, note)
        for op, prim, kind, note in table.rows()
        if kind == "pyboost" and note.startswith("called with")
    ]
    assert not wrong


def test_every_operator_has_an_ascend_kernel_or_a_composition():
    assert {op for op, _, kind, _ in table.rows() if kind == "unsupported"} == set()


def test_every_gradient_of_the_wheel_is_bound_or_has_a_reason():
    """A gradient composed of operators launches several kernels where the wheel has one."""
    bound = table.bound()
    assert len(bindings.gradients()) > 60
    assert bindings.gradients() - bound == bindings.gradients() & set(gradients.UNBOUND)
    assert not bound & set(gradients.UNBOUND)


def test_operators_whose_strided_operands_are_copied_run_on_primitives():
    kinds = {op: kind for op, _, kind, _ in table.rows()}
    assert {kinds.get(name) for name in layouts.COPIED} == {"pyboost"}


def test_layouts_of_operands():
    assert layouts.layout((2, 3, 4), (12, 4, 1)) is layouts.layout((1, 3), (7, 1)) is layouts.layout((), ()) is None
    transposed, sliced = layouts.layout((6, 4), (1, 6)), layouts.layout((4, 3), (6, 2))
    expanded = layouts.layout((4, 6), (0, 1))
    assert len({transposed, sliced, expanded, None}) == 4
    assert transposed == layouts.layout((8, 2), (1, 8)) and sliced == layouts.layout((4, 5), (20, 4))


def test_inplace_primitives_exist():
    assert not [p for p, _ in table.INPLACE.values() if not bindings.exists(p)]


@pytest.mark.parametrize(
    "name, has",
    {
        **dict.fromkeys(("910B1", "910B2", "910B2C", "910B3", "910B4", "910_9391", "950PR_957c"), True),
        **dict.fromkeys(("910", "910A", "910B", "910ProB", "910PremiumA", "310", "310P3", "310B4"), False),
    }.items(),
)
def test_chips_with_bfloat16(name, has, monkeypatch):
    """The name of the 910 of 2020 is Ascend910B, without a number."""
    for emulated in ("", " (emulated)"):
        monkeypatch.setattr(devices, "chip", lambda: f"Ascend{name}{emulated}")
        assert devices.has_bfloat16() is has


def test_no_npu_is_known_in_milliseconds():
    torch.accelerator.is_available()
    start = time.perf_counter()
    assert torch.accelerator.is_available() is False and not hasattr(torch, "npu")
    assert time.perf_counter() - start < 0.05


N, I, ZERO_D = float("nan"), float("inf"), torch.tensor(2.0)
X = [[1.0, N, -2.0], [0.0, 3.0, I]]
AT = [[0, 2, 2], [1, 1, 1]]
SHIFTS = [[torch.iinfo(d).min, 1, 5, torch.iinfo(d).max, 0] for d in (torch.int8, torch.uint8, torch.int64)]
STAND_INS = [
    *[
        ("scatter_reduce", (x, d, AT[: len(x)], x[::-1], reduce, include))
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include in (True, False)
        for x, d in ((X, 1), ([[7, -2, 5], [5, 9, -3], [1, 2, 3]], 0), ([[5.0, 2, 8, 1]] * 2, 1))
    ],
    *[
        ("scatter_reduce", ([[True, False, True]] * 2, 1, AT, [[False, True, False]] * 2, reduce, False))
        for reduce in ("sum", "prod", "amin")
    ],
    *[("scatter_reduce", (ZERO_D, 0, torch.tensor(0), torch.tensor(3.0), reduce, True)) for reduce in ("mean", "prod")],
    ("scatter_reduce", ([1.0, 2], 0, torch.zeros(0, dtype=torch.int64), [3.0], "prod", False)),
    *[
        ("index_reduce", (*a, reduce, include))
        for reduce in ("prod", "mean", "amax", "amin")
        for include in (True, False)
        for a in (
            ([[1.0, 2], [3, N], [5, 6]], 0, [1, 1, 0, 1], [[4.0, 8], [3, 2], [N, 1], [0, 7]]),
            (ZERO_D, 0, [0], torch.tensor(3.0)),
        )
    ],
    *[
        (name, (x, 1, *dtype))
        for name, dtype in (("cumprod", (torch.float32,)), ("logcumsumexp", ()))
        for x in (X, torch.randn(2, 9), torch.randn(2, 1))
    ],
    ("cumprod", ([[3, -2, 7, 11, 1 << 61]], 1, torch.int64)),
    ("cumprod", (ZERO_D, 0, torch.float32)),
    ("logcumsumexp", ([-I, -I, 1.0, I], 0)),
    *[("_isin", a) for a in ((X, [N, 3.0, -2]), (AT, [2, 2, 7]), (X, torch.zeros(0)), (ZERO_D, [2.0]))],
    *[
        ("_repeat_interleave", (torch.tensor(r, dtype=d),))
        for r in ([2, 0, 3, 1], [0, 0], [])
        for d in (torch.int32, torch.int64)
    ],
    ("_complex", ([[1.0], [I]], [2.0, N])),
    ("_conj", (torch.tensor([complex(-I, 2), complex(N, -0.0), complex(1, I)]),)),
    ("angle", (torch.tensor([complex(-I, 2), complex(N, -0.0), -1 + 0j]),)),
    ("angle", ([1.0, -0.0, -2, N, I, -I],)),
    *[
        (f"bitwise_{side}_shift", a)
        for side in ("left", "right")
        for row, d in zip(SHIFTS, (torch.int8, torch.uint8, torch.int64))
        for a in [
            (
                torch.tensor(row, dtype=d)[:, None],
                torch.tensor([0, 1, 3, 7, 8, 63, 64, 255 if d is torch.uint8 else -1], dtype=d),
            ),
            (3, torch.tensor(row, dtype=d)),
            (torch.tensor(row, dtype=d), 2),
        ]
    ],
    ("lcm", ([0, 4, -6, 0, 9], [3, -6, 4, 0, 9])),
    *[
        (name, (*(torch.randn(4, columns) for _ in range(n)), p))
        for name, n in (("_cdist", 2), ("_pdist", 1))
        for p in (0.0, 1.0, 2.0, 3.5, I)
        for columns in (3, 0)
    ],
    ("_nanmedian", (X,)),
    ("_nanmedian", ([N, N],)),
    *[("nanmedian.dim", (x, d, d == 1)) for x, d in ((X, 1), (X, 0), ([[3, 1, 2, 4]], 1), (ZERO_D, 0))],
    ("_safe_softmax", ([[-I, -I], [0.0, -I]], 1, None)),
    *[
        ("mode", (x, d, False))
        for x, d in (([[3, 1, 3, 1, 2], [5, 5, 4, 4, 4]], 1), ([[2.0, 1.0], [2.0, 3.0], [1.0, 3.0]], 0), (ZERO_D, 0))
    ],
    # no subnormals: threads of MindSpore's pool treat them as zero, and which thread computes is not defined
    ("frexp", (torch.tensor([0.0, -0.0, 1, -3, 2.3e-308, 1.7e308, I, -I, N, 0.5], dtype=torch.float64),)),
    ("frexp", (torch.tensor([1e-42, 3e38, -0.1], dtype=torch.float32),)),
    *[
        (
            "nextafter",
            (
                torch.tensor([0.0, -0.0, 1, 1, -1, -1, I, -I, 2, N, 1e-45], dtype=d),
                torch.tensor([1.0, -1, 2, 0, -2, 0, 0, 0, 2, 1, 0], dtype=d),
            ),
        )
        for d in (torch.float32, torch.float64)
    ],
    *[
        ("segment_reduce", (x, reduce, lengths, None, None, axis, False, initial))
        for reduce in ("sum", "mean", "max", "min", "prod")
        for initial in (None, 1.5)
        for x, lengths, axis in (
            (torch.tensor([1.0, N, 3, -4, 5]), torch.tensor([2, 0, 3]), 0),
            (torch.arange(12.0).reshape(2, 3, 2), torch.tensor([[1, 2], [0, 3]]), 1),
        )
    ],
    *[
        (
            f"_C._nn.max_pool{d}d_with_indices",
            (
                torch.randn(2, *[5, 6, 4][:d]).masked_fill_(torch.rand(2, *[5, 6, 4][:d]) > 0.9, N),
                *((k,) * d for k in how),
                ceil,
            ),
        )
        for d in (2, 3)
        for how in ((2, 2, 0, 1), (3, 2, 1, 1), (2, 1, 1, 2))
        for ceil in (False, True)
    ],
    *[(f"_C._nn.adaptive_max_pool{d}d", (torch.randn(2, 3, *[5, 6, 4][:d]), [2, 3, 4][:d])) for d in (1, 2, 3)],
    *[
        (
            "_C.ctc_loss",
            (
                torch.randn(6, 3, 5).log_softmax(2),
                torch.tensor([[1, 1, 2], [3, 4, 1], [2, 2, 2]]),
                (6, 4, inputs),
                (3, n, 0),
                0,
                False,
            ),
        )
        for inputs, n in ((5, 2), (0, 0), (2, 3))
    ],
    *[
        ("_linalg_lstsq", (torch.randn(2, m, n), torch.randn(2, m, 2), 1e-6, driver, False))
        for m, n in ((5, 3), (3, 5))
        for driver in ("gelsd", "gelsy", "gels")
    ],
    *[
        ("geqrf", (torch.randn(2, m, n, dtype=dtype),))
        for m, n in ((5, 3), (3, 4))
        for dtype in (torch.float32, torch.complex64)
    ],
    *[
        (name, args)
        for hermitian in (False, True)
        for dtype in (torch.float64, torch.complex128)
        for a in [torch.randn(2, 5, 5, dtype=dtype).index_fill_(-1, torch.tensor([0]), 0)]
        for a in [a + (a.mH if hermitian else a.mT)]
        for LD, pivots in [torch.linalg.ldl_factor(a, hermitian=hermitian)]
        for name, args in (
            ("_linalg_ldl_factor_ex", (a, hermitian)),
            ("_linalg_ldl_factor_ex", (a * 0, hermitian)),
            ("linalg.ldl_solve", (LD, pivots, a[..., :3].clone(), hermitian)),
        )
    ],
    *[
        (f"special.{n}", (torch.linspace(-9, 40, 99).double(),))
        for n in "bessel_j0 bessel_j1 bessel_y0 bessel_y1 airy_ai erfcx log_ndtr".split()
    ],
    *[
        (
            f"special.{s}modified_bessel_k{n}",
            (torch.tensor([0.0, 1e-5, 0.5, 1.9, 2, 3, 50, I, -1, N], dtype=torch.float64),),
        )
        for s in ("", "scaled_")
        for n in (0, 1)
    ],
    *[(f"special.modified_bessel_i{n}", (torch.tensor([0.0, -0.5, 3, 15, 16, 50]),)) for n in (0, 1)],
    (
        "special.ndtri",
        (torch.tensor([0.0, 1, 1e-300, 1e-10, 0.3, 0.5, 0.9, 1 - 1e-10, -1, 2, N], dtype=torch.float64),),
    ),
    *[
        (
            name,
            tuple(
                t.double().reshape(-1)
                for t in torch.meshgrid(
                    torch.tensor([0, 0.5, 3, 60, I, -1]), torch.tensor([0, 0.2, 2.5, 61, I, -1, N]), indexing="ij"
                )
            ),
        )
        for name in ("igamma", "igammac")
    ],
    ("_standard_gamma_grad", (torch.tensor([0.5, 1, 3, 7]).double(), torch.tensor([0.4, 1, 5, 3]).double())),
    (
        "_dirichlet_grad",
        (
            torch.tensor([0.2, 0.7, 0.5]).double(),
            torch.tensor([0.5, 2, 7]).double(),
            torch.tensor([1.5, 3, 9]).double(),
        ),
    ),
]


@pytest.mark.parametrize("name, args", STAND_INS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(STAND_INS)])
def test_stand_ins_give_the_operator_s_results_by_operators_that_ascend_has(name, args):
    op = next(o for o in operators() if o.full == name)
    args = [torch.tensor(a) if isinstance(a, list) else a for a in args]
    want = op.call(*args)
    torch.testing.assert_close(DECOMPOSITIONS[name](*args), want, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.float64], ids=str)
def test_eigenvalues_and_vectors_by_operators_that_ascend_has(dtype):
    torch.manual_seed(0)
    turned = torch.eye(4, dtype=dtype).roll(1, 0)  # its eigenvalues all have the same absolute value
    for a in (
        torch.randn(2, 5, 5, dtype=dtype),
        torch.randn(1, 1, dtype=dtype),
        turned,
        torch.zeros(3, 3, dtype=dtype),
        torch.zeros(0, 0, dtype=dtype),
    ):
        w, V = DECOMPOSITIONS["linalg.eig"](a)
        tolerance = dict(rtol=0, atol=1e-12 if dtype is torch.float64 else 2e-5)
        torch.testing.assert_close(a.to(w.dtype) @ V, V * w.unsqueeze(-2), **tolerance)
        torch.testing.assert_close(V.abs().square().sum(-2), torch.ones_like(w.real), **tolerance)
        want = torch.linalg.eigvals(a)
        for one, other in ((w, want), (want, w)):  # compare regardless of their order
            nearest = (one.unsqueeze(-1) - other.unsqueeze(-2)).abs()
            assert not a.numel() or bool((nearest.amin(-1) < tolerance["atol"]).all())
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        DECOMPOSITIONS["linalg.eig"](torch.full((2, 2), float("nan"), dtype=dtype))


def test_gradients_of_ctc_loss_by_operators_that_ascend_has():
    x, targets = torch.randn(6, 2, 5).log_softmax(2), torch.tensor([[1, 1, 2], [3, 4, 1]])
    rest = (targets, (6, 4), (3, 2), 0, False)
    loss, alpha = DECOMPOSITIONS["_C.ctc_loss"](x, *rest)
    op = next(o for o in operators() if o.full == "_C._ctc_loss_backward")
    args = torch.tensor([1.0, 2.0]), x, *rest, loss, alpha
    torch.testing.assert_close(DECOMPOSITIONS[op.full](*args), op.call(*args))


def test_the_hardware_report_is_skipped_without_an_npu():
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_proxy", "npu-report"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"MINDTORCH_NPU": ""},
    )
    assert done.returncode == 77 and done.stdout.startswith("skipped: no NPU")
