"""Tensor and storage: aliasing, versions, what is shared and what is not."""

import copy

import numpy as np
import pytest
import torch


def test_numpy_shares_memory_both_ways():
    a = np.zeros((2, 3), np.float32)
    t = torch.from_numpy(a)
    t[0, 1] = 5
    assert a[0, 1] == 5
    a[1] = 7
    assert t[1].tolist() == [7, 7, 7]
    n = torch.ones(3).add(1).numpy()
    assert n.flags.writeable


def test_result_of_a_kernel_can_be_written_and_computed_with_again():
    t = torch.ones(4) + 1
    t[::2] = 0
    assert (t * 3).tolist() == [0, 6, 0, 6]
    t.numpy()[1] = 9
    assert (t + 0).tolist() == [0, 9, 0, 2]


def test_detach_shares_version_data_does_not():
    x = torch.ones(2)
    d, data = x.detach(), x.data
    x.add_(1)
    assert d._version == x._version == 1 and data._version == 0
    assert d.tolist() == data.tolist() == [2, 2]


def test_modified_saved_tensor_is_found():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_views_of_views_share_one_base():
    x = torch.zeros(4, 4)
    v = x[1:][:, 1:].t()
    v.fill_(3)
    assert v._base is x and x.sum().item() == 27


def test_deepcopy_keeps_shared_storages_shared():
    x = torch.arange(6.0)
    pair = copy.deepcopy([x, x[2:4]])
    pair[1].fill_(0)
    assert pair[0].tolist() == [0, 1, 0, 0, 4, 5] and x.tolist() == [0, 1, 2, 3, 4, 5]


def test_storages_copy_a_buffer():
    buffer = bytearray(range(8))
    storage = torch.ByteStorage.from_buffer(buffer, count=3, offset=2)
    storage[0] = 9
    assert torch.ByteTensor(storage).tolist() == [9, 3, 4] and buffer[2] == 2
    assert torch.ShortStorage.from_buffer(buffer, "big", 2, 3).tolist() == [0x0304, 0x0506]
    assert torch.BoolStorage.from_buffer(b"\0\2", "native").tolist() == [False, True]
    for error, args in [
        (RuntimeError, (buffer,)),
        (ValueError, (buffer, "middle")),
        (ValueError, (buffer, "native", -1, 3)),
        (ValueError, (buffer, "native", 9)),
        (ValueError, (buffer, "native", 1, 9)),
        (TypeError, (3, "native")),
    ]:
        with pytest.raises(error):
            torch.ShortStorage.from_buffer(*args)


def test_set_and_storage_pointers():
    x = torch.arange(6.0)
    y = torch.empty(0).set_(x.untyped_storage(), 2, (2, 2), (2, 1))
    assert y.tolist() == [[2, 3], [4, 5]] and y.data_ptr() == x.data_ptr() + 8
    assert x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


def test_meta_tensors_have_no_memory():
    m = torch.empty(1 << 40, device="meta")
    assert (m + 1).shape == m.shape and m.data_ptr() == 0
    with pytest.raises(NotImplementedError):
        m.tolist()


def test_subclass_results_take_the_subclass_and_parameter_results_do_not():
    class Mine(torch.Tensor):
        pass

    t = torch.ones(2).as_subclass(Mine)
    assert type(t + 1) is Mine and type(t.exp()) is Mine
    assert type(torch.nn.Parameter(torch.ones(2)) + 1) is torch.Tensor


def test_torch_function_sees_every_call():
    calls = []

    class Logged:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return 42

    assert torch.add(Logged(), 1) == 42 and torch.cat([torch.ones(1), Logged()]) == 42
    assert calls == ["add", "cat"]


def test_devices_that_are_not_here():
    with pytest.raises(RuntimeError):
        torch.ones(2, device="npu")
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        torch.ones(2, device="cuda")
