"""Places that PyTorch's own modules ask for: where files of the tree lie, where may be written."""

import os
import tempfile

import torch

torch_parent = os.path.dirname(os.path.dirname(torch.__file__))


def get_file_path(*path_components):
    """A file below the folder that torch lies in."""
    return os.path.join(torch_parent, *path_components)


def get_file_path_2(*path_components):
    """The path of these parts."""
    return os.path.join(*path_components)


def get_writable_path(path):
    """The path, or a new folder in its place where it cannot be written."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


def resolve_library_path(path):
    """The path without symbolic links."""
    return os.path.realpath(path)
