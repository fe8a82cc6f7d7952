"""MINDTORCH_KERNELS: the choice of kernels by time, and how it is measured."""

import json
import subprocess
import sys

import pytest
import torch

from mindtorch_proxy.backends.cpu import measured, table, tune
from mindtorch_proxy.backends.host import DTYPES
from mindtorch_proxy.runtime.registry import operators

ADD = next(o for o in operators() if o.full == "add")


def run(python, code, **variables):
    return python("-m", "mindtorch_proxy", "-c", code, **variables)


COUNT = """
import torch, mindtorch_proxy
x = torch.ones(8, 8)
x @ x
r = mindtorch_proxy.report()
print(r["choice"], *{k["kind"] for k in r["kernels"] if k["op"] == "mm"})
"""


@pytest.mark.parametrize(("choice", "kind"), [("pyboost", "pyboost"), ("balanced", "pyboost"), ("fastest", "numpy")])
def test_small_products(python, tmp_path, choice, kind):
    assert run(python, COUNT, MINDTORCH_KERNELS=choice, XDG_CACHE_HOME=tmp_path).split() == [choice, kind]


def test_this_machine_s_table_goes_first(python, tmp_path):
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps({"mindspore": tune.pyboost.version(), "kernels": {}}))
    assert run(python, COUNT, MINDTORCH_KERNELS="fastest", MINDTORCH_KERNEL_TABLE=path).split() == [
        "fastest",
        "pyboost",
    ]
    path.write_text(json.dumps({"mindspore": "0.0", "kernels": {}}))  # measured with another MindSpore
    assert run(python, COUNT, MINDTORCH_KERNELS="fastest", MINDTORCH_KERNEL_TABLE=path).split() == ["fastest", "numpy"]


def test_a_table_of_an_earlier_version_is_named_and_not_used(monkeypatch, tmp_path):
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps({"mindspore": tune.pyboost.version(), "kernels": {"mm": {"f": ["pyboost"] * 4}}}))
    monkeypatch.setenv("MINDTORCH_KERNEL_TABLE", str(path))
    with pytest.warns(UserWarning, match="kernels.json is from an earlier version"):
        assert measured.load()["mm"]["f32"][0] == "numpy"


def test_the_former_name_of_the_default(python):
    """It works with a warning for one version."""
    code = COUNT.replace(
        "import torch,", "import warnings; warnings.simplefilter('error', FutureWarning); import torch,"
    )
    assert run(python, COUNT, MINDTORCH_KERNELS="primitives").split() == ["balanced", "pyboost"]
    with pytest.raises(AssertionError, match="MINDTORCH_KERNELS=primitives is called balanced now"):
        run(python, code, MINDTORCH_KERNELS="primitives")


SLOW = """
import torch, mindtorch_proxy
x = torch.randn(100, 300)
torch.where(x > 0, torch.cat([x, x])[:100], x).sum()
x.max(1), torch.isclose(x, x).all(), x[[1, 2]], torch.nn.functional.layer_norm(x, (300,)), x.exp()
r = mindtorch_proxy.report()
print(round(r["share"], 2), *sorted({k["op"] for k in r["kernels"] if k["kind"] == "numpy" and k["role"] == "compute"}))
"""


def test_pyboost_takes_primitives_where_they_are_slow(python):
    """NumPy stands in where a primitive is wrong alone: Exp is, in float32."""
    share, *by_numpy = run(python, SLOW, MINDTORCH_KERNELS="pyboost").split()
    assert float(share) > 0.8 and by_numpy == ["exp"]
    share, *by_numpy = run(python, SLOW, MINDTORCH_KERNELS="balanced").split()
    assert float(share) < 0.4 and {"_where", "_cat", "native_layer_norm", "_isclose"} <= set(by_numpy)


def test_no_other_choice():
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_proxy", "-c", "import torch; torch.ones(2) + 1"],
        env={"MINDTORCH_KERNELS": "quick"},
        capture_output=True,
    )
    assert done.returncode and b"expected 'pyboost', 'balanced' or 'fastest'" in done.stderr


def test_ladder(monkeypatch):
    """Kernels by size: NumPy's in the classes where it was fastest, elsewhere those of primitives."""
    plain = table.ladder(ADD, torch.float32, fastest=False)
    monkeypatch.setattr(measured, "kinds", lambda full, dtype: ["numpy", "pyboost", "numpy", "pyboost"])
    found = table.ladder(ADD, torch.float32, fastest=True)
    assert [(start, k.kind) for start, k, _ in found] == [
        (0, "numpy"),
        (512, "pyboost"),
        (16384, "numpy"),
        (262144, "pyboost"),
        (table.SPREAD, "numpy"),
    ]
    assert found[1][1] is plain[0][1] and found[-1] == plain[-1]
    assert table.ladder(ADD, torch.float16, fastest=True) == table.ladder(
        ADD, torch.float16, fastest=False
    )  # NumPy's takes no half type


def test_measuring(tmp_path):
    said = []
    found = tune.measure(["mm", "bitwise_or"], lambda *told: said.append(told))
    assert found["mm"]["f32"][0] == "numpy" and len(found["mm"]["f32"]) == len(measured.SIZES)
    assert sorted(what for _, _, what in said) == ["bitwise_or torch.bool", "mm torch.float32", "mm torch.float64"]
    assert [told[:2] for told in said] == [(0, 3), (1, 3), (2, 3)]
    x = torch.ones(3, 3)
    assert (x @ x).tolist() == [[3.0] * 3] * 3


def test_the_bundled_table_names_operators_with_such_a_kernel():
    known = {o.full: o for o in operators() if o.fn is None}
    kernels = json.loads(measured.BUNDLED.read_text())["kernels"]
    assert len(kernels) > 50
    for full, of in kernels.items():
        for name in of:
            assert table.numpy_kernel(known[full], DTYPES[name]) is not None
