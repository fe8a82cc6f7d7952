"""torch._utils_internal: paths for PyTorch's own modules, of files in the tree and of writable folders."""

import os
import tempfile

import torch

torch_parent = os.path.dirname(os.path.dirname(torch.__file__))


def get_file_path(*path_components):
    """Return the path of a file below the folder that contains torch."""
    return os.path.join(torch_parent, *path_components)


def get_file_path_2(*path_components):
    """Join the parts to a path."""
    return os.path.join(*path_components)


def get_writable_path(path):
    """Return the path, or a new temporary folder if it is not writable."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


def resolve_library_path(path):
    """Return the path with symbolic links resolved."""
    return os.path.realpath(path)
