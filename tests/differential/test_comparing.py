"""The comparator sees what it should see."""

import numpy as np
import pytest
from comparing import NEAR, differences, drift, same


def tensor(values, dtype="float32", stride=(1,), grad=False):
    a = np.asarray(values, dtype)
    return ("tensor", f"torch.{dtype}", a.shape, stride, grad, a)


X = [1.0, float("nan"), float("inf"), -2.0]
EQUAL = [
    (tensor(X), tensor(X)),
    (tensor([1.000001]), tensor([1.0])),
    (float("nan"), float("nan")),
    (1.000001, 1.0),
    (("raises", "ValueError", "a"), ("raises", "ValueError", "b")),
    ({"a": [1, "x", None, ("size", (2,))]}, {"a": [1, "x", None, ("size", (2,))]}),
    (tensor([True], "bool"), tensor([True], "bool")),
]
UNEQUAL = [
    (tensor([1.0, 2.0]), tensor([1.0, 2.001])),
    (tensor([float("nan")]), tensor([1.0])),
    (tensor([1.0]), tensor([float("inf")])),
    (tensor([1.0]), tensor([1.0], "float64")),
    (tensor([1.0]), tensor([1.0], stride=(2,))),
    (tensor([1.0]), tensor([1.0], grad=True)),
    (tensor([2**62], "int64"), tensor([2**62 + 1], "int64")),
    (tensor([1.0]), ("raises", "ValueError", "b")),
    (("raises", "TypeError", "b"), ("raises", "ValueError", "b")),
    ("x", tensor([1.0])),
    ([1], [1, 2]),
    ({"a": 1}, {"b": 1}),
    (1, True),
    (float("nan"), 1.0),
    (1.1, 1.0),
    (np.ones(2, "f4"), np.ones(3, "f4")),
]


@pytest.mark.parametrize("ours, theirs", EQUAL)
def test_equal(ours, theirs):
    same([ours], [theirs])


@pytest.mark.parametrize("ours, theirs", UNEQUAL)
def test_unequal(ours, theirs):
    with pytest.raises(AssertionError, match=r"result\[0\]"):
        same([ours], [theirs])


def test_strides_and_programs():
    assert not [*differences(tensor([1.0]), tensor([1.0], stride=(2,)), strides=False)]
    ours, theirs = {"x": np.float32([100.0, 1e-4])}, {"x": np.float32([100.0, 2e-4])}
    assert [*drift(ours, theirs, "x")] and not [*drift(ours, theirs, "x", near=NEAR)]
    assert [*drift({"x": np.int64([1])}, {"x": np.int64([2])}, "x", near=(1, 1))]
