"""The version of PyTorch that this package corresponds to."""

from .torch_version import TorchVersion

__all__ = ["__version__", "debug", "cuda", "git_version", "hip", "rocm", "xpu"]
__version__ = TorchVersion("2.13.0+mindspore")
debug = False
git_version = "Unknown"
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
