"""torch.__config__: how this torch was built."""

import torch

__all__ = ["parallel_info", "show"]


def show():
    """Return a readable description of this installation."""
    from importlib.metadata import version

    return (
        f"PyTorch {torch.__version__}, answered by mindtorch_proxy {version('mindtorch_proxy')}:\n"
        f"  - kernels: MindSpore {version('mindspore')}\n  - arrays: NumPy {version('numpy')}\n  - CUDA: none"
    )


def _cxx_flags():
    """Return the flags of the C++ compiler, which are empty because nothing was compiled."""
    return ""


def parallel_info():
    """Return a description of how many threads kernels use."""
    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {torch.get_num_threads()}\n\tat::get_num_interop_threads() : "
        f"{torch.get_num_interop_threads()}\n"
    )
