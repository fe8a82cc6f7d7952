"""Networks' functions: what the corpus does not hold."""

import math

import pytest
import torch
import torch.nn.functional as F

from mindtorch_proxy.backends import plan  # noqa: F401  (the decompositions)
from mindtorch_proxy.runtime.registry import DECOMPOSITIONS


def test_errors_come_before_the_kernel():
    """Indices out of range are refused by name, and the next call is right."""
    weight = torch.ones(4, 2)
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(torch.tensor([4]), weight)
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 7]))
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(torch.tensor([3]), 3)
    assert F.embedding(torch.tensor([3]), weight).tolist() == [[1, 1]]
    assert F.nll_loss(torch.ones(2, 3), torch.tensor([0, 2])).item() == -1


def test_ignored_targets():
    x = torch.randn(3, 4, requires_grad=True)
    loss = F.cross_entropy(x, torch.tensor([1, -100, 2]), reduction="none")
    assert loss[1].item() == 0
    assert torch.autograd.grad(loss.sum(), x)[0][1].tolist() == [0, 0, 0, 0]
    assert math.isnan(F.cross_entropy(x, torch.full((3,), -100)).item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("strided", [False, True])
def test_running_statistics_are_written_where_they_are(dtype, strided):
    """Whatever the memory of the buffers; PyTorch counts no version."""
    mean, var = torch.zeros(3, 2, dtype=dtype)[:, 0], torch.ones(3, 2, dtype=dtype)[:, 0]
    if not strided:
        mean, var = mean.contiguous(), var.contiguous()
    x = torch.arange(12.0).reshape(4, 3).to(dtype)
    before = mean._version
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    torch.testing.assert_close(mean.float(), torch.tensor([2.25, 2.75, 3.25]), rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(var.float(), torch.full((3,), 8.0), rtol=1e-2, atol=1e-2)
    assert mean._version == before


@pytest.mark.parametrize("n", [3, 80])
def test_windows_far_larger_than_the_image_take_no_memory(n):
    x = torch.randn(2, 3, n, n, requires_grad=True)
    y = F.avg_pool2d(x, 2560, ceil_mode=True)
    assert torch.allclose(y, x.mean((2, 3), keepdim=True), atol=1e-6)
    y.sum().backward()
    assert torch.allclose(x.grad, torch.full_like(x, 1 / n**2))
    assert torch.equal(F.max_pool2d(x, 2560, ceil_mode=True), x.amax((2, 3), keepdim=True))
    with pytest.raises(
        RuntimeError, match=r"input image \(T: 3 H: 4 W: 5\) smaller than kernel size \(kT: 3 kH: 5 kW: 3\)"
    ):
        F.avg_pool3d(torch.randn(1, 2, 3, 4, 5), (3, 5, 3), ceil_mode=True)


def test_pools_keep_nan_and_infinity():
    nan, inf = math.nan, math.inf
    x = torch.tensor([[[1, nan, 3, -inf, -inf, -inf]]])
    out, at = F.max_pool1d(x, 3, return_indices=True)
    assert math.isnan(out[0, 0, 0]) and out[0, 0, 1] == -inf and at.tolist() == [[[1, 3]]]
    out, at = F.adaptive_max_pool1d(x, 2, return_indices=True)
    assert math.isnan(out[0, 0, 0]) and at.tolist() == [[[1, 3]]]
    assert F.max_pool2d(torch.full((1, 1, 3, 3), -inf), 3, 2, 1).tolist() == [[[[-inf, -inf], [-inf, -inf]]]]


def test_convolution_differentiates_twice_with_output_padding_beyond_the_stride():
    """dilation > output_padding >= stride leaves room for windows that the input has not."""
    x, w = (
        torch.randn(1, 2, 5, dtype=torch.float64, requires_grad=True),
        torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True),
    )
    y = F.conv_transpose1d(x, w, output_padding=1, dilation=2)
    gx, gw = torch.autograd.grad(y.square().sum(), (x, w), create_graph=True)
    assert gx.shape == x.shape and gw.shape == w.shape
    (ggx,) = torch.autograd.grad(gx.sum() + gw.sum(), x)
    step = 1e-6
    moved = []
    for sign in (1, -1):
        z = x.detach().clone()
        z[0, 1, 2] += sign * step
        z.requires_grad_()
        loss = F.conv_transpose1d(z, w, output_padding=1, dilation=2).square().sum()
        moved.append(sum(g.sum() for g in torch.autograd.grad(loss, (z, w))))
    torch.testing.assert_close((moved[0] - moved[1]) / (2 * step), ggx[0, 1, 2], rtol=1e-5, atol=1e-6)


def test_second_derivatives_of_fused_norms():
    """create_graph takes the formula; both ways agree."""
    x, w = (
        torch.randn(4, 6, dtype=torch.float64, requires_grad=True),
        torch.randn(6, dtype=torch.float64, requires_grad=True),
    )
    g = torch.randn(4, 6, dtype=torch.float64)
    for f in (
        lambda: F.layer_norm(x, (6,), w),
        lambda: F.rms_norm(x, (6,), w),
        lambda: F.group_norm(x, 2, w),
        lambda: F.batch_norm(x, None, None, w, None, True),
    ):
        for a, b in zip(torch.autograd.grad(f(), (x, w), g), torch.autograd.grad(f(), (x, w), g, create_graph=True)):
            assert not a.requires_grad and b.requires_grad
            torch.testing.assert_close(a, b.detach())


def test_bytes_are_resampled_with_rounded_weights():
    x = torch.arange(16, dtype=torch.uint8).reshape(1, 1, 4, 4) * 16
    assert F.interpolate(x, size=(3, 3), mode="bilinear").flatten().tolist() == [
        14,
        35,
        56,
        99,
        120,
        141,
        184,
        205,
        226,
    ]
    assert F.interpolate(x, size=(2, 2), mode="bilinear", antialias=True).dtype == torch.uint8


@pytest.mark.parametrize(("mode", "width"), [("lstm", 5), ("lstm", 2), ("gru", 5), ("rnn_tanh", 5), ("rnn_relu", 5)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", [None, [3, 3, 2, 1]])
def test_recurrent_kernels_are_the_decompositions(mode, width, reverse, sizes):
    """What any device computes from the steps' operators.

    The kernels' results are compared with PyTorch's in tests/nn.
    """
    gates, pair = {"lstm": 4, "gru": 3}.get(mode, 1), mode == "lstm"
    make = lambda *shape: torch.randn(shape, dtype=torch.float64)
    x = make(4, 3, 2) if sizes is None else make(9, 2)
    tensors = [
        x,
        make(3, width),
        make(3, 5) if pair else None,
        make(gates * 5, 2),
        make(gates * 5, width),
        make(gates * 5),
        make(gates * 5),
    ]
    tensors.append(make(2, 5) if width != 5 else None)
    forward, backward = f"_{mode}_layer", f"_{mode}_layer_backward"
    results = getattr(torch, forward)(*tensors, sizes, reverse, True)
    torch.testing.assert_close(DECOMPOSITIONS[forward](*tensors, sizes, reverse, True), results)
    out, *_, kept, more = results
    args = (
        *tensors,
        torch.randn_like(out),
        torch.randn_like(results[1]),
        None,
        out,
        kept,
        more,
        sizes,
        reverse,
        [t is not None for t in tensors],
    )
    torch.testing.assert_close(DECOMPOSITIONS[backward](*args), getattr(torch, backward)(*args))


def test_lstm_under_autocast():
    layer = torch.nn.LSTM(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, (h, c) = layer(torch.randn(2, 5, 3))
    assert {t.dtype for t in (output, h, c)} == {torch.bfloat16}
    output.float().sum().backward()
    assert layer.weight_hh_l0.grad.dtype is torch.float32


def test_binary_cross_entropy_refuses_what_is_no_probability():
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
            torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, bad]), torch.ones(2))
        with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
            torch.nn.functional.binary_cross_entropy(torch.ones(2), torch.tensor([0.5, bad]))
