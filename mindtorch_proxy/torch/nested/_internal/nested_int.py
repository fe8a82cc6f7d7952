"""torch.nested._internal.nested_int: what stands behind the sizes of jagged dimensions."""

from mindtorch_proxy.runtime.symbolic import NestedIntNode

__all__ = ["NestedIntNode"]
