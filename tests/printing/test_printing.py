"""repr(tensor) against PyTorch itself, on stand-ins that hold the oracle's values."""

import os
import pickle
import subprocess
import types

import numpy as np
import pytest

from mindtorch_proxy.runtime import dtypes as dt
from mindtorch_proxy.runtime import printing
from mindtorch_proxy.runtime.device import device

ORACLE = os.environ.get("MINDTORCH_ORACLE_PYTHON", "")
VALUES = [
    "[]",
    "[[]]",
    "[[], []]",
    "0",
    "1",
    "-1",
    "3.5",
    "float('nan')",
    "float('inf')",
    "-float('inf')",
    "1e10",
    "1e-10",
    "0.1",
    "[0.]",
    "[0., -0.]",
    "[1., 2., 3.]",
    "[1., 2., 1e9]",
    "[1.5, 2., 1e9]",
    "[1., 1001.]",
    "[1., 1000.]",
    "[.5, 501.]",
    "[1e8]",
    "[1e8 + 8]",
    "[1e-4]",
    "[9e-5]",
    "[float('nan'), 1.]",
    "[float('inf'), -1.5]",
    "[float('nan')] * 3",
    "[1., float('nan'), float('-inf')]",
    "[1e-5, float('inf')]",
    "[[1., 2.], [3., 4.]]",
    "[[.1, -20.], [3., 4.]]",
    "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]",
    "[[[[1]]], [[[2]]]]",
    "[True, False]",
    "True",
    "[1, 22, -333]",
    "[2**40, 1]",
    "1 + 2j",
    "[1 + 2j, -1.5 - .25j]",
    "[1 + 2j, 3 + 4j]",
    "[1e10 + 1j, 0j]",
    "[float('nan') + 1j, -1 - float('inf') * 1j]",
    "[[1j, 2.], [3.25, 4.]]",
    "list(range(30))",
    "[i / 7 for i in range(30)]",
    "[i * 1j for i in range(30)]",
    "[[i * j for i in range(20)] for j in range(3)]",
    "[i * 1e6 for i in range(5)]",
    "[3.0000001]",
    "[123456.789]",
    "[12345678.]",
    "[16777217.]",
    "[0.00012345]",
    "[1234.5678, 0.5]",
]
SHAPES = [
    "(1001,)",
    "(1000,)",
    "(7, 200)",
    "(200, 7)",
    "(10, 11, 12)",
    "(2, 3, 300)",
    "(6, 6, 40)",
    "(7, 7, 7, 7)",
    "(1, 1, 2000)",
    "(1001, 1)",
    "(3, 0, 5)",
    "(0, 3)",
]
BIG = [
    f"torch.arange(math.prod(s := {s})).to(torch.{d}).reshape(s)"
    for s in SHAPES
    for d in ("float32", "int64", "complex64")
]
DTYPES = [
    "torch.tensor([0, 1, 2], dtype=torch.%s)" % d
    for d in "uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 "
    "complex128 bool float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split()
]
DTYPES += [
    "torch.tensor([.1, 200., 3.3]).to(torch.%s)" % d
    for d in "float16 bfloat16 float64 float8_e4m3fn float8_e5m2 complex128 float8_e8m0fnu".split()
]
DTYPES += [
    "torch.empty(0, dtype=torch.int32)",
    "torch.empty(2, 0, dtype=torch.float64)",
    "torch.empty(0, dtype=torch.complex64)",
    "torch.empty(0, 1)",
]
SUFFIX = [
    "torch.ones(2, requires_grad=True)",
    "torch.ones(2, requires_grad=True) * 2",
    "torch.ones(()).requires_grad_() + 1",
    "torch.ones(2, 2, requires_grad=True).t()",
    "torch.ones(25, requires_grad=True) / 3",
    "torch.ones(40, dtype=torch.float64, requires_grad=True).exp()",
    "torch.empty(3, 4, device='meta')",
    "torch.empty(3, device='meta', dtype=torch.int64)",
    "torch.empty((), device='meta', requires_grad=True)",
    "torch.empty(0, 3, device='meta')",
    "torch.ones(9, dtype=torch.float64, requires_grad=True)",
    "torch.nn.Parameter(torch.ones(2, 3))",
    "torch.nn.Parameter(torch.ones(2), requires_grad=False)",
    "torch.ones(3).as_subclass(type('Sub', (torch.Tensor,), {}))",
    "torch.ones(3, requires_grad=True).as_subclass(type('LongerName', (torch.Tensor,), {}))",
    "torch.rand(4, 5, generator=torch.Generator().manual_seed(0))",
    "torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(0)) * 100",
    "torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).t()",
    "torch.arange(12.).view(3, 4)[:, ::2]",
    "torch.ones(3).expand(2, 3)",
    "torch.ones(11, 1, dtype=torch.int32)",
    "torch.linspace(-1e-3, 1e3, 12)",
    "torch.arange(8, dtype=torch.bfloat16) / 7",
]
OPTIONS = [
    "{}",
    "{'precision': 2}",
    "{'sci_mode': True}",
    "{'sci_mode': False}",
    "{'profile': 'short'}",
    "{'linewidth': 40}",
    "{'threshold': 5, 'edgeitems': 1}",
    "{'profile': 'full'}",
    "{'edgeitems': 0, 'threshold': 3}",
    "{'precision': 8, 'linewidth': 120}",
    "{'profile': 'default', 'precision': 1}",
    "{'precision': 0}",
    "{'linewidth': 1}",
]
CASES = [("{}", f"torch.tensor({v})") for v in VALUES] + [("{}", e) for e in BIG + DTYPES + SUFFIX]
CASES += [
    (o, e)
    for o in OPTIONS[1:]
    for e in (
        "torch.tensor([1.23456789, 20.5])",
        "torch.tensor([1., 2., 3.])",
        "torch.arange(30.) / 7",
        "torch.arange(40).view(5, 8)",
        "torch.tensor([1.5 + 2j, 3.25 - 1e-5j] * 5)",
        "torch.tensor([1e-5, 1., float('nan')])",
        "torch.arange(1200)",
        "torch.arange(60., requires_grad=True).view(3, 4, 5) * 1.5",
        "torch.tensor(3.14159)",
    )
]
SCRIPT = """
import math, pickle, sys, torch
out = []
for options, e in pickle.load(sys.stdin.buffer):
    t = eval(e)
    with torch._tensor_str.printoptions(**eval(options)):
        text = torch.Tensor.__repr__(t)
    d = t.detach()
    plain = d.as_subclass(torch.Tensor)
    raw = None if d.is_meta else plain.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    node = None if t.grad_fn is None else type(t.grad_fn).__name__
    cls = type(t)
    facts = str(t.dtype)[6:], tuple(t.shape), str(t.device), t.requires_grad, node, cls.__module__, cls.__name__
    out.append((text, raw, *facts))
pickle.dump(out, sys.stdout.buffer)
"""


