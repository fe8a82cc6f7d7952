"""The check of sparse tensors that were loaded."""

from ..ops.sparse import validate

loaded_sparse: list = []  # their indices may lie in storages that are filled when the pickle has been read


def validate_loaded():
    """Compare the indices of what was loaded with the sizes: PyTorch's errors."""
    try:
        for t in loaded_sparse:
            validate(t)
    finally:
        loaded_sparse.clear()
