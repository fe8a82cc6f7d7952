"""Fourier transforms: inverses, layouts, errors."""

import pytest
import torch


@pytest.mark.parametrize("window", [None, torch.hann_window(16)])
@pytest.mark.parametrize("onesided", [True, False])
def test_istft_undoes_stft(window, onesided):
    x = torch.randn(2, 100)
    s = torch.stft(x, 16, hop_length=4, window=window, onesided=onesided, return_complex=True)
    torch.testing.assert_close(torch.istft(s, 16, hop_length=4, window=window, onesided=onesided, length=100), x)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_inverses(norm):
    x = torch.randn(3, 7)
    torch.testing.assert_close(torch.fft.irfftn(torch.fft.rfftn(x, norm=norm), s=(3, 7), norm=norm), x)
    torch.testing.assert_close(torch.fft.hfft(torch.fft.ihfft(x, norm=norm), 7, norm=norm), x)
    torch.testing.assert_close(torch.fft.ifft2(torch.fft.fft2(x, norm=norm), norm=norm).real, x)


def test_half_precision_is_refused_and_integers_are_promoted():
    with pytest.raises(RuntimeError, match="Unsupported dtype Half"):
        torch.fft.fft(torch.ones(4).half())
    assert torch.fft.rfft(torch.arange(4)).dtype is torch.complex64
    with pytest.raises(AttributeError):
        torch.fft.no_such_transform  # noqa: B018


def test_namespaces_list_their_functions():
    assert {"fft", "rfftn", "fftshift"} <= set(dir(torch.fft))
    assert "kaiser" in dir(torch.signal.windows) and "LinAlgError" in dir(torch.linalg)
