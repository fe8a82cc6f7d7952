"""Tests that `python -m mindtorch_proxy where` shows the declaration, gradient, kernels and tests of a public name."""

import ast
import inspect
import random
import re
from pathlib import Path

import pytest
import torch

from mindtorch_proxy import where
from mindtorch_proxy.backends.cpu import table
from mindtorch_proxy.runtime.registry import names, operators

ROOT = Path(__file__).resolve().parents[2]


def text(name):
    return "\n".join(where.lines(name))


def public_names():
    spaces = {
        "torch.": "torch",
        "torch.Tensor.": "Tensor",
        "torch.nn.functional.": "nn.functional",
        "torch.linalg.": "linalg",
    }
    operators = [prefix + name for prefix, space in spaces.items() for name in names(space) if name[0] != "_"]
    modules = (torch.nn, torch.optim, torch.distributions, torch.utils.data)
    written = [
        f"{module.__name__}.{name}"
        for module in modules
        for name in dir(module)
        if name[0] != "_" and inspect.isclass(getattr(module, name))
    ]
    return random.Random(36).sample(sorted(operators), 60) + random.Random(36).sample(sorted(written), 20)


@pytest.mark.parametrize("name", public_names())
def test_public_names(name):
    found = text(name)
    places = re.findall(r"(\S+\.py):(\d+)", found)
    assert places and "declared" in found or "written in Python" in found
    for file, line in places:
        path = ROOT / file
        assert path.exists() and 0 < int(line) <= len(path.read_text().splitlines())


def test_every_operator_and_kernel_knows_its_place():
    for op in operators():
        assert op.where, op
        for kernel in table.kernels(op):
            assert kernel.where or kernel.kind == "composite", (op, kernel.why)


def test_a_function_leads_to_its_kernel():
    found = text("torch.nn.functional.layer_norm")
    tree = ast.parse((ROOT / "backends/cpu/kernels/norm.py").read_text())
    made = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "norm_backward")
    at = re.findall(r"backends/cpu/kernels/norm.py:(\d+) norm_backward\(\)", found)
    assert at and made.decorator_list[0].lineno <= int(at[0]) <= made.lineno  # starting at the decorator
    assert "native_layer_norm_backward" in found and "_C.norm_backward" in found


def test_names_as_compare_and_report_write_them():
    assert "backends/cpu/kernels/norm.py" in text("native_layer_norm_backward.default")
    assert "backends/cpu/kernels/norm.py" in text("_C.norm_backward")
    assert text("add.Tensor").startswith("add.Tensor\n  add(")


def test_operators_of_the_dispatcher():
    assert "backends/cpu" in text("torch.ops.aten.add") and "add(Tensor|Scalar self" in text(
        "torch.ops.aten.add.Tensor"
    )
    assert "written in Python" in text("torch.ops._c10d_functional.all_reduce")


def test_unknown_names(python):
    done = python("-m", "mindtorch_proxy", "where", "torch.no_such_name", check=False)
    assert (done.returncode, done.stdout) == (1, "") and "torch has no torch.no_such_name" in done.stderr


def test_reports_name_the_entry():
    from mindtorch_proxy.runtime.report import report

    torch.ones(3).exp2()
    places = {kernel["op"]: kernel["where"] for kernel in report()["kernels"]}
    assert re.fullmatch(
        r".*/(runtime|backends)/.*\.py:\d+", places["special.exp2"] if "special.exp2" in places else places["exp2"]
    )
