"""torch.utils.cpp_extension: there is no C++ library to build extensions against."""

import os

CUDA_HOME = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
ROCM_HOME = os.environ.get("ROCM_HOME")
IS_HIP_EXTENSION = False


def _unsupported(name):
    def f(*args, **kwargs):
        raise NotImplementedError(f"torch.utils.cpp_extension.{name}: extensions in C++ or CUDA cannot be built: there is no libtorch")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = "Raises: extensions cannot be built."
    return f


load, load_inline, include_paths, library_paths, CppExtension, CUDAExtension, BuildExtension = map(
    _unsupported, ("load", "load_inline", "include_paths", "library_paths", "CppExtension", "CUDAExtension", "BuildExtension")
)
