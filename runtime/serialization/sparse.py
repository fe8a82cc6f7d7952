"""The validation of loaded sparse tensors."""

from ..ops.sparse import validate

loaded_sparse: list = []  # validated last: their storages may be filled after the pickle was read


def validate_loaded():
    """Check the indices of loaded sparse tensors against their sizes, and raise PyTorch's errors."""
    try:
        for t in loaded_sparse:
            validate(t)
    finally:
        loaded_sparse.clear()
