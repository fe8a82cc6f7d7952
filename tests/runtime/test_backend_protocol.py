"""What the runtime asks of a device stands in one protocol: a backend from outside fills it, and one that lacks
something fails when it registers.
"""

import io

import pytest
import torch

from mindtorch_proxy.runtime import backend
from mindtorch_proxy.runtime.report import report


@pytest.fixture(scope="module")
def toy():
    from tests.runtime.toy_backend import Toy

    torch.utils.rename_privateuse1_backend("toy")
    implementation = Toy()
    backend.register("toy", implementation)
    yield implementation
    backend._by_type.pop("toy")
    backend._by_device.clear()


def test_a_backend_that_lacks_a_method_fails_when_it_is_registered():
    class Half:
        host, plans = True, []

        def empty(self, shape, dtype, device):
            return None

    with pytest.raises(TypeError, match="'half' lacks .*plan.*write"):
        backend.register("half", Half())
    with pytest.raises(KeyError):
        backend.of_type("half")


@pytest.mark.parametrize("device_type", ["cpu", "meta", "npu"])
def test_our_own_fill_it(device_type):
    implementation = backend.of_type(device_type)
    backend.register(device_type, implementation)
    assert isinstance(implementation.host, bool)


def test_arithmetic_views_and_gradients_on_a_device_from_outside(toy):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device="toy", requires_grad=True)
    assert x.device == torch.device("toy", 0)
    y = x * 2 + x.T
    assert y.device.type == "toy" and y.grad_fn is not None
    y.backward(torch.ones(2, 2, device="toy"))
    assert x.grad.device.type == "toy"
    assert x.grad.cpu().tolist() == [[3, 3], [3, 3]]
    assert y.cpu().tolist() == [[3, 7], [8, 12]]


def test_writing_reading_and_printing(toy):
    x = torch.zeros(2, 3, device="toy:1")
    x[1] = torch.tensor([1.0, 2.0, 3.0], device="toy:1")
    x[:, 0] = torch.tensor([8.0, 9.0])
    assert x.tolist() == [[8, 0, 0], [9, 2, 3]]
    assert x[1, 2].item() == 3
    assert repr(x) == "tensor([[8., 0., 0.],\n        [9., 2., 3.]], device='toy:1')"
    with pytest.raises(TypeError, match="can't convert toy:1 device type tensor to numpy"):
        x.numpy()


def test_what_it_lacks_says_operator_dtype_and_device(toy):
    with pytest.raises(NotImplementedError, match="(?s)erfinv.*float32.*toy:0"):
        torch.ones(2, device="toy").erfinv()
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device="toy") + torch.ones(2)


def test_decompositions_are_found(toy):
    x = torch.tensor([1.0, 2.0], device="toy")
    assert (x - torch.tensor([1.0, 1.0], device="toy")).cpu().tolist() == [0, 1]
    a, b = torch.ones(2, 2, 3, device="toy"), torch.ones(2, 3, 4, device="toy")
    assert torch.matmul(a, b).cpu().tolist() == torch.full((2, 2, 4), 3.0).tolist()
    assert any(k["device"] == "toy" and k["op"] == "_bmm" for k in report()["kernels"])


def test_saving(toy):
    file = io.BytesIO()
    torch.save(torch.ones(3, device="toy").cpu(), file)
    file.seek(0)
    assert torch.load(file).tolist() == [1, 1, 1]


def test_the_name_is_given_once(toy):
    torch.utils.rename_privateuse1_backend("toy")
    with pytest.raises(RuntimeError, match="already been set"):
        torch.utils.rename_privateuse1_backend("other")
    assert torch.device("privateuseone:1") == torch.device("toy:1")
    assert torch._C._get_privateuse1_backend_name() == "toy"
