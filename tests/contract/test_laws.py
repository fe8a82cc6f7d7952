"""The laws that no import shows: formulas and composites know no memory and no device; every operator is complete."""

import ast
import importlib
import re
from pathlib import Path

import pytest
import torch

from mindtorch_proxy.runtime import ops
from mindtorch_proxy.runtime.registry import operators

ROOT = Path(ops.__file__).resolve().parents[2]
MEMORY = {"_array", "_mstensor", "_ms", "_np", "_get_storage", "untyped_storage", "storage", "data_ptr", "numpy"}


def sources():
    return sorted((ROOT / "runtime" / "ops").glob("*.py"))


def formulas(tree):
    """Lambdas inside derivative=..., functions that are composites, and the module's functions that formulas call by name."""
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    found, todo = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            todo += [k.value for k in node.keywords if k.arg == "derivative"]
        if isinstance(node, ast.FunctionDef) and any(isinstance(d, ast.Call) and getattr(d.func, "id", "") == "composite" for d in node.decorator_list):
            todo.append(node)
    done = set()
    while todo:
        node = todo.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        found.append(node)
        todo += [functions[n.id] for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in functions]
    return found


# they make tensors from host data or read one value on the host: PyTorch's own functions of these names do the same
HOST = {"creation.py", "random.py"}


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.name)
def test_formulas_and_composites_touch_no_memory_and_ask_for_no_device(path):
    bad = []
    for node in formulas(ast.parse(path.read_text())):
        for n in ast.walk(node):
            if isinstance(n, ast.Attribute) and n.attr in MEMORY and path.name not in HOST:
                bad.append(f"{path.name}:{n.lineno} .{n.attr}")
            if isinstance(n, ast.Name) and n.id == "np" and path.name not in HOST:
                bad.append(f"{path.name}:{n.lineno} np")
            if isinstance(n, ast.Attribute) and n.attr in ("is_cuda", "is_npu", "is_cpu"):
                bad.append(f"{path.name}:{n.lineno} .{n.attr}")
            if isinstance(n, ast.Attribute) and n.attr == "type" and isinstance(n.value, ast.Attribute) and n.value.attr == "device":
                bad.append(f"{path.name}:{n.lineno} .device.type")
    assert not bad


def test_every_operator_has_a_schema_and_a_meta_kernel():
    for o in operators():
        assert o.schema.name and o.schema.returns
        assert o.fn or o.geometry or o.promote is not None or o.meta or o.options.memory, f"{o.full} has no meta kernel"


def test_every_primitive_operator_of_pytorch_that_is_differentiable_is_here(oracle_python, python):
    """PyTorch's own list, from the real torch's wheel."""
    text = python(
        "-c",
        "import os, torchgen; print(open(os.path.join(os.path.dirname(torchgen.__file__), 'packaged/autograd/derivatives.yaml')).read())",
        executable=oracle_python,
    )
    known, name, formulas_ = {}, None, False
    for line in text.splitlines():
        if m := re.match(r"- name: (\w+?)(?:\.(\w+))?\(", line):
            if name:
                known[name] = known.get(name, False) or formulas_
            name, formulas_ = m.group(1), False
        elif m := re.match(r"  (\w+(?:, \w+)*): (.*)", line):
            if (
                m.group(1) not in ("result", "output_differentiability", "dispatch")
                and m.group(2) != "non_differentiable"
                and "not_implemented" not in m.group(2)
            ):
                formulas_ = True
    missing = [
        o.full
        for o in operators()
        if o.fn is None
        and o.derivative is None
        and not o.options.memory
        and o.namespace == "torch"
        and not o.key.startswith("_")
        and known.get(o.name)
        and not o.options.integral
    ]
    assert not missing, f"without a derivative here, differentiable in PyTorch: {missing}"


def test_nothing_but_the_door_imports_mindspore():
    bad = []
    for room in ("mindtorch_proxy", "runtime", "backends", "stubs"):
        for path in (ROOT / room).rglob("*.py"):
            text = path.read_text()
            if re.search(r"^\s*(import|from) mindspore\b", text, re.M) and path != ROOT / "runtime" / "pyboost.py":
                bad.append(str(path))
            if re.search(r"mindspore\.(mint|nn|numpy)\b", text):
                bad.append(str(path))
    assert not bad


def test_the_product_names_no_library_it_serves():
    bad = [
        str(p)
        for room in ("mindtorch_proxy", "runtime", "backends", "stubs")
        for p in (ROOT / room).rglob("*.py")
        if re.search(r"^\s*(import|from) (transformers|safetensors|accelerate|peft|diffusers)\b", p.read_text(), re.M)
    ]
    assert not bad


def test_missing_names_are_missing():
    with pytest.raises(AttributeError):
        torch.no_such_function
    with pytest.raises(AttributeError):
        torch.Tensor.no_such_method
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch.no_such_module")


def test_unsupported_says_operator_dtype_and_device():
    x = torch.empty(2, dtype=torch.float8_e4m3fn)
    with pytest.raises(NotImplementedError, match="(?s)exp.*cpu.*float8_e4m3fn"):
        torch.exp(x)