@pytest.fixture(scope="module")
def oracle():
    if not ORACLE:
        pytest.skip("MINDTORCH_ORACLE_PYTHON is not set")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MINDTORCH", "PYTHON"))}
    r = subprocess.run([ORACLE, "-c", SCRIPT], input=pickle.dumps(CASES), capture_output=True, timeout=120, env=env)
    assert r.returncode == 0, r.stderr.decode()[-2000:]
    return dict(zip(CASES, pickle.loads(r.stdout)))


def stand_in(raw, dtype, shape, where, requires_grad, node, module, name):
    d = dt.ALL[dtype]
    array = None if raw is None else np.frombuffer(raw, d.np).reshape(shape)
    cls = type(name, (), {"__module__": module, "_array": lambda self: array})
    t = cls()
    vars(t).update(
        dtype=d, shape=shape, device=device(where), requires_grad=requires_grad, grad_fn=node and type(node, (), {})()
    )
    return t


@pytest.mark.parametrize("case", CASES, ids=lambda c: " ".join(c)[:90])
def test_same_text(oracle, case):
    text, *rest = oracle[case]
    with printing.printoptions(**eval(case[0])):
        assert printing.tensor_str(stand_in(*rest)) == text


def test_default_dtype_and_contents():
    t = types.SimpleNamespace(
        dtype=dt.float32,
        shape=(2,),
        device=device("cpu"),
        requires_grad=False,
        grad_fn=None,
        _array=lambda: np.ones(2, "f4"),
    )
    dt._State.default = dt.float64
    try:
        assert printing.tensor_str(t) == "SimpleNamespace([1., 1.], dtype=torch.float32)"
    finally:
        dt._State.default = dt.float32
    assert printing.tensor_str(t, tensor_contents="x") == "SimpleNamespace(x)"


def test_options_come_back():
    before = printing.get_printoptions()
    with printing.printoptions(profile="full", precision=7, sci_mode=True):
        now = printing.get_printoptions()
        assert now["threshold"] == float("inf") and now["precision"] == 7 and now["sci_mode"] is True
    assert (
        printing.get_printoptions()
        == before
        == {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    )
