"""Convolutions whose groups have one input channel each: the compiled loops give what NumPy's matrix products give."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from mindtorch_proxy.backends.cpu.kernels import conv

# (channels, multiplier, kernel, stride, padding, dilation, height, width, images)
GEOMETRIES = [
    (3, 1, (3, 3), (1, 1), (1, 1), (1, 1), 9, 13, 2),
    (2, 2, (3, 5), (2, 3), (1, 2), (2, 1), 17, 20, 1),
    (4, 1, (1, 1), (1, 1), (0, 0), (1, 1), 3, 3, 2),
    (5, 3, (2, 7), (1, 2), (4, 0), (3, 1), 11, 40, 1),
    (3, 1, (11, 11), (1, 1), (0, 0), (1, 1), 24, 24, 2),
    (2, 1, (4, 4), (3, 3), (6, 6), (2, 2), 10, 11, 2),
    (2, 1, (3, 3), (5, 5), (1, 1), (1, 1), 12, 12, 1),
    (2, 1, (1, 3), (4, 4), (0, 0), (1, 1), 9, 70, 1),
]


def results(c, m, k, s, p, d, h, w, n):
    """Results and gradients of convolutions of two dimensions and one, and of transposed ones, in float64."""
    torch.manual_seed(0)
    x, weight = (torch.randn(*size, dtype=torch.float64) for size in ((n, c, h, w), (c * m, 1, *k)))
    x.requires_grad_(), weight.requires_grad_()
    found = []
    for y in (
        F.conv2d(x, weight, None, s, p, d, c),
        F.conv1d(x[:, :, 0], weight[:, :, 0], None, s[1], p[1], d[1], c),
        *([F.conv_transpose2d(x, weight, None, s, p, [a - 1 for a in s], c, d)] if m == 1 else []),
    ):
        found += [y, *torch.autograd.grad(y, (x, weight), torch.randn_like(y))]
    return [t.detach().numpy() for t in found]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_compiled_loops_give_what_matrix_products_give(geometry, monkeypatch):
    if conv.depthwise is None:
        pytest.skip("depthwise.c is not compiled here")
    compiled = results(*geometry)
    monkeypatch.setattr(conv, "depthwise", None)
    plain = results(*geometry)
    assert len(compiled) == len(plain) >= 6
    for a, b in zip(compiled, plain):
        assert a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_other_dtypes_are_as_near_to_float64_as_they_can_be(dtype):
    x, weight = torch.randn(2, 4, 9, 17), torch.randn(8, 1, 3, 3)
    y = F.conv2d(x.to(dtype), weight.to(dtype), padding=1, groups=4)
    exact = F.conv2d(x.to(dtype).double(), weight.to(dtype).double(), padding=1, groups=4)
    assert y.dtype is dtype
    assert (y.double() - exact).abs().max() <= 8 * torch.finfo(dtype).eps * exact.abs().max()


def test_strided_input_and_weight():
    x, weight = torch.randn(2, 9, 7, 4).permute(0, 3, 1, 2), torch.randn(3, 3, 1, 4).permute(3, 2, 0, 1)
    y = F.conv2d(x, weight, padding=1, groups=4)
    assert torch.allclose(y, F.conv2d(x.contiguous(), weight.contiguous(), padding=1, groups=4))


def test_wrong_sizes_are_refused():
    if conv.depthwise is None:
        pytest.skip("depthwise.c is not compiled here")
    x, w, out = np.zeros((1, 4, 1, 10)), np.zeros((1, 3, 3)), np.zeros((1, 2, 8))
    sizes = [1, 1, 1, 4, 1, 10, 2, 8, 3, 3, 1, 1, 1]
    conv.depthwise.sums(x, w, out, tuple(sizes))
    for i, wrong in ((0, 2), (3, 5), (5, 9), (6, 3), (7, 7), (8, 4), (10, 2), (12, 2)):
        with pytest.raises(ValueError, match="sizes"):
            conv.depthwise.sums(x, w, out, tuple(sizes[:i] + [wrong] + sizes[i + 1 :]))
    with pytest.raises(ValueError, match="sizes"):
        conv.depthwise.sums(x, w.astype(np.float32), out, tuple(sizes))
