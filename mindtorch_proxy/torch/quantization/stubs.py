"""torch.quantization.stubs: the older name of torch.ao.quantization.stubs."""

from torch.ao.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper  # noqa: F401
