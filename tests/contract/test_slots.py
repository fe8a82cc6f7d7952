"""Tests that functions which create a tensor assign all of its slots, with the values of runtime.tensor.STARTS."""

import ast
import inspect

import pytest

from mindtorch_proxy.runtime import tensor
from mindtorch_proxy.runtime.call import pipeline

TREE = ast.parse(inspect.getsource(tensor))
MAKERS = {
    f.name: f
    for f in ast.walk(TREE)
    if isinstance(f, ast.FunctionDef)
    and any(isinstance(n, ast.Call) and getattr(n.func, "id", "") == "_new" for n in ast.walk(f))
}
MAKERS["the pipeline's text"] = ast.parse(
    "\n".join([*pipeline._WRAP, "out._ms = r"])
)  # the last line follows the kernel
# slots with other values in tensors that use the memory of another one, or none
OTHERWISE = {
    "strided_view": {"_storage", "_stride", "_offset"},
    "alias": {"_ms", "_np", "_storage", "_stride", "_offset"},
}
OTHERWISE["_make_wrapper_subclass"] = {"_storage", "_stride", "_offset"}
OTHERWISE |= {"wrap": {"_ms"}, "fresh": {"_np"}, "the pipeline's text": {"_ms"}}


def flat(target):
    return [t for e in target.elts for t in flat(e)] if isinstance(target, ast.Tuple) else [target]


def written(function):
    """Yield (slot, the assigned expression or None) for the tensor that a function creates."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                whole = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts) if whole else ((t, node.value) for t in flat(target))
                yield from (
                    (t.attr, value) for t, value in pairs if isinstance(t, ast.Attribute) and t.value.id in ("t", "out")
                )
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("_set_dtype", "_set_device"):
            yield node.func.id.removeprefix("_set_"), None


def test_these_are_the_makers():
    assert set(MAKERS) == set(OTHERWISE)


@pytest.mark.parametrize("name", sorted(OTHERWISE))
def test_a_maker_writes_all_slots(name):
    found = {slot: value.value if isinstance(value, ast.Constant) else ... for slot, value in written(MAKERS[name])}
    assert found.keys() == tensor.STARTS.keys()
    wrong = {slot for slot, start in tensor.STARTS.items() if start is not ... and found[slot] is not start}
    assert wrong == OTHERWISE[name]


def test_a_tensor_has_these_slots_and_no_others():
    assert {*tensor.Tensor.__slots__} - {"__weakref__", "__dict__"} == {*tensor.STARTS}
