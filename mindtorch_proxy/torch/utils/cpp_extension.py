"""torch.utils.cpp_extension: C++ extensions cannot be built, because there is no libtorch to link against."""

import logging
import os
import subprocess
import sys

import torch

_log = logging.getLogger(__name__)
CUDA_HOME = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
ROCM_HOME = os.environ.get("ROCM_HOME")
IS_HIP_EXTENSION = False


def get_default_build_root():
    """Return the folder for builds of extensions of the current user."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.realpath(os.path.join(cache, "torch_extensions"))


def _get_build_directory(name, verbose):
    """Create and return the build folder of an extension.

    It is below TORCH_EXTENSIONS_DIR, or else below a folder for this Python version in ``get_default_build_root()``.
    """
    root = os.environ.get("TORCH_EXTENSIONS_DIR")
    if root is None:
        accelerator = "cpu" if torch.version.cuda is None else f"cu{torch.version.cuda.replace('.', '')}"
        python = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
        root = os.path.join(get_default_build_root(), f"{python}_{accelerator}")
    if verbose:
        _log.info("Using %s as PyTorch extensions root...", root)
    folder = os.path.join(root, name)
    os.makedirs(folder, exist_ok=True)
    return folder


def _unsupported(name):
    def f(*args, **kwargs):
        raise NotImplementedError(
            f"torch.utils.cpp_extension.{name}: extensions in C++ or CUDA cannot be built: there is no libtorch"
        )

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: extensions cannot be built."
    return f


def is_ninja_available():
    """Whether the build system ninja is installed."""
    try:
        subprocess.check_output(["ninja", "--version"])
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def verify_ninja_availability():
    """Raise RuntimeError if ninja is not installed."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


(
    load,
    load_inline,
    include_paths,
    library_paths,
    CppExtension,
    CUDAExtension,
    SyclExtension,
    BuildExtension,
    _get_cuda_arch_flags,
) = map(
    _unsupported,
    "load load_inline include_paths library_paths CppExtension CUDAExtension SyclExtension BuildExtension "
    "_get_cuda_arch_flags".split(),
)
