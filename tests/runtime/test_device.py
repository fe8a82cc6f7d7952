"""torch.device, and the default device: PyTorch's answers for devices that are not there."""

import threading

import numpy as np
import pytest
import torch


@pytest.fixture(autouse=True)
def default_as_before():
    yield
    torch.set_default_device(None)


MISSING = [
    ("cuda", AssertionError, "Torch not compiled with CUDA enabled"),
    ("cuda:1", AssertionError, "Torch not compiled with CUDA enabled"),
    ("xpu", AssertionError, "Torch not compiled with XPU enabled"),
    (
        "mps",
        RuntimeError,
        "PyTorch is not linked with support for mps devices|Could not run 'aten::empty.memory_format' with arguments "
        "from the 'MPS' backend",
    ),
]


@pytest.mark.parametrize("name, error, message", MISSING)
def test_a_default_device_that_is_not_there(name, error, message):
    torch.set_default_device(name)
    for make in (lambda: torch.ones(2), lambda: torch.tensor([1]), lambda: torch.rand(2), lambda: torch.empty(0)):
        with pytest.raises(error, match=message):
            make()
    assert torch.ones(2, device="cpu").add(1).tolist() == [2, 2] and torch.from_numpy(np.ones(2)).device.type == "cpu"
    torch.set_default_device(None)
    with torch.device(name), pytest.raises(error, match=message):
        torch.ones(2)
    assert torch.ones(2).device.type == "cpu"


def test_default_device_belongs_to_the_thread_and_outlives_blocks():
    torch.set_default_device("meta")
    seen = [torch.ones(2).device.type]
    thread = threading.Thread(target=lambda: seen.append(torch.ones(2).device.type))
    thread.start(), thread.join()
    with torch.device("cpu"):
        seen.append(torch.ones(2).device.type)
    seen.append(torch.get_default_device().type)
    with torch.device("meta"):
        torch.set_default_device("cpu")
        seen.append(torch.ones(2).device.type)
    seen.append(torch.ones(2).device.type)
    assert seen == ["meta", "cpu", "cpu", "meta", "cpu", "cpu"]


def test_a_device_cannot_be_changed():
    d = torch.device("cpu")
    for name, message in [
        ("type", "attribute 'type' of 'torch.device' objects is not writable"),
        ("index", "not writable"),
        ("more", "no attribute 'more'"),
    ]:
        with pytest.raises(AttributeError, match=message):
            setattr(d, name, "meta")
        with pytest.raises(AttributeError, match=message):
            delattr(d, name)
    assert str(torch.device("cpu")) == "cpu" and torch.device("cpu").index is None


def test_what_names_no_device():
    for arguments, error, message in [
        (("cpu:01",), RuntimeError, "Invalid device string: 'cpu:01'"),
        (("cpu:x",), RuntimeError, "Invalid device string: 'cpu:x'"),
        (("cpu:0", 1), RuntimeError, "'type' must not include an index"),
        ((torch.device("cpu"), 1), RuntimeError, "'type' must not include an index"),
        (("abc",), RuntimeError, "Expected one of cpu, cuda, .* device type at start of device string: abc"),
        (("cpu", -1), RuntimeError, "Device index must not be negative"),
        ((0, 1), TypeError, "must be str, not int"),
        ((1.5,), TypeError, "got \\(float\\)"),
    ]:
        with pytest.raises(error, match=message):
            torch.device(*arguments)
    assert torch.device("meta", 2) == torch.device("meta:2") is torch.device(device="meta:2")
