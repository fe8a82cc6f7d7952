import torch

torch.manual_seed(0)

x = torch.randn(8, dtype=torch.complex64, requires_grad=True)
y = torch.fft.ifft(torch.fft.fft(x) * torch.randn(8))
y.abs().sum().backward()
print(x.grad.abs().sum(), torch.view_as_real(y).sum(), torch.stft(torch.randn(64), 16, return_complex=True).abs().sum())
