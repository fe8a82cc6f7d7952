"""Tests rules that imports do not show: formulas and composites use no memory or device; operators are complete."""

import functools
import importlib
import inspect
import re
import types
from pathlib import Path

import pytest
import torch

from mindtorch_proxy.backends import plan  # noqa: F401  (the decompositions)
from mindtorch_proxy.runtime import ops
from mindtorch_proxy.runtime.registry import DECOMPOSITIONS, operators

ROOT = Path(ops.__file__).resolve().parents[2]


def formulas():
    """Yield (operator, function) for every derivative, composite and decomposition.

    Methods that move tensors or change their memory, as PyTorch's do, are left out.
    """
    for o in operators():
        found = o.derivative.values() if isinstance(o.derivative, dict) else (o.derivative,)
        yield from ((o.full, f) for f in (*found, o.fn) if f is not None and not o.options.hands_over)
    yield from DECOMPOSITIONS.items()


def reached(function, seen):
    """Yield the code in runtime/ that a function runs: its own, nested functions, called names and closure values."""
    function = inspect.unwrap(getattr(function, "func", function))
    code = getattr(function, "__code__", None)
    if code is None or code in seen or not code.co_filename.startswith(str(ROOT / "runtime")):
        return
    seen.add(code)
    todo = [code]
    while todo:
        inner = todo.pop()
        yield inner
        todo += [c for c in inner.co_consts if isinstance(c, types.CodeType)]
        for name in inner.co_names:
            f = function.__globals__.get(name)
            if isinstance(f, (types.FunctionType, functools.partial)) and not getattr(f, "__module__", "").endswith(
                BELOW
            ):
                yield from reached(f, seen)
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, types.FunctionType):
            yield from reached(cell.cell_contents, seen)


# the pipeline and autograd's engine, which may use what formulas may not
BELOW = (
    ".tensor",
    ".backend",
    ".storage",
    ".pipeline",
    ".dispatch",
    ".out",
    ".inplace",
    ".geometry",
    ".bind",
    ".engine",
    ".graph",
    ".modes",
    ".public",
)
# files of operators that create tensors from host data, read values on the host or change the memory of a tensor, as
# PyTorch's do
HOST = ("creation.py", "dlpack.py")


def breaches():
    seen = set()
    for name, f in formulas():
        for code in reached(f, seen):
            file = Path(code.co_filename).name
            if file in HOST:
                continue
            bad = sorted(FORBIDDEN & {*code.co_names})
            if bad:
                yield f"{name}: {file}:{code.co_firstlineno} {code.co_name} uses {', '.join(bad)}"


FORBIDDEN = {
    "_array",
    "_mstensor",
    "_ms",
    "_np",
    "_get_storage",
    "untyped_storage",
    "storage",
    "data_ptr",
    "numpy",
    "np",
    "is_cuda",
    "is_npu",
    "is_cpu",
    "pyboost",
}


def test_formulas_and_composites_touch_no_memory_and_ask_for_no_device():
    assert not list(breaches())


def test_every_operator_has_a_schema_and_a_meta_kernel():
    for o in operators():
        assert o.schema.name and isinstance(o.schema.returns, list)
        assert o.fn or o.geometry or o.promote is not None or o.meta or o.options.memory, f"{o.full} has no meta kernel"


def test_every_primitive_operator_of_pytorch_that_is_differentiable_is_here(oracle_python, python):
    """Compare with PyTorch's own list in the wheel of the real torch."""
    text = python(
        "-c",
        "import os, torchgen; print(open(os.path.join(os.path.dirname(torchgen.__file__), "
        "'packaged/autograd/derivatives.yaml')).read())",
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
    for folder in ("mindtorch_proxy", "runtime", "backends", "stubs"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if re.search(r"^\s*(import|from) mindspore\b", text, re.M) and path != ROOT / "runtime" / "pyboost.py":
                bad.append(str(path))
            if re.search(r"mindspore\.(mint|nn|numpy)\b", text):
                bad.append(str(path))
    assert not bad


def test_the_product_names_no_library_it_serves():
    named = re.compile(r"transformers|hugging ?face|safetensors|\baccelerate\b|\bpeft\b|diffusers|\btimm\b", re.I)
    # names in PyTorch itself: torch.distributed.checkpoint.hf_storage, and its file format
    theirs = {"hf_storage.py", "_hf_utils.py", "_consolidate_hf_safetensors.py"}
    own = re.compile(r"HuggingFaceStorage(Reader|Writer)")
    files = [p for folder in ("mindtorch_proxy", "runtime", "backends", "stubs") for p in (ROOT / folder).rglob("*.py")]
    assert not [str(p) for p in files if p.name not in theirs and named.search(own.sub("", p.read_text()))]
    imported = re.compile(r"^\s*(import|from) (?!\.|torch|json|struct|pathlib|math|dataclasses|concurrent)", re.M)
    assert not [str(p) for p in files if p.name in theirs and imported.search(p.read_text())]


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
