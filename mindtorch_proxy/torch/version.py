"""Version of PyTorch whose behaviour is served."""
__version__ = "2.13.0+mindspore"
debug = False
cuda = hip = xpu = rocm = None
git_version = "unknown"
