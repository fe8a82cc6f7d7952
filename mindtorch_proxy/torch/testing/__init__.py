"""torch.testing: compares and creates tensors in tests."""

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor
from torch._C import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
