"""Tests that the signatures in a TypeError follow from PyTorch's schemas and are those that PyTorch lists."""

import json

import pytest

from mindtorch_proxy.runtime import ops  # noqa: F401
from mindtorch_proxy.runtime.signatures import signatures

# calls every method and function with invalid arguments, and prints the signatures in its error
LISTED = """
import json, warnings, torch
warnings.simplefilter("ignore")

def listed(f, *args):
    try:
        f(*args, *[object()] * 14)
    except TypeError as e:
        text = str(e).partition(" but expected ")[2].removeprefix("one of:")
        return [line.removeprefix(" * ")[1:-1] for line in text.splitlines() if line]
    except Exception:
        pass
    return []

spaces = {"": torch, "linalg_": torch.linalg, "special_": torch.special}
functions = {p + n: getattr(m, n) for p, m in spaces.items() for n in dir(m) if n[0] != "_"}
methods = {n: getattr(torch.Tensor, n) for n in dir(torch.Tensor) if n[0] != "_"}
print(json.dumps([
    {n: listed(f) for n, f in functions.items() if callable(f) and not isinstance(f, type)},
    {n: listed(f, torch.ones(2, 3)) for n, f in methods.items() if callable(f)},
]))
"""

# {name: why no schema of that name describes its arguments}
OTHERWISE = {
    "dsmm": "PyTorch's mm under another name",
    "spmm": "PyTorch's mm under another name",
    "saddmm": "PyTorch's addmm under another name",
    "is_autocast_enabled": "no operator: a state of the process",
    "set_autocast_enabled": "no operator: a state of the process",
    **dict.fromkeys(
        (f"sparse_{layout}_tensor" for layout in ("bsc", "bsr", "compressed", "coo", "csc", "csr")),
        "bound by hand in PyTorch; Python functions here",
    ),
}


@pytest.fixture(scope="module")
def listed(oracle_python, python):
    return json.loads(python("-c", LISTED, executable=oracle_python))


@pytest.mark.parametrize("method", [False, True])
def test_signatures_are_those_that_pytorch_lists(listed, method):
    ours = {name: [", ".join(s) for s in signatures(name, method) or ()] for name in listed[method]}
    wrong = {name: (ours[name], expected) for name, expected in listed[method].items() if ours[name] != expected}
    assert {name: found for name, found in wrong.items() if name not in OTHERWISE} == {}
    assert method or OTHERWISE.keys() == OTHERWISE.keys() & wrong.keys(), "these agree: take them off the list"
    assert sum(map(bool, ours.values())) > 100
