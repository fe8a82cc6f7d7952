"""torch._tensor."""
from mindtorch_proxy.runtime.tensor import Tensor  # noqa: F401
