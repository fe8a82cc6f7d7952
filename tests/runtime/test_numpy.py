"""NumPy 1 and NumPy 2 alike: the state of NumPy's errors, MindSpore's look for NumPy's C interface, arrays over
MindSpore's memory.
"""

import os
import threading
import warnings

import ml_dtypes
import numpy as np
import pytest
import torch

from mindtorch_proxy.backends import quiet
from mindtorch_proxy.backends.host import alias
from mindtorch_proxy.runtime import pyboost

ONE, ZERO = np.array([1.0]), np.array([0.0])
IS_1 = pyboost.NUMPY_1


@pytest.fixture(params=["numpy_1", "numpy_2", "any_numpy"])
def way(request):
    """(silence, restore, unwarned) in each of the ways that this NumPy has."""
    if request.param == ("numpy_2" if IS_1 else "numpy_1"):
        with pytest.raises((ImportError, AttributeError)):
            getattr(quiet, request.param)()
        pytest.skip("another NumPy's")
    return getattr(quiet, request.param)()


def test_errors_are_silent_between_the_two_and_as_before_after_them(way):
    silence, restore, _ = way
    with np.errstate(all="raise", under="ignore"):
        state = np.geterr()
        before = silence()
        inner = silence()  # one within the other
        assert np.isinf(ONE / ZERO)
        restore(inner)
        assert np.isinf(ONE / ZERO) and set(np.geterr().values()) == {"ignore"}
        restore(before)
        assert np.geterr() == state
        with pytest.raises(FloatingPointError):
            ONE / ZERO


def test_one_call_without_warnings(way):
    *_, unwarned = way
    out = np.empty(1)
    with np.errstate(all="raise"):
        state = np.geterr()
        assert unwarned(np.divide, ONE, ZERO, out) is out and np.isinf(out)
        with pytest.raises(TypeError):
            unwarned(np.divide, ONE, "a")
        assert np.geterr() == state


def test_another_thread_keeps_its_own_state(way):
    silence, restore, _ = way
    before, seen = silence(), []
    thread = threading.Thread(target=lambda: seen.append(np.geterr()["divide"]))
    thread.start()
    thread.join()
    restore(before)
    assert seen == ["warn"]


def test_the_guard_restores_after_an_error():
    state = np.geterr()
    with pytest.raises(KeyError), quiet.quiet():
        raise KeyError
    assert np.geterr() == state


def test_what_is_not_there_is_passed_over(monkeypatch):
    """The fastest way that a NumPy has; np.errstate where it has neither of the two."""

    def missing():
        raise AttributeError

    assert quiet._fastest()[0].__class__ is (quiet.numpy_1 if IS_1 else quiet.numpy_2)()[0].__class__
    monkeypatch.setattr(quiet, "numpy_1", missing)
    monkeypatch.setattr(quiet, "numpy_2", missing)
    silence, restore, _ = quiet._fastest()
    before = silence()
    assert isinstance(before, np.errstate)
    restore(before)


def test_programs_keep_their_error_state():
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        state = np.geterr()
        assert torch.ones(3).div(0).isinf().all() and torch.tensor([-1.0, 1.0]).log()[0].isnan()
        assert np.geterr() == state


def test_mindspore_says_nothing_of_numpy_and_leaves_no_trace(python):
    """The first call with a number is right, and what shows errors is the program's own again."""
    code = """
import ctypes, io, sys, torch
shown = sys.stderr = io.StringIO()
hook = sys.excepthook = lambda *error: print("shown", error)
sys.last_value = kept = KeyError("of the program")
from mindtorch_proxy.runtime import pyboost
pyboost.mindspore()
assert sys.stderr is shown and sys.excepthook is hook and sys.last_value is kept and not hasattr(sys, "last_type")
assert not ctypes.pythonapi.PyErr_Occurred() and "NumPy" not in shown.getvalue()
x = torch.arange(3, dtype=torch.int32)._mstensor()
doubled = (torch.ones(2, 2, requires_grad=True) * 2).sum().item()
print(pyboost.primitive("AddExt")(x, x, 2), doubled, torch.ones(4).reshape(2, 2).sum(1).tolist())
"""
    done = python("-m", "mindtorch_proxy", "-c", code, check=False)
    assert done.returncode == 0 and "NumPy" not in done.stderr, done.stderr
    assert done.stdout.splitlines()[-1] == "[0 3 6] 8.0 [2.0, 2.0]"


@pytest.mark.parametrize(
    "dtype",
    [ml_dtypes.bfloat16, np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.bool_, np.complex64],
)
def test_arrays_over_mindspore_s_memory(dtype):
    a = np.arange(6).reshape(2, 3).astype(dtype)
    t = pyboost.tensor_from_array(a)
    b = alias(t)
    assert b.dtype == a.dtype and b.shape == a.shape and b.tobytes() == a.tobytes() and b.ctypes.data == a.ctypes.data
    assert alias(pyboost.tensor_from_array(a[0, :1].reshape(()).copy())).shape == ()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_half_types_in_kernels_that_look_at_values(dtype):
    """MindSpore's own way to an array refuses bfloat16 beside NumPy 2."""
    x = torch.tensor([[3.0, -1.0, 2.0, 0.5], [1.0, 4.0, -2.0, 8.0]], dtype=dtype)
    assert x.sort(1)[1].tolist() == [[1, 3, 2, 0], [2, 0, 1, 3]] and x.topk(2)[1].tolist() == [[0, 2], [3, 1]]
    assert torch.tensor(2.0, dtype=dtype).repeat(2).tolist() == [2.0, 2.0] and x.cumsum(1)[0, -1].item() == 4.5
    assert (
        torch.nn.functional.group_norm(x.reshape(2, 4, 1), 2).dtype is dtype
        and torch.nn.functional.batch_norm(x, None, None, training=True).dtype is dtype
    )
    assert torch.nn.functional.avg_pool1d(x[None], 2).tolist() == [[[1.0, 1.25], [2.5, 3.0]]]
    grown = torch.nn.functional.interpolate(x[None], size=8, mode="linear")
    assert grown.dtype is dtype and torch.linalg.qr(x.float())[1].shape == (2, 4)
    assert torch.nn.functional.embedding(torch.tensor([1, 0]), x.clone().requires_grad_()).sum().backward() is None


@pytest.mark.skipif(os.cpu_count() < 2, reason="OpenBLAS has one thread on one core")
def test_openblas_is_found(python):
    """The number of its threads is read and set, by the names of either NumPy's wheel."""
    code = """
import os
os.sched_setaffinity(0, range(os.cpu_count()))  # workers of xdist have a core each
import torch
from mindtorch_proxy.backends.cpu import blas
change, current = blas._openblas()
before = current()
change(1)
print(before > 1, current())
"""
    assert python("-m", "mindtorch_proxy", "-c", code, OMP_NUM_THREADS=None, OPENBLAS_NUM_THREADS=None) == "True 1"
